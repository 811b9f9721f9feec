package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/measure"
)

// What an explanation of snapshots shows: the newest steps of a device, and the
// innermost lines of a failed allocation.
const (
	stepsShown = 8
	linesShown = 12
	mostSteps  = 8 // next steps
)

// explainSnapshots tells of PyTorch snapshots: for each device its totals, who holds the peak, and how memory is freed.
func explainSnapshots(out io.Writer, m *measure.Measurement, top int) {
	shown := slices.Clone(m.Facts.Snapshots) // the fullest device or rank first
	slices.SortStableFunc(shown, func(a, b measure.SnapshotFact) int { return cmp.Compare(classTotal(b), classTotal(a)) })
	shown = shown[:min(len(shown), mostGroups)]
	for i := range shown {
		s := &shown[i]
		fmt.Fprintf(out, "\n%s\n", plain(s.Labels.Key()))
		explainTotals(out, m, s)
		if i < mostHeld {
			metric := "live.peak_bytes"
			if !s.AtPeak {
				metric = "live.end_bytes"
				fmt.Fprintln(out, "\nthe peak is not known: what follows is live at the dump")
			}
			for _, r := range m.Rows {
				if r.Name == metric && r.Labels.Key() == s.Labels.Key() {
					explainHolders(out, m, r, top)
				}
			}
			explainFrees(out, m, s)
		}
		explainFailures(out, s)
	}
	if hidden := len(m.Facts.Snapshots) - len(shown); hidden > 0 {
		fmt.Fprintf(out, "\n%s; --format json has all\n", plural(hidden, "more device is not shown", "more devices are not shown"))
	}
}

// sentence is the main finding in one sentence: what failed or wastes most, else
// what holds the peak.
func sentence(m *measure.Measurement) string {
	for _, f := range m.Findings {
		if f.Severity == diagnose.Note {
			continue
		}
		text, _, _ := strings.Cut(f.Text, "; ")
		verdict := strings.TrimPrefix(strings.TrimPrefix(f.Rule, "torch-"), "oom-")
		text += ": " + strings.ReplaceAll(verdict, "-", " ")
		if at := placeOf(f.Source); at != "" && !strings.Contains(text, at) {
			text += ", " + at
		}
		if f.Evidence == diagnose.Inferred {
			text += " (inferred)"
		}
		return text
	}
	s := slices.MaxFunc(m.Facts.Snapshots, func(a, b measure.SnapshotFact) int { return cmp.Compare(classTotal(a), classTotal(b)) })
	if len(s.Classes) == 0 {
		return "nothing is live, and nothing stands out"
	}
	at := "the peak is"
	if !s.AtPeak {
		at = "live at the dump are"
	}
	return fmt.Sprintf("nothing is wrong as far as this file tells: %s %s, most of it %s (%s)", at, classTotal(s), strings.ReplaceAll(s.Classes[0].Class, "_", " "), s.Classes[0].Bytes)
}

func classTotal(s measure.SnapshotFact) (sum measure.Bytes) {
	for _, c := range s.Classes {
		sum += c.Bytes
	}
	return sum
}

// placeOf names a line of the program, empty where there is none.
func placeOf(s *measure.Source) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// explainTotals lists what is reserved, live, waiting and free.
func explainTotals(out io.Writer, m *measure.Measurement, s *measure.SnapshotFact) {
	var rows [][]string
	told := "" // a reason is said once
	for _, t := range []struct{ metric, words string }{
		{"live.peak_bytes", "peak of live tensors, as requested"},
		{"live.end_bytes", "live at the dump, as requested"},
		{"live.baseline_bytes", "live before the history"},
		{"reserved.peak_bytes", "reserved at most"},
		{"reserved.end_bytes", "reserved at the dump"},
		{"pending_free.bytes", "freed, waiting for another stream"},
		{"inactive.bytes", "cached and free at the dump"},
		{"inactive.largest_usable_bytes", "largest free piece outside of private pools"},
		{"pool.private_bytes", "reserved by private pools"},
	} {
		for _, r := range m.Rows {
			if r.Name != t.metric || r.Labels.Key() != s.Labels.Key() {
				continue
			}
			row := []string{t.words, "no data", ""}
			if r.NoData != told {
				told = r.NoData
				row[2] = plain(told)
			}
			if r.Value != nil {
				row[1], row[2] = r.Value.Format(r.Unit), r.Value.Exact(r.Unit)
			}
			if r.Value == nil || r.Value.Float64() != 0 || slices.Contains([]string{"live.peak_bytes", "live.end_bytes", "pending_free.bytes"}, t.metric) {
				rows = append(rows, row)
			}
		}
	}
	table(out, "  ", rows, "lrl")
}

