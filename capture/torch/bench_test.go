package torch

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func benchmarkFile(b *testing.B, path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	events := int64(0)
	for b.Loop() {
		s, err := Read(bytes.NewReader(data), int64(len(data)), "bench.pickle", Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, d := range s.Devices {
			events += d.History.Events
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkSnapshot(b *testing.B) {
	benchmarkFile(b, filepath.Join(repoRoot(b), "fixtures", "regression", "torch", "base.pickle"))
}

// BenchmarkSnapshotLarge reads the largest public snapshot.
func BenchmarkSnapshotLarge(b *testing.B) {
	benchmarkFile(b, filepath.Join(captures(b, "torch"), "medium_512_training.pickle"))
}

func BenchmarkMeasurement(b *testing.B) {
	s := readFile(b, filepath.Join(repoRoot(b), "fixtures", "regression", "torch", "base.pickle"))
	b.ReportAllocs()
	for b.Loop() {
		if len(s.Measurement().Rows) == 0 {
			b.Fatal("no rows")
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	benchmarkFile(b, filepath.Join(repoRoot(b), "fixtures", "torch", "forms_json.pickle"))
}
