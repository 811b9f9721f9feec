package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// sparkWidth is how many columns a sparkline has at most, in a list listWidth; and
// mostSeries how many series a measurement's text shows.
const (
	sparkWidth = 48
	listWidth  = 24
	mostSeries = 12
)

// sparkline draws levels from the lowest to the highest: neighbours share a column,
// which shows their median.
func sparkline(points []measure.Value, width int) string {
	const blocks = "▁▂▃▄▅▆▇█"
	columns := min(width, len(points))
	levels := make([]float64, columns)
	for i := range levels {
		box := slices.Clone(points[i*len(points)/columns : (i+1)*len(points)/columns])
		slices.SortFunc(box, measure.Value.Cmp)
		levels[i] = box[len(box)/2].Float64()
	}
	if columns == 0 {
		return ""
	}
	low, high := slices.Min(levels), slices.Max(levels)
	var out strings.Builder
	for _, l := range levels {
		at := 0.0
		if high > low {
			at = (l - low) / (high - low) * 7
		}
		out.WriteRune([]rune(blocks)[int(math.Round(at))])
	}
	return out.String()
}

// seriesLine tells a series in one line: its shape, from where to where it goes, and
// over what.
func seriesLine(s *measure.Series) string {
	if len(s.Points) == 0 {
		return "no points"
	}
	first, last := s.Points[0], s.Points[len(s.Points)-1]
	return fmt.Sprintf("%s  %s to %s (%s), %s, %s", sparkline(s.Points, sparkWidth), first.Format(s.Unit), last.Format(s.Unit), last.Sub(first).FormatSigned(s.Unit), span(s), plural(max(s.Samples, len(s.Points)), "point", "points"))
}

// span is where a series begins and ends.
func span(s *measure.Series) string {
	from, to := s.X[0], s.X[len(s.X)-1]
	if s.XUnit == measure.XSeconds {
		return number(from) + " s to " + number(to) + " s"
	}
	return "steps " + number(from) + " to " + number(to)
}

func number(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return measure.Int(int64(f)).Format(measure.Count)
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

// at tells an X of a series.
func at(s *measure.Series, x float64) string {
	if s.XUnit == measure.XSeconds {
		return number(x) + " s"
	}
	return "step " + number(x)
}

// growthLines tells how a sampled growth was judged: its series, the medians of the
// blocks, the slope with its bounds, what was left out as warm-up, where the level
// settles, and what growth the run could have shown.
func growthLines(c *compare.Check) []string {
	s, t := c.Series, c.Trend
	if s == nil || t == nil {
		return nil
	}
	rows := [][2]string{{"series", seriesLine(s)}}
	add := func(name, format string, args ...any) {
		rows = append(rows, [2]string{name, fmt.Sprintf(format, args...)})
	}
	slope := func(v float64) string { return measure.Float(v).Format(c.Unit) }
	level := func(v float64) string { return measure.Int(int64(math.Round(clamp(v)))).Format(s.Unit) }
	if f := t.Fit; f != nil {
		add("blocks", "%s (medians of %d points, from the first on)", strings.Join(blocks(s, t), ", "), f.Blocks[0].Points)
		add("slope", "%s, %s to %s with 99 %% confidence; first half %s, second half %s", slope(f.Slope), slope(f.Lower), slope(f.Upper), slope(f.FirstHalf), slope(f.SecondHalf))
	}
	rows = append(rows, [2]string{"warm-up", warmup(c)})
	if f := t.Fit; f != nil {
		switch {
		case !f.Plateau.Flat:
			add("plateau", "none: the last third reaches more than %s above the middle third", level(f.Plateau.Tolerance))
		case f.Lower > t.Rule.Budget && f.SecondHalf >= f.FirstHalf/2 && f.SecondHalf > 0:
			add("plateau", "none: it rises to the end of the run, if by no more than %s in the last third", level(f.Plateau.Tolerance))
		case f.Plateau.From > t.From:
			add("plateau", "%s from %s on, later than the warm-up ends: warmup: { %s } leaves the rise out", level(f.Plateau.Level), at(s, f.Plateau.From), warmupKey(s, f.Plateau.From))
		default:
			add("plateau", "%s, from the end of the warm-up on", level(f.Plateau.Level))
		}
		add("visible", "growth of %s or more: the smallest that this run could have shown", slope(f.Smallest))
	}
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprintf("%-8s %s", r[0], r[1]))
	}
	return out
}

