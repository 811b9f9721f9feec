package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// holders is how many contributors a measurement's text shows for one row.
const holders = 10

// Measurement writes a measurement for a terminal: all rows, and who holds the
// bytes of the rows that have contributors.
func Measurement(w io.Writer, m *measure.Measurement) error {
	out := bufio.NewWriter(w)
	for i := range m.Facts.Dryrun {
		f := &m.Facts.Dryrun[i]
		wrapped(out, "", "  ", plain(dryrunPeak(m, f)))
		dryrunText(out, "  ", f, nil)
	}
	for _, in := range m.Inputs {
		fmt.Fprintf(out, "%s  (%s, %s)\n", plain(in.Path), in.Format, in.Bytes)
	}
	for _, k := range sortedKeys(m.Environment) {
		if strings.HasPrefix(k, "dryrun.") && len(m.Facts.Dryrun) > 0 {
			continue // told above
		}
		fmt.Fprintf(out, "%s: %s\n", plain(k), plain(m.Environment[k]))
	}
	groups := groupRows(m.Rows)
	shown := groups[:min(len(groups), mostGroups)]
	for _, g := range shown {
		fmt.Fprintf(out, "\n%s\n", plain(cmp.Or(g.key, "(no labels)")))
		rows, zero := groupTable(g.rows)
		table(out, "  ", rows, "lrl")
		if len(zero) > 0 {
			fmt.Fprintf(out, "  zero: %s\n", strings.Join(zero, ", "))
		}
	}
	if hidden := len(groups) - len(shown); hidden > 0 {
		fmt.Fprintf(out, "\n%s smaller; --format json has all\n", plural(hidden, "more set of labels is", "more sets of labels are"))
	}
	textSeries(out, "series", m.Series, measuredSlope(m.Rows))
	for i, g := range shown {
		for _, r := range g.rows {
			if i < mostHeld {
				measurementHolders(out, m, r)
			}
		}
	}
	textFindings(out, "", "", m.Findings)
	for _, warning := range m.Warnings {
		fmt.Fprintf(out, "\nwarning: %s\n", plain(warning))
	}
	return out.Flush()
}

// A measurement's text shows this many sets of labels, and of this many who
// holds the bytes.
const (
	mostGroups = 8
	mostHeld   = 3
)

// rowGroup is the rows that share their labels.
type rowGroup struct {
	key     string
	rows    []measure.Row
	largest float64
}

// groupRows groups rows by their labels, the group with the largest value first.
func groupRows(rows []measure.Row) []rowGroup {
	var groups []rowGroup
	place := map[string]int{}
	for _, r := range rows {
		key := r.Labels.Key()
		i, ok := place[key]
		if !ok {
			i = len(groups)
			place[key] = i
			groups = append(groups, rowGroup{key: key})
		}
		g := &groups[i]
		g.rows = append(g.rows, r)
		if r.Value != nil {
			g.largest = max(g.largest, r.Value.Float64())
		}
	}
	slices.SortStableFunc(groups, func(a, b rowGroup) int { return cmp.Compare(b.largest, a.largest) })
	return groups
}

// groupTable gives the lines of one group's table, and the names of its zeros.
func groupTable(group []measure.Row) (rows [][]string, zero []string) {
	for _, r := range group {
		switch {
		case r.Value == nil:
			rows = append(rows, []string{plain(r.Name), "no data", plain(r.NoData)})
		case r.Value.Float64() == 0:
			zero = append(zero, plain(r.Name))
		default:
			exact := r.Value.Exact(r.Unit)
			if _, whole := r.Value.Int64(); exact == r.Value.Format(r.Unit) || !whole && r.Unit != measure.Ratio {
				exact = "" // digits that no sample has
			}
			rows = append(rows, []string{plain(r.Name), r.Value.Format(r.Unit), exact})
		}
	}
	return rows, zero
}

// measurementHolders lists who holds the bytes at a peak. Arguments, outputs
// and the need repeat the same buffers, so only peaks and the end are told.
func measurementHolders(out io.Writer, m *measure.Measurement, r measure.Row) {
	if r.Name != "plan.heap_peak_bytes" && r.Name != "footprint.end_bytes" && r.Name != heldRow(m, r.Labels) || r.Value == nil {
		return
	}
	cs := m.ContributorsOf(r.Name, r.Labels)
	if len(cs) == 0 {
		return
	}
	fmt.Fprintf(out, "\nwho holds %s of %s {%s}\n", r.Value.Format(r.Unit), r.Name, plain(r.Labels.Key()))
	rows := [][]string{{"bytes", "count", holder(r.Name)}}
	var rest measure.Bytes
	for i, c := range cs {
		if i >= holders {
			rest += c.Bytes
			continue
		}
		rows = append(rows, []string{c.Bytes.String(), fmt.Sprint(c.Count), textStyle.name(c.Display)})
	}
	table(out, "  ", rows, "rrl")
	if rest > 0 {
		fmt.Fprintf(out, "  %d more hold %s\n", len(cs)-holders, rest)
	}
}

// holder is the title of who holds a metric's bytes: parts of a footprint are no
// places in a program.
func holder(metric string) string {
	if strings.HasPrefix(metric, "footprint.") {
		return "part"
	}
	return "allocated at"
}

