package torch

import (
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// step is one step of the program on one device.
type step struct {
	number                      int64
	events                      int64
	start                       int64 // live at the start
	allocated, freed            int64
	net, netBlocks, peak        int64 // peak: above the start
	segmentAllocs, segmentFrees int64
	whole, counted              bool
}

// growth is what the steps did to one site.
type growth struct {
	bytes, blocks, steps  int64 // over the counted steps; steps: both rose
	allocated, freed      int64
	backward              int64 // freed by the backward pass, allocated before it
	first                 int64 // net of the first step
	stepBytes, stepBlocks int64 // of the step in progress
	touched               bool
	// Of the part of the history in progress, and in how many parts both rose.
	partBytes, partBlocks, parts int64
	inPart                       bool
}

// stepTable is what the log says by steps and sites.
type stepTable struct {
	name    string
	marks   int64
	steps   []step
	counted []step // the part of steps that growth is taken from
	sites   []growth

	warmAllocs, warmMisses int64
	stepFrees              int64 // segments given back inside counted steps
}

// countLimit is how many of the newest steps growth is taken from; the median
// of slopes looks at each pair of them.
const countLimit = 256

// bySteps replays the log of a device. siteOf gives a stack's site. Steps go
// from one mark to the next. The first step (warm-up, optimizer state) is never
// counted, and the last (the dump may have cut it) only where it ends with the dump.
func (s *Snapshot) bySteps(d *Device, siteOf func(StackID) int) *stepTable {
	t := d.trace
	w := walk{s: s, siteOf: siteOf, events: t.events, allocs: t.counts[Alloc], stepTable: &stepTable{}}
	if m, ok := s.stepMarks(t); ok && d.History.NoPeak == "" {
		w.name, w.stepTable.marks, w.marks = m.name, m.total, m.marks
	}
	if len(t.log.chunks) == 0 {
		return w.stepTable
	}
	first := &t.log.chunks[0]
	w.live = d.State.Requested() - t.requested.now + first.requested
	w.seen = first.allocs
	t.log.replay(w.event)
	w.endStep()
	w.endPart()
	for w.next > 0 && w.next < len(w.marks) { // marks after the last event
		w.begin()
	}
	for i, st := range w.steps {
		if st.counted {
			w.counted = w.steps[i-len(w.counted) : i+1]
		}
	}
	return w.stepTable
}

// walk goes through the events of a log.
type walk struct {
	*stepTable
	s      *Snapshot
	siteOf func(StackID) int
	marks  []mark
	next   int // the mark that is not yet passed
	// Steps from low to high, by the mark they begin with, are counted.
	low, high    int
	live         int64
	pass         pass
	events       int64 // of the history
	allocs, seen int64
	touched      []int // sites of the step in progress
	part         int64 // tenth of the history in progress
	inPart       []int // sites of it
}

func (w *walk) passed(e *logged) bool {
	if w.next >= len(w.marks) {
		return false
	}
	if k := w.marks[w.next]; k.event > 0 {
		return e.number >= k.event
	} else {
		return e.time >= k.time
	}
}

// step is the step in progress, nil before the first one.
func (w *walk) step() *step {
	if len(w.steps) == 0 {
		return nil
	}
	return &w.steps[len(w.steps)-1]
}

// divide begins the steps whose marks an event passes. Of the marks before the
// first event only the last one begins a step that the log holds.
func (w *walk) divide(e *logged) {
	if w.next == 0 {
		for w.passed(e) {
			w.next++
		}
		if w.next == 0 {
			return
		}
		w.low, w.high = w.next, len(w.marks)-2
		if w.lastIsDump() {
			w.high++
		}
		w.low = max(w.low, w.high+1-countLimit)
		w.next--
	}
	for w.passed(e) {
		w.endStep()
		w.begin()
	}
}

// lastIsDump tells whether the file is the next dump of those that mark the steps,
// so that its last step is whole: an eighth more or fewer events than the step
// before (segments come and go), not those of a dump at some other place.
func (w *walk) lastIsDump() bool {
	n := len(w.marks)
	if w.name != measure.DumpMark || n < 3 {
		return false
	}
	before := w.marks[n-1].event - w.marks[n-2].event
	last := w.events - w.marks[n-1].event + 1
	return 8*max(last-before, before-last) <= before
}

func (w *walk) begin() {
	w.steps = append(w.steps, step{number: w.stepTable.marks - int64(len(w.marks)-w.next), start: w.live,
		whole: w.next < len(w.marks)-1 || w.next == w.high, counted: w.next >= w.low && w.next <= w.high})
	w.next++
}

func (w *walk) endStep() {
	cur := w.step()
	for _, i := range w.touched {
		g := &w.sites[i]
		switch {
		case cur.counted:
			g.bytes += g.stepBytes
			g.blocks += g.stepBlocks
			if g.stepBytes > 0 && g.stepBlocks > 0 {
				g.steps++
			}
		case cur.number == 0:
			g.first = g.stepBytes
		}
		g.stepBytes, g.stepBlocks, g.touched = 0, 0, false
	}
	w.touched = w.touched[:0]
}

// historyParts is into how many parts of equally many allocations a history is
// divided; the first and the last do not count, as with steps.
const historyParts = 10

func (w *walk) endPart() {
	for _, i := range w.inPart {
		g := &w.sites[i]
		if g.partBytes > 0 && g.partBlocks > 0 && w.part > 0 && w.part < historyParts-1 {
			g.parts++
		}
		g.partBytes, g.partBlocks, g.inPart = 0, 0, false
	}
	w.inPart = w.inPart[:0]
}

func (w *walk) event(e *logged) {
	w.divide(e)
	cur := w.step()
	if cur != nil {
		cur.events++
	}
	switch e.action {
	case Alloc:
		if p := w.s.phase(e.stack).pass(); p != noPass {
			w.pass = p
		}
		w.seen++
		if part := historyParts * (w.seen - 1) / w.allocs; part != w.part {
			w.endPart()
			w.part = part
		}
		if len(w.steps) > 1 || w.marks == nil && 2*w.seen > w.allocs {
			w.warmAllocs++
			if e.miss {
				w.warmMisses++
			}
		}
		w.block(cur, e, 1)
	case FreeCompleted:
		w.block(cur, e, -1)
	case SegmentAlloc, SegmentMap:
		if cur != nil {
			cur.segmentAllocs++
		}
	case SegmentFree, SegmentUnmap:
		if cur != nil {
			cur.segmentFrees++
			if cur.counted {
				w.stepFrees++
			}
		}
	}
}

// block takes an alloc (sign 1) or a free (-1).
func (w *walk) block(cur *step, e *logged, sign int64) {
	w.live += sign * e.size
	i := w.siteOf(e.stack)
	for i >= len(w.sites) {
		w.sites = append(w.sites, growth{})
	}
	g := &w.sites[i]
	g.partBytes += sign * e.size
	g.partBlocks += sign
	if !g.inPart {
		g.inPart = true
		w.inPart = append(w.inPart, i)
	}
	if cur == nil {
		return
	}
	cur.net += sign * e.size
	cur.netBlocks += sign
	cur.peak = max(cur.peak, cur.net)
	if !g.touched {
		g.touched = true
		w.touched = append(w.touched, i)
	}
	g.stepBytes += sign * e.size
	g.stepBlocks += sign
	if sign > 0 {
		cur.allocated += e.size
	} else {
		cur.freed += e.size
	}
	switch {
	case !cur.counted:
	case sign > 0:
		g.allocated += e.size
	default:
		g.freed += e.size
		if w.pass == backwardPass && w.s.phase(e.stack).pass() != backwardPass {
			g.backward += e.size
		}
	}
}

// slope is the growth per counted step: the median of the slopes between all
// pairs of step ends (Theil-Sen). One jump that stays, a cache that fills in
// some step, does not move it; a leak in every second step does.
func (t *stepTable) slope(net func(step) int64) float64 {
	ends := []int64{0}
	for _, st := range t.counted {
		ends = append(ends, ends[len(ends)-1]+net(st))
	}
	var slopes []float64
	for i := range ends {
		for j := i + 1; j < len(ends); j++ {
			slopes = append(slopes, float64(ends[j]-ends[i])/float64(j-i))
		}
	}
	slices.Sort(slopes)
	n := len(slopes)
	if n == 0 {
		return 0
	}
	return (slopes[(n-1)/2] + slopes[n/2]) / 2
}

func (s step) netOfBytes() int64  { return s.net }
func (s step) netOfBlocks() int64 { return s.netBlocks }
