package page

import (
	"cmp"
	"slices"

	"github.com/peakgate/peakgate/capture/xla"
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
func largest(list []xla.ViewBuffer, most int) (kept []int, left *LeftOut) {
	kept = make([]int, len(list))
	for i := range kept {
		kept[i] = i
	}
	if len(list) <= most {
		return kept, nil
	}
	slices.SortStableFunc(kept, func(a, b int) int {
		return cmp.Or(cmp.Compare(list[b].SizeBytes, list[a].SizeBytes), cmp.Compare(a, b))
	})
	left = &LeftOut{Count: len(list) - most, LargestLeft: list[kept[most]].SizeBytes}
	for _, i := range kept[most:] {
		if list[i].AtPeak {
			left.PeakCount++
			left.PeakBytes += list[i].SizeBytes
		}
	}
	kept = kept[:most]
	slices.Sort(kept)
	return kept, left
}
