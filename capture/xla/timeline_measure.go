package xla

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
)

// seriesRequested is the label series of live requested bytes.
const seriesRequested = "requested_bytes"

// view is what is found once for all allocators.
type view struct {
	capture *Capture
	sites   *sites
	steps   *stepping
	last    map[int32]int32 // allocator → its last execution
	ordinal []int32         // of executions, within their module and allocator
}

// measure adds the rows, contributors, series and facts of the host's events.
func (t *hostTrace) measure(c *Capture, out *measure.Measurement) {
	out.Warnings = append(out.Warnings, t.problems...)
	groups, ordinal := t.executed()
	v := &view{c, t.sites(), t.stepping(groups), t.lastStarts(), ordinal}
	var limits []string
	for i, a := range t.allocators {
		t.allocator(v, a, int32(i+1), out)
		if text := measure.Bytes(a.limit).Exact(); a.device != "" && !slices.Contains(limits, text) {
			limits = append(limits, text)
		}
	}
	if len(limits) > 0 {
		out.Environment["memory_limit"] = strings.Join(limits, ", ")
	}
	t.launches(c, groups, out)
	t.waiting(c, out)
}

func (a *allocator) labels() measure.Labels {
	labels := measure.Labels{"allocator": a.label}
	if a.device != "" {
		labels["device"] = a.device
	}
	return labels
}

// allocator adds what is known of one allocator (i is 1-based).
func (t *hostTrace) allocator(v *view, a *allocator, i int32, out *measure.Measurement) {
	labels := a.labels()
	a.warn(out)
	row := func(name string, bytes int64) {
		r := measure.NewRow(name, labels, measure.Int(bytes))
		r.Kind = measure.Observed
		out.Rows = append(out.Rows, r)
	}
	end := len(a.events)
	row("live.peak_bytes", a.peakBytes)
	row("live.end_bytes", a.inUse(end))
	row("live.baseline_bytes", a.baseline)
	row("used.peak_bytes", a.usedBytes)
	out.Contributors = append(out.Contributors, a.contributors("live.peak_bytes", labels, a.peakAt, v.sites)...)
	out.Contributors = append(out.Contributors, a.contributors("live.end_bytes", labels, end, v.sites)...)
	out.Series = append(out.Series, a.series(labels))

	f := a.fact(v.capture, labels)
	starts, source := v.steps.of(i)
	f.Steps, f.StepCount = source, int64(len(starts))
	levels := a.levels(starts)
	g, reason := a.growth(levels, starts, source)
	growthLabels := labels.With("series", seriesRequested)
	if reason != "" {
		out.Rows = append(out.Rows, measure.Absent("growth.bytes_per_step", growthLabels, reason))
	} else {
		r := measure.NewRow("growth.bytes_per_step", growthLabels, g.PerStep())
		r.Samples = len(levels) - g.From
		if r.Kind = measure.Exact; g.Period == 0 {
			r.Kind = measure.Observed
		}
		out.Rows = append(out.Rows, r)
		out.Series = append(out.Series, levelSeries(growthLabels, levels))
		f.Growth = growthFact(g)
	}
	f.LastStart = t.lastStart(v, a, v.last[i], starts)
	out.Facts.Timelines = append(out.Facts.Timelines, f)
}

// growth gives the growth of the levels at the starts of steps, or the reason for
// having none. Only the program's own marks make steps that follow no cycle
// comparable: executions of one name may be of different programs.
func (a *allocator) growth(levels, starts []int64, source string) (g growth.Growth, reason string) {
	const mark = "mark them with jax.profiler.StepTraceAnnotation or tf.profiler.experimental.Trace"
	switch {
	case source == "":
		return g, "the profile holds no steps; " + mark
	case a.breaks > 0 || a.bad > 0 || a.netUnknown:
		return g, "events of the allocator were lost, so that requested bytes do not add up"
	}
	g, ok := growth.Exact(levels)
	switch {
	case !ok:
		return g, fmt.Sprintf("the profile holds %d steps; growth needs at least 4", len(levels))
	case (source == byRuns || source == byGroups) && a.idle(starts[g.From:]):
		return g, "no steps are marked, and the allocator is idle in some of the " + strings.ReplaceAll(source, "_", " ") + "; " + mark
	case g.Period == 0 && source != byMarkers:
		return g, "no steps are marked, and what is live when each of the " + strconv.Itoa(len(levels)) + " " +
			strings.ReplaceAll(source, "_", " ") + " begins follows no cycle; " + mark
	}
	return g, ""
}

