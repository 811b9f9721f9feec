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

// largest picks the most buffers that a view keeps, by their places, in order: the
// largest at the peak for up to three quarters of them, then the largest of all.
func largest(count, most int, size func(int) int64, atPeak func(int) bool) (kept []int, left *LeftOut) {
	all := make([]int, count)
	for i := range all {
		all[i] = i
	}
	if count <= most {
		return all, nil
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Or(cmp.Compare(size(b), size(a)), cmp.Compare(a, b)) })
	var live, rest []int
	for _, i := range all {
		if atPeak(i) {
			live = append(live, i)
		}
	}
	kept = first(live, 3*most/4, size)
	taken := make([]bool, count)
	for _, i := range kept {
		taken[i] = true
	}
	for _, i := range all {
		if !taken[i] {
			rest = append(rest, i)
		}
	}
	for _, i := range first(rest, most-len(kept), size) {
		kept, taken[i] = append(kept, i), true
	}
	left = &LeftOut{Count: count - most}
	for _, i := range rest {
		if taken[i] {
			continue
		}
		left.LargestLeft = max(left.LargestLeft, size(i))
		if atPeak(i) {
			left.PeakCount++
			left.PeakBytes += size(i)
			left.atPeak = append(left.atPeak, i)
		}
	}
	slices.Sort(kept)
	return kept, left
}

// first takes the first of a list by size. Of those of the last size not the first are
// taken, which are all from one stretch of the order, but some from all along.
func first(sorted []int, most int, size func(int) int64) []int {
	if len(sorted) <= most || most == 0 {
		return sorted[:min(len(sorted), most)]
	}
	last := size(sorted[most-1])
	from := slices.IndexFunc(sorted, func(i int) bool { return size(i) == last })
	to := from
	for to < len(sorted) && size(sorted[to]) == last {
		to++
	}
	out := slices.Clone(sorted[:from])
	for n := most - from; len(out) < most; {
		out = append(out, sorted[from+(len(out)-from)*(to-from)/n])
	}
	return out
}

// groups adds up buffers that are left out, the largest groups first; what is beyond the
// most is one of others.
func groups(all []Group, most int) []Group {
	sums := map[Origin]*Group{}
	for _, one := range all {
		g := sums[one.Origin]
		if g == nil {
			g = &Group{Origin: one.Origin}
			sums[one.Origin] = g
		}
		g.Count, g.Bytes, g.Unpadded = g.Count+one.Count, g.Bytes+one.Bytes, g.Unpadded+one.Unpadded
	}
	var out []Group
	for _, g := range sums {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Source, b.Source), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Shape, b.Shape), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Class, b.Class))
	})
	if len(out) <= most {
		return out
	}
	rest := Group{Origin: Origin{Shape: others, Op: others, Source: others, Kind: others, Class: others}}
	for _, g := range out[most:] {
		rest.Count, rest.Bytes, rest.Unpadded = rest.Count+g.Count, rest.Bytes+g.Bytes, rest.Unpadded+g.Unpadded
	}
	return append(out[:most], rest)
}

// others is what the smallest groups are together.
const others = "others"
