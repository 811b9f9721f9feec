package torch

import (
	"cmp"
	"maps"
	"slices"
)

// Failure is the state of a device at a failed allocation, in bytes.
type Failure struct {
	Event      int64 // its number in the history, from 0
	Request    int64 // rounded up to 512 B
	DeviceFree int64 // what the driver had left; -1: not written
	Stack      StackID
	// Known tells that the history proves what follows.
	Known                   bool
	Live, Pending, Reserved int64 // requested, requested, taken from the device
	// Layout is "exact", "rebuilt" or, where free ranges are not known, "".
	Layout string

	free   freeRanges
	shares []share // nil where the live set was not kept
}

// freeRanges sums up free ranges; usable are those in the stream, pool and size
// class of one request.
type freeRanges struct {
	total, largest, private                       int64
	usable, largestUsable, holes, segments, count int64
}

// moment is a failed allocation while the history goes on: what was live then
// is what is live at the end and older, and what was freed since.
type moment struct {
	event, request, deviceFree   int64
	stack                        StackID
	stream                       uint64
	pool                         PoolID
	requested, reserved, pending int64 // running totals
	segments                     int   // segment events before it
	tracked                      bool
	freed                        []liveBlock
}

// segmentEvent is what a segment event did, to be undone.
type segmentEvent struct {
	action     Action
	addr, size uint64
	place      poolPlace
}

// poolPlace is what an allocation's free range must have in common with it.
type poolPlace struct {
	stream     uint64
	pool       PoolID
	small      bool
	expandable bool
}

const (
	momentLimit   = 16 // failed allocations that are told
	trackedLimit  = 4  // of these, whose state is rebuilt
	segmentsLimit = 1 << 20
	// smallSize is the largest request of the small pool, and the largest rest
	// that is not split off a block of the large one (kSmallSize in
	// c10/cuda/CUDACachingAllocator.cpp).
	smallSize = 1 << 20
)

// fail notes a failed allocation.
func (t *trace) fail(e *entry) {
	if len(t.moments) == momentLimit {
		t.moments = slices.Delete(t.moments, 0, 1)
	}
	t.moments = append(t.moments, moment{event: t.events, request: e.size, deviceFree: e.deviceFree, stack: e.stack, stream: e.stream,
		pool: e.pool, requested: t.requested.now, reserved: t.reserved.now, pending: t.pending, segments: len(t.segments), tracked: true})
	if n := len(t.moments); n > trackedLimit {
		t.moments[n-1-trackedLimit].tracked, t.moments[n-1-trackedLimit].freed = false, nil
	}
}

// freeRun is a run of segments given back, with nothing between them.
type freeRun struct {
	count, bytes int64
	asked        bool // by empty_cache
}

// emptied counts the segments that empty_cache gave back.
type emptied struct {
	count int64
	stack StackID
}

// segment folds what a segment event says beside its bytes.
func (t *trace) segment(m *machine, e *entry) {
	switch e.action {
	case SegmentFree, SegmentUnmap:
		t.run.count++
		t.run.bytes += e.size
		if m.traitsOf(e.stack).has(traitEmptyCache) {
			t.run.asked = true
			t.emptied.count++
			t.emptied.stack = e.stack
		}
	case SegmentAlloc, SegmentMap:
		if t.run.count > 0 && !t.run.asked {
			t.retries++
			t.retriedBytes += t.run.bytes
		}
		t.run = freeRun{}
	}
	t.changed = t.events
	if len(t.moments) == 0 {
		return
	}
	if len(t.segments) == segmentsLimit {
		t.segLost = true
		return
	}
	expandable := e.action == SegmentMap || e.action == SegmentUnmap
	t.segments = append(t.segments, segmentEvent{action: e.action, addr: e.addr, size: uint64(e.size), place: poolPlace{
		stream: e.stream, pool: e.pool, expandable: expandable,
		// A small segment has 2 MiB; expandable ones grow by 2 or by 20 MiB.
		small: e.size <= 2<<20 || expandable && e.size%(20<<20) != 0,
	}})
}

// failures rebuilds the state at each failed allocation from the end.
func (d *Device) failures(t *trace, before holdings) {
	h := &d.History
	for i := range t.moments {
		o := &t.moments[i]
		f := Failure{Event: o.event - 1, Request: o.request, DeviceFree: o.deviceFree, Stack: o.stack, Known: h.NoPeak == ""}
		if !f.Known {
			d.Failures = append(d.Failures, f)
			continue
		}
		f.Live = d.State.Requested() - t.requested.now + o.requested
		f.Reserved = max(0, d.State.Reserved-t.reserved.now+o.reserved)
		if h.Counts[FreeRequested] > 0 {
			f.Pending = max(0, d.State.RequestedPendingFree-t.pending+o.pending)
		}
		if o.tracked {
			live := maps.Clone(before)
			t.live.all(func(b liveBlock) {
				if b.event < o.event {
					live.add(b.stack, b.fate, b.size, 1)
				}
			})
			for _, b := range o.freed {
				live.add(b.stack, b.fate, b.size, 1)
			}
			f.shares = live.shares()
			d.freeAt(t, o, &f)
		}
		d.Failures = append(d.Failures, f)
	}
}

