package measure

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLevelsThin: whatever the number of points, the series is valid, holds only
// what was added, the lowest among them, and never less than half the limit; the
// peak stays.
func TestLevelsThin(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, MaxPoints - 1, MaxPoints, MaxPoints + 1, 2*MaxPoints + 1, 3 * MaxPoints, 100_003} {
		var l Levels
		added := make([]int64, n)
		for i := range added {
			added[i] = random.Int64N(1 << 40)
			l.Add(float64(i), added[i])
		}
		s := l.Series(Labels{"series": "rss"}, ByteUnit, XSeconds)
		if err := s.Validate(); err != nil {
			t.Fatalf("%d points: %v", n, err)
		}
		lowest := added[0]
		for i, x := range s.X {
			v, _ := s.Points[i].Int64()
			if v != added[int(x)] {
				t.Fatalf("%d points: x %v has %d, added was %d", n, x, v, added[int(x)])
			}
			lowest = min(lowest, v)
		}
		if low, high := slices.Min(added), slices.Max(added); lowest != low || l.Max != high {
			t.Fatalf("%d points: lowest %d, Max %d, want %d and %d", n, lowest, l.Max, low, high)
		}
		if len(s.X) < min(n, MaxPoints/2) || l.N != n || s.Samples != 0 && s.Samples != n || (s.Samples == 0) != (len(s.X) == n) {
			t.Fatalf("%d points: %d kept, N %d, samples %d", n, len(s.X), l.N, s.Samples)
		}
	}
}

// TestLevelsEqualX: of several levels of one step the lowest is the point, and the
// largest still the peak.
func TestLevelsEqualX(t *testing.T) {
	var l Levels
	for _, p := range [][2]int64{{1, 5}, {1, 3}, {1, 9}, {2, -7}, {2, 4}} {
		l.Add(float64(p[0]), p[1])
	}
	s := l.Series(nil, ByteUnit, XStep)
	if again := l.Series(nil, ByteUnit, XStep); len(again.X) != 2 {
		t.Errorf("asked again: %+v", again)
	}
	if l.N != 2 || l.Max != 9 || s.Points[0] != Int(3) || s.Points[1] != Int(-7) || s.Samples != 0 {
		t.Errorf("%+v of %+v", s, l)
	}
}

func TestLevelsEmpty(t *testing.T) {
	var l Levels
	if s := l.Series(nil, Count, XStep); len(s.X) != 0 || s.Validate() != nil || l.NonZero {
		t.Errorf("%+v", s)
	}
}
