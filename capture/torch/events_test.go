package torch

import (
	"bytes"
	"testing"
)

// TestEventsAddUp: the running total of the events has the peak and the end that the
// snapshot tells.
func TestEventsAddUp(t *testing.T) {
	known := 0
	for name, data := range fixtures(t) {
		s, err := Read(bytes.NewReader(data), int64(len(data)), name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.Devices {
			d := &s.Devices[i]
			events, whole := s.Events(d)
			if !whole {
				t.Errorf("%s: device %d: events are missing", name, d.Ordinal)
			}
			live, peak, allocs := d.History.Baseline, d.History.Baseline, int64(0)
			for e := range events {
				if e.Action == Alloc {
					live += e.Size
					allocs++
				} else {
					live -= e.Size
				}
				peak = max(peak, live)
				s.Source(e.Stack)
			}
			if allocs != d.History.Counts[Alloc] {
				t.Errorf("%s: device %d: %d allocations, want %d", name, d.Ordinal, allocs, d.History.Counts[Alloc])
			}
			if d.History.NoPeak != "" {
				continue
			}
			known++
			if peak != d.History.Peak || live != d.State.Requested() {
				t.Errorf("%s: device %d: peak %d, end %d, want %d and %d", name, d.Ordinal, peak, live, d.History.Peak, d.State.Requested())
			}
			for range events {
				break // a reader may stop
			}
		}
	}
	if known == 0 {
		t.Error("no fixture has a peak")
	}
}
