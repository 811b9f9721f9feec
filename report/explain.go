package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/measure"
)

// Explain writes a diagnosis for a person whose job is out of memory: the findings,
// then what they rest on: the figures of the plan, and who holds the peak (the first
// top of them). s is nil where the captures hold no XLA module.
func Explain(w io.Writer, m *measure.Measurement, s *diagnose.Subject, top int) error {
	out := bufio.NewWriter(w)
	for _, in := range m.Inputs {
		fmt.Fprintf(out, "%s  (%s, %s)\n", plain(in.Path), in.Format, in.Bytes)
	}
	for _, k := range sortedKeys(m.Environment) {
		fmt.Fprintf(out, "%s: %s\n", plain(k), plain(m.Environment[k]))
	}
	findings := m.Findings
	if s != nil {
		fmt.Fprintf(out, "\nmodule %s: %s", plain(s.Title), plain(s.Why))
		if s.Others > 0 {
			fmt.Fprintf(out, " (of %d; --module names another)", s.Others+1)
		}
		fmt.Fprintln(out)
		findings = diagnose.About(s.Labels, findings)
	} else if len(m.Facts.Snapshots) > 0 {
		fmt.Fprintf(out, "\n%s\n", plain(sentence(m)))
	}
	switch measured := slices.ContainsFunc(m.Rows, func(r measure.Row) bool { return r.Value != nil }); {
	case len(findings) == 0 && !measured:
		fmt.Fprintln(out, "\nnothing was measured")
	case len(findings) == 0:
		fmt.Fprintln(out, "\nno findings: nothing in the capture stands out")
	default:
		fmt.Fprintln(out, "\nfindings")
	}
	textFindings(out, "  ", "", findings)
	explainFigures(out, m, s, top)
	explainRun(out, m, s)
	nextSteps(out, m)
	for _, warning := range m.Warnings {
		fmt.Fprintf(out, "\nwarning: %s\n", plain(warning))
	}
	return out.Flush()
}

// explainFigures shows what the findings rest on: of the module, of snapshots, or of
// what else was measured.
func explainFigures(out io.Writer, m *measure.Measurement, s *diagnose.Subject, top int) {
	switch {
	case s != nil:
		explainPlan(out, m, s, top)
		return
	case len(m.Facts.Snapshots) > 0:
		explainSnapshots(out, m, top)
		return
	}
	for _, g := range groupRows(m.Rows)[:min(mostHeld, len(groupRows(m.Rows)))] {
		fmt.Fprintf(out, "\n%s\n", plain(g.key))
		rows, _ := groupTable(g.rows)
		table(out, "  ", rows, "lrl")
		for _, r := range g.rows {
			if r.Name == heldRow(m, r.Labels) {
				explainHolders(out, m, r, top)
			}
		}
	}
}

// explainPlan shows the module's figures, one column for each memory space, and who
// holds the heap peak of the device.
func explainPlan(out io.Writer, m *measure.Measurement, s *diagnose.Subject, top int) {
	var spaces, metrics []string
	cells := map[[2]string]string{}
	var peak, need *measure.Row
	for i, r := range m.Rows {
		space, ok := r.Labels["memory_space"]
		if r.Labels.Key("memory_space") != s.Labels.Key() {
			continue
		}
		if !ok {
			space = "whole"
		}
		if space == "device" {
			switch r.Name {
			case "plan.heap_peak_bytes":
				peak = &m.Rows[i]
			case "plan.need_bytes":
				need = &m.Rows[i]
			}
		}
		if r.Value != nil && r.Value.Float64() == 0 {
			continue
		}
		if !slices.Contains(spaces, space) {
			spaces = append(spaces, space)
		}
		if !slices.Contains(metrics, r.Name) {
			metrics = append(metrics, r.Name)
		}
		cells[[2]string{r.Name, space}] = "no data"
		if r.Value != nil {
			cells[[2]string{r.Name, space}] = r.Value.Format(r.Unit)
		}
	}
	rows := [][]string{append([]string{"plan"}, spaces...)}
	align := "l"
	for range spaces {
		align += "r"
	}
	for _, metric := range metrics {
		row := []string{metric}
		for _, space := range spaces {
			row = append(row, cells[[2]string{metric, space}])
		}
		rows = append(rows, row)
	}
	fmt.Fprintln(out)
	table(out, "  ", rows, align)
	if peak != nil && peak.Value != nil {
		explainHolders(out, m, *peak, top)
	} else if need != nil {
		if peak != nil {
			fmt.Fprintf(out, "\nthe heap peak is not known: %s\n", plain(peak.NoData))
		}
		explainHolders(out, m, *need, top)
	}
	for _, f := range m.Facts.Plans {
		if f.Labels.Key("memory_space") != s.Labels.Key("file") {
			continue
		}
		if f.Labels["memory_space"] == "device" {
			if d := f.Donation; d != nil {
				fmt.Fprintf(out, "\ndonation: %s, %d donated, %d offered and not taken\n", plural(int(d.Arguments), "argument", "arguments"), d.Donated, d.LeftCount)
			}
			if f.BlockBytes > 0 {
				fmt.Fprintf(out, "the temp block is one piece of %s\n", f.BlockBytes)
			}
		}
		if f.ScopedBytes > 0 {
			fmt.Fprintf(out, "scratch memory of one kernel (%s): up to %s\n", plain(f.Labels["memory_space"]), f.ScopedBytes)
		}
	}
}

