package torch

import (
	"cmp"
	"fmt"
	"slices"
)

// replayed joins what the events of a device add up to with the state that the
// segments tell: the state is the end, so what was live before the first event
// is the state minus all that the events changed.
func (m *machine) replayed(s *Snapshot, d *Device, t *trace) {
	h := &d.History
	if t == nil {
		t = newTrace()
	}
	d.trace = t
	h.LeftOut = t.dropped
	h.Events, h.Counts, h.Sequence, h.Misses, h.PeakEvent = t.events, t.counts, t.sequence(), t.misses, t.peakEvent-1
	h.UnmatchedFrees, h.UnmatchedFreedBytes = t.unmatchedCount, t.unmatched
	h.Steps = t.notes.count()
	if s.notes != nil && h.Steps == 0 {
		h.Steps = s.notes.device(d.Ordinal).count()
	}
	for w, n := range t.unknown {
		if h.UnknownActions == nil {
			h.UnknownActions = map[string]int64{}
		}
		h.UnknownActions[clean(m.texts.list[w])] += n
	}

	// Blocks of the end: those that the history allocated, and the others,
	// which were there before it began.
	var end, before holdings
	matched, mismatched, recorded := int64(0), int64(0), int64(0)
	for _, g := range d.Segments {
		for _, b := range g.Blocks {
			if b.State != Allocated && b.State != PendingFree {
				continue
			}
			if e := t.live.find(b.Address); e.event != 0 {
				if e.found || e.size != b.Requested {
					mismatched++
				}
				if !e.found {
					matched++
				}
				e.found = true
				if e.stack < firstStack && b.Stack >= firstStack {
					// context="state" keeps stacks on the blocks alone.
					e.stack = b.Stack
				}
				if e.event >= t.passStart {
					e.fate = keptInPass
				}
				end.add(e.stack, e.fate, b.Requested, 1)
				continue
			}
			stack := s.stackOf(&b, t.events)
			if stack >= firstStack {
				recorded++
			}
			end.add(stack, kept, b.Requested, 1)
			before.add(stack, kept, b.Requested, 1)
		}
	}
	d.End, d.endShares = end.sorted(), end.shares()

	h.Baseline = d.State.Requested() - t.requested.now
	h.Peak = h.Baseline + t.requested.max
	h.RoundedPeak = d.State.RoundedRequested - t.rounded.now + t.rounded.max
	h.ReservedBaseline = d.State.Reserved - t.reserved.now
	h.ReservedPeak = h.ReservedBaseline + t.reserved.max
	h.NoReservedPeak = h.unanswerable(s)
	if h.NoReservedPeak == "" && h.ReservedBaseline < 0 {
		h.NoReservedPeak = fmt.Sprintf("damaged or cut file: %d bytes would have been reserved when the history begins", h.ReservedBaseline)
	}
	h.Kind = h.kind(s, recorded)
	lost := int64(t.live.count) - matched
	frees := h.Counts[FreeRequested] + h.Counts[FreeCompleted]
	switch {
	case h.unanswerable(s) != "":
		h.NoPeak = h.unanswerable(s)
	case h.Counts[FreeCompleted] == 0 && h.Counts[FreeRequested] > 0 &&
		(h.Counts[FreeRequested] != d.State.PendingBlocks || lost > 0 || t.contradictions > 0):
		// Exact only if each block that was given back is still awaited.
		h.NoPeak = "no free_completed in the history, only free_requested: record without skip_actions"
	case h.Baseline < 0:
		h.NoPeak = fmt.Sprintf("damaged or cut file: %d bytes would have been live when the history begins", h.Baseline)
	case t.contradictions > 0:
		h.NoPeak = fmt.Sprintf("the history contradicts itself (%d times an address is allocated while live, freed twice or freed with another size): events are missing", t.contradictions)
	case lost > 0 && frees == 0:
		h.NoPeak = "the history has no frees, and blocks that it allocated are gone at the dump: record without skip_actions"
	case lost > 0 || mismatched > 0:
		h.NoPeak = fmt.Sprintf("the history and the segments disagree on %d blocks: recording had ended before the dump, or the file is damaged", lost+mismatched)
	}
	d.failures(t, before)
	if h.NoPeak != "" {
		return
	}

	// Live at the peak: allocated up to then and not freed before it, and all
	// of the baseline that was not yet freed.
	peak := before
	t.live.all(func(b liveBlock) {
		if b.event <= t.peakEvent {
			peak.add(b.stack, b.fate, b.size, 1)
		}
	})
	t.sumFreed()
	for _, v := range t.freedSums {
		peak.add(v.Stack, v.fate, v.Bytes, v.Count)
	}
	peak.add(BeforeRecording, kept, t.unmatchedAfter, t.unmatchedAfterCount)
	d.Peak, d.peakShares = peak.sorted(), peak.shares()
}

