package growth

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// levels makes n levels: start, then the steps in turn.
func levels(n int, start int64, steps ...int64) []int64 {
	out := []int64{start}
	for i := 1; i < n; i++ {
		out = append(out, out[i-1]+steps[(i-1)%len(steps)])
	}
	return out
}

func TestExact(t *testing.T) {
	for _, c := range []struct {
		name   string
		levels []int64
		want   measure.Value
		period int
		from   int
	}{
		{"flat", levels(12, 7, 0), measure.Int(0), 1, 1},
		{"every step", levels(30, 7, 1_000_000), measure.Int(1_000_000), 1, 1},
		{"falling", levels(30, 7, -5), measure.Int(-5), 1, 1},
		{"fewest", []int64{0, 10, 20, 30}, measure.Int(10), 1, 1},
		{"the first step differs", append([]int64{0}, levels(9, 500, 4)...), measure.Int(4), 1, 1},
		{"a cache that fills", append(levels(12, 0, 512), levels(28, 12*512, 0)...), measure.Int(0), 1, 12},
		{"a cache that fills to the middle", append(levels(10, 0, 1), levels(10, 9, 0)...), measure.Int(0), 1, 9},
		{"two chunks in turn", levels(20, 100, 8, -8), measure.Int(0), 2, 1},
		{"two chunks in turn that grow", levels(21, 100, 8, -6), measure.Int(1), 2, 1},
		{"every tenth step", levels(101, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1000), measure.Int(100), 10, 1},
		{"no whole number", levels(40, 0, 0, 0, 1), measure.Float(1. / 3), 3, 1},
		{"no cycle", []int64{0, 1, 5, 2, 9, 3, 14}, measure.Float(12. / 3), 0, 3},
	} {
		g, ok := Exact(c.levels)
		if got := g.PerStep(); !ok || got.Cmp(c.want) != 0 || g.Period != c.period || g.From != c.from {
			t.Errorf("%s: %v, %v: %+v, want %v a step, period %d from %d", c.name, got.Float64(), ok, g, c.want.Float64(), c.period, c.from)
		}
	}
}

func TestExactRefuses(t *testing.T) {
	for _, c := range [][]int64{nil, {1}, {1, 2, 3}, {0, math.MinInt64, 5, math.MaxInt64}} {
		if g, ok := Exact(c); ok {
			t.Errorf("%v: %+v, want no answer", c, g)
		}
	}
}

// TestExactProperties: growth is linear, and a constant added to all levels is none.
func TestExactProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		steps := make([]int64, 1+random.IntN(6))
		sum := int64(0)
		for i := range steps {
			steps[i] = random.Int64N(2000) - 1000
			sum += steps[i]
		}
		l := levels(4*len(steps)+4+random.IntN(40), random.Int64N(1<<40), steps...)
		g, ok := Exact(l)
		if !ok || g.Period == 0 || len(steps)%g.Period != 0 {
			t.Fatalf("steps %v over %d levels: %+v", steps, len(l), g)
		}
		if g.Change*int64(len(steps)) != sum*g.Steps {
			t.Fatalf("steps %v: %d in %d, want %d in %d", steps, g.Change, g.Steps, sum, len(steps))
		}
		shifted := slices.Clone(l)
		for i := range shifted {
			shifted[i] += 12345
		}
		if h, _ := Exact(shifted); h != g {
			t.Fatalf("%v: shifted %+v, want %+v", steps, h, g)
		}
	}
}

func TestThin(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		points := make([]int64, random.IntN(300))
		for i := range points {
			points[i] = random.Int64N(50)
		}
		limit := random.IntN(60)
		kept := Thin(points, limit)
		switch {
		case len(kept) != min(limit, len(points)):
			t.Fatalf("%d of %d points kept, limit %d", len(kept), len(points), limit)
		case !slices.IsSorted(kept) || len(slices.Compact(slices.Clone(kept))) != len(kept):
			t.Fatalf("not in order: %v", kept)
		}
		if limit == 0 || len(points) == 0 {
			continue
		}
		highest := points[kept[0]]
		for _, i := range kept {
			highest = max(highest, points[i])
		}
		if highest != slices.Max(points) {
			t.Fatalf("the peak %d is lost: %d", slices.Max(points), highest)
		}
	}
}

// TestThinBoxes: 7 points in 3 boxes: widths 2, 2, 3.
func TestThinBoxes(t *testing.T) {
	if got := Thin([]int64{1, 2, 9, 3, 4, 4, 0}, 3); !slices.Equal(got, []int{1, 2, 4}) {
		t.Errorf("%v, want [1 2 4]", got)
	}
}
