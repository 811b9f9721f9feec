package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// What an explanation of snapshots shows of a device beside its holders.
const (
	stepsShown = 3 // the newest, after the first
	linesShown = 5 // innermost lines of a failed allocation, those of PyTorch left out
	mostRanks  = 4 // columns of totals
)

// total is one figure of a device and the words for it.
type total struct{ metric, words string }

var totals = []total{
	{"live.peak_bytes", "peak of live tensors, as requested"},
	{"live.end_bytes", "live at the dump, as requested"},
	{"live.baseline_bytes", "live before the history"},
	{"reserved.peak_bytes", "reserved at most"},
	{"reserved.end_bytes", "reserved at the dump"},
	{"pending_free.bytes", "freed, waiting for another stream"},
	{"inactive.bytes", "cached and free at the dump"},
	{"inactive.largest_usable_bytes", "largest free range outside of private pools"},
	{"pool.private_bytes", "reserved by private pools"},
}

// alike is the devices or ranks whose totals are equal.
type alike struct {
	facts []*measure.SnapshotFact
	cells map[string]*measure.Row
	key   string
}

// snapshots tells of PyTorch snapshots: totals, who holds the peak, and how memory is
// freed; of devices and ranks that are alike once, the fullest first.
func (e *explainer) snapshots() {
	groups := e.alike()
	e.totals(groups[:min(len(groups), mostRanks)])
	if hidden := len(groups) - mostRanks; hidden > 0 {
		fmt.Fprintf(e.out, "  %s smaller; --format json has all\n", plural(hidden, "more is", "more are"))
	}
	for i, g := range groups[:min(len(groups), mostHeld)] {
		s, whose := g.facts[0], ""
		if len(groups) > 1 {
			whose = " (" + g.name(e.m.Facts.Snapshots) + ")"
		}
		if len(s.OOMs) > 0 && len(s.OOMs[len(s.OOMs)-1].Holders) > 0 {
			e.failure(s, depth(e.top, i+1))
		} else {
			metric := "live.peak_bytes"
			if !s.AtPeak {
				metric = "live.end_bytes"
				fmt.Fprintln(e.out, "\nthe peak is not known: what follows is live at the dump")
			}
			if r := g.cells[metric]; r != nil {
				e.holders(*r, depth(e.top, i+1), whose)
				if i == 0 {
					e.evidence(s)
				}
			}
		}
	}
	e.frees(groups[0].facts[0])
}

// evidenceWords say what decided a class.
var evidenceWords = map[string]string{
	"optimizer_frame":     "allocated in an optimizer's step",
	"module_init":         "allocated while a module was built",
	"module_move":         "allocated by Module.to or .cuda",
	"collective_frame":    "allocated by torch.distributed",
	"workspace_frame":     "a frame names a workspace",
	"backward_survives":   "allocated by the backward pass and kept after it",
	"backward_freed":      "allocated by the backward pass and freed in it",
	"forward_to_backward": "allocated by the forward pass, freed by the backward pass",
	"forward_freed":       "allocated by the forward pass and not kept for the backward pass",
	"grows_each_step":     "its site holds more after each step",
}

// evidence tells what decided the classes of the sites that hold a device's memory,
// for each class by bytes; shares below a thousandth are left out.
func (e *explainer) evidence(s *measure.SnapshotFact) {
	type reason struct{ class, why string }
	sums := map[reason]measure.Bytes{}
	var order []reason
	for _, f := range s.Sites {
		r, n := reason{f.Class, evidenceWords[f.Evidence]}, f.EndBytes
		if s.AtPeak {
			n = f.PeakBytes
		}
		if n == 0 || r.why == "" {
			continue
		}
		if sums[r] == 0 {
			order = append(order, r)
		}
		sums[r] += n
	}
	order = slices.DeleteFunc(order, func(r reason) bool { return sums[r] < classTotal(*s)/1000 })
	slices.SortStableFunc(order, func(a, b reason) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a.class+a.why, b.class+b.why))
	})
	var parts []string
	for i, r := range order {
		if slices.ContainsFunc(order[:i], func(o reason) bool { return o.class == r.class }) {
			continue
		}
		whys := []string{}
		for _, o := range order[i:] {
			if o.class == r.class {
				whys = append(whys, o.why)
			}
		}
		parts = append(parts, plain(r.class)+": "+strings.Join(whys, ", or "))
	}
	if len(parts) > 0 {
		wrapped(e.out, "  ", "    ", "classes, and what decided them: "+strings.Join(parts, " · "))
	}
}