// idle tells whether nothing happens between some two of the times.
func (a *allocator) idle(starts []int64) bool {
	for i := 1; i < len(starts); i++ {
		if a.after(starts[i-1]) == a.after(starts[i]) {
			return true
		}
	}
	return false
}

// warn says what of the events contradicts itself.
func (a *allocator) warn(out *measure.Measurement) {
	warn := func(format string, args ...any) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("allocator %s: ", a.label)+fmt.Sprintf(format, args...))
	}
	if a.breaks > 0 {
		e := a.events[a.firstBreak-1]
		warn("the event at %.9f s says that %s are in use, those before it make %s: events were lost (%d such places)",
			seconds(e.at), measure.Bytes(e.inUse).Exact(), measure.Bytes(a.want).Exact(), a.breaks)
	}
	if a.limits > 0 {
		warn("the event at %.9f s has another limit than the first one, %s (%d such events): these may be two allocators of one name",
			seconds(a.odd), measure.Bytes(a.limit).Exact(), a.limits)
	}
	if a.bad > 0 {
		warn("%d events have numbers that make no sense and are left out", a.bad)
	}
	if !a.host && a.lifetime > a.peakBytes {
		warn("the process used up to %s before the profile began, more than the %s that the profile saw",
			measure.Bytes(a.lifetime).Exact(), measure.Bytes(a.peakBytes).Exact())
	}
}

// fact describes the allocator.
func (a *allocator) fact(c *Capture, labels measure.Labels) measure.TimelineFact {
	n := len(a.events)
	f := measure.TimelineFact{
		Labels: labels, Pool: "device", Events: int64(n), Allocations: a.allocations, Deallocations: int64(n) - a.allocations,
		LimitBytes: measure.Bytes(a.limit), BaselineBytes: measure.Bytes(a.baseline), PeakBytes: measure.Bytes(a.peakBytes),
		EndBytes: measure.Bytes(a.inUse(n)), UsedPeakBytes: measure.Bytes(a.usedBytes), LifetimePeakBytes: measure.Bytes(a.lifetime),
		Unmatched: a.unmatched, Live: a.replay.live, Breaks: a.breaks, WasteBytes: measure.Bytes(a.waste(a.peakAt)), Oversized: a.oversized,
		PeakSeconds: seconds(a.events[max(a.peakAt, 1)-1].at),
	}
	if a.host {
		f.Pool = "host"
	}
	if a.usedAt > 0 {
		f.StackBytes = measure.Bytes(a.events[a.usedAt-1].reserved)
	}
	if a.device != "" {
		f.DeviceMemoryBytes = measure.Bytes(c.memory[a.device])
	}
	last := &a.events[n-1]
	if v := last.fragmentation; v >= 0 && v <= 1 {
		f.Fragmentation = &v
		free := measure.Bytes(math.Round((1 - v) * float64(a.limit-last.inUse-last.reserved)))
		if a.limits == 0 && free >= 0 {
			f.LargestFreeBytes = &free
		}
	}
	return f
}

// series is the bytes in use after each event, thinned so that peaks stay. It is no
// sampled level: what is left after thinning may rise where the program does not grow.
func (a *allocator) series(labels measure.Labels) measure.Series {
	points := make([]int64, len(a.events))
	for i := range a.events {
		points[i] = a.events[i].inUse
	}
	out := measure.Series{Labels: labels.With("series", "bytes_in_use"), Unit: measure.ByteUnit, XUnit: measure.XSeconds, Kind: measure.Observed}
	for _, i := range growth.Thin(points, growth.MaxPoints) {
		out.X = append(out.X, seconds(a.events[i].at))
		out.Points = append(out.Points, measure.Int(points[i]))
	}
	return out
}

