package compare

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
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
	pairs := pairPrograms(w.BaseMeasurement, w.Head)
	for _, e := range w.Target.Budgets {
		t.Checks = append(t.Checks, w.entry(e, pairs)...)
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

// check is a check of the entry without a verdict.
func (w Workload) check(e *budget.Entry, labels measure.Labels) Check {
	c := Check{
		Metric: e.Metric.Name, Labels: labels, Unit: e.Metric.Unit, Kind: e.Metric.Kind, Contributors: []Contributor{},
		Limit: Limit{Severity: string(e.Severity), Why: e.Why, File: filepath.ToSlash(w.Config), Line: e.Pos.Line, Column: e.Pos.Column},
	}
	var text []string
	if e.Max != nil {
		c.Limit.Max = &e.Max.Value
		text = append(text, "max "+e.Max.Text)
	}
	if e.Min != nil {
		c.Limit.Min = &e.Min.Value
		text = append(text, "min "+e.Min.Text)
	}
	if e.Growth != nil {
		c.Limit.Growth = e.Growth.Text
		text = append(text, "growth "+e.Growth.Text)
	}
	if e.Floor != nil {
		c.Limit.Floor = &e.Floor.Value
		text = append(text, "floor "+e.Floor.Text)
	}
	c.Limit.Text = strings.Join(text, ", ")
	return c
}

// row judges one row that has a value. others tells that the base has the
// metric at all.
func (w Workload) row(e *budget.Entry, head measure.Row, base *measure.Row, others bool) Check {
	c := w.check(e, head.Labels)
	c.Kind, c.Head, c.Verdict = head.Kind, head.Value, Pass
	var reasons []string
	judge := func(limit string, broken bool, allowed measure.Value, reason string) {
		if broken {
			c.Failed = append(c.Failed, limit)
			c.Excess = max(c.Excess, excess(*head.Value, allowed))
			reasons = append(reasons, reason)
		}
	}
	if e.Max != nil {
		judge("max", head.Value.Cmp(e.Max.Value) > 0, e.Max.Value,
			fmt.Sprintf("%s is over the max of %s by %s", head.Value.Format(c.Unit), e.Max.Text, head.Value.Sub(e.Max.Value).Format(c.Unit)))
	}
	if e.Min != nil {
		judge("min", head.Value.Cmp(e.Min.Value) < 0, e.Min.Value,
			fmt.Sprintf("%s is under the min of %s by %s", head.Value.Format(c.Unit), e.Min.Text, e.Min.Value.Sub(*head.Value).Format(c.Unit)))
	}
	missing := ""
	if base != nil && base.Value != nil {
		c.Base = base.Value
		if e.Growth != nil {
			allowed := e.Growth.Allowed(*base.Value, e.Floor)
			c.Limit.Allowed = &allowed
			judge("growth", e.Growth.Exceeded(*base.Value, *head.Value, e.Floor), allowed,
				fmt.Sprintf("%s, %s", movement(*base.Value, *head.Value, c.Unit), allowance(e)))
		}
	} else if e.Growth != nil {
		missing = w.noBase(base, others)
	}
	switch {
	case len(c.Failed) > 0:
		c.Verdict = Fail
	case missing != "" && (w.BaseErr != nil || w.BaseMeasurement != nil && (base != nil || !others)):
		// A base was asked for and does not tell: not measured is not passed.
		c.Verdict = NoData
	case missing != "":
		c.Verdict = Warn
	}
	if missing != "" {
		reasons = append(reasons, missing)
	}
	if c.Verdict == Fail && e.Severity == budget.SeverityWarn {
		c.Verdict = Warn
	}
	if len(reasons) == 0 {
		reasons = []string{holds(c)}
	}
	c.Reason = strings.Join(reasons, "; ")
	w.attribute(&c, head, base)
	return c
}

// noBase says why growth could not be judged.
func (w Workload) noBase(base *measure.Row, others bool) string {
	switch {
	case w.BaseErr != nil:
		return "growth was not judged: " + w.BaseErr.Error()
	case w.BaseMeasurement == nil:
		return "no base: growth was not judged; name one with base: or --base"
	case base != nil:
		return "growth was not judged: the base has no value: " + base.NoData
	case others:
		return "new row: the base has none with these labels, so growth was not judged"
	}
	return "growth was not judged: the base does not give this metric"
}

// attribute adds who holds the bytes: what moved, and for a broken max also who
// holds most.
func (w Workload) attribute(c *Check, head measure.Row, base *measure.Row) {
	if c.Unit != measure.ByteUnit {
		return
	}
	heads := w.Head.ContributorsOf(head.Name, head.Labels)
	headTotal := total(heads)
	if base == nil || base.Value == nil {
		for _, h := range heads {
			one := one(&h)
			one.HeadBytes, one.HeadCount = h.Bytes, h.Count
			c.Contributors = append(c.Contributors, one)
		}
		return
	}
	bases := w.BaseMeasurement.ContributorsOf(base.Name, base.Labels)
	all := Contributors(bases, heads, total(bases), headTotal)
	limit := 0
	if slices.Contains(c.Failed, "max") {
		limit = mostUnmoved
	}
	for _, one := range all {
		if one.Change == Same {
			c.Unmoved++
			if c.Unmoved > limit {
				continue
			}
		}
		c.Contributors = append(c.Contributors, one)
	}
}

// mostUnmoved is how many contributors that did not move a check over its max
// lists beside those that did.
const mostUnmoved = 20

func total(cs []measure.Contributor) (sum measure.Bytes) {
	for _, c := range cs {
		sum += c.Bytes
	}
	return sum
}

// excess is how far the value lies beyond what is allowed, as a share of it; of
// an allowance below 1 (nothing, as a rule) it is the plain distance.
func excess(head, allowed measure.Value) float64 {
	return math.Abs(head.Float64()-allowed.Float64()) / max(1, math.Abs(allowed.Float64()))
}

// movement tells a change in words: "grew by 1.50 GiB (+12.5 %)".
func movement(base, head measure.Value, unit measure.Unit) string {
	d := head.Sub(base)
	verb, amount := "grew", d
	if d.Float64() < 0 {
		verb, amount = "fell", base.Sub(head)
	}
	if d.Float64() == 0 {
		return "did not change"
	}
	return fmt.Sprintf("%s by %s%s", verb, amount.Format(unit), Percent(base, head))
}

// Percent is the change in percent with its sign, in parentheses and with a
// space before it; empty where the base is 0 and where nothing changed.
func Percent(base, head measure.Value) string {
	if base.Float64() == 0 || base.Cmp(head) == 0 {
		return ""
	}
	p := (head.Float64() - base.Float64()) / math.Abs(base.Float64()) * 100
	format := " (%+.1f %%)"
	if math.Abs(p) < 0.05 {
		format = " (%+.2g %%)"
	}
	return fmt.Sprintf(format, p)
}

// holds says in words that a row is within its limits.
func holds(c Check) string {
	var parts []string
	if c.Base != nil {
		parts = append(parts, movement(*c.Base, *c.Head, c.Unit))
	}
	if c.Limit.Max != nil {
		parts = append(parts, "max holds")
	}
	if c.Limit.Min != nil {
		parts = append(parts, "min holds")
	}
	return strings.Join(parts, "; ")
}

// allowance tells a growth limit in words: "allowed is 2% and 16.00 MiB".
func allowance(e *budget.Entry) string {
	if e.Floor == nil {
		return "allowed is " + e.Growth.Text
	}
	return "allowed is " + e.Growth.Text + " or " + e.Floor.Text
}
