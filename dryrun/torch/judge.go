package torch

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
)

// failure is why a run gave no numbers.
type failure struct {
	measure.DryrunReason
	// values tells that other values, read from the device, might have led elsewhere.
	values bool
}

// judge runs the program as often as it takes to tell how far its numbers can be
// trusted. The captures are those of the first run that gave any.
func (r *runner) judge() (*dryrun.Result, error) {
	fill := "0"
	if r.spec.Assume != "" {
		fill = r.spec.Assume
	}
	first, err := r.run(fill)
	if err != nil {
		return nil, err
	}
	f := r.fact(first)
	result := &dryrun.Result{Warnings: first.warnings}
	failed, measured := first.failure(r), first
	switch {
	case r.spec.Assume == "" && f.Reads > 0 && (failed == nil || failed.values):
		if measured, err = r.compare(&f, first, failed); err != nil {
			return nil, err
		}
	case failed != nil:
		f.Class, f.Reasons = measure.DryrunDidNotRun, []measure.DryrunReason{failed.DryrunReason}
	}
	if f.Class != measure.DryrunDidNotRun {
		r.fit(&f, measured)
		for _, p := range measured.processes {
			result.Captures = append(result.Captures, dryrun.Capture{Path: p.path})
		}
	}
	result.Facts = []measure.DryrunFact{f}
	return result, nil
}

// told are the reports of all processes, those that used a device first.
func (o *outcome) told() (list []*report) {
	for _, p := range o.processes {
		if p.report != nil {
			list = append(list, p.report)
		}
	}
	return append(list, o.others...)
}

// failure says why a run gave no numbers; nil where it did. Out of memory is a number.
func (o *outcome) failure(r *runner) *failure {
	because := func(values bool, at *spot, format string, args ...any) *failure {
		return &failure{measure.DryrunReason{Text: fmt.Sprintf(format, args...), Source: at.source(r.root())}, values}
	}
	told := o.told()
	stopped := func(why string) *report {
		if i := slices.IndexFunc(told, func(p *report) bool { return p.Stopped == why }); i >= 0 {
			return told[i]
		}
		return nil
	}
	raised := &report{}
	for _, p := range told {
		// torchrun's own error only says that of a process.
		if p.Error != "" && (raised.Error == "" || strings.HasPrefix(raised.Error, "ChildFailedError")) {
			raised = p
		}
	}
	out := slices.ContainsFunc(o.processes, func(p process) bool { return p.oom })
	switch {
	case len(o.notes.unsupported) > 0:
		text := "the pretend device cannot answer " + o.notes.unsupported[0]
		if raised.Error != "" {
			text += ", and the program ended with " + raised.Error
		}
		return because(false, raised.ErrorAt, "%s", text)
	case stopped(stoppedWaits) != nil:
		at := stopped(stoppedWaits).At
		return because(true, at, "it waits for a value that nothing computes, or takes too many steps: the same lines read from the device again and again%s, and it was ended", where(at))
	case stopped(stoppedTime) != nil:
		at := stopped(stoppedTime).At
		return because(false, at, "it did not end within %s%s", short(r.spec.Timeout), where(at))
	case o.end.TimedOut:
		return because(false, nil, "it did not end within %s", short(r.spec.Timeout))
	case o.end.Signal != "":
		return because(true, nil, "it was ended by %s", o.end.Signal)
	case o.end.Code != 0 && !out && raised.Error != "":
		text := fmt.Sprintf("it ended with exit code %d: %s", o.end.Code, raised.Error)
		if len(o.notes.missing) > 0 {
			text += "; the pretend device has no " + strings.Join(o.notes.missing[:min(3, len(o.notes.missing))], ", ")
		}
		return because(true, raised.ErrorAt, "%s", text)
	case o.end.Code != 0 && !out:
		return because(true, nil, "it ended with exit code %d", o.end.Code)
	case !o.loaded:
		return because(false, nil, "no Python took the hook that records the allocator: it is shut out by Python's -I, -E and -S and by a program that clears PYTHONPATH")
	case o.lost > 0:
		return because(true, nil, "%d of its processes that used a device ended without a word of it: killed, or by os.abort", o.lost)
	case len(o.processes) == 0:
		return because(true, nil, "it used no CUDA device")
	}
	for _, p := range o.processes {
		switch {
		case p.fault != nil:
			return because(false, nil, "%s", oneLine(p.fault.Error()))
		case p.report == nil && !p.oom:
			return because(false, nil, "a process that used a device left no report that can be read")
		case p.report != nil && !p.report.Watched:
			return because(false, nil, "what it reads from the device could not be seen")
		case p.report != nil && p.report.Torch != r.libraries.TorchVersion:
			return because(false, nil, "it ran with torch %s of %s, and %s was found before: name the Python that runs", p.report.Torch, p.report.Root, r.libraries.TorchVersion)
		}
		for _, d := range p.snapshot.Devices {
			if d.History.Kind == "truncated" {
				return because(false, nil, "its %d allocator events are more than the history holds: run fewer steps", d.History.Events)
			}
		}
	}
	return nil
}

