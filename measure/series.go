package measure

import (
	"fmt"
	"math"
	"slices"
)

// MaxPoints is how many points of a series a measurement keeps.
const MaxPoints = 4096

// Series is a run of levels over steps or seconds: what a growth row is judged
// from. Its labels are those of that row; the label series names what it is of.
type Series struct {
	Labels Labels `json:"labels"`
	Unit   Unit   `json:"unit"` // B or count
	// XUnit says what X counts: steps or seconds, as they were read.
	XUnit XUnit `json:"x_unit"`
	// Kind is sampled where it is empty. The points of a high-water mark cannot
	// fall, so no rank test judges them; nor those of an observed curve, which show
	// its peaks.
	Kind   Kind      `json:"kind,omitempty"`
	X      []float64 `json:"x"` // as read: step numbers may begin again
	Points []Value   `json:"points"`
	// Need, where it is known, is what each step itself asked for: its peak above the
	// level that it began with, or the size of its batch.
	Need []Value `json:"need,omitempty"`
	// Samples is how many points were read, where more than MaxPoints were and some
	// had to be left out.
	Samples int `json:"samples,omitempty"`
}

// XUnit is what the X of a series counts.
type XUnit string

// The units of X.
const (
	XStep    XUnit = "step"
	XSeconds XUnit = "s"
)

// Metric is the metric of the catalogue that says how much the series grows. It
// is empty for counts that have none: only those named regions and blocks do.
func (s Series) Metric() string {
	per := map[XUnit]string{XStep: "_per_step", XSeconds: "_per_hour"}[s.XUnit]
	what := s.Labels["series"]
	if s.Unit == ByteUnit {
		what = "bytes"
	}
	name := "growth." + what + per
	if m, ok := Lookup(name); !ok || s.Unit == Count && m.Unit != CountPerStep && m.Unit != CountPerHour {
		return ""
	}
	return name
}

// key is the metric, or what else tells series of equal labels apart.
func (s Series) key() string {
	if m := s.Metric(); m != "" {
		return m
	}
	return "series " + string(s.Unit) + " " + string(s.XUnit)
}

// SeriesOf gives the series that a row is judged from; nil where there is none.
func (m *Measurement) SeriesOf(metric string, labels Labels) *Series {
	key := labels.Key()
	for i := range m.Series {
		if s := &m.Series[i]; s.Metric() == metric && s.Labels.Key() == key {
			return s
		}
	}
	return nil
}

// Validate checks what every consumer relies on.
func (s Series) Validate() error {
	switch {
	case s.Unit != ByteUnit && s.Unit != Count:
		return fmt.Errorf("unit %q, want %q or %q", s.Unit, ByteUnit, Count)
	case s.XUnit != XStep && s.XUnit != XSeconds:
		return fmt.Errorf("x_unit %q, want %q or %q", s.XUnit, XStep, XSeconds)
	case len(s.X) != len(s.Points):
		return fmt.Errorf("%d x for %d points", len(s.X), len(s.Points))
	case s.Need != nil && len(s.Need) != len(s.Points):
		return fmt.Errorf("%d needs for %d points", len(s.Need), len(s.Points))
	case len(s.Points) > MaxPoints:
		return fmt.Errorf("%d points, want at most %d", len(s.Points), MaxPoints)
	}
	for i, x := range s.X {
		switch {
		case math.IsNaN(x) || math.IsInf(x, 0):
			return fmt.Errorf("x[%d]: want a finite number, got %v", i, x)
		case !s.Points[i].finite() || s.Need != nil && !s.Need[i].finite():
			return fmt.Errorf("points[%d]: want finite numbers", i)
		}
	}
	return nil
}

func (s Series) equal(t Series) bool {
	same := func(v, w Value) bool { return v.Cmp(w) == 0 }
	return s.Unit == t.Unit && s.XUnit == t.XUnit && s.Kind == t.Kind && s.Samples == t.Samples &&
		slices.Equal(s.X, t.X) && slices.EqualFunc(s.Points, t.Points, same) && slices.EqualFunc(s.Need, t.Need, same)
}
