package compare

import (
	"github.com/peakgate/peakgate/measure"
)

// DiffSchema names the JSON of a Diff.
const DiffSchema = "peakgate.diff/1"

// Diff is two measurements side by side, without a budget or a verdict.
type Diff struct {
	Schema       string            `json:"schema"`
	BaseInputs   []measure.Input   `json:"base_inputs"`
	HeadInputs   []measure.Input   `json:"head_inputs"`
	Environment  Environments      `json:"environment"`
	Likeness     Likeness          `json:"likeness"`
	Rows         []DiffRow         `json:"metrics"`
	Contributors []DiffContributor `json:"contributors"`
	BaseSeries   []measure.Series  `json:"base_series,omitempty"`
	HeadSeries   []measure.Series  `json:"head_series,omitempty"`
	Findings     []measure.Finding `json:"findings"`
	Warnings     []string          `json:"warnings"`
}

// DiffRow is one row on both sides; a side without a value is absent.
type DiffRow struct {
	Name   string         `json:"name"`
	Labels measure.Labels `json:"labels"`
	Unit   measure.Unit   `json:"unit"`
	Base   *measure.Value `json:"base,omitempty"`
	Head   *measure.Value `json:"head,omitempty"`
}

// Moved tells whether the two sides differ.
func (r DiffRow) Moved() bool {
	if r.Base == nil || r.Head == nil {
		return r.Base != nil || r.Head != nil
	}
	return r.Base.Cmp(*r.Head) != 0
}

// DiffContributor is a contributor that moved, with the row that it belongs to.
type DiffContributor struct {
	Metric string         `json:"metric"`
	Labels measure.Labels `json:"labels"`
	Contributor
}

// Compare lays two measurements side by side: every row, and each contributor
// that moved.
func Compare(base, head *measure.Measurement) *Diff {
	d := &Diff{
		Schema: DiffSchema, BaseInputs: base.Inputs, HeadInputs: head.Inputs,
		Environment: Environments{Base: base.Environment, Head: head.Environment}, Likeness: compareFacts(base, head),
		BaseSeries: base.Series, HeadSeries: head.Series,
		Rows: []DiffRow{}, Contributors: []DiffContributor{}, Findings: head.Findings, Warnings: []string{},
	}
	for _, w := range base.Warnings {
		d.Warnings = append(d.Warnings, "base: "+w)
	}
	d.Warnings = append(d.Warnings, head.Warnings...)
	pairs := pairPrograms(base, head)
	bases := map[string][]*measure.Row{} // by name: rows of the base without a partner yet
	for i := range base.Rows {
		r := &base.Rows[i]
		bases[r.Name] = append(bases[r.Name], r)
	}
	for _, h := range head.Rows {
		row := DiffRow{Name: h.Name, Labels: h.Labels, Unit: h.Unit, Head: h.Value}
		for i, b := range bases[h.Name] {
			if b != nil && pairs.same(b.Labels, h.Labels) {
				row.Base, bases[h.Name][i] = b.Value, nil
				d.moved(base, head, b, h)
				break
			}
		}
		d.Rows = append(d.Rows, row)
	}
	for _, b := range base.Rows {
		for _, left := range bases[b.Name] {
			if left != nil && left.Labels.Key() == b.Labels.Key() {
				d.Rows = append(d.Rows, DiffRow{Name: b.Name, Labels: b.Labels, Unit: b.Unit, Base: b.Value})
			}
		}
	}
	return d
}

// moved adds the contributors of one row that moved. A row that another metric
// explains has none of its own here: they would be listed twice.
func (d *Diff) moved(base, head *measure.Measurement, b *measure.Row, h measure.Row) {
	own := func(m *measure.Measurement, r measure.Row) []measure.Contributor {
		cs := m.ContributorsOf(r.Name, r.Labels)
		if len(cs) > 0 && cs[0].Metric != r.Name {
			return nil
		}
		return cs
	}
	bs, hs := own(base, *b), own(head, h)
	for _, c := range Contributors(bs, hs, total(bs), total(hs)) {
		if c.Change != Same {
			d.Contributors = append(d.Contributors, DiffContributor{Metric: h.Name, Labels: h.Labels, Contributor: c})
		}
	}
}