// explainHolders lists who holds a row's bytes, with shares and classes.
func explainHolders(out io.Writer, m *measure.Measurement, r measure.Row, top int) {
	cs := m.ContributorsOf(r.Name, r.Labels)
	if len(cs) == 0 || r.Value == nil {
		return
	}
	total := max(1, r.Value.Float64())
	fmt.Fprintf(out, "\nwho holds %s of %s\n", r.Value.Format(r.Unit), plain(r.Name))
	classes := [][]string{}
	sums, order := map[string]measure.Bytes{}, []string{}
	for _, c := range cs {
		if _, ok := sums[c.Class]; !ok {
			order = append(order, c.Class)
		}
		sums[c.Class] += c.Bytes
	}
	slices.SortStableFunc(order, func(a, b string) int { return int(min(1, max(-1, sums[b]-sums[a]))) })
	for _, class := range order {
		if class != "" {
			classes = append(classes, []string{class, sums[class].String(), percent(sums[class], total)})
		}
	}
	if len(classes) > 1 {
		table(out, "  ", classes, "lrr")
		fmt.Fprintln(out)
	}
	rows, rest := [][]string{{"bytes", "share", "count", "class", "allocated at"}}, measure.Bytes(0)
	for i, c := range cs {
		if i >= top {
			rest += c.Bytes
			continue
		}
		rows = append(rows, []string{c.Bytes.String(), percent(c.Bytes, total), fmt.Sprint(c.Count), plain(c.Class), textStyle.name(c.Display)})
	}
	table(out, "  ", rows, "rrrll")
	if rest > 0 {
		fmt.Fprintf(out, "  %d more hold %s; --top shows more\n", len(cs)-top, rest)
	}
}

func percent(part measure.Bytes, total float64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/total)
}

// groupsShown is how many groups of live memory are told of one allocator.
const groupsShown = 8

// explainLive shows what was live when the last execution, or else step, began.
func explainLive(out io.Writer, m *measure.Measurement) {
	shown := 0
	for _, t := range m.Facts.Timelines {
		s := t.LastStart
		if t.Pool != "device" || s == nil || len(s.Groups) == 0 {
			continue
		}
		if shown++; shown > mostHeld {
			return
		}
		fmt.Fprintf(out, "\nwhat was live when the last execution began (%s)\n", plain(t.Labels.Key()))
		var rows [][]string
		for _, g := range s.Groups[:min(len(s.Groups), groupsShown)] {
			rows = append(rows, []string{g.Bytes.String(), fmt.Sprint(g.Count), textStyle.name(g.Name)})
		}
		table(out, "  ", rows, "rrl")
		if more := len(s.Groups) - groupsShown; more > 0 {
			fmt.Fprintf(out, "  %s\n", plural(more, "more group", "more groups"))
		}
	}
}

// explainRun tells what the run recorded of the allocators and of the module.
func explainRun(out io.Writer, m *measure.Measurement, s *diagnose.Subject) {
	var rows [][]string
	for _, t := range m.Facts.Timelines {
		if t.Pool != "device" {
			continue
		}
		limit, start := "unknown", "unknown"
		if t.LimitBytes > 0 {
			limit = t.LimitBytes.String()
		}
		if t.LastStart != nil {
			start = t.LastStart.InUse.String()
		}
		rows = append(rows, []string{plain(t.Labels.Key()), limit, t.PeakBytes.String(), max(t.PeakBytes, t.UsedPeakBytes).String(), start})
	}
	if len(rows) > 0 {
		fmt.Fprintln(out)
		table(out, "  ", append([][]string{{"allocator", "limit", "peak in use", "heap and stack", "in use at the last execution"}}, rows[:min(len(rows), 16)]...), "lrrrr")
		explainLive(out, m)
	}
	if s == nil {
		return
	}
	told := 0
	for _, e := range m.Facts.Executions {
		if len(diagnose.About(s.Labels, []measure.Finding{{Labels: e.Labels}})) == 0 {
			continue
		}
		if told++; told > 4 {
			fmt.Fprintln(out, "and on more allocators")
			break
		}
		if told == 1 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s of it (%s): in use at the first %s, at the last %s\n", plural(int(e.Count), "execution", "executions"), plain(e.Labels.Key("module", "program")), e.FirstInUse, e.LastInUse)
	}
}
