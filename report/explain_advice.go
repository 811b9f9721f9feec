package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/measure"
)

// longest is how many bytes a headline has before a list in it is left out.
const longest = 220

// sentence is the main finding in one sentence: what failed or wastes most, else what
// holds the peak, with what could not be looked at.
func (e *explainer) sentence() string {
	for _, f := range e.findings {
		if f.Severity != diagnose.Note {
			return headlineOf(f)
		}
	}
	if !slices.ContainsFunc(e.m.Rows, func(r measure.Row) bool { return r.Value != nil }) && len(e.m.Facts.Timelines) == 0 {
		for _, r := range e.m.Rows {
			if r.NoData != "" {
				return "nothing was measured: " + r.NoData
			}
		}
		return "nothing was measured"
	}
	size := e.largest()
	var unseen []string
	blind := false
	for _, f := range e.limits {
		u := diagnose.Unseen(f.Rule)
		if !slices.Contains(unseen, u) {
			unseen = append(unseen, u)
		}
		blind = blind || diagnose.Blind(f.Rule)
	}
	switch {
	case blind:
		return fmt.Sprintf("this capture cannot tell what went wrong: it does not show %s; %s", strings.Join(unseen, "; nor "), size)
	case len(unseen) > 0:
		return fmt.Sprintf("nothing stands out in what this capture shows: %s; it does not show %s", size, strings.Join(unseen, "; nor "))
	case e.s != nil && len(e.m.Facts.Timelines) == 0:
		return fmt.Sprintf("nothing stands out in the plan: %s; a plan alone does not show growth over executions, nor other live arrays", size)
	}
	if rise := e.rise(); rise != "" {
		return rise + "; whether that is a leak, a budget of it tells; " + size
	}
	return "nothing stands out: " + size
}

// Over how much a growth is projected, and what it must come to: as in a budget that
// does not say so.
const (
	riseSteps = 1000
	riseHours = 24
	riseFloor = 16 << 20
)

// rise tells of the sampled series that would grow the most, empty where none would
// by what matters: a slope is no verdict, but it is what stands out.
func (e *explainer) rise() (text string) {
	most := 0.0
	for _, s := range sampledSeries(e.m) {
		for _, r := range e.m.Rows {
			if s.Unit != measure.ByteUnit || len(s.Points) == 0 || r.Name != s.Metric() || r.Labels.Key() != s.Labels.Key() || r.Value == nil {
				continue
			}
			over := r.Value.Float64() * riseSteps
			if s.XUnit == measure.XSeconds {
				over = r.Value.Float64() * riseHours
			}
			first, last := s.Points[0], s.Points[len(s.Points)-1]
			if over <= max(most, riseFloor, last.Float64()/100) {
				continue
			}
			most = over
			text = fmt.Sprintf("%s grows by %s (%s), from %s to %s over %s", cmp.Or(s.Labels["series"], "the series"), r.Value.Format(r.Unit), r.Name, first.Format(s.Unit), last.Format(s.Unit), span(&s))
		}
	}
	return text
}

// verdicts are the words for what a failed allocation lacked.
var verdicts = map[string]string{
	"torch-oom-fragmentation": "fragmentation",
	"torch-oom-pressure":      "pressure, live tensors fill the device",
	"torch-oom-stranded":      "what is free is where this request cannot use it",
	"torch-oom-limit":         "a limit of the process, not the device",
	"torch-oom-foreign":       "the rest is held outside of PyTorch's allocator",
}

// headlineOf takes the first clause of a finding, and says which pattern it is where
// the clause does not.
func headlineOf(f measure.Finding) string {
	text, _, _ := strings.Cut(f.Text, "; ")
	if len(text) > longest {
		text, _, _ = strings.Cut(text, ": ")
	}
	if words := verdicts[f.Rule]; words != "" {
		text += ": " + words
	} else if torch, ok := strings.CutPrefix(f.Rule, "torch-"); ok {
		verdict := strings.ReplaceAll(torch, "-", " ")
		if first, _, _ := strings.Cut(verdict, " "); !strings.Contains(text, first) {
			text += ": " + verdict
		}
	}
	if at := placeOf(f.Source); at != "" && !strings.Contains(text, at) {
		text += ", " + at
	}
	if f.SavingBytes > 0 && len(text) < longest/2 && verdicts[f.Rule] == "" {
		text += fmt.Sprintf("; up to %s can be saved", f.SavingBytes)
	}
	if f.Evidence == diagnose.Inferred {
		text += " (inferred)"
	}
	return text
}

