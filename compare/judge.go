package compare

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/measure"
)

// Workload is one target with what was measured of it on both sides.
type Workload struct {
	Target *budget.Target
	Config string // the budget file, for the place of limits
	// Head is nil where nothing could be measured; HeadErr then says why.
	Head    *measure.Measurement
	HeadErr error
	// BaseMeasurement is nil where there is no base; BaseErr says why a base
	// that was asked for could not be read.
	BaseMeasurement *measure.Measurement
	BaseErr         error
	Base            Base
	// Budget is the file that the target is from, for its waivers; it may be nil.
	// Today decides which of them have expired.
	Budget *budget.File
	Today  budget.Date
}

// Judge holds the target's budgets against its measurement and base: one check
// for each row that an entry's selectors match, the worst first.
func Judge(w Workload) TargetResult {
	t := TargetResult{
		Name: w.Target.Name, Base: w.Base, Inputs: []measure.Input{}, BaseInputs: []measure.Input{},
		Environment: Environments{Base: map[string]string{}, Head: map[string]string{}},
		Checks:      []Check{}, Findings: []measure.Finding{}, Warnings: []string{},
	}
	if w.Base.Kind == "" {
		t.Base.Kind = "none"
	}
	if m := w.Head; m != nil {
		t.Inputs, t.Environment.Head, t.Findings = m.Inputs, m.Environment, m.Findings
		t.Warnings = append(t.Warnings, m.Warnings...)
	}
	if m := w.BaseMeasurement; m != nil {
		t.BaseInputs, t.Environment.Base = m.Inputs, m.Environment
		for _, warning := range m.Warnings {
			t.Warnings = append(t.Warnings, "base: "+warning)
		}
	}
	if w.BaseErr != nil {
		t.Warnings = append(t.Warnings, "no base: "+w.BaseErr.Error())
	}
	t.Likeness = compareFacts(w.BaseMeasurement, w.Head)
	w.comparable()
	pairs := pairPrograms(w.BaseMeasurement, w.Head)
	for _, e := range w.Target.Budgets {
		t.Checks = append(t.Checks, w.entry(e, pairs)...)
		t.Checks = append(t.Checks, w.members(e)...)
	}
	slices.SortStableFunc(t.Checks, func(a, b Check) int {
		return cmp.Or(cmp.Compare(a.Verdict.rank(), b.Verdict.rank()), cmp.Compare(b.Excess, a.Excess), strings.Compare(a.Labels.Key(), b.Labels.Key()))
	})
	t.Verdict = worst(t.Checks, func(c Check) Verdict { return c.Verdict })
	return t
}

// Whole makes the result of a run from its targets. Nothing judged is no_data.
func Whole(targets []TargetResult) *Result {
	r := &Result{Schema: Schema, Targets: targets, Changes: []string{}, Warnings: []string{}}
	r.Verdict = worst(targets, func(t TargetResult) Verdict { return t.Verdict })
	for i, t := range targets {
		switch {
		case i == 0:
			r.Base = t.Base
		case r.Base != t.Base:
			r.Base = Base{Kind: "mixed"}
		}
	}
	return r
}

func worst[T any](list []T, verdict func(T) Verdict) Verdict {
	if len(list) == 0 {
		return NoData
	}
	out := Pass
	for _, e := range list {
		if v := verdict(e).whole(); v.rank() < out.rank() {
			out = v
		}
	}
	return out
}

// comparable takes away a side that only_when rules out: a measurement of
// another device or release is none of this budget's.
func (w *Workload) comparable() {
	mismatch := func(m *measure.Measurement) error {
		if m == nil {
			return nil
		}
		if differences := w.Target.Mismatch(m.Environment); len(differences) > 0 {
			return errors.New("not comparable: " + strings.Join(differences, "; "))
		}
		return nil
	}
	if err := mismatch(w.Head); err != nil {
		w.Head, w.HeadErr = nil, err
	}
	if err := mismatch(w.BaseMeasurement); err != nil {
		w.BaseMeasurement, w.BaseErr = nil, err
	}
}

// members gives a check without data for each kind of member (rank, host,
// device) of which the target expects more than were measured.
func (w Workload) members(e *budget.Entry) []Check {
	if w.Head == nil {
		return nil
	}
	var checks []Check
	for _, absent := range w.Target.Absent(w.Head) {
		c := w.check(e, measure.Labels{})
		c.Verdict, c.Reason = NoData, absent
		checks = append(checks, c)
	}
	return checks
}

// entry judges one budget entry on every row that its selectors match.
func (w Workload) entry(e *budget.Entry, pairs programPairs) []Check {
	nothing := func(labels measure.Labels, reason string) Check {
		c := w.check(e, labels)
		c.Verdict, c.Reason = NoData, reason
		return c
	}
	if w.Head == nil {
		return []Check{nothing(measure.Labels{}, "nothing was measured: "+w.HeadErr.Error())}
	}
	heads := matching(w.Head, e)
	if len(heads) == 0 {
		return []Check{nothing(measure.Labels{}, absence(w.Head, e))}
	}
	var bases []measure.Row
	if w.BaseMeasurement != nil {
		bases = matching(w.BaseMeasurement, e)
	}
	var checks []Check
	used := make([]bool, len(bases))
	for _, row := range heads {
		partner := -1
		for i, b := range bases {
			if !used[i] && pairs.same(b.Labels, row.Labels) {
				partner, used[i] = i, true
				break
			}
		}
		if row.Value == nil {
			checks = append(checks, nothing(row.Labels, row.NoData))
			continue
		}
		var base *measure.Row
		if partner >= 0 {
			base = &bases[partner]
		}
		checks = append(checks, w.row(e, row, base, len(bases) > 0))
	}
	for i, b := range bases {
		if !used[i] && b.Value != nil {
			c := nothing(b.Labels, "the base has this row and the head has not: the program, device or file that it belongs to is gone")
			c.Base = b.Value
			checks = append(checks, c)
		}
	}
	return checks
}

func matching(m *measure.Measurement, e *budget.Entry) []measure.Row {
	var rows []measure.Row
	for _, r := range m.Rows {
		if r.Name == e.Metric.Name && e.Select.Matches(r.Labels) {
			rows = append(rows, r)
		}
	}
	return rows
}

// absence says why an entry matches no row, and what would match.
func absence(m *measure.Measurement, e *budget.Entry) string {
	name := e.Metric.Name
	var labels, names []string
	for _, r := range m.Rows {
		if r.Name == name {
			labels = append(labels, "{"+r.Labels.Key()+"}")
		}
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	switch {
	case len(labels) > 0:
		return fmt.Sprintf("no row of %s matches the selectors; there is %s", name, abridge(labels, 6))
	case len(names) > 0:
		return fmt.Sprintf("the captures do not give %s; they give %s", name, abridge(names, 12))
	}
	return fmt.Sprintf("the captures do not give %s, nor any other metric", name)
}

func abridge(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}
