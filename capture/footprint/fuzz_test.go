package footprint

import (
	"bytes"
	"os"
	"runtime"
	"testing"
)

// FuzzRead: no panic, nil on an error, a valid measurement otherwise, and memory
// within what was read.
func FuzzRead(f *testing.F) {
	for _, file := range fixtures(f) {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 2500)])
		f.Add(append(bytes.Clone(data[:bytes.IndexByte(data, '\n')+1]), data[max(0, len(data)-1200):]...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		c, err := Read(bytes.NewReader(data), "fuzz")
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(4<<20+200*len(data)); got > most {
			t.Errorf("allocated %d bytes for a file of %d", got, len(data))
		}
		if err != nil {
			if c != nil {
				t.Error("a capture beside an error")
			}
			return
		}
		if err := c.Measurement().Validate(); err != nil {
			t.Errorf("Measurement: %v", err)
		}
	})
}
