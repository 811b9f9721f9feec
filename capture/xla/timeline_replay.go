package xla

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// replay is what the events of an allocator add up to. Indexes of events are 1-based,
// 0 for before the first one.
type replay struct {
	baseline     int64 // in use before the first event
	peakAt       int   // the last event with the most in use
	peakBytes    int64
	usedAt       int // heap and stack together
	usedBytes    int64
	lifetime     int64
	allocations  int64
	unmatched    int64 // deallocations of what was allocated before the capture
	live         int64 // allocations that are not freed in it
	oversized    int64
	largest      int64 // chunk that was allocated
	breaks       int64 // events that contradict the one before
	firstBreak   int   // index
	want         int64 // in use after firstBreak, by the events before
	netUnknown   bool  // the requested bytes of an event are not told
	netRequested []int64
}

// finish makes timelines of the events of all lines.
func (t *hostTrace) finish() {
	var merged []*allocator
	byLabel := map[string]*allocator{}
	for _, a := range t.allocators {
		if a.label, a.device, a.host = allocatorLabel(t.text(a.name), a.ordinal); len(a.events) == 0 {
			t.problem("allocator %s: none of its %d events has numbers that make sense", a.label, a.bad)
			continue
		}
		have := byLabel[a.label]
		if have == nil {
			byLabel[a.label] = a
			merged = append(merged, a)
			continue
		}
		// One allocator whose name was once written out and once referred to.
		have.events = append(have.events, a.events...)
		have.bad, have.peak = have.bad+a.bad, max(have.peak, a.peak)
		if have.limits += a.limits; a.limit != have.limit {
			have.limits, have.odd = have.limits+1, a.events[0].at
		}
	}
	slices.SortFunc(merged, func(a, b *allocator) int {
		return cmp.Or(cmp.Compare(len(a.label), len(b.label)), strings.Compare(a.label, b.label))
	})
	t.allocators = merged
	for i, a := range merged {
		a.sort()
		a.run()
		for j := range a.events {
			if x := a.events[j].exec; x > 0 && !a.host && t.executions[x-1].allocator == 0 {
				t.executions[x-1].allocator = int32(i + 1)
			}
		}
	}
	t.guessAllocators()
	slices.SortStableFunc(t.marks, func(a, b mark) int { return cmp.Compare(a.start, b.start) })
	slices.Sort(t.runs)
}

// guessAllocators gives executions that allocated nothing (as the one that failed
// does) the allocator of those before them on their thread, or else after them:
// where several devices are used, each has a thread of its own.
func (t *hostTrace) guessAllocators() {
	last := map[int32]int32{} // line → allocator
	fill := func(x *execution) {
		if x.allocator == 0 {
			x.allocator = last[x.line]
		} else {
			last[x.line] = x.allocator
		}
	}
	for i := range t.executions {
		fill(&t.executions[i])
	}
	clear(last)
	for i := range slices.Backward(t.executions) {
		fill(&t.executions[i])
	}
}

// allocatorLabel names an allocator, and gives the device that it is of. TPU tells
// no name, only the device's index.
func allocatorLabel(name string, ordinal int64) (label, device string, host bool) {
	if name == "" {
		if ordinal < 0 {
			return "unnamed", "", false
		}
		device = strconv.FormatInt(ordinal, 10)
		return "index_on_host=" + device, device, false
	}
	if rest, ok := strings.CutPrefix(name, "GPU_"); ok {
		if n, ok := strings.CutSuffix(rest, "_bfc"); ok {
			n = strings.TrimPrefix(n, "collectivememory_")
			if n != "" && strings.Trim(n, "0123456789") == "" {
				device = n
			}
		}
	}
	return name, device, strings.Contains(name, "host") || strings.Contains(name, "cpu_allocator") && strings.Contains(name, "pinned")
}

