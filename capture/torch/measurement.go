package torch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Measurement gives the rows, contributors and facts of the snapshot. Inputs
// are left to the caller.
func (s *Snapshot) Measurement() *measure.Measurement {
	out := measure.New()
	out.Warnings = append(out.Warnings, s.Warnings...)
	if s.release != "" {
		out.Environment["torch"] = s.release
	}
	for _, e := range s.Settings {
		if e.changed() {
			out.Environment["allocator."+e.Name] = e.Value
		}
	}
	t := newSites(s)
	var all []site
	for id, u := range s.uses {
		if u.blocks > 0 && StackID(id) >= firstStack {
			all = append(all, t.of(StackID(id)))
		}
	}
	for _, d := range s.Devices {
		for _, h := range slices.Concat(d.Peak, d.End) {
			all = append(all, t.of(h.Stack))
		}
	}
	key := keys(all)
	for i := range s.Devices {
		d := &s.Devices[i]
		labels := measure.Labels{"device": strconv.Itoa(d.Ordinal)}
		w := newTeller(s, d, t, key)
		out.Rows = append(out.Rows, s.rows(d, labels)...)
		if w.table.name == measure.DumpMark && len(w.table.counted) > 0 {
			out.Warnings = append(out.Warnings, fmt.Sprintf("device %d: only dumps mark the steps: a step is what lies between two dumps, which may be many steps of the program", d.Ordinal))
		}
		grew, growers := w.growthRows(labels)
		out.Rows = append(out.Rows, grew...)
		if d.Peak != nil {
			out.Contributors = append(out.Contributors, w.contributors("live.peak_bytes", labels, d.History.Peak, d.peakShares)...)
		}
		if s.hasSegments {
			out.Contributors = append(out.Contributors, w.contributors("live.end_bytes", labels, d.State.Requested(), d.endShares)...)
		}
		out.Contributors = append(out.Contributors, growers...)
		out.Facts.Traces = append(out.Facts.Traces, d.fact(labels))
		out.Facts.Snapshots = append(out.Facts.Snapshots, w.fact(labels, i == 0))
	}
	return out
}

// rows gives the rows of one device. live.rounded_peak_bytes is the peak of the
// requests rounded up to 512 B each; the allocator may hold more for a request
// (it does not split off a small rest), so it is a lower bound of
// max_memory_allocated.
func (s *Snapshot) rows(d *Device, labels measure.Labels) []measure.Row {
	h, st := &d.History, &d.State
	row := func(name string, value int64, absent string) measure.Row {
		if absent != "" {
			return measure.Absent(name, labels, absent)
		}
		return measure.NewRow(name, labels, measure.Int(value))
	}
	noState := ""
	if !s.hasSegments {
		noState = "the file has no segments"
	}
	noPools := noState
	if noPools == "" && !st.PoolsKnown {
		noPools = "this release of torch does not write to which pool a segment belongs"
	}
	noEvents := ""
	switch {
	case h.Events <= 1 && h.Counts[OOM] == 0:
		noEvents = "no history was recorded"
	case h.Counts[Alloc] == 0:
		noEvents = "the history has no allocations"
	}
	ratio := measure.Absent("pool.hit_ratio", labels, noEvents)
	if noEvents == "" {
		allocs := h.Counts[Alloc]
		ratio = measure.NewRow("pool.hit_ratio", labels, measure.Float(float64(allocs-h.Misses)/float64(allocs)))
	}
	noOOM := ""
	if h.Events <= 1 && h.Counts[OOM] == 0 {
		noOOM = "no history was recorded"
	}
	return []measure.Row{
		row("live.peak_bytes", h.Peak, h.NoPeak),
		row("live.end_bytes", st.Requested(), noState),
		row("live.baseline_bytes", h.Baseline, h.NoPeak),
		row("live.rounded_peak_bytes", h.RoundedPeak, h.NoPeak),
		row("reserved.peak_bytes", h.ReservedPeak, h.NoReservedPeak),
		row("reserved.end_bytes", st.Reserved, noState),
		row("inactive.bytes", st.Inactive, noState),
		row("inactive.largest_bytes", st.LargestInactive, noState),
		row("inactive.largest_usable_bytes", st.LargestUsable, noPools),
		row("pending_free.bytes", st.PendingFree, noState),
		row("pool.private_bytes", st.Private, noPools),
		ratio,
		row("pool.misses", h.Misses, noEvents),
		row("oom.events", h.Counts[OOM], noOOM),
	}
}

