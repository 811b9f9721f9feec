package measure

import (
	"math"
	"strings"
	"testing"
)

func levels(name string, points ...int64) Series {
	s := Series{Labels: Labels{"series": name}, Unit: ByteUnit, XUnit: XStep}
	for i, p := range points {
		s.X = append(s.X, float64(i))
		s.Points = append(s.Points, Int(p))
	}
	return s
}

func TestSeriesMetric(t *testing.T) {
	for _, c := range []struct {
		name string
		unit Unit
		x    XUnit
		want string
	}{
		{"footprint", ByteUnit, XStep, "growth.bytes_per_step"},
		{"regions", ByteUnit, XSeconds, "growth.bytes_per_hour"},
		{"regions", Count, XStep, "growth.regions_per_step"},
		{"regions", Count, XSeconds, "growth.regions_per_hour"},
		{"blocks", Count, XStep, "growth.blocks_per_step"},
		{"blocks", Count, XSeconds, ""}, // the catalogue has none
		{"bytes", Count, XStep, ""},     // a count is never bytes
		{"threads", Count, XStep, ""},
	} {
		s := Series{Labels: Labels{"series": c.name}, Unit: c.unit, XUnit: c.x}
		if got := s.Metric(); got != c.want {
			t.Errorf("%s in %s over %s: %q, want %q", c.name, c.unit, c.x, got, c.want)
		}
	}
}

func TestSeriesValidate(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*Series)
		want  string
	}{
		{"no unit", func(s *Series) { s.Unit = "" }, `unit "", want "B" or "count"`},
		{"no x_unit", func(s *Series) { s.XUnit = "" }, `x_unit "", want "step" or "s"`},
		{"lengths", func(s *Series) { s.X = s.X[1:] }, "2 x for 3 points"},
		{"needs", func(s *Series) { s.Need = []Value{Int(1)} }, "1 needs for 3 points"},
		{"x is no number", func(s *Series) { s.X[1] = math.NaN() }, "x[1]: want a finite number"},
		{"point is no number", func(s *Series) { s.Points[1] = Float(math.Inf(1)) }, "points[1]: want finite numbers"},
		{"too long", func(s *Series) { *s = levels("footprint", make([]int64, MaxPoints+1)...) }, "4097 points, want at most 4096"},
	} {
		s := levels("footprint", 1, 2, 3)
		c.spoil(&s)
		m := New()
		m.Series = []Series{s}
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "series[0] {series=footprint}: "+c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	m := New()
	m.Series = []Series{levels("rss", 1), levels("rss", 2)}
	if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "second series with the labels {series=rss}") {
		t.Errorf("two of one name: %v", err)
	}
}

// TestMergeSeries: a row and its series stay together. Two files whose slopes are
// equal and whose levels are not are two rows.
func TestMergeSeries(t *testing.T) {
	part := func(file string, s Series) *Measurement {
		m := New()
		m.Inputs = []Input{{Path: file}}
		m.Series = []Series{s}
		m.Rows = []Row{NewRow(s.Metric(), s.Labels, Int(1))}
		return m
	}
	one := Merge("t", []*Measurement{part("a.csv", levels("rss", 1, 2, 3)), part("b.csv", levels("rss", 1, 2, 3))})
	if len(one.Rows) != 1 || len(one.Series) != 1 || one.SeriesOf("growth.bytes_per_step", one.Rows[0].Labels) == nil {
		t.Errorf("equal files: %+v and %+v", one.Rows, one.Series)
	}
	two := Merge("t", []*Measurement{part("a.csv", levels("rss", 1, 2, 3)), part("b.csv", levels("rss", 4, 5, 6))})
	if len(two.Rows) != 2 {
		t.Fatalf("%d rows of two files that differ: %+v", len(two.Rows), two.Rows)
	}
	for i, want := range []int64{1, 4} {
		s := two.SeriesOf("growth.bytes_per_step", two.Rows[i].Labels)
		if s == nil {
			t.Fatalf("row %d {%s} has no series", i, two.Rows[i].Labels.Key())
		}
		if got, _ := s.Points[0].Int64(); got != want {
			t.Errorf("row {%s} has the series from %d, want %d", two.Rows[i].Labels.Key(), got, want)
		}
	}
}
