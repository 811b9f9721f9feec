package series

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"
)

// FuzzRead: no panic, nil on an error, a valid measurement otherwise, and memory
// within what was read.
func FuzzRead(f *testing.F) {
	for _, name := range fixtureNames(f) {
		data, err := os.ReadFile("../../fixtures/series/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 2000)])
	}
	f.Add([]byte("Time\twtime\tpss\n1\t2\t3\n"))
	f.Add([]byte("step;\"a \"\"b_mib\"\n1;2.5e-3\n0;\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		table, err := Read(bytes.NewReader(data), "fuzz")
		runtime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(4<<20+200*len(data)); got > most {
			t.Errorf("allocated %d bytes for a file of %d", got, len(data))
		}
		if err != nil {
			if table != nil {
				t.Error("a table beside an error")
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		m := table.Measurement()
		if err := m.Validate(); err != nil {
			t.Errorf("Measurement: %v", err)
		}
		for _, s := range m.Series {
			for i := 1; i < len(s.X); i++ {
				if s.X[i] <= s.X[i-1] {
					t.Errorf("series {%s}: x %v after %v", s.Labels.Key(), s.X[i], s.X[i-1])
				}
			}
		}
	})
}
