package torch

import (
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
)

// trace folds the events of one device, in order, and forgets them. All
// totals count from 0 at the first event: what was live before that follows
// from the segments, which tell the end.
//
// The live set at the peak needs no second pass and no copy at each new
// maximum: an event number tells whether a live block was there at the peak,
// and blocks of the peak that were freed since are kept in a list that a new
// maximum empties. So memory is bounded by the blocks live at one time.
type trace struct {
	events  int64
	counts  [numActions]int64
	unknown map[uint32]int64 // actions that this reader does not know, by text
	hash    uint64

	requested curve // bytes as asked for
	rounded   curve // each request rounded up to 512 B
	reserved  curve // taken from the device

	live      liveSet
	peakEvent int64       // the event that made the peak, from 1; 0: the start
	freed     []liveBlock // live at the peak, freed since
	// Freed since the peak without an alloc in the history: part of the peak.
	unmatchedAfter, unmatchedAfterCount int64

	unmatched, unmatchedCount int64
	freedBefore               map[uint64]struct{} // addresses freed without an alloc
	contradictions            int64               // allocated while live, freed twice, freed with another size

	misses       int64
	afterSegment bool
	notes        steps
}

// curve is a running total and its maximum since the first event.
type curve struct{ now, max int64 }

func newTrace() *trace {
	return &trace{
		unknown: map[uint32]int64{}, live: liveSet{seed: rand.Uint64()}, freedBefore: map[uint64]struct{}{},
	}
}

func (c *curve) add(n int64) (above bool) {
	c.now += n
	if c.now > c.max {
		c.max = c.now
		return true
	}
	return false
}

// round is what the allocator makes of a request at least (kMinBlockSize in
// c10/cuda/CUDACachingAllocator.cpp).
func round(size int64) int64 { return (size + 511) &^ 511 }

// fold applies one event.
func (t *trace) fold(a Action, addr uint64, size int64, stack StackID) error {
	t.events++
	i := t.events
	t.counts[a]++
	t.hash = (bits.RotateLeft64(t.hash, 5) ^ (uint64(size)<<4 | uint64(a))) * 0x9e3779b97f4a7c15
	after := t.afterSegment
	t.afterSegment = false
	switch a {
	case Alloc:
		if after {
			t.misses++
		}
		if t.live.put(liveBlock{addr: addr, size: size, event: i, stack: stack}) {
			t.contradictions++
		}
		if len(t.freedBefore) > 0 {
			delete(t.freedBefore, addr)
		}
		if t.requested.add(size) {
			t.peakEvent = i
			t.freed = t.freed[:0]
			t.unmatchedAfter, t.unmatchedAfterCount = 0, 0
		}
		t.rounded.add(round(size))
		if t.requested.now > sumLimit {
			return errSum
		}
	case FreeCompleted:
		b, ok := t.live.take(addr)
		if ok {
			if b.size != size {
				t.contradictions++
			}
			if b.event <= t.peakEvent {
				t.freed = append(t.freed, b)
			}
		} else {
			if _, twice := t.freedBefore[addr]; twice {
				t.contradictions++
			}
			t.freedBefore[addr] = struct{}{}
			t.unmatched += size
			t.unmatchedCount++
			t.unmatchedAfter += size
			t.unmatchedAfterCount++
		}
		t.requested.add(-size)
		t.rounded.add(-round(size))
		if t.requested.now < -sumLimit {
			return errSum
		}
	case SegmentAlloc, SegmentMap:
		t.afterSegment = true
		t.reserved.add(size)
		if t.reserved.now > sumLimit {
			return errSum
		}
	case SegmentFree, SegmentUnmap:
		t.reserved.add(-size)
		if t.reserved.now < -sumLimit {
			return errSum
		}
	}
	return nil
}

// sequence is the hash of the (action, size) sequence.
func (t *trace) sequence() string {
	if t.events == 0 {
		return ""
	}
	s := strconv.FormatUint(t.hash, 16)
	return strings.Repeat("0", 16-len(s)) + s
}

// notes holds the annotations of all devices.
type notes struct{ devices map[int]*steps }

func newNotes() *notes { return &notes{devices: map[int]*steps{}} }

func (n *notes) device(i int) *steps {
	s := n.devices[i]
	if s == nil {
		s = &steps{}
		n.devices[i] = s
	}
	return s
}

// steps counts the annotations that may mark the steps of a training loop:
// those with a number (ProfilerStep#7, train_step#7) and optimizer steps.
type steps struct{ groups map[string]*stepGroup }

type stepGroup struct {
	count, last int64
	numbered    bool // the numbers rise, one by one
}

// start takes the name of an annotation that begins.
func (s *steps) start(name string) {
	group, number, ok := strings.Cut(name, "#")
	n, err := strconv.ParseInt(number, 10, 64)
	numbered := ok && err == nil
	if !numbered {
		if !strings.HasPrefix(name, "Optimizer.step") {
			return
		}
		group = name
	}
	if s.groups == nil {
		s.groups = map[string]*stepGroup{}
	}
	g := s.groups[group]
	if g == nil {
		g = &stepGroup{numbered: numbered}
		s.groups[group] = g
	} else if numbered && n != g.last+1 {
		g.numbered = false
	}
	g.count++
	g.last = n
}

// count is the number of steps, by the most reliable mark that is there.
func (s *steps) count() int64 {
	if g := s.groups["ProfilerStep"]; g != nil {
		return g.count
	}
	var optimizer, numbered int64
	for name, g := range s.groups {
		if strings.HasPrefix(name, "Optimizer.step") {
			optimizer = max(optimizer, g.count)
		} else if g.numbered {
			numbered = max(numbered, g.count)
		}
	}
	if optimizer > 0 {
		return optimizer
	}
	return numbered
}