// largest says how much is live or planned, and what most of it is.
func (e *explainer) largest() string {
	if e.s == nil && len(e.m.Facts.Snapshots) > 0 {
		s := slices.MaxFunc(e.m.Facts.Snapshots, func(a, b measure.SnapshotFact) int { return int(min(1, max(-1, classTotal(a)-classTotal(b)))) })
		if len(s.Classes) == 0 {
			return "nothing is live"
		}
		at := "the peak is"
		if !s.AtPeak {
			at = "live at the dump are"
		}
		known := slices.IndexFunc(s.Classes, func(c measure.ClassFact) bool { return c.Class != measure.ClassUnknown })
		if known < 0 {
			return fmt.Sprintf("%s %s", at, classTotal(s))
		}
		return fmt.Sprintf("%s %s, the largest known part %s (%s)", at, classTotal(s), strings.ReplaceAll(s.Classes[known].Class, "_", " "), s.Classes[known].Bytes)
	}
	var best *measure.Row
	for i, r := range e.m.Rows {
		mine := r.Name == "live.peak_bytes" || r.Name == "live.end_bytes" || r.Name == "footprint.peak_bytes" || r.Name == "series.peak_bytes"
		if e.s != nil {
			mine = r.Name == "plan.need_bytes" && r.Labels["memory_space"] == "device" && r.Labels.Key("memory_space") == e.s.Labels.Key()
		}
		if mine && r.Value != nil && (best == nil || r.Value.Cmp(*best.Value) > 0) {
			best = &e.m.Rows[i]
		}
	}
	switch {
	case best == nil:
		return "no size of memory was measured"
	case e.s != nil:
		return "one execution needs " + best.Value.Format(best.Unit)
	}
	text := map[string]string{
		"live.end_bytes":       "live are ",
		"live.peak_bytes":      "live are at most ",
		"footprint.peak_bytes": "the footprint is at most ",
		"series.peak_bytes":    cmp.Or(best.Labels["series"], "the series") + " is at most ",
	}[best.Name] + best.Value.Format(best.Unit)
	for _, c := range numbered(e.m.ContributorsOf(best.Name, best.Labels)) {
		if c.Key != measure.Other {
			return fmt.Sprintf("%s, most at one place: %s (%s)", text, c.Display, c.Bytes)
		}
	}
	return text
}

// placeOf names a line of the program, empty where there is none.
func placeOf(s *measure.Source) string {
	if s == nil {
		return ""
	}
	return fmt.Sprintf("%s:%d", s.File, s.Line)
}

// told gives the findings to tell: those of one rule on several ranks or devices once,
// with how many more there are.
func (e *explainer) told() (out []measure.Finding) {
	at, more := map[string]int{}, map[int]int{}
	for _, f := range e.findings {
		if f.Labels["rank"]+f.Labels["device"]+f.Labels["allocator"] == "" {
			out = append(out, f)
			continue
		}
		key := f.Rule + f.Severity
		if i, ok := at[key]; ok {
			more[i]++
			continue
		}
		at[key] = len(out)
		out = append(out, f)
	}
	for i, n := range more {
		out[i].Text += "; " + plural(n, "more finding like it, of another rank or device", "more findings like it, of other ranks or devices")
	}
	return out
}

// brief is how many bytes of a note are told where something is wrong: its clauses up
// to there.
const brief = 200