// levelSeries is the live requested bytes at the start of each step. They are
// relative to those at the capture's start, and so may be below zero.
func levelSeries(labels measure.Labels, levels []int64) measure.Series {
	out := measure.Series{Labels: labels, Unit: measure.ByteUnit, XUnit: measure.XStep}
	for i := range levels[:min(len(levels), growth.MaxPoints)] {
		out.X = append(out.X, float64(i))
		out.Points = append(out.Points, measure.Int(levels[i]))
	}
	return out
}

// lastStart is what was live when the last execution, or else the last step, began.
func (t *hostTrace) lastStart(v *view, a *allocator, last int32, starts []int64) *measure.LiveFact {
	var at int64
	switch {
	case last > 0:
		at = t.executions[last-1].start
	case a.host || len(starts) == 0:
		return nil
	default:
		at = starts[len(starts)-1]
	}
	events := a.after(at)
	f := &measure.LiveFact{Seconds: seconds(at), InUse: measure.Bytes(a.inUse(events)), Groups: a.groups(events, v.sites, v.ordinal)}
	if last > 0 {
		f.Module = t.module(last)
	}
	for _, b := range t.between {
		f.Between = append(f.Between, measure.HostEvent{Name: t.text(b.text), Count: b.count})
	}
	byCount := func(a, b measure.HostEvent) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Name, b.Name))
	}
	if len(f.Between) > maxGroups {
		// Of too many, frames of Python say least: a built-in function may be what keeps an array.
		order := map[class]int{builtin: 1, frame: 2}
		slices.SortFunc(f.Between, func(a, b measure.HostEvent) int {
			return cmp.Or(cmp.Compare(order[classify(a.Name)], order[classify(b.Name)]), byCount(a, b))
		})
		f.Between = slices.Clip(f.Between[:maxGroups])
	}
	slices.SortFunc(f.Between, byCount)
	return f
}

// launches adds what is known of executions.
func (t *hostTrace) launches(c *Capture, groups []*executed, out *measure.Measurement) {
	launching := t.launching()
	counts, modules := map[string]int64{}, []string{}
	for _, g := range groups {
		labels := measure.Labels{}
		if g.module != "" {
			labels["module"] = g.module
		}
		f := measure.ExecutionFact{Count: int64(len(g.list))}
		if n, ok := t.neverLaunched(g, launching); ok {
			f.NeverLaunched = &n
			if _, ok := counts[g.module]; !ok {
				modules = append(modules, g.module)
			}
			counts[g.module] += n
		}
		if g.allocator > 0 {
			a := t.allocators[g.allocator-1]
			for k, v := range a.labels() {
				labels[k] = v
			}
			starts := t.starts(g)
			f.FirstInUse = measure.Bytes(a.inUse(a.after(starts[0])))
			f.LastInUse = measure.Bytes(a.inUse(a.after(starts[len(starts)-1])))
			outputs, known := c.unaliasedOutputs(g.module)
			if known {
				f.OutputBytes = &outputs
			}
			if change, reason := a.growth(a.levels(starts), starts, byExecutions); reason == "" {
				f.Growth = growthFact(change)
				if known && outputs > 0 {
					multiple := float64(change.Change) / float64(change.Steps) / float64(outputs)
					f.OutputMultiple = &multiple
				}
			}
		}
		f.Labels = labels
		out.Facts.Executions = append(out.Facts.Executions, f)
	}
	for _, m := range modules {
		labels := measure.Labels{}
		if m != "" {
			labels["module"] = m
		}
		out.Rows = append(out.Rows, measure.NewRow("launch.never_started", labels, measure.Int(counts[m])))
	}
}

// unaliasedOutputs gives the bytes of the outputs that have memory of their own,
// where all programs of the name agree.
func (c *Capture) unaliasedOutputs(name string) (bytes measure.Bytes, known bool) {
	for _, m := range c.Modules {
		if m.Name != name || m.Assignment == nil {
			continue
		}
		p, err := m.Plan(Device)
		if err != nil || known && bytes != measure.Bytes(p.UnaliasedOutputBytes) {
			return 0, false
		}
		bytes, known = measure.Bytes(p.UnaliasedOutputBytes), true
	}
	return bytes, known
}
