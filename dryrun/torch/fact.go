package torch

import (
	"fmt"
	"slices"

	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
)

// fact is what the first run alone says.
func (r *runner) fact(o *outcome) measure.DryrunFact {
	f := measure.DryrunFact{
		Framework: dryrun.Torch, Class: measure.DryrunExact, Capability: r.spec.Capability, Devices: int64(r.spec.Devices),
		MemoryBytes: measure.Bytes(r.spec.Memory), ContextBytes: measure.Bytes(r.spec.Context), Assumed: r.spec.Assume,
	}
	for _, p := range o.told() {
		f.Reads += p.Reads
		f.Kernels += p.Kernels
	}
	f.ReadLines = r.readLines(o)
	if len(o.notes.unsupported) > 0 {
		f.Unsupported = o.notes.unsupported[0]
	}
	f.Reasons = r.assumptions(o)
	if r.spec.Assume != "" && f.Reads > 0 {
		f.Reasons = append(f.Reasons, measure.DryrunReason{
			Text: fmt.Sprintf("each of %d values that it read from the device was taken to be %s, as it was asked for", f.Reads, r.spec.Assume)})
	}
	if len(f.Reasons) > 0 {
		f.Class = measure.DryrunAssumption
	}
	return f
}

// assumptions are what a real device might do otherwise.
func (r *runner) assumptions(o *outcome) (list []measure.DryrunReason) {
	assume := func(at *measure.Source, format string, args ...any) {
		list = append(list, measure.DryrunReason{Text: fmt.Sprintf(format, args...), Source: at})
	}
	for _, name := range o.notes.assumptions {
		assume(nil, "%s: the pretend device answers with a number of its own", name)
	}
	for _, p := range o.processes {
		if p.oom || p.snapshot == nil {
			continue
		}
		for _, d := range p.snapshot.Devices {
			if len(d.Failures) > 0 {
				stack := d.Failures[0].Stack
				assume(p.snapshot.Source(stack), "memory ran out at %s, and the program went on: where that happens depends on what a real device gives out", p.snapshot.Site(stack))
			}
		}
	}
	if slices.ContainsFunc(o.told(), func(p *report) bool { return p.Compiled }) {
		assume(nil, "torch.compile generated code (inductor): on a real device it may try out and choose other kernels, with other buffers")
	}
	shared, first := int64(0), (*spot)(nil)
	for _, p := range o.told() {
		for _, l := range p.Streams {
			if shared += l.Count; first == nil {
				first = l.At
			}
		}
	}
	if shared > 0 {
		assume(first.source(r.root()), "%d blocks are given to another stream (record_stream) and are free as soon as the program gives them up: on a real device that stream may be behind, and the peak more", shared)
	}
	return list
}

// readLines adds up the reads of all processes by line, in the order of their first.
func (r *runner) readLines(o *outcome) (list []measure.DryrunRead) {
	place := map[spot]int{}
	for _, p := range o.told() {
		for _, l := range p.Lines {
			var key spot
			if l.At != nil {
				key = *l.At
			}
			i, ok := place[key]
			if !ok {
				if len(list) == maxReads {
					continue
				}
				i = len(list)
				place[key] = i
				list = append(list, measure.DryrunRead{Source: l.At.source(r.root()), Function: key.Function})
			}
			list[i].Count += l.Count
			list[i].Bytes = max(list[i].Bytes, measure.Bytes(l.Bytes))
			list[i].Waits = list[i].Waits || p.Stopped == stoppedWaits && p.At != nil && *p.At == key
		}
	}
	return list
}

// fit tells whether the program fits the device. The reserved bytes of a real device
// differ by what its driver gives out, 2.5 % at most where both are known, and its
// context by some hundred MiB. Processes that use one device may do so at one time, and
// each has a context.
func (r *runner) fit(f *measure.DryrunFact, o *outcome) {
	out := false
	taken := map[int]measure.Bytes{} // by device
	for _, p := range o.processes {
		out = out || p.oom
		for _, d := range p.snapshot.Devices {
			if d.History.NoReservedPeak == "" {
				reserved := measure.Bytes(d.History.ReservedPeak)
				f.ReservedBytes = max(f.ReservedBytes, reserved)
				taken[d.Ordinal] += reserved + f.ContextBytes
			}
		}
	}
	f.Fits = measure.FitsYes
	margin := dryrun.Margin(f.MemoryBytes)
	for _, bytes := range taken {
		if bytes+margin > f.MemoryBytes {
			f.Fits = measure.FitsUnsure
		}
	}
	if out {
		f.Fits = measure.FitsNo
	}
}