// heldRow is the row of live memory whose holders are told: the peak's, or the
// end's where a capture is of one moment (a device memory profile).
func heldRow(m *measure.Measurement, labels measure.Labels) string {
	key := labels.Key()
	if slices.ContainsFunc(m.Rows, func(r measure.Row) bool { return r.Name == "live.peak_bytes" && r.Labels.Key() == key }) {
		return "live.peak_bytes"
	}
	return "live.end_bytes"
}

// Diff writes a diff for a terminal: the rows that moved and what moved them.
func Diff(w io.Writer, d *compare.Diff) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "base  %s\nhead  %s\n", plain(paths(d.BaseInputs)), plain(paths(d.HeadInputs)))
	if d.Likeness.Verdict != "unknown" {
		wrapped(out, "", "  ", "the two workloads are "+string(d.Likeness.Verdict)+notes(d.Likeness.Notes))
		if len(d.Likeness.Same) > 0 {
			wrapped(out, "", "  ", "in common"+notes(d.Likeness.Same))
		}
	}
	if v := d.Environment.Head["torch"]; v != "" && v == d.Environment.Base["torch"] {
		fmt.Fprintf(out, "torch on both sides: %s\n", plain(v))
	}
	if v := d.Environment.Head["dryrun.class"]; v != "" && v == d.Environment.Base["dryrun.class"] {
		fmt.Fprintf(out, "dry runs on both sides: %s\n", plain(v))
	}
	for _, line := range environmentDifferences(d.Environment) {
		fmt.Fprintf(out, "differs: %s\n", plain(line))
	}
	rows, still := [][]string{{"metric", "base", "head", "change"}}, 0
	for _, r := range d.Rows {
		if !r.Moved() {
			still++
			continue
		}
		row := []string{plain(rowName(r.Name, r.Labels)), "no data", "no data", ""}
		if r.Base != nil {
			row[1] = r.Base.Format(r.Unit)
		}
		if r.Head != nil {
			row[2] = r.Head.Format(r.Unit)
		}
		if r.Base != nil && r.Head != nil {
			row[3] = r.Head.Sub(*r.Base).FormatSigned(r.Unit) + compare.Percent(*r.Base, *r.Head)
		}
		rows = append(rows, row)
	}
	fmt.Fprintln(out)
	if len(rows) > 1 {
		table(out, "  ", rows, "lrrl")
	}
	if still > 0 || len(rows) == 1 {
		fmt.Fprintf(out, "  %s\n", plural(still, "row did not move", "rows did not move"))
	}
	textFindings(out, "", "", d.Findings)
	textSeries(out, "series of the base", d.BaseSeries, diffSlope(d, true))
	textSeries(out, "series of the head", d.HeadSeries, diffSlope(d, false))
	diffContributors(out, d)
	for _, warning := range d.Warnings {
		fmt.Fprintf(out, "\nwarning: %s\n", plain(warning))
	}
	return out.Flush()
}

// diffSlope gives the growth that a row of one side has for a series.
func diffSlope(d *compare.Diff, base bool) func(measure.Series) string {
	var rows []measure.Row
	for _, r := range d.Rows {
		row := measure.Row{Name: r.Name, Labels: r.Labels, Unit: r.Unit, Value: r.Head}
		if base {
			row.Value = r.Base
		}
		rows = append(rows, row)
	}
	return measuredSlope(rows)
}

// movedTable is what moved in one row, or in several that moved alike.
type movedTable struct {
	titles []string
	rows   [][]string
	left   int
}

// diffContributors lists what moved, row by row; rows of one kind of memory often move
// alike (need, temp and peak of a plan), and are told together.
func diffContributors(out io.Writer, d *compare.Diff) {
	var tables []movedTable
	for i := 0; i < len(d.Contributors); {
		first := d.Contributors[i]
		t := movedTable{titles: []string{plain(rowName(first.Metric, first.Labels))}, rows: [][]string{{"change", "base", "head", "count", holder(first.Metric)}}}
		for ; i < len(d.Contributors) && d.Contributors[i].Metric == first.Metric && d.Contributors[i].Labels.Key() == first.Labels.Key(); i++ {
			if c := d.Contributors[i]; len(t.rows) <= holders {
				t.rows = append(t.rows, []string{c.Delta().Signed(), c.BaseBytes.String(), c.HeadBytes.String(), counts(c.Contributor), textStyle.name(c.Display)})
			} else {
				t.left++
			}
		}
		same := slices.IndexFunc(tables, func(u movedTable) bool { return slices.EqualFunc(u.rows, t.rows, slices.Equal[[]string]) })
		if same < 0 {
			tables = append(tables, t)
			continue
		}
		tables[same].titles = append(tables[same].titles, t.titles...)
		tables[same].left = max(tables[same].left, t.left)
	}
	for _, t := range tables {
		fmt.Fprintln(out)
		wrapped(out, "what moved in ", "  ", strings.Join(t.titles, ", "))
		table(out, "  ", t.rows, "rrrrl")
		if t.left > 0 {
			fmt.Fprintf(out, "  %d more moved\n", t.left)
		}
	}
}

// Problem writes one error for a terminal, freed of control characters but for
// its line breaks.
func Problem(w io.Writer, err error) {
	fmt.Fprint(w, "peakgate: ")
	Lines(w, err)
}

// Lines is Problem without the name of the tool: for errors that begin with a
// place of their own.
func Lines(w io.Writer, err error) {
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(w, plain(strings.TrimRight(line, "\n")))
	}
}
