package torch

import (
	"cmp"
	"slices"
)

// Lived is a block with the events between which it was live. Events count from 1:
// it is live after Start and before End. A Start of 0 is before the recording, an
// End after the last event is the dump.
type Lived struct {
	Address    uint64
	Bytes      int64 // as asked for
	Stack      StackID
	Start, End int64
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
	t.live.all(func(b liveBlock) { out = append(out, Lived{b.addr, b.size, b.stack, b.event, end}) })
	for _, g := range d.Segments {
		for _, b := range g.Blocks {
			if (b.State == Allocated || b.State == PendingFree) && t.live.find(b.Address).event == 0 {
				out = append(out, Lived{b.Address, b.Requested, b.Stack, 0, end})
			}
		}
	}
	slices.SortFunc(out, func(a, b Lived) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Address, b.Address))
	})
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
func (s *Snapshot) Site(id StackID) string { return s.site(id).display() }

func (s *Snapshot) site(id StackID) site {
	if s.named == nil {
		s.named = newSites(s)
	}
	return s.named.of(id)
}
