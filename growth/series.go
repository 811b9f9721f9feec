package growth

import (
	"errors"
	"fmt"
	"math"

	"github.com/peakgate/peakgate/measure"
)

// Series is what Judge judges: one level for each step (just after it, or the
// smallest within it), or for each moment, in the order of time.
type Series struct {
	// X is step numbers, or seconds. Of equal ones the lowest level counts. A step
	// number that falls is that of a counter that began again: it is unrolled.
	X []float64
	// Y is levels minus Base.
	Y []float64
	// Base was taken off each level, so that a byte counts beside 100 GB.
	Base float64
	// Seconds tells that X is seconds: there are no steps, and growth is per hour.
	Seconds bool
	// Counts tells that levels are counts (of regions, of blocks) and not bytes.
	Counts bool
	// HighWater tells that levels are a kernel's own maximum, which can only rise.
	HighWater bool
	// Need, where it is there, holds what each step itself asked for (its peak above
	// the level that it began with, or the size of its batch): a pool that keeps the
	// largest that any step needed grows at new maxima of it and at nothing else.
	Need []float64
}

// FromMeasure gives the series of a measurement for Judge; the first level is the
// base. Differences of integers are exact.
func FromMeasure(s measure.Series) Series {
	out := Series{
		X: s.X, Y: make([]float64, len(s.Points)),
		Seconds: s.XUnit == measure.XSeconds, Counts: s.Unit != measure.ByteUnit, HighWater: s.Kind == measure.HighWater,
	}
	for i, p := range s.Points {
		if i == 0 {
			out.Base = p.Float64()
		}
		out.Y[i] = p.Sub(s.Points[0]).Float64()
	}
	for _, n := range s.Need {
		out.Need = append(out.Need, n.Float64())
	}
	return out
}

// maxMagnitude is the largest number that may stand in a series or a rule: far
// beyond any memory, and no sum or quotient of such numbers overflows.
const maxMagnitude = 1e100

func usable(v float64) bool { return math.Abs(v) <= maxMagnitude } // false for NaN

// prepare checks the series and gives it with one point for each X, which rises.
// It counts the points that were merged and how often the counter began again.
func (s Series) prepare() (out Series, merged, restarts int, err error) {
	if len(s.X) != len(s.Y) || s.Need != nil && len(s.Need) != len(s.Y) {
		return s, 0, 0, fmt.Errorf("series: want as many levels as steps, got %d and %d", len(s.Y), len(s.X))
	}
	plain := true
	for i, x := range s.X {
		if !usable(x) || !usable(s.Y[i]) || s.Need != nil && !usable(s.Need[i]) {
			return s, 0, 0, fmt.Errorf("series: point %d: want finite numbers, got x %v and level %v", i, x, s.Y[i])
		}
		plain = plain && (i == 0 || x > s.X[i-1])
	}
	if !usable(s.Base) {
		return s, 0, 0, fmt.Errorf("series: want a finite base, got %v", s.Base)
	}
	if plain {
		return s, 0, 0, nil
	}
	return s.unrolled()
}

var errOrder = errors.New("series: x is in no order: it falls more often than at each fourth point")

func (s Series) unrolled() (out Series, merged, restarts int, err error) {
	out = s
	out.X, out.Y, out.Need = make([]float64, 0, len(s.X)), make([]float64, 0, len(s.X)), nil
	shift, gap := 0.0, 1.0
	for i, x := range s.X {
		last := len(out.X) - 1
		switch {
		case i > 0 && x < s.X[i-1]:
			if s.Seconds {
				return out, 0, 0, fmt.Errorf("series: point %d: seconds fall from %v to %v", i, s.X[i-1], x)
			}
			restarts++
			shift = out.X[last] + gap - x
		case i > 0 && x > s.X[i-1]:
			gap = x - s.X[i-1]
		case i > 0:
			merged++
			out.Y[last] = min(out.Y[last], s.Y[i])
			if s.Need != nil {
				out.Need[last] = max(out.Need[last], s.Need[i])
			}
			continue
		}
		if last >= 0 && x+shift <= out.X[last] {
			return out, 0, 0, fmt.Errorf("series: point %d: x %v is too close to the one before", i, x)
		}
		out.X, out.Y = append(out.X, x+shift), append(out.Y, s.Y[i])
		if s.Need != nil {
			out.Need = append(out.Need, s.Need[i])
		}
	}
	if 4*restarts > len(s.X) {
		return out, 0, 0, errOrder
	}
	return out, merged, restarts, nil
}
