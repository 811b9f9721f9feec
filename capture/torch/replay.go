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
// and blocks of the peak that were freed since are added up by stack until a new
// maximum forgets them. So memory is bounded by the blocks live at one time.
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
	freed     []liveBlock // live at the peak, freed since: the newest of them
	freedSums holdings    // and the others, added up
	// Freed since the peak without an alloc in the history: part of the peak.
	unmatchedAfter, unmatchedAfterCount int64

	unmatched, unmatchedCount int64
	freedBefore               map[uint64]struct{} // addresses freed without an alloc
	contradictions            int64               // allocated while live, freed twice, freed with another size

	misses       int64
	afterSegment bool
	notes        steps
	dumps        []mark // snapshot events

	pass      pass // what the program does, by who allocates
	passStart int64
	pending   int64    // requested minus completed frees
	moments   []moment // failed allocations, the newest ones
	segments  []segmentEvent
	segLost   bool // too many segment events since the first moment
	log       eventLog
	run       freeRun
	changed   int64 // the last event that changed blocks or segments
	emptied   emptied

	retries, retriedBytes  int64
	cycleFrees, cycleBytes int64

	start, end int64 // times of the first and the last event; 0: not written

	lived    []Lived          // freed blocks, where that is asked for
	returned map[uint64]int64 // and the sizes of what was given back, by address

	ring    []entry // the newest events, where only these are wanted
	dropped int64
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

// entry is one trace entry.
type entry struct {
	action     Action
	stack      StackID
	word       uint32 // the action's text
	addr       uint64
	size       int64
	time       int64 // microseconds; 0: the release writes none
	stream     uint64
	pool       PoolID
	deviceFree int64 // of a failed allocation; -1: not written
}

// fold applies one event.
func (t *trace) fold(m *machine, e *entry) error {
	t.events++
	a, size, stack := e.action, e.size, e.stack
	i := t.events
	t.counts[a]++
	t.hash = (bits.RotateLeft64(t.hash, 5) ^ (uint64(size)<<4 | uint64(a))) * 0x9e3779b97f4a7c15
	if e.time > 0 {
		if t.start == 0 {
			t.start = e.time
		}
		t.end = e.time
	}
	after := t.afterSegment
	t.afterSegment = false
	switch a {
	case Alloc:
		t.changed = i
		if after {
			t.misses++
		}
		u := m.uses(stack)
		u.allocated += size
		u.blocks++
		if u.pass != t.pass && u.pass != noPass {
			t.pass, t.passStart = u.pass, i
		}
		if t.live.put(liveBlock{addr: e.addr, size: size, event: i, stack: stack}) {
			t.contradictions++
		}
		if len(t.freedBefore) > 0 {
			delete(t.freedBefore, e.addr)
		}
		if t.requested.add(size) {
			t.peakEvent = i
			t.freed = t.freed[:0]
			clear(t.freedSums)
			t.unmatchedAfter, t.unmatchedAfterCount = 0, 0
		}
		t.rounded.add(round(size))
		if t.requested.now > sumLimit {
			return errSum
		}
	case FreeCompleted:
		t.changed = i
		b, ok := t.live.take(e.addr)
		if ok {
			if b.size != size {
				t.contradictions++
			}
			b.fate = t.freeUse(m, &b)
			if b.event <= t.peakEvent {
				if len(t.freed) == freedLimit {
					t.sumFreed()
				}
				t.freed = append(t.freed, b)
			}
		} else {
			if _, twice := t.freedBefore[e.addr]; twice {
				t.contradictions++
			}
			t.freedBefore[e.addr] = struct{}{}
			t.unmatched += size
			t.unmatchedCount++
			t.unmatchedAfter += size
			t.unmatchedAfterCount++
			b = liveBlock{addr: e.addr, size: size, stack: BeforeRecording}
		}
		if m.record {
			t.lived = append(t.lived, Lived{Address: b.addr, Bytes: b.size, Stack: b.stack, Start: b.event, End: i, fate: b.fate})
		}
		stack = b.stack
		for k := range t.moments {
			if o := &t.moments[k]; o.tracked && b.event < o.event {
				o.freed = append(o.freed, b)
			}
		}
		t.requested.add(-size)
		t.rounded.add(-round(size))
		t.pending -= size
		if t.requested.now < -sumLimit {
			return errSum
		}
	case FreeRequested:
		t.pending += size
		if m.collects(stack) {
			t.cycleFrees++
			t.cycleBytes += size
		}
	case SegmentAlloc, SegmentMap:
		t.afterSegment = true
		t.segment(m, e)
		t.reserved.add(size)
		if t.reserved.now > sumLimit {
			return errSum
		}
	case SegmentFree, SegmentUnmap:
		t.segment(m, e)
		if m.record {
			t.gaveBack(e.addr, size)
		}
		t.reserved.add(-size)
		if t.reserved.now < -sumLimit {
			return errSum
		}
	case OOM:
		t.fail(e)
	case DumpTaken:
		t.dumps = keepNewest(append(t.dumps, mark{event: i}))
	case UserDefined:
		if stack >= firstStack {
			m.userDefined(t, stack)
		}
	case Unknown:
		t.unknown[e.word]++
	}
	t.log.add(m, t, e, stack, after)
	if t.run.count > 0 && (a < SegmentAlloc || a > SegmentUnmap) {
		t.run = freeRun{}
	}
	return nil
}

// freedLimit is how many freed blocks of the peak are kept before they are added up.
const freedLimit = 4096

// sumFreed adds up the blocks of the peak that were freed.
func (t *trace) sumFreed() {
	for _, b := range t.freed {
		t.freedSums.add(b.stack, b.fate, b.size, 1)
	}
	t.freed = t.freed[:0]
}

// freeUse counts by which pass a block was freed.
func (t *trace) freeUse(m *machine, b *liveBlock) fate {
	switch u := m.uses(b.stack); {
	case b.event >= t.passStart:
		u.same += b.size
		return freedSame
	case t.pass == backwardPass:
		u.backward += b.size
		return freedBackward
	default:
		u.later += b.size
		return freedLater
	}
}

// later keeps an event for the end, where only the newest n are folded.
func (t *trace) later(e entry, n int) {
	if len(t.ring) < n {
		t.ring = append(t.ring, e)
	} else {
		t.ring[t.dropped%int64(n)] = e
		t.dropped++
	}
}

// foldLater folds the events that were kept.
func (t *trace) foldLater(m *machine) error {
	ring := t.ring
	t.ring = nil
	for i := range ring {
		if err := t.fold(m, &ring[(t.dropped+int64(i))%int64(len(ring))]); err != nil {
			return err
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
