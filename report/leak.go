package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

const growthOf = "Growth of "

// mostLeaks is of how many growths it is told what to do.
const mostLeaks = 3

// leak is what can be done about a sampled growth that fails.
type leak struct {
	of    string   // which series of which target; several that are alike
	steps []string // what to do, the first first; keys of the budget in backquotes
}

// leakOf is nil for a check that is no failed trend.
func leakOf(p place) *leak {
	c := p.check
	if c.Trend == nil || c.Counts() != compare.Fail || len(c.Failed) == 0 {
		return nil
	}
	out := &leak{of: growthOf + c.Labels["series"] + " in " + p.target.Name}
	add := func(format string, args ...any) { out.steps = append(out.steps, fmt.Sprintf(format, args...)) }
	long, unit := runLength(c)
	f := c.Trend.Fit
	switch {
	case f != nil && f.OnlyMaxima:
		add("it rises only where a step needs more than all before: bound the size of a step (batch, sequence), or allow the largest with `up_to`")
	case f != nil:
		add("leak or cache? run it twice as long (%s %s): a cache slows down or stops, a leak goes on", number(2*long), unit)
	}
	if c.Limit.UpTo == nil {
		add("a cache that has a bound is allowed by `up_to: SIZE`, its bound")
	} else {
		add("a cache may be larger where `up_to` says so")
	}
	if f != nil && slices.Contains(c.Failed, "max") {
		add("too little to matter? `max: %s` passes this run; or give `horizon`, the %s of your longest run (judged over %s)",
			ceiling(measure.Float(math.Max(f.Upper, f.Slope)), c.Unit, false), unit, number(math.Round(f.Horizon)))
	}
	add("to find the code: two snapshots of one PyTorch process, and `peakgate diff --leak FIRST LAST`")
	return out
}

// with adds what can be done about one more growth: beside another with the same steps.
func with(leaks []leak, l leak) []leak {
	if at := slices.IndexFunc(leaks, func(have leak) bool { return slices.Equal(have.steps, l.steps) }); at >= 0 {
		leaks[at].of += ", " + strings.TrimPrefix(l.of, growthOf)
		return leaks
	}
	return append(leaks, l)
}

// runLength is how many steps or hours the series spans.
func runLength(c *compare.Check) (long float64, unit string) {
	s := c.Series
	if len(s.X) > 1 {
		long = s.X[len(s.X)-1] - s.X[0]
	}
	if s.XUnit == measure.XSeconds {
		return math.Max(1, math.Ceil(long/3600)), "hours"
	}
	return math.Ceil(long) + 1, "steps"
}
