package growth

import (
	"math/bits"
	"slices"
)

// sen holds the slopes of all pairs of points, in order.
type sen struct {
	slopes [maxPairs]float64
	n      int
}

// slopesOf gives the slopes of all pairs of blocks, whose X rises, over per units of X.
func slopesOf(blocks []Block, per float64) (s sen) {
	for i, a := range blocks {
		for _, b := range blocks[i+1:] {
			s.slopes[s.n] = (b.Level - a.Level) / (b.X - a.X) * per
			s.n++
		}
	}
	slices.Sort(s.slopes[:s.n])
	return s
}

// usable tells that no slope is so large that what is made of it would overflow. A
// slope from two blocks with the same X is none.
func (s *sen) usable() bool {
	return s.slopes[0] >= -maxSlope && s.slopes[s.n-1] <= maxSlope
}

const maxSlope = 1e150

// median is the slope of Theil (1950) and Sen (1968).
func (s *sen) median() float64 { return middle(s.slopes[:s.n]) }

// highMedian is the larger of the two middle slopes where there are two.
func (s *sen) highMedian() float64 { return s.slopes[s.n/2] }

// bounds are the one-sided bounds of the slope (Sen 1968): the k-th smallest and the
// k-th largest slope, where k comes from the exact null of Kendall's S and not from
// the normal curve. S of the levels minus slope × X is pairs above minus pairs
// below, so S >= critical leaves at most (pairs - critical)/2 slopes below. Each
// bound holds with a chance of 1 - tail(critical) or more; equal residuals only
// raise it.
func (s *sen) bounds(critical int) (lower, upper float64) {
	k := (s.n-critical)/2 + 1
	return s.slopes[k-1], s.slopes[s.n-k]
}

// above is S of the levels minus slope × X, a pair that is even counted as falling.
func (s *sen) above(slope float64) int {
	at := 0
	for at < s.n && s.slopes[at] <= slope {
		at++
	}
	return s.n - 2*at
}

// middle is the median of numbers in order.
func middle(sorted []float64) float64 {
	n := len(sorted)
	if n%2 == 1 {
		return sorted[n/2]
	}
	return between(sorted[n/2-1], sorted[n/2])
}

// between is the mean of two numbers a <= b, and no less and no more than they are.
func between(a, b float64) float64 { return a + (b-a)/2 }

// median is the median of numbers, which it puts into another order: time is
// linear (quickselect), and n log n where pivots are bad, as hostile data can
// make them.
func median(v []float64) float64 {
	n := len(v)
	k := n / 2
	low, high := 0, n-1
	for rounds := 2 * bits.Len(uint(n)); low < high; rounds-- {
		if rounds == 0 {
			slices.Sort(v[low : high+1])
			break
		}
		pivot := v[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			low = high
		}
	}
	if n%2 == 1 {
		return v[k]
	}
	return between(slices.Max(v[:k]), v[k])
}