// diagnosis lists the findings; what to do about them follows in the next steps.
func (e *explainer) diagnosis() {
	shown := e.told()
	if len(shown) == 0 {
		return
	}
	fmt.Fprintln(e.out, "\ndiagnosis")
	for i, f := range shown {
		if i == e.top {
			fmt.Fprintf(e.out, "  %s; --top N shows more\n", plural(len(shown)-i, "more finding", "more findings"))
			return
		}
		text, more := f.Text, gain(f)
		if f.Severity == diagnose.Note && shown[0].Severity != diagnose.Note && e.top < 2*mostGroups {
			text, more = clauses(text, brief), ""
		}
		if more != "" {
			text += " (" + more + ")"
		}
		wrapped(e.out, "  "+f.Severity+" ", "    ", plain(fmt.Sprintf("%s (%s): %s", f.Rule, f.Evidence, text)))
	}
}

// clauses takes the first clauses of a text, at least one, up to n bytes.
func clauses(text string, n int) string {
	all := strings.Split(text, "; ")
	out := all[0]
	for _, c := range all[1:] {
		if len(out)+2+len(c) > n {
			break
		}
		out += "; " + c
	}
	return out
}

// step is one thing to do, with the place where.
type step struct{ do, at string }

// steps lists what to do, in order. What to do about a note that needs nothing is left
// out where something is wrong, and so is what an earlier step says already.
func (e *explainer) steps() (out []step) {
	add := func(s step) {
		for i, t := range out {
			switch {
			case strings.HasPrefix(t.do, s.do):
				return
			case strings.HasPrefix(s.do, t.do):
				out[i].do = s.do
				return
			}
		}
		out = append(out, s)
	}
	wrong, grows := false, false
	for _, f := range e.told() {
		wrong = wrong || f.Severity != diagnose.Note
		if f.Fix == "" || wrong && strings.HasPrefix(f.Fix, "nothing") {
			continue
		}
		grows = grows || slices.Contains([]string{"torch-retained-graph", "torch-growing-container", "torch-growth", "torch-reference-cycles"}, f.Rule)
		if !strings.HasPrefix(f.Fix, "1. ") { // else code to copy, or one step
			add(step{f.Fix, placeOf(f.Source)})
			continue
		}
		for line := range strings.SplitSeq(f.Fix, "\n") {
			add(step{strings.TrimLeft(line, "0123456789. "), placeOf(f.Source)})
		}
	}
	if grows {
		add(step{"to be sure, dump twice in one process, at the same place of a step and some steps apart, then\npeakgate diff --leak EARLIER LATER", ""})
	}
	return out
}

// nextSteps writes what to do: places in the program, settings, and the second dump
// that would make sure.
func (e *explainer) nextSteps() {
	steps := e.steps()
	if len(steps) == 0 {
		return
	}
	fmt.Fprintln(e.out, "\nnext steps")
	for i, s := range steps {
		if i == e.top {
			fmt.Fprintf(e.out, "  %s; --top N shows more\n", plural(len(steps)-i, "more step", "more steps"))
			return
		}
		first, code, _ := strings.Cut(s.do, "\n")
		if s.at != "" && !strings.Contains(first, s.at) {
			first += " [" + s.at + "]"
		}
		wrapped(e.out, fmt.Sprintf("  %d. ", i+1), "     ", plain(first))
		e.code(code)
	}
}

// code writes lines to copy. The bar keeps one from being a workflow command, which
// runners obey behind blanks too.
func (e *explainer) code(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			fmt.Fprintf(e.out, "     | %s\n", plain(line))
		}
	}
}

// notTold lists what the captures cannot answer, each with the lines that make the
// next one answer it.
func (e *explainer) notTold() {
	var told, fixes []string
	for _, f := range e.limits {
		if slices.Contains(told, f.Rule) {
			continue
		}
		if told = append(told, f.Rule); len(told) == 1 {
			fmt.Fprintln(e.out, "\nwhat the capture does not show, and how the next one does")
		}
		wrapped(e.out, "  - ", "    ", plain(fmt.Sprintf("%s (%s): %s", diagnose.Unseen(f.Rule), f.Rule, f.Text)))
		if !slices.Contains(fixes, f.Fix) {
			fixes = append(fixes, f.Fix)
			e.code(f.Fix)
		}
	}
}