// compare runs the program with the other value and tells whether it allocates alike.
// It gives the run to be measured.
func (r *runner) compare(f *measure.DryrunFact, first *outcome, failed *failure) (measured *outcome, err error) {
	second, err := r.run("1")
	if err != nil {
		return nil, err
	}
	other := second.failure(r)
	if failed != nil && other != nil {
		f.Class, f.Reasons = measure.DryrunDidNotRun, []measure.DryrunReason{failed.DryrunReason}
		if other.Text != failed.Text {
			f.Reasons = append(f.Reasons, with1(other))
		}
		return first, nil
	}
	if failed != nil {
		f.Class, f.Reasons = measure.DryrunValueDependent, slices.Insert(f.Reasons, 0, with0(failed))
		return second, nil
	}
	defer os.RemoveAll(second.dir)
	var steered []measure.DryrunReason
	if other != nil {
		steered = append(steered, with1(other))
	} else {
		p, text := r.parts(first, second)
		if text == "" {
			return first, nil
		}
		steered = append([]measure.DryrunReason{{Text: text, Source: p.source()}}, r.countsDiffer(first, second)...)
	}
	third, err := r.run("0")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(third.dir)
	if again := r.differs(first, third); again != nil {
		f.Unrepeatable, steered = true, []measure.DryrunReason{*again}
	}
	f.Class, f.Reasons = measure.DryrunValueDependent, slices.Concat(steered, f.Reasons)
	return first, nil
}

// differs tells how a further run with the values of the first is not like it; nil where
// it is.
func (r *runner) differs(first, further *outcome) *measure.DryrunReason {
	const hint = ": fix its seeds, and have it write nothing that it reads again"
	if f := further.failure(r); f != nil {
		return &measure.DryrunReason{Text: "a further run ended otherwise: " + f.Text + hint, Source: f.Source}
	}
	if p, text := r.parts(first, further); text != "" {
		return &measure.DryrunReason{Text: "a further run allocates otherwise" + hint, Source: p.source()}
	}
	return nil
}

func with0(f *failure) measure.DryrunReason {
	return measure.DryrunReason{Text: "where it reads 0, " + f.Text, Source: f.Source}
}

func with1(f *failure) measure.DryrunReason {
	return measure.DryrunReason{Text: "where it reads 1, " + f.Text, Source: f.Source}
}

// parts tells where two runs part; the text is empty where they do not.
func (r *runner) parts(a, b *outcome) (*parting, string) {
	if len(a.processes) != len(b.processes) {
		return nil, fmt.Sprintf("where it reads 0, %d of its processes use a device, and where it reads 1, %d", len(a.processes), len(b.processes))
	}
	for i, p := range a.processes {
		q := b.processes[i]
		if d := part(p.snapshot, q.snapshot); d != nil {
			return d, fmt.Sprintf("what it reads steers what it allocates: on device %d, where it reads 0 it %s, and where it reads 1 it %s%s", d.device, d.sides[0], d.sides[1], peakByValue(p.snapshot, q.snapshot, d.device))
		}
	}
	if (a.end.Code == 0) != (b.end.Code == 0) {
		return nil, fmt.Sprintf("where it reads 0 it ends with exit code %d, and where it reads 1 with %d", a.end.Code, b.end.Code)
	}
	return nil, ""
}

// peakByValue tells how much it matters for a device which value is read.
func peakByValue(a, b *torch.Snapshot, ordinal int) string {
	x, y := deviceOf(a, ordinal), deviceOf(b, ordinal)
	switch {
	case x == nil || y == nil || x.History.NoPeak != "" || y.History.NoPeak != "":
		return ""
	case x.History.Peak == y.History.Peak:
		return fmt.Sprintf("; its peak is %s either way", measure.Bytes(x.History.Peak))
	}
	return fmt.Sprintf("; its peak is %s and %s", measure.Bytes(x.History.Peak), measure.Bytes(y.History.Peak))
}

// source is the line of the first side that has one.
func (p *parting) source() *measure.Source {
	if p == nil {
		return nil
	}
	if p.sides[0].source != nil {
		return p.sides[0].source
	}
	return p.sides[1].source
}

// mostCounts is how many lines are told that read more often in one run.
const mostCounts = 8

// countsDiffer names the lines that read more often with one value than with the other.
func (r *runner) countsDiffer(a, b *outcome) (list []measure.DryrunReason) {
	name := func(l measure.DryrunRead) string { return fmt.Sprintf("%s:%d", l.Source.File, l.Source.Line) }
	counts := map[string][2]int64{}
	var order []measure.DryrunRead
	for i, o := range []*outcome{a, b} {
		for _, l := range r.readLines(o) {
			if l.Source == nil {
				continue
			}
			c, known := counts[name(l)]
			if !known {
				order = append(order, l)
			}
			c[i] += l.Count
			counts[name(l)] = c
		}
	}
	for _, l := range order {
		if c := counts[name(l)]; c[0] != c[1] && len(list) < mostCounts {
			list = append(list, measure.DryrunReason{Source: l.Source,
				Text: fmt.Sprintf("%s reads %s where it reads 0, and %s where it reads 1", name(l), times(c[0]), times(c[1]))})
		}
	}
	return list
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func where(at *spot) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf(" (%s:%d %s)", at.File[strings.LastIndexByte(at.File, '/')+1:], at.Line, at.Function)
}

// short is a time as one would write it: 10m, not 10m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