// sort puts the events into the order of time. Events of several threads at one
// time are put into the order in which each follows from the one before.
func (a *allocator) sort() {
	at := func(x, y memoryEvent) int { return cmp.Compare(x.at, y.at) }
	if !slices.IsSortedFunc(a.events, at) {
		slices.SortStableFunc(a.events, at)
	}
	for i := 1; i+1 < len(a.events); i++ {
		// A run of equal times is short: clocks have nanoseconds.
		for j := i + 1; j < len(a.events) && j < i+8 && a.events[j].at == a.events[i].at; j++ {
			if before := a.events[i-1].inUse; !a.events[i].follows(before) && a.events[j].follows(before) {
				e := a.events[j]
				copy(a.events[i+1:j+1], a.events[i:j])
				a.events[i] = e
				break
			}
		}
	}
}

// follows tells whether the event fits after so many bytes in use.
func (e *memoryEvent) follows(before int64) bool {
	if e.chunk < 0 {
		return e.free && e.inUse <= before
	}
	if e.free {
		return before-e.chunk == e.inUse
	}
	return before+e.chunk == e.inUse
}

// run replays the events: it pairs allocations with what frees them, checks the
// number of bytes in use after each, and finds the peaks.
func (a *allocator) run() {
	r := &a.replay
	r.netRequested = make([]int64, len(a.events)+1)
	open := map[uint64]int32{}
	inUse, net := int64(0), int64(0)
	for i := range a.events {
		e := &a.events[i]
		chunk, requested := e.chunk, e.requested
		if e.free {
			if p := open[e.addr]; p > 0 {
				delete(open, e.addr)
				e.peer = p
				allocated := &a.events[p-1]
				allocated.peer = int32(i + 1)
				if chunk < 0 {
					chunk = allocated.chunk
				}
				if requested < 0 || allocated.requested >= 0 {
					requested = allocated.requested
				}
			} else {
				r.unmatched++
			}
		} else {
			r.allocations++
			r.largest = max(r.largest, chunk)
			if open[e.addr] > 0 && e.addr != 0 {
				r.broken(i, e.inUse) // never freed, and allocated again
			}
			open[e.addr] = int32(i + 1)
			if rounded, over := add(max(requested, 1), 255); !over && chunk > rounded&^255 {
				r.oversized++
			}
		}
		before := inUse
		if i == 0 {
			before = e.before(chunk)
			r.baseline = before
			r.peakBytes, r.usedBytes = before, before+min(e.reserved, math.MaxInt64-before)
		}
		want := before
		switch {
		case chunk >= 0 && e.free:
			want = before - chunk
		case chunk >= 0:
			want, _ = add(before, chunk)
		}
		// What was allocated before the capture and is freed has an unknown size on TPU.
		ok := want == e.inUse || chunk < 0 && e.free && e.inUse <= before
		if !ok && i > 0 {
			r.broken(i, want)
		}
		inUse = e.inUse
		if inUse >= r.peakBytes {
			r.peakBytes, r.peakAt = inUse, i+1
		}
		if used := inUse + e.reserved; used >= r.usedBytes {
			r.usedBytes, r.usedAt = used, i+1
		}
		if requested >= 0 {
			if e.free {
				requested = -requested
			}
			sum := net + requested
			if (sum > net) != (requested > 0) && requested != 0 {
				r.netUnknown = true
			} else {
				net = sum
			}
		} else {
			r.netUnknown = true
		}
		r.netRequested[i+1] = net
	}
	r.live = int64(len(open))
	r.lifetime = max(a.peak, r.peakBytes)
}

// before gives the bytes in use before the first event.
func (e *memoryEvent) before(chunk int64) int64 {
	switch {
	case chunk < 0:
		return e.inUse
	case e.free:
		sum, over := add(e.inUse, chunk)
		if over {
			return e.inUse
		}
		return sum
	}
	return max(e.inUse-chunk, 0)
}

func (r *replay) broken(i int, want int64) {
	if r.breaks++; r.breaks == 1 {
		r.firstBreak, r.want = i+1, want
	}
}

// after gives how many events lie before a time (those at it do not).
func (a *allocator) after(at int64) int {
	i, _ := slices.BinarySearchFunc(a.events, at, func(e memoryEvent, at int64) int { return cmp.Compare(e.at, at) })
	return i
}

// inUse gives the bytes in use after so many events.
func (a *allocator) inUse(events int) int64 {
	if events == 0 {
		return a.baseline
	}
	return a.events[events-1].inUse
}
