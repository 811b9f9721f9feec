package torch

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// FuzzRead: no panic, nil on an error, a valid snapshot otherwise, and memory
// within what was read.
func FuzzRead(f *testing.F) {
	seeds := 0
	for _, data := range fixtures(f) {
		if len(data) < 40<<10 {
			f.Add(data)
			seeds++
		}
	}
	f.Add([]byte(good()))
	f.Add([]byte(page([]byte(good()))))
	f.Add([]byte(`{"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 2}]]}`))
	if seeds == 0 {
		f.Fatal("no seeds in fixtures/")
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := Read(bytes.NewReader(data), int64(len(data)), "fuzz", Options{})
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(32<<20+400*len(data)); got > most {
			t.Errorf("allocated %d bytes for a file of %d", got, len(data))
		}
		if err != nil {
			if s != nil {
				t.Error("a snapshot beside an error")
			}
			return
		}
		if err := s.Validate(); err != nil {
			t.Errorf("Validate: %v", err)
		}
		m := s.Measurement()
		for _, r := range m.Rows {
			if r.Value == nil && r.NoData == "" || r.Value != nil && r.NoData != "" {
				t.Errorf("row %+v", r)
			}
			if r.Value != nil && r.Value.Float64() < 0 && r.Unit == measure.ByteUnit {
				t.Errorf("%s is negative: %v", r.Name, r.Value.Exact(r.Unit))
			}
		}
		if err := m.Validate(); err != nil {
			t.Errorf("Measurement: %v", err)
		}
		// The newest events alone are a snapshot as well.
		if few, err := Read(bytes.NewReader(data), -1, "fuzz", Options{MaxEvents: 3}); err == nil {
			if err := few.Validate(); err != nil {
				t.Errorf("newest events: Validate: %v", err)
			}
			if err := few.Measurement().Validate(); err != nil {
				t.Errorf("newest events: %v", err)
			}
		}
		// Reading without knowing the size gives the same.
		again, err := Read(bytes.NewReader(data), -1, "fuzz", Options{})
		if err != nil || len(again.Devices) != len(s.Devices) {
			t.Errorf("without the size: %v", err)
		}
	})
}

func FuzzSniff(f *testing.F) {
	for _, data := range fixtures(f) {
		f.Add(data[:min(len(data), 4096)])
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		if format, ok := Sniff(head); ok != (format == Format) {
			t.Errorf("%q, %v", format, ok)
		}
	})
}