// alike groups the devices by their totals, the fullest first.
func (e *explainer) alike() (groups []*alike) {
	at := map[string]*alike{}
	for i := range e.m.Facts.Snapshots {
		s := &e.m.Facts.Snapshots[i]
		g := &alike{facts: []*measure.SnapshotFact{s}, cells: map[string]*measure.Row{}}
		for j, r := range e.m.Rows {
			if r.Labels.Key() == s.Labels.Key() {
				g.cells[r.Name] = &e.m.Rows[j]
			}
		}
		for _, t := range totals {
			if r := g.cells[t.metric]; r != nil && r.Value != nil {
				g.key += r.Value.Format(r.Unit) // to what is shown: ranks differ by a few bytes
			}
			g.key += "\x00"
		}
		if same := at[g.key]; same != nil && len(s.OOMs) == len(same.facts[0].OOMs) {
			same.facts = append(same.facts, s)
			continue
		}
		at[g.key] = g
		groups = append(groups, g)
	}
	slices.SortStableFunc(groups, func(a, b *alike) int {
		return cmp.Or(cmp.Compare(len(b.facts[0].OOMs), len(a.facts[0].OOMs)), cmp.Compare(classTotal(*b.facts[0]), classTotal(*a.facts[0])))
	})
	return groups
}

// name names the devices of a group by the labels that tell all devices apart.
func (g *alike) name(all []measure.SnapshotFact) string {
	var parts []string
	for _, k := range sortedKeys(g.facts[0].Labels) {
		if !slices.ContainsFunc(all, func(s measure.SnapshotFact) bool { return s.Labels[k] != all[0].Labels[k] }) {
			continue
		}
		var values []string
		for _, s := range g.facts {
			if !slices.Contains(values, s.Labels[k]) {
				values = append(values, s.Labels[k])
			}
		}
		if n := len(values); n > 6 {
			values = append(values[:5], fmt.Sprintf("and %d more", n-5))
		}
		parts = append(parts, plain(k+" "+strings.Join(values, ", ")))
	}
	return strings.Join(parts, ", ")
}

// totals lists what is reserved, live, waiting and free: one column for each group,
// with exact bytes where there is one.
func (e *explainer) totals(groups []*alike) {
	var rows [][]string
	if len(groups) > 1 {
		row := []string{""}
		for _, g := range groups {
			row = append(row, g.name(e.m.Facts.Snapshots))
		}
		rows = append(rows, row)
	}
	var unknown, reasons []string
	for _, t := range totals {
		row, any, missing := []string{t.words}, false, true
		for _, g := range groups {
			cell := ""
			switch r := g.cells[t.metric]; {
			case r == nil:
				missing = false
			case r.Value == nil:
				cell = "no data"
				if !slices.Contains(reasons, r.NoData) {
					reasons = append(reasons, r.NoData)
				}
			default:
				missing = false
				cell = r.Value.Format(r.Unit)
				any = any || r.Value.Float64() != 0 || slices.Contains([]string{"live.peak_bytes", "live.end_bytes", "pending_free.bytes"}, t.metric)
			}
			if row = append(row, cell); len(groups) == 1 {
				row = append(row, "")
				if r := g.cells[t.metric]; r != nil && r.Value != nil {
					row[2] = r.Value.Exact(r.Unit)
				}
			}
		}
		if any {
			rows = append(rows, row)
		} else if missing {
			unknown = append(unknown, t.metric)
		}
	}
	fmt.Fprintln(e.out)
	if len(rows) > 0 {
		table(e.out, "  ", rows, "l"+strings.Repeat("r", len(rows[0])-1))
	}
	if len(unknown) > 0 {
		wrapped(e.out, "  no data for ", "    ", plain(strings.Join(unknown, ", ")+": "+strings.Join(reasons, "; ")))
	}
}

