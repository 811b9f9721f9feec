package series

import (
	"fmt"
	"slices"

	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
)

// need is the name of the column that tells what each step itself asked for.
const need = "need"

// footprint is the name of the one series that is a footprint by its name.
const footprint = "footprint"

// Measurement gives the series, their growth and their peaks. The caller fills in
// Inputs.
func (t *Table) Measurement() *measure.Measurement {
	out := measure.New()
	out.Warnings = append(out.Warnings, t.Warnings...)
	needs := t.needs(out)
	for _, c := range t.Columns {
		t.measure(out, c, needs)
	}
	return out
}

// needs is the series of what each step asked for; without points where the file does
// not tell, or not of each step by itself.
func (t *Table) needs(out *measure.Measurement) measure.Series {
	for _, c := range t.Columns {
		if c.Name != need || c.rows == 0 {
			continue
		}
		if s := c.levels.Series(nil, c.Unit, t.unit); len(s.X) == c.rows {
			return s
		}
		out.Warnings = append(out.Warnings, fmt.Sprintf("column %s is not used: it has several rows of one %s, or more than %d in all", clip(c.Header), t.header, measure.MaxPoints))
	}
	return measure.Series{}
}

func (t *Table) measure(out *measure.Measurement, c *Column, needs measure.Series) {
	labels := measure.Labels{"series": c.Name}
	s := c.levels.Series(labels, c.Unit, t.unit)
	if c.Name != need && slices.Equal(s.X, needs.X) {
		s.Need = needs.Points
	}
	if c.highWater() {
		s.Kind = measure.HighWater
	}
	metric, labelsOfPeak := "series.peak_bytes", labels
	if c.Name == footprint {
		metric, labelsOfPeak = "footprint.peak_bytes", measure.Labels{}
	}
	empty := ""
	switch {
	case c.rows == 0:
		empty = fmt.Sprintf("column %s is empty in all %d rows", clip(c.Header), t.rows)
	case !c.levels.NonZero:
		empty = fmt.Sprintf("column %s is 0 in all %d rows: a tool that cannot read a number often writes 0", clip(c.Header), c.rows)
	}
	if empty == "" {
		out.Series = append(out.Series, s)
	}
	if c.Information {
		return
	}
	switch row, ok := growth.Row(s); {
	case !ok:
	case empty != "":
		out.Rows = append(out.Rows, measure.Absent(row.Name, labels, empty))
	default:
		out.Rows = append(out.Rows, row)
	}
	switch {
	case c.Unit != measure.ByteUnit:
	case empty != "":
		out.Rows = append(out.Rows, measure.Absent(metric, labelsOfPeak, empty))
	case c.levels.Max >= 0: // a column of differences has no peak
		row := measure.NewRow(metric, labelsOfPeak, measure.Int(c.levels.Max))
		row.Samples, row.Kind = c.rows, measure.Sampled
		if s.Kind != "" {
			row.Kind = s.Kind
		}
		out.Rows = append(out.Rows, row)
	}
}