// stackOf gives the stack of a block of the dump that none of so many events allocated.
func (s *Snapshot) stackOf(b *Block, events int64) StackID {
	switch {
	case b.Stack >= firstStack:
		return b.Stack
	case events > 1:
		return BeforeRecording
	case len(s.Stacks) == 0:
		return NoStack
	}
	return StackUnknown
}

// unanswerable says why a history cannot tell a peak at all.
func (h *History) unanswerable(s *Snapshot) string {
	switch {
	case !s.hasSegments:
		return "the file has no segments: the state at the dump is not known"
	case s.SegmentsOnly:
		return "the file is a bare list of segments without a history: dump with torch.cuda.memory._dump_snapshot after _record_memory_history()"
	case h.Events == 0:
		return "no history was recorded: call torch.cuda.memory._record_memory_history() before the model is built"
	case h.Events == 1:
		return `no history was recorded (one event, as with enabled="state"): call torch.cuda.memory._record_memory_history() before the model is built`
	}
	return ""
}

// kind tells how much of the run a history covers. recorded counts the blocks
// of the end that have a stack but no event: their events were dropped.
func (h *History) kind(s *Snapshot, recorded int64) string {
	switch {
	case h.Events == 0:
		return "none"
	case h.Events == 1:
		return "state_only"
	case recorded > 0, h.Baseline < 0, h.LeftOut > 0, s.overflowed(h.Events):
		return "truncated"
	case h.Baseline != 0 || h.UnmatchedFrees > 0:
		return "starts_mid_run"
	}
	return "complete"
}

// share is what the blocks of one stack with one fate hold in a live set.
type share struct {
	Holding
	fate fate
}

type shareKey struct {
	stack StackID
	fate  fate
}

// holdings adds up a live set.
type holdings map[shareKey]share

// add puts blocks into a live set.
func (h *holdings) add(stack StackID, f fate, bytes, count int64) {
	if count == 0 {
		return
	}
	if *h == nil {
		*h = holdings{}
	}
	k := shareKey{stack, f}
	v := (*h)[k]
	v.Stack, v.fate = stack, f
	v.Bytes += bytes
	v.Count += count
	(*h)[k] = v
}

// shares gives the live set by stack and fate, largest first.
func (h holdings) shares() []share {
	out := make([]share, 0, len(h))
	for _, v := range h {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b share) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Stack, b.Stack), cmp.Compare(a.fate, b.fate))
	})
	return out
}

// sorted gives the live set by stack, largest first.
func (h holdings) sorted() []Holding {
	byStack := make(map[StackID]Holding, len(h))
	for _, v := range h {
		w := byStack[v.Stack]
		byStack[v.Stack] = Holding{Stack: v.Stack, Bytes: w.Bytes + v.Bytes, Count: w.Count + v.Count}
	}
	out := make([]Holding, 0, len(byStack))
	for _, v := range byStack {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Stack, b.Stack))
	})
	return out
}
