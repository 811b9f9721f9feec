package torch

import (
	"cmp"
	"maps"
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// Lived is a block with the events between which it was live. Events count from 1:
// it is live after Start and before End. A Start of 0 is before the recording, an
// End after the last event is the dump.
type Lived struct {
	Address    uint64
	Bytes      int64 // as asked for
	Block      int64 // what the block takes in its segment; of AtDump only
	Stack      StackID
	Start, End int64
	Class      string // measure.ClassActivation and others; unknown of what was live before the recording
	fate       fate
}

// Span is a range of addresses.
type Span struct {
	Address uint64
	Bytes   int64
}

// GivenBack gives the memory that the allocator of a device returned during the
// recording, by address, each address once. Ranges may overlap, and may have been taken
// again. Nil unless Options.Record was set.
func (s *Snapshot) GivenBack(d *Device) (out []Span) {
	for _, address := range slices.Sorted(maps.Keys(d.trace.returned)) {
		out = append(out, Span{address, d.trace.returned[address]})
	}
	return out
}

// maxReturned is how many ranges of a device are kept for GivenBack, the oldest.
const maxReturned = 1 << 16

// gaveBack notes that a range was returned.
func (t *trace) gaveBack(address uint64, size int64) {
	if t.returned == nil {
		t.returned = map[uint64]int64{}
	}
	if n, ok := t.returned[address]; ok || len(t.returned) < maxReturned {
		t.returned[address] = max(n, size)
	}
}

// Lived gives the blocks of a device in the order in which they came to life; nil
// unless Options.Record was set and the peak is known. At each event those that are
// live add up to what the history says, its baseline included.
func (s *Snapshot) Lived(d *Device) []Lived {
	if !s.opt.Record || d.History.NoPeak != "" {
		return nil
	}
	t, end := d.trace, d.History.Events+1
	out := slices.Clone(t.lived)
	t.live.all(func(b liveBlock) {
		out = append(out, Lived{Address: b.addr, Bytes: b.size, Stack: b.stack, Start: b.event, End: end, fate: b.fate})
	})
	for _, g := range d.Segments {
		for _, b := range g.Blocks {
			if (b.State == Allocated || b.State == PendingFree) && t.live.find(b.Address).event == 0 {
				out = append(out, Lived{Address: b.Address, Bytes: b.Requested, Stack: s.stackOf(&b, d.History.Events), End: end})
			}
		}
	}
	slices.SortFunc(out, func(a, b Lived) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Address, b.Address))
	})
	w := newTeller(s, d, s.names(), nil)
	for i := range out {
		l := &out[i]
		l.Class = measure.ClassUnknown
		if l.Start > 0 {
			l.Class, _ = w.classOf(l.Stack, l.fate)
		}
	}
	return out
}

// AtDump gives the blocks of a device that its segments hold at the dump, by address;
// nil unless Options.Record was set. It needs no history: Start is 0 and End is 1. What
// they take adds up to State.Requested. A class is told as far as stacks tell it.
func (s *Snapshot) AtDump(d *Device) (out []Lived) {
	if !s.opt.Record {
		return nil
	}
	w := newTeller(s, d, s.names(), nil)
	for _, g := range d.Segments {
		for _, b := range g.Blocks {
			if b.State != Allocated && b.State != PendingFree {
				continue
			}
			l := Lived{Address: b.Address, Bytes: b.Requested, Block: b.Size, Stack: s.stackOf(&b, d.History.Events), End: 1}
			if e := d.trace.live.find(b.Address); e.event != 0 {
				l.Stack, l.fate = e.stack, e.fate
			}
			l.Class, _ = w.classOf(l.Stack, l.fate)
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b Lived) int { return cmp.Compare(a.Address, b.Address) })
	return out
}

// StepEvents gives the name of what marks the steps of a device, and the events at
// which they begin; none where nothing does.
func (s *Snapshot) StepEvents(d *Device) (name string, events []int64) {
	best, ok := s.stepMarks(d.trace)
	if !ok {
		return "", nil
	}
	marks := best.marks
	d.trace.log.replay(func(e *logged) {
		for len(marks) > 0 && (marks[0].event > 0 && marks[0].event <= e.number || marks[0].event == 0 && marks[0].time <= e.time) {
			events, marks = append(events, e.number), marks[1:]
		}
	})
	return limit(best.name), slices.Compact(events)
}

// Site names where a stack allocates: the innermost line of the user's own code.
func (s *Snapshot) Site(id StackID) string { return s.names().of(id).display() }

// names are the sites of all stacks.
func (s *Snapshot) names() *sites {
	if s.named == nil {
		s.named = newSites(s)
	}
	return s.named
}