// blocks gives the median of the first block, and by how much the others differ
// from it.
func blocks(s *measure.Series, t *compare.Trend) []string {
	list := t.Fit.Blocks
	out := make([]string, len(list))
	first := s.Points[0].Float64() + list[0].Level
	for i, b := range list {
		v := measure.Int(int64(math.Round(clamp(b.Level - list[0].Level)))).FormatSigned(s.Unit)
		if i == 0 {
			v = measure.Int(int64(math.Round(clamp(first)))).Format(s.Unit)
		}
		out[i] = v
	}
	return out
}

// warmupKey is the budget's key for a warm-up that ends at x.
func warmupKey(s *measure.Series, x float64) string {
	long := math.Ceil(clamp(x - s.X[0]))
	if s.XUnit == measure.XSeconds {
		return fmt.Sprintf("time: %.0f s", long)
	}
	return fmt.Sprintf("steps: %.0f", long)
}

func clamp(f float64) float64 { return min(max(f, -1<<62), 1<<62) }

// warmup says what was left out, and what was done to the steps.
func warmup(c *compare.Check) string {
	s, t := c.Series, c.Trend
	out := fmt.Sprintf("%d of %s left out", t.Trimmed, plural(len(s.Points)-t.Merged, "point", "points"))
	if t.Trimmed == 0 {
		out = "none left out"
	} else if t.Fit != nil {
		out += ", before " + at(s, t.From)
	}
	if t.Extended > 0 {
		out += fmt.Sprintf("; %d of them since the level still rose", t.Extended)
	}
	if s.Samples > len(s.Points) {
		out += fmt.Sprintf("; the %d points stand for %d", len(s.Points), s.Samples)
	}
	if t.Restarts > 0 {
		out += fmt.Sprintf("; the step counter began again %s", plural(t.Restarts, "time", "times"))
	}
	return out
}

// textSeries tells the series of a measurement, one a line.
func textSeries(out io.Writer, title string, series []measure.Series, slope func(measure.Series) string) {
	if len(series) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", title)
	rows := [][]string{}
	for _, s := range series[:min(len(series), mostSeries)] {
		if len(s.Points) == 0 {
			continue
		}
		about := "over " + span(&s)
		if s.Kind == measure.HighWater {
			about += ", a high-water mark"
		}
		rows = append(rows, []string{textStyle.name(s.Labels.Key()), sparkline(s.Points, listWidth),
			s.Points[0].Format(s.Unit) + " → " + s.Points[len(s.Points)-1].Format(s.Unit), slope(s), about})
	}
	table(out, "  ", rows, "lllrl")
	if left := len(series) - mostSeries; left > 0 {
		fmt.Fprintf(out, "  %d more series\n", left)
	}
}

// measuredSlope gives the growth that a measurement's row has for a series.
func measuredSlope(rows []measure.Row) func(measure.Series) string {
	return func(s measure.Series) string {
		for _, r := range rows {
			if r.Name == s.Metric() && r.Labels.Key() == s.Labels.Key() && r.Value != nil {
				return r.Value.FormatSigned(r.Unit)
			}
		}
		return ""
	}
}

// sampledSeries gives the series whose growth is an estimate: the others have their
// own tables.
func sampledSeries(m *measure.Measurement) (out []measure.Series) {
	for _, s := range m.Series {
		if slices.ContainsFunc(m.Rows, func(r measure.Row) bool {
			return r.Name == s.Metric() && r.Labels.Key() == s.Labels.Key() && (r.Kind == measure.Sampled || r.Kind == measure.HighWater)
		}) {
			out = append(out, s)
		}
	}
	return out
}
