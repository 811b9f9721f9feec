package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
)

// seriesOrder is what the positions of a series are.
const seriesOrder = "Left to right are the samples, one beside the other. The pale part is warm-up, which does not count; circles are the medians of blocks of samples, the line is the growth through them, and the dashed lines are the ends of its interval."

// sampled is the space of a series.
const sampled = "sampled"

// Trend is the growth of a series, laid over its curve.
type Trend struct {
	// From is the position of the first sample that counts.
	From int `json:"from"`
	// Blocks are the medians of blocks of samples.
	Blocks []Level `json:"blocks"`
	// Lines are the growth and the lower and upper ends of its interval, each by its
	// first and last levels.
	Lines [][2]Level `json:"lines"`
}

// Level is a size at a position.
type Level struct {
	X     int     `json:"x"`
	Bytes float64 `json:"bytes"`
}

// Series gives the series of a measurement, each a view: those of bytes, then those of
// counts.
func Series(m *measure.Measurement) Side {
	s := Side{Views: []View{}}
	for _, w := range m.Warnings {
		s.warn("%s", w)
	}
	for _, unit := range []measure.Unit{measure.ByteUnit, measure.Count} {
		for i := range m.Series {
			if one := &m.Series[i]; one.Unit == unit && len(one.Points) > 0 && len(s.Views) < maxViews {
				s.Views = append(s.Views, seriesView(one, max(40, min(viewPoints, totalPoints/len(m.Series)))))
			}
		}
	}
	if left := len(m.Series) - len(s.Views); left > 0 {
		s.warn("%d series of %d are not shown", left, len(m.Series))
	}
	return s
}

func seriesView(s *measure.Series, most int) View {
	levels := make([]int64, len(s.Points))
	for i, p := range s.Points {
		levels[i] = int64(p.Float64())
		if n, ok := p.Int64(); ok {
			levels[i] = n
		}
	}
	at := 0
	for i, n := range levels {
		if n > levels[at] {
			at = i
		}
	}
	name := Clean(cmp.Or(s.Labels["series"], "series"))
	if rest := s.Labels.Key("series"); rest != "" {
		name = Clean(name + " " + rest)
	}
	v := View{
		Module: name, Name: name, Space: sampled, samples: s.X, Order: seriesOrder, Steps: len(levels) - 1, Peak: &Peak{X: at, Bytes: levels[at], Unpadded: levels[at]},
		Curve: Curve{X: thin(levels, at, most), Bytes: []int64{}, Instructions: []string{}}, Allocations: []Allocation{}, Buffers: []Buffer{},
	}
	for _, x := range v.Curve.X {
		v.Curve.Bytes = append(v.Curve.Bytes, levels[x])
		v.Curve.Instructions = append(v.Curve.Instructions, position(s, x))
	}
	if s.Unit == measure.Count {
		v.Unit = string(s.Unit)
	}
	sample := func(key, label string, i int) Figure {
		return Figure{Key: key, Label: label, Bytes: &levels[i], Text: measure.Int(levels[i]).Format(s.Unit), Formula: "at " + position(s, i)}
	}
	v.Figures = []Figure{sample("peak", "Largest sample", at), sample("first", "First sample", 0), sample("end", "Last sample", len(levels)-1)}
	v.trend(s)
	return v
}

// position says which step or second a sample is of.
func position(s *measure.Series, i int) string {
	x := strconv.FormatFloat(math.Round(1000*s.X[i])/1000, 'f', -1, 64)
	if s.XUnit == measure.XSeconds {
		return x + " s"
	}
	return "step " + x
}

// trend adds the growth, as package growth estimates it with nothing else said.
func (v *View) trend(s *measure.Series) {
	g := growth.FromMeasure(*s)
	r, err := growth.Judge(g, growth.Rule{})
	text := Figure{Key: "growth", Label: "Growth"}
	defer func() { v.Figures = append(v.Figures, text) }()
	switch {
	case err != nil:
		text.Text = "not known: " + Clean(err.Error())
		return
	case r.Fit == nil:
		text.Text = "not known: " + Clean(r.Reason)
		return
	}
	per, unit := 1.0, "step"
	if g.Seconds {
		per, unit = 3600, "hour"
	}
	f := r.Fit
	size := func(x float64) string { return measure.Float(x).FormatSigned(s.Unit) }
	text.Text = fmt.Sprintf("%s per %s, %s to %s", size(f.Slope), unit, size(f.Lower), size(f.Upper))
	text.Formula = fmt.Sprintf("median slope of %d blocks, each end with %.1f %% confidence; the first %d samples are warm-up", len(f.Blocks), 100*f.Confidence, r.Trimmed)
	if r.Restarts > 0 || !slices.IsSorted(s.X) {
		return // positions of blocks are those of a counter that was unrolled
	}
	place := func(x float64) int {
		i, _ := slices.BinarySearch(s.X, x)
		return min(i, len(s.X)-1)
	}
	v.Trend = &Trend{From: place(r.From)}
	var starts []float64
	for _, b := range f.Blocks {
		v.Trend.Blocks = append(v.Trend.Blocks, Level{place(b.X), g.Base + b.Level})
		starts = append(starts, b.Level-f.Slope/per*b.X)
	}
	slices.Sort(starts)
	middle := f.Blocks[len(f.Blocks)/2].X
	level := g.Base + starts[len(starts)/2] + f.Slope/per*middle
	for _, slope := range []float64{f.Slope, f.Lower, f.Upper} {
		var line [2]Level
		for i, x := range []float64{r.From, s.X[len(s.X)-1]} {
			line[i] = Level{place(x), level + slope/per*(x-middle)}
		}
		v.Trend.Lines = append(v.Trend.Lines, line)
	}
}
