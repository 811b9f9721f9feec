package footprint

import (
	"bytes"
	"io"
	"testing"
)

// BenchmarkRead reads 50,000 samples, half of them at a step.
func BenchmarkRead(b *testing.B) {
	const samples = 50_000
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{IntervalMS: 250, Steps: StepsRegex})
	if err != nil {
		b.Fatal(err)
	}
	for i := range int64(samples) {
		if err := w.Sample(sampleOf(i)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	b.SetBytes(int64(out.Len()))
	for b.Loop() {
		if _, err := Read(bytes.NewReader(out.Bytes()), "x"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(samples*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}

// BenchmarkWrite writes one sample: what a watcher pays for a tick.
func BenchmarkWrite(b *testing.B) {
	w, err := NewWriter(io.Discard, Header{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	i := int64(0)
	for b.Loop() {
		if err := w.Sample(sampleOf(i)); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

func sampleOf(i int64) Sample {
	s := Sample{TMS: 250 * i, Nproc: 3, Footprint: Known(1<<30 + i), RSS: Known(2<<30 + i), PSS: Known(1<<30 + i), Swap: Known(0), HighWater: Known(3 << 30)}
	if i%2 == 0 {
		s.Step = &i
	}
	return s
}
