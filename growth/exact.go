package growth

import "github.com/peakgate/peakgate/measure"

// MaxPeriod is the longest cycle of steps that Exact looks for: a program that
// does something every 8 steps has grown by a whole number of cycles.
const MaxPeriod = 32

// minLevels is the fewest levels that Exact answers for: one is dropped as
// warm-up, and growth must be seen twice.
const minLevels = 4

// Growth is a change over a number of steps, both exact.
type Growth struct {
	// Change is the difference of the levels Steps apart.
	Change int64
	Steps  int64
	// From is the index of the first level that counts: those before it are
	// warm-up.
	From int
	// Period is how many steps one cycle has, each of which changes the level by
	// the same amount; 0 where the levels follow no cycle, and Change is then
	// nothing but the difference of the first and the last level that count.
	Period int
}

// PerStep is the growth per step: an exact integer where it is one.
func (g Growth) PerStep() measure.Value {
	switch {
	case g.Steps == 0:
		return measure.Int(0)
	case g.Change%g.Steps == 0:
		return measure.Int(g.Change / g.Steps)
	}
	return measure.Float(float64(g.Change) / float64(g.Steps))
}

// Exact gives the growth of exact levels, one for each step, all taken at the same
// point of it. ok is false where there are too few to say.
//
// The second half of the levels decides (all but the first where they are few), so
// that caches which fill at the start are no growth. The shortest cycle that this
// half follows at least twice gives the growth: a program that allocates now
// from one chunk and now from another, or keeps something every tenth step, has a
// cycle. The warm-up then reaches back as far as the cycle does not hold.
func Exact(levels []int64) (g Growth, ok bool) {
	n := len(levels)
	if n < minLevels {
		return Growth{}, false
	}
	from := max(1, min(n/2, n-3))
	for period := 1; period <= MaxPeriod && n-from > 2*period; period++ {
		change, fits := cycle(levels[from:], period)
		if !fits {
			continue
		}
		for from > 1 {
			if d, ok := sub(levels[from-1+period], levels[from-1]); !ok || d != change {
				break
			}
			from--
		}
		return Growth{Change: change, Steps: int64(period), From: from, Period: period}, true
	}
	change, ok := sub(levels[n-1], levels[from])
	return Growth{Change: change, Steps: int64(n - 1 - from), From: from}, ok
}

// cycle tells by how much the levels change in each period, if always alike.
func cycle(levels []int64, period int) (change int64, fits bool) {
	for i := 0; i+period < len(levels); i++ {
		d, ok := sub(levels[i+period], levels[i])
		if !ok || i > 0 && d != change {
			return 0, false
		}
		change = d
	}
	return change, true
}

// sub is a - b; ok is false where that is no int64.
func sub(a, b int64) (d int64, ok bool) {
	d = a - b
	return d, (d <= a) == (b >= 0)
}
