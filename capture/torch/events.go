package torch

import (
	"iter"

	"github.com/peakgate/peakgate/measure"
)

// Event is an allocation, or a free that completed.
type Event struct {
	Action Action // Alloc or FreeCompleted
	Size   int64  // bytes as asked for
	Stack  StackID
}

// Events gives the allocations and the completed frees of a device, oldest first. Of a
// very long history the oldest are not kept; whole tells that all are there.
func (s *Snapshot) Events(d *Device) (events iter.Seq[Event], whole bool) {
	log := &d.trace.log
	whole = len(log.chunks) == 0 || log.chunks[0].event == 1 && d.History.LeftOut == 0
	return func(yield func(Event) bool) {
		done := false
		log.replay(func(e *logged) {
			if !done && (e.action == Alloc || e.action == FreeCompleted) {
				done = !yield(Event{e.action, e.size, e.stack})
			}
		})
	}, whole
}

// Source is the user's line that Site names; nil where there is none.
func (s *Snapshot) Source(id StackID) *measure.Source { return s.names().of(id).place() }
