package torch

import (
	"bytes"
	"strings"
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

// TestFrameWithoutLine: Python has no line for code that its compiler made, and torch
// writes the -1 as an unsigned integer.
func TestFrameWithoutLine(t *testing.T) {
	for _, line := range []string{"18446744073709551615", "null", "0"} {
		text := `{"segments": [], "device_traces": [[` +
			`{"action": "alloc", "addr": 4096, "size": 8, "frames": [{"filename": "/p/train.py", "name": "step", "line": ` + line + `}]},` +
			`{"action": "free_requested", "addr": 4096, "size": 8}, {"action": "free_completed", "addr": 4096, "size": 8}]]}`
		s, err := Read(strings.NewReader(text), -1, "x.json", Options{})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		events, _ := s.Events(&s.Devices[0])
		for e := range events {
			if s.Source(e.Stack) != nil || s.Site(e.Stack) != "train.py step" {
				t.Errorf("%s: %s at %v", line, s.Site(e.Stack), s.Source(e.Stack))
			}
		}
	}
}