// contributors gives the sites of a live set. The class of a site is that of
// most of its bytes.
func (w *teller) contributors(metric string, labels measure.Labels, total int64, live []share) []measure.Contributor {
	class := w.siteClass(live)
	var out []measure.Contributor
	for i, v := range w.bySite(live) {
		c := w.contributor(metric, labels, w.list[i], v.Bytes, v.Count)
		if class[i] != measure.ClassUnknown {
			c.Class = class[i]
		}
		out = append(out, c)
	}
	measure.SortContributors(out)
	return measure.KeepLargest(metric, labels, measure.Bytes(total), out)
}

func (w *teller) contributor(metric string, labels measure.Labels, at site, bytes, count int64) measure.Contributor {
	c := measure.Contributor{Metric: metric, Labels: labels, Key: w.keyOf(at), Display: at.display(),
		Bytes: measure.Bytes(bytes), Count: count, Source: at.place()}
	if at.label == "" {
		c.Group = at.user.file + " " + at.user.function
	}
	return c
}

func (d *Device) fact(labels measure.Labels) measure.TraceFact {
	h := &d.History
	f := measure.TraceFact{Labels: labels, Events: h.Events, Actions: map[string]int64{}, Sequence: h.Sequence,
		Steps: h.Steps, History: h.Kind, StartUS: d.trace.start, EndUS: d.trace.end}
	for a, n := range h.Counts[:Unknown] {
		if n > 0 {
			f.Actions[Action(a).String()] = n
		}
	}
	for i, name := range slices.Sorted(maps.Keys(h.UnknownActions)) {
		n := h.UnknownActions[name]
		if i >= namesShown {
			name = "unknown"
		}
		f.Actions[limit(name)] += n
	}
	return f
}

// warn collects what a report of this snapshot must say.
func (m *machine) warn(s *Snapshot) {
	add := func(format string, args ...any) { s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...)) }
	if len(s.Devices) == 0 {
		add("no device has segments or events: nothing was measured")
	}
	for i := range s.Devices {
		d := &s.Devices[i]
		h := &d.History
		if h.NoPeak == "" {
			switch h.Kind {
			case "starts_mid_run":
				add("device %d: the history starts mid-run: %s were live before it; the peak is that of the recorded window", d.Ordinal, measure.Bytes(h.Baseline))
			case "truncated":
				if h.LeftOut > 0 {
					add("device %d: %d older events were left out, the newest %d were read, as asked for; the peak is that of these, %s were live before them", d.Ordinal, h.LeftOut, h.Events, measure.Bytes(h.Baseline))
					break
				}
				add("device %d: the history was cut: older events were dropped; the peak is that of the recorded window, %s were live before it (raise max_entries)", d.Ordinal, measure.Bytes(h.Baseline))
			}
		}
		if n := h.Counts[Unknown]; n > 0 {
			add("device %d: %d events of unknown actions were counted and otherwise ignored: %s", d.Ordinal, n, quoted(h.UnknownActions))
		}
		if !s.hasSegments {
			add("device %d: the file has no segments: only the events are known", d.Ordinal)
		}
	}
	if len(m.unknownStates) > 0 {
		states := map[string]int64{}
		for w, n := range m.unknownStates {
			states[clean(m.texts.list[w])] += n
		}
		add("blocks in an unknown state count as reserved only: %s", quoted(states))
	}
	if m.misfits > 0 {
		add("%d segments whose blocks do not add up to the segment's size", m.misfits)
	}
	if m.roundedOnly > 0 {
		add("%d live blocks have no requested size: their rounded size is counted", m.roundedOnly)
	}
	if s.HostSegments > 0 {
		add("%s of pinned host memory in %d segments are part of no device's numbers", measure.Bytes(s.HostBytes), s.HostSegments)
	}
}

// namesShown is how many of the names that a file makes up are shown.
const namesShown = 5

// quoted lists names with their counts.
func quoted(counts map[string]int64) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if len(out) == namesShown {
			return strings.Join(out, ", ") + fmt.Sprintf(" and %d more", len(counts)-namesShown)
		}
		out = append(out, fmt.Sprintf("%q (%d)", limit(name), counts[name]))
	}
	return strings.Join(out, ", ")
}
