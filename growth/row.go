package growth

import (
	"github.com/peakgate/peakgate/measure"
)

// Row makes the row of a series that says how much it grows: the slope that Judge
// finds where nothing else is said. A series of which Judge fits none (too short, or
// a high-water mark) has the slope from its first to its last point. ok is false
// for counts that the catalogue has no growth of. The value is for people and for
// first budgets: a verdict comes from the series.
func Row(s measure.Series) (row measure.Row, ok bool) {
	name := s.Metric()
	if name == "" {
		return measure.Row{}, false
	}
	slope, reason := slopeOf(FromMeasure(s))
	if reason != "" {
		row = measure.Absent(name, s.Labels, reason)
	} else {
		row = measure.NewRow(name, s.Labels, measure.Float(slope))
	}
	row.Samples = max(s.Samples, len(s.Points))
	if s.Kind != "" {
		row.Kind = s.Kind
	}
	return row, true
}

func slopeOf(s Series) (slope float64, reason string) {
	r, err := Judge(s, Rule{})
	if err != nil {
		return 0, err.Error()
	}
	if r.Fit != nil {
		return r.Fit.Slope, ""
	}
	s, _, _, _ = s.prepare() // Judge has seen its error
	last := len(s.X) - 1
	if last < 1 {
		return 0, "fewer than two points: no growth to see"
	}
	if slope = (s.Y[last] - s.Y[0]) / (s.X[last] - s.X[0]) * s.per(); !usable(slope) {
		return 0, "x are too close together: the slope is beyond all numbers"
	}
	return slope, ""
}