// explainFrees tells when memory comes back: by events, and by steps.
func explainFrees(out io.Writer, m *measure.Measurement, s *measure.SnapshotFact) {
	for _, t := range m.Facts.Traces {
		if t.Labels.Key() != s.Labels.Key() || t.Events <= 1 {
			continue
		}
		fmt.Fprintf(out, "\nhistory (%s): %d allocations, %d frees requested, %d completed", plain(strings.ReplaceAll(t.History, "_", " ")), t.Actions["alloc"], t.Actions["free_requested"], t.Actions["free_completed"])
		if n := t.Actions["oom"]; n > 0 {
			fmt.Fprintf(out, ", %s", plural(int(n), "failed allocation", "failed allocations"))
		}
		fmt.Fprintln(out)
	}
	if s.Steps == nil || len(s.Steps.Steps) == 0 {
		return
	}
	fmt.Fprintf(out, "\nsteps, from one %s to the next\n", plain(s.Steps.Mark))
	rows := [][]string{{"step", "live at its start", "allocated", "freed", "left", "peak above start"}}
	steps := s.Steps.Steps
	for i, t := range steps {
		if i > 0 && i < len(steps)-stepsShown {
			continue
		}
		n := fmt.Sprint(t.Number)
		if !t.Whole {
			n += " (cut)"
		}
		rows = append(rows, []string{n, t.StartBytes.String(), t.AllocatedBytes.String(), t.FreedBytes.String(), t.NetBytes.Signed(), t.PeakBytes.String()})
	}
	table(out, "  ", rows, "lrrrrr")
	if hidden := len(steps) - (len(rows) - 1); hidden > 0 {
		fmt.Fprintf(out, "  %s between the first and these; --format json has all\n", plural(hidden, "step", "steps"))
	}
}

// explainFailures shows the stack of the newest failed allocation.
func explainFailures(out io.Writer, s *measure.SnapshotFact) {
	if len(s.OOMs) == 0 {
		return
	}
	o := s.OOMs[len(s.OOMs)-1]
	fmt.Fprintf(out, "\nfailed allocation of %s at event %d\n", o.RequestBytes, o.Event)
	for i, line := range o.Stack {
		if i == linesShown {
			fmt.Fprintf(out, "  %d more lines; --format json has them\n", len(o.Stack)-i)
			break
		}
		fmt.Fprintf(out, "  %s\n", textStyle.name(line))
	}
	var rows [][]string
	for _, h := range o.Holders {
		rows = append(rows, []string{h.Bytes.String(), fmt.Sprint(h.Count), plain(h.Class), textStyle.name(h.Display)})
	}
	if len(rows) > 0 {
		fmt.Fprintln(out, "\n  live at that moment, by where it was allocated")
		table(out, "  ", rows, "rrll")
	}
}

// nextSteps lists what to do, in order: places in the program, settings, and the
// capture that would answer what this one cannot. Findings say it at length;
// steps are what to try, from the first to the last.
func nextSteps(out io.Writer, m *measure.Measurement) {
	var steps []string
	add := func(step string) {
		if !slices.Contains(steps, step) && len(steps) < mostSteps {
			steps = append(steps, step)
		}
	}
	grows := false
	for _, f := range m.Findings {
		if f.Severity == diagnose.Note || !strings.HasPrefix(f.Rule, "torch-") && f.Rule != "peak-moved" {
			continue
		}
		at := placeOf(f.Source)
		for line := range strings.SplitSeq(f.Fix, "\n") {
			if line = strings.TrimLeft(line, "0123456789. "); line == "" {
				continue
			}
			if at != "" && !strings.Contains(line, at) {
				line += "  [" + at + "]"
			}
			add(line)
		}
		grows = grows || slices.Contains([]string{"torch-retained-graph", "torch-growing-container", "torch-growth", "torch-reference-cycles"}, f.Rule)
	}
	if grows {
		add("to be sure, dump twice in one process, at the same place of a step and some steps apart, then\npeakgate diff --leak EARLIER LATER")
	}
	for i := range m.Facts.Snapshots {
		for _, l := range m.Facts.Snapshots[i].Limits {
			if l.Fix != "" && l.Code != measure.LimitNoSteps {
				add("a capture that tells what this one cannot (" + l.Text + "):\n" + l.Fix)
			}
		}
	}
	if len(steps) == 0 {
		return
	}
	fmt.Fprintln(out, "\nnext steps")
	for i, step := range steps {
		for j, line := range strings.Split(step, "\n") {
			if j == 0 {
				fmt.Fprintf(out, "  %d. %s\n", i+1, plain(line))
			} else {
				fmt.Fprintf(out, "       %s\n", plain(line))
			}
		}
	}
}
