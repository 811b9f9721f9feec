package growth

import (
	"math/rand/v2"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func TestRow(t *testing.T) {
	series := func(unit measure.XUnit, n int, x, y int64) measure.Series {
		s := measure.Series{Labels: measure.Labels{"series": "rss"}, Unit: measure.ByteUnit, XUnit: unit}
		for i := range int64(n) {
			s.X = append(s.X, float64(i*x))
			s.Points = append(s.Points, measure.Int(1<<30+i*y))
		}
		return s
	}
	high := series(measure.XStep, 100, 2, 50)
	high.Kind = measure.HighWater
	restarted := series(measure.XStep, 10, 1, 7)
	for i := range 5 { // a second epoch
		restarted.X[5+i] = float64(i)
	}
	thinned := series(measure.XStep, 10, 1, 7)
	thinned.Samples = 5000
	for _, c := range []struct {
		name    string
		series  measure.Series
		metric  string
		slope   float64
		kind    measure.Kind
		samples int
	}{
		{"long", series(measure.XStep, 100, 10, 50), "growth.bytes_per_step", 5, measure.Sampled, 100},
		{"short", series(measure.XStep, 3, 10, 50), "growth.bytes_per_step", 5, measure.Sampled, 3},
		{"seconds", series(measure.XSeconds, 100, 10, 50), "growth.bytes_per_hour", 18000, measure.Sampled, 100},
		{"short, seconds", series(measure.XSeconds, 2, 10, 50), "growth.bytes_per_hour", 18000, measure.Sampled, 2},
		{"high water", high, "growth.bytes_per_step", 25, measure.HighWater, 100},
		{"a counter that begins again", restarted, "growth.bytes_per_step", 7, measure.Sampled, 10},
		{"thinned", thinned, "growth.bytes_per_step", 7, measure.Sampled, 5000},
	} {
		row, ok := Row(c.series)
		if !ok || row.Value == nil || row.Name != c.metric || row.Value.Float64() != c.slope || row.Kind != c.kind || row.Samples != c.samples {
			t.Errorf("%s: %+v, %v; want %s of %v, %s, %d samples", c.name, row, ok, c.metric, c.slope, c.kind, c.samples)
		}
	}
	for _, n := range []int{0, 1} {
		if row, ok := Row(series(measure.XStep, n, 1, 1)); !ok || row.Value != nil || row.NoData == "" {
			t.Errorf("%d points: %+v, want a row without a value", n, row)
		}
	}
	for _, n := range []int{2, 120} { // x that hardly differ
		s := series(measure.XStep, n, 1, 1<<54)
		for i := range s.X {
			s.X[i] *= 1e-300
		}
		if row, _ := Row(s); row.Value != nil || row.NoData == "" {
			t.Errorf("%d points 1e-300 apart: %+v, want a row without a value", n, row)
		}
	}
	if _, ok := Row(measure.Series{Labels: measure.Labels{"series": "threads"}, Unit: measure.Count, XUnit: measure.XStep}); ok {
		t.Error("threads have a growth metric")
	}
}

// TestThinned: however many levels are added, their thinning makes no growth of noise.
func TestThinned(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{4096, 4097, 6000, 8192, 8193, 50_000} {
		var l measure.Levels
		for i := range n {
			l.Add(float64(i), 1<<34+random.Int64N(1<<26))
		}
		r, err := Judge(FromMeasure(l.Series(measure.Labels{"series": "rss"}, measure.ByteUnit, measure.XStep)), Rule{})
		if err != nil || r.Verdict == Fail || r.Verdict == Decelerating {
			t.Errorf("%d points of noise: %+v, %v", n, r, err)
		}
	}
}
