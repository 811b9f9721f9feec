package growth

import (
	"math"
	"slices"
	"testing"
)

// TestCritical holds the table of critical values of the one-sided test, published
// for Kendall's S (M. G. Kendall, Rank Correlation Methods, appendix table 1).
func TestCritical(t *testing.T) {
	for _, c := range []struct {
		n     int
		alpha float64
		want  int
		tail  float64
		digit float64
	}{
		{8, 0.01, 20, 0.0071, 1e-4}, {8, 0.001, 24, 0.00087, 1e-5},
		{10, 0.01, 27, 0.0083, 1e-4}, {10, 0.001, 35, 0.00047, 1e-5},
		{12, 0.01, 36, 0.0069, 1e-4}, {12, 0.001, 44, 0.00090, 1e-5},
		{6, 0.01, 13, 0.0083, 1e-4},
	} {
		null := nullOf(c.n, nil)
		s, ok := null.critical(c.alpha)
		if !ok || s != c.want || math.Abs(null.tail(s)-c.tail) > c.digit/2 {
			t.Errorf("n %d alpha %v: S >= %d with p %.5f, want %d with %v", c.n, c.alpha, s, null.tail(s), c.want, c.tail)
		}
	}
}

// TestKendallEnumerated compares every chance with a count over all orders of small
// samples, with and without ties.
func TestKendallEnumerated(t *testing.T) {
	for _, sample := range [][]float64{
		{1}, {1, 2}, {1, 1}, {1, 2, 3, 4, 5, 6, 7}, {1, 1, 2, 3, 4, 5, 6}, {1, 1, 2, 2, 3, 3, 4}, {5, 5, 5, 5, 5, 5, 1}, {1, 1, 1, 2, 2, 2, 2}, {3, 3, 3, 3, 3, 3, 3},
		{1, 2, 3, 4, 5, 6, 7, 8},
	} {
		counts, orders := map[int]int{}, 0
		permute(slices.Clone(sample), 0, func(v []float64) {
			s := 0
			for i := range v {
				for j := range i {
					switch {
					case v[i] > v[j]:
						s++
					case v[i] < v[j]:
						s--
					}
				}
			}
			counts[s]++
			orders++
		})
		permute(slices.Clone(sample), 0, func(v []float64) {
			if orders > 5040 && !slices.IsSorted(v) {
				return
			}
			s, p := kendall(v)
			atLeast := 0
			for other, n := range counts {
				if other >= s {
					atLeast += n
				}
			}
			if want := float64(atLeast) / float64(orders); math.Abs(p-want) > 1e-15 {
				t.Fatalf("%v: S %d has p %v, want %v", v, s, p, want)
			}
		})
	}
}

func permute(v []float64, k int, visit func([]float64)) {
	if k == len(v) {
		visit(v)
		return
	}
	for i := k; i < len(v); i++ {
		v[k], v[i] = v[i], v[k]
		permute(v, k+1, visit)
		v[k], v[i] = v[i], v[k]
	}
}