// freeAt finds the free ranges at a failed allocation.
func (d *Device) freeAt(t *trace, o *moment, f *Failure) {
	want := poolPlace{stream: o.stream, pool: o.pool, small: o.request <= smallSize}
	if t.changed < o.event {
		f.Layout = "exact"
		for _, g := range d.Segments {
			at := g.place()
			used := false
			for _, b := range g.Blocks {
				if b.State == Inactive {
					used = f.free.add(b.Size, at, want) || used
				}
			}
			if used {
				f.free.segments++
			}
		}
		return
	}
	if t.segLost {
		return
	}
	ranges, ok := d.rangesAt(t.segments[o.segments:])
	if !ok {
		return
	}
	if free, ok := holes(ranges, d.blocksAt(t, o), want); ok {
		f.Layout, f.free = "rebuilt", free
	}
}

func (g *Segment) place() poolPlace {
	return poolPlace{stream: g.Stream, pool: g.Pool, small: g.Small, expandable: g.Expandable}
}

// add counts a free range and tells whether the request could use its place.
func (r *freeRanges) add(size int64, at, want poolPlace) bool {
	r.count++
	r.total += size
	r.largest = max(r.largest, size)
	if at.pool != (PoolID{}) {
		r.private += size
	}
	if at.stream != want.stream || at.pool != want.pool || at.small != want.small {
		return false
	}
	r.holes++
	r.usable += size
	r.largestUsable = max(r.largestUsable, size)
	return true
}

// addressRange is reserved memory in one piece.
type addressRange struct {
	start, end uint64
	place      poolPlace
}

// rangesAt undoes the segment events since a moment. Each address is reserved
// or not, so the events since then and the segments of the end add up to 0 or 1
// at each address.
func (d *Device) rangesAt(since []segmentEvent) ([]addressRange, bool) {
	type edge struct {
		addr  uint64
		cover int
		cut   int // starts and ends of segments that are not expandable
		begin bool
		place poolPlace
	}
	var edges []edge
	add := func(start, size uint64, sign int, p poolPlace) {
		cut := sign
		if p.expandable {
			cut = 0
		}
		edges = append(edges, edge{start, sign, cut, sign > 0, p}, edge{addr: start + size, cover: -sign, cut: cut})
	}
	for i := range d.Segments {
		g := &d.Segments[i]
		add(g.Address, uint64(g.TotalSize), 1, g.place())
	}
	for _, e := range slices.Backward(since) {
		sign := 1
		if e.action == SegmentAlloc || e.action == SegmentMap {
			sign = -1
		}
		add(e.addr, e.size, sign, e.place)
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.addr, b.addr) })
	var out []addressRange
	cover := 0
	for i := 0; i < len(edges); {
		at, cut, begin := edges[i].addr, 0, poolPlace{}
		was := cover
		for ; i < len(edges) && edges[i].addr == at; i++ {
			cover += edges[i].cover
			cut += edges[i].cut
			if edges[i].begin {
				begin = edges[i].place
			}
		}
		if cover < 0 || cover > 1 {
			return nil, false
		}
		if was == 1 && (cover == 0 || cut > 0) {
			out[len(out)-1].end = at
		}
		if cover == 1 && (was == 0 || cut > 0) {
			out = append(out, addressRange{start: at, place: begin})
		}
	}
	return out, cover == 0
}

// placedBlock is a block with its rounded size.
type placedBlock struct {
	addr, size uint64
	exact      bool // else the size is the request rounded up to 512 B
}

// blocksAt gives the blocks live at a moment, by address.
func (d *Device) blocksAt(t *trace, o *moment) []placedBlock {
	var out []placedBlock
	for _, g := range d.Segments {
		for _, b := range g.Blocks {
			if b.State == Allocated || b.State == PendingFree {
				if e := t.live.find(b.Address); e.event == 0 || e.found && e.event < o.event {
					out = append(out, placedBlock{b.Address, uint64(b.Size), true})
				}
			}
		}
	}
	for _, b := range o.freed {
		out = append(out, placedBlock{b.addr, uint64(round(b.size)), false})
	}
	slices.SortFunc(out, func(a, b placedBlock) int { return cmp.Compare(a.addr, b.addr) })
	return out
}

// holes finds what the blocks leave free in the ranges; ok is false where
// blocks overlap or lie outside.
func holes(ranges []addressRange, blocks []placedBlock, want poolPlace) (free freeRanges, ok bool) {
	for _, r := range ranges {
		at, exact, used := r.start, true, false
		hole := func(end uint64) {
			size := int64(end - at)
			// A rest of up to 1 MiB is not split off a large block.
			if size == 0 || !exact && !r.place.small && size <= smallSize || !exact && size < 512 {
				return
			}
			used = free.add(size, r.place, want) || used
		}
		for len(blocks) > 0 && blocks[0].addr < r.end {
			b := blocks[0]
			blocks = blocks[1:]
			if b.addr < at || b.size > r.end-b.addr {
				return free, false
			}
			hole(b.addr)
			at, exact = b.addr+b.size, b.exact
		}
		hole(r.end)
		if used {
			free.segments++
		}
	}
	return free, len(blocks) == 0
}
