package page

import (
	"cmp"
	"slices"
)

// thin picks at most about most positions of a curve, in order: the first and the
// last, one more that must stay, and the lowest and highest of each stretch.
func thin(curve []int64, must, most int) []int {
	n := len(curve)
	if n <= most {
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
	}
	picked := []int{0, n - 1}
	if must >= 0 && must < n {
		picked = append(picked, must)
	}
	stretches := max(1, (most-len(picked))/2)
	for s := range stretches {
		from, to := s*n/stretches, (s+1)*n/stretches
		low, high := from, from
		for i := from; i < to; i++ {
			if curve[i] < curve[low] {
				low = i
			}
			if curve[i] > curve[high] {
				high = i
			}
		}
		picked = append(picked, low, high)
	}
	slices.Sort(picked)
	return slices.Compact(picked)
}

// largest picks the most buffers that a view keeps, by their places, in order.
func largest(count, most int, size func(int) int64, atPeak func(int) bool) (kept []int, left *LeftOut) {
	kept = make([]int, count)
	for i := range kept {
		kept[i] = i
	}
	if count <= most {
		return kept, nil
	}
	slices.SortStableFunc(kept, func(a, b int) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a, b))
	})
	left = &LeftOut{Count: count - most, LargestLeft: size(kept[most])}
	for _, i := range kept[most:] {
		if atPeak(i) {
			left.PeakCount++
			left.PeakBytes += size(i)
		}
	}
	kept = kept[:most]
	slices.Sort(kept)
	return kept, left
}
