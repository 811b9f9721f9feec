package growth

import "github.com/peakgate/peakgate/measure"

// MaxPoints is how many points of a series a measurement keeps.
const MaxPoints = measure.MaxPoints

// Thin gives the indexes of at most limit points of a series that keep its shape:
// neighbours share a box, and each box keeps its (first) largest. XProf thins its
// memory timelines alike, with a limit of 1,000: the boxes have a width of n/limit
// or one more, narrow ones first.
// https://github.com/openxla/xprof/blob/master/xprof/convert/xplane_to_memory_profile.cc
func Thin(points []int64, limit int) []int {
	n := len(points)
	kept := make([]int, 0, min(n, max(limit, 0)))
	if n <= limit {
		for i := range n {
			kept = append(kept, i)
		}
		return kept
	}
	if limit <= 0 {
		return kept
	}
	width := n / limit
	narrow := limit*(width+1) - n
	for box, at := 0, 0; box < limit; box++ {
		size := width
		if box >= narrow {
			size++
		}
		best := at
		for i := at; i < at+size; i++ {
			if points[i] > points[best] {
				best = i
			}
		}
		kept = append(kept, best)
		at += size
	}
	return kept
}