func classTotal(s measure.SnapshotFact) (sum measure.Bytes) {
	for _, c := range s.Classes {
		sum += c.Bytes
	}
	return sum
}

// frees tells when memory comes back: by events, and by steps.
func (e *explainer) frees(s *measure.SnapshotFact) {
	for _, t := range e.m.Facts.Traces {
		if t.Labels.Key() != s.Labels.Key() || t.Events <= 1 {
			continue
		}
		fmt.Fprintf(e.out, "\nhistory (%s): %d allocations, %d frees requested, %d completed", plain(strings.ReplaceAll(t.History, "_", " ")), t.Actions["alloc"], t.Actions["free_requested"], t.Actions["free_completed"])
		if n := t.Actions["oom"]; n > 0 {
			fmt.Fprintf(e.out, ", %s", plural(int(n), "failed allocation", "failed allocations"))
		}
		fmt.Fprintln(e.out)
	}
	if s.Steps == nil || len(s.Steps.Steps) == 0 {
		return
	}
	mark := plain(s.Steps.Mark)
	if s.Steps.Mark == measure.DumpMark {
		mark = "dump"
	}
	fmt.Fprintf(e.out, "steps, from one %s to the next\n", mark)
	rows := [][]string{{"step", "live at its start", "allocated", "freed", "left", "peak above start"}}
	steps := s.Steps.Steps
	for i, t := range steps {
		if i > 0 && i < len(steps)-max(stepsShown, e.top/3) {
			continue
		}
		n := fmt.Sprint(t.Number)
		if !t.Whole {
			n += " (cut)"
		}
		rows = append(rows, []string{n, t.StartBytes.String(), t.AllocatedBytes.String(), t.FreedBytes.String(), t.NetBytes.Signed(), t.PeakBytes.String()})
	}
	table(e.out, "  ", rows, "lrrrrr")
	if hidden := len(steps) - (len(rows) - 1); hidden > 0 {
		fmt.Fprintf(e.out, "  %s between the first and these; --format json has all\n", plural(hidden, "step", "steps"))
	}
}

// failure shows the newest failed allocation: where it was asked for, and what was
// live at that moment.
func (e *explainer) failure(s *measure.SnapshotFact, top int) {
	o := s.OOMs[len(s.OOMs)-1]
	var lines []string
	for _, line := range o.Stack {
		if !strings.HasPrefix(line, "torch/") && len(lines) <= linesShown {
			lines = append(lines, textStyle.name(line))
		}
	}
	if len(lines) > linesShown {
		lines[linesShown] = "…"
	}
	fmt.Fprintln(e.out)
	from := ""
	if len(lines) > 0 {
		from = ", asked for at " + strings.Join(lines, " < ")
	}
	wrapped(e.out, "", "  ", fmt.Sprintf("failed allocation of %s at event %d%s", o.RequestBytes, o.Event, from))
	fmt.Fprintln(e.out, "live at that moment")
	rows := [][]string{{"bytes", "share", "count", "class", "allocated at"}}
	var told measure.Bytes
	for _, h := range o.Holders[:min(top, len(o.Holders))] {
		told += h.Bytes
		rows = append(rows, []string{h.Bytes.String(), percent(h.Bytes, max(1, float64(o.LiveBytes))), fmt.Sprint(h.Count), plain(h.Class), textStyle.name(h.Display)})
	}
	narrow(e.out, rows, "rrrll")
	if rest := o.LiveBytes - told; rest > 0 {
		fmt.Fprintf(e.out, "  others hold %s\n", rest)
	}
}
