package page

import (
	"math"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
)

// ramp is a series that grows by 1 MiB a step, from the tenth step on.
func ramp(unit measure.XUnit, n int) *measure.Measurement {
	s := measure.Series{Labels: measure.Labels{"series": "rss", "rank": "3"}, Unit: measure.ByteUnit, XUnit: unit}
	for i := range n {
		s.X = append(s.X, float64(i))
		s.Points = append(s.Points, measure.Int(100<<20+int64(max(0, i-10))<<20))
	}
	counts := measure.Series{Labels: measure.Labels{"series": "regions"}, Unit: measure.Count, XUnit: unit, X: []float64{0}, Points: []measure.Value{measure.Int(1)}}
	return &measure.Measurement{Series: []measure.Series{s, counts}}
}

// TestSeries: the samples are as they were read, and the growth is package growth's.
func TestSeries(t *testing.T) {
	for _, unit := range []measure.XUnit{measure.XStep, measure.XSeconds} {
		m := ramp(unit, 100)
		side := Series(m)
		if len(side.Views) != 2 || len(side.Warnings) != 0 {
			t.Fatalf("%d views, warnings %q", len(side.Views), side.Warnings)
		}
		if c := side.Views[1]; c.Unit != "count" || c.Module != "regions" || c.Figures[0].Text != "1" || side.Views[0].Unit != "" {
			t.Errorf("the series of counts is %+v", c)
		}
		v := &side.Views[0]
		if v.Module != "rss rank=3" || v.Peak.X != 99 || v.Peak.Bytes != 189<<20 || v.Steps != 99 || len(v.Curve.Bytes) != 100 {
			t.Errorf("%s: %s, peak %+v of %d steps", unit, v.Module, v.Peak, v.Steps)
		}
		for i, n := range v.Curve.Bytes {
			if want, _ := m.Series[0].Points[i].Int64(); n != want {
				t.Errorf("sample %d is %d, want %d", i, n, want)
			}
		}
		r, err := growth.Judge(growth.FromMeasure(m.Series[0]), growth.Rule{})
		if err != nil || r.Fit == nil || v.Trend == nil || len(v.Trend.Blocks) != len(r.Fit.Blocks) || v.Trend.From != int(r.From) {
			t.Fatalf("the growth is %+v, the page shows %+v (%v)", r, v.Trend, err)
		}
		// On a ramp the line goes through every sample that counts.
		for _, end := range v.Trend.Lines[0] {
			if want := float64(v.Curve.Bytes[end.X]); math.Abs(end.Bytes-want) > 1<<10 {
				t.Errorf("%s: the line is at %.0f at sample %d, which is %.0f", unit, end.Bytes, end.X, want)
			}
		}
		want := map[measure.XUnit]string{measure.XStep: "+1.00 MiB per step", measure.XSeconds: "+3.52 GiB per hour"}[unit]
		if f := v.Figures[3]; f.Key != "growth" || !strings.HasPrefix(f.Text, want) {
			t.Errorf("the growth is written %q, want %q", f.Text, want)
		}
	}
}

// TestShortSeries: without a fit there is a reason, and no line.
func TestShortSeries(t *testing.T) {
	for _, n := range []int{1, 2, 12} {
		v := Series(ramp(measure.XStep, n)).Views[0]
		if v.Trend != nil || !strings.HasPrefix(v.Figures[3].Text, "not known: ") {
			t.Errorf("%d samples: %+v, %q", n, v.Trend, v.Figures[3].Text)
		}
	}
	// Steps that begin again have no place on one axis: the figure stays, the line goes.
	m := ramp(measure.XStep, 100)
	for i := 50; i < 100; i++ {
		m.Series[0].X[i] -= 50
	}
	if v := Series(m).Views[0]; v.Trend != nil || len(v.Curve.Bytes) != 100 {
		t.Errorf("restarted steps: %+v", v.Trend)
	}
}
