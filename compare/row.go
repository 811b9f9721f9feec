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

// check is a check of the entry without a verdict.
func (w Workload) check(e *budget.Entry, labels measure.Labels) Check {
	c := Check{
		Metric: e.Metric.Name, Labels: labels, Unit: e.Metric.Unit, Kind: e.Metric.Kind, Contributors: []Contributor{},
		Limit: Limit{Severity: string(e.Severity), Why: e.Why, File: cmp.Or(e.Pos.File, filepath.ToSlash(w.Config)), Line: e.Pos.Line, Column: e.Pos.Column},
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
	if e.UpTo != nil {
		c.Limit.UpTo = &e.UpTo.Value
		text = append(text, "up_to "+e.UpTo.Text)
	}
	if e.Horizon != nil {
		c.Limit.Horizon = e.Horizon.Value
		text = append(text, fmt.Sprintf("horizon %d", e.Horizon.Value))
	}
	c.Limit.Text = strings.Join(text, ", ")
	return c
}

// row judges one row that has a value.
func (w Workload) row(e *budget.Entry, head row, base baseRow) Check {
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
	trend := w.trends[head.Name+"\x00"+head.own.Key()]
	switch {
	case e.Max == nil:
	case trend != nil && trend.err != nil:
		c.Verdict, c.Reason = NoData, trend.err.Error()
		return c
	case trend != nil:
		reasons = append(reasons, trend.judge(&c, e)...)
	default:
		judge("max", head.Value.Cmp(e.Max.Value) > 0 && !little(e, head), e.Max.Value,
			fmt.Sprintf("%s is over the max of %s by %s", head.Value.Format(c.Unit), written(e.Max, c.Unit), head.Value.Sub(e.Max.Value).Format(c.Unit)))
	}
	if e.Min != nil {
		judge("min", head.Value.Cmp(e.Min.Value) < 0, e.Min.Value,
			fmt.Sprintf("%s is under the min of %s by %s", head.Value.Format(c.Unit), written(e.Min, c.Unit), e.Min.Value.Sub(*head.Value).Format(c.Unit)))
	}
	missing := ""
	if base.row != nil && base.row.Value != nil {
		c.Base = base.row.Value
		if len(base.values) > 1 {
			c.BaseSpread = &Spread{Runs: len(base.values), Min: slices.MinFunc(base.values, measure.Value.Cmp), Max: slices.MaxFunc(base.values, measure.Value.Cmp)}
		}
		if e.Growth != nil {
			allowed := e.Growth.Allowed(*c.Base, e.Floor)
			c.Limit.Allowed = &allowed
			judge("growth", e.Growth.Exceeded(*c.Base, *head.Value, e.Floor), allowed,
				fmt.Sprintf("%s; allowed is up to %s (%s)", movement(*c.Base, *head.Value, c.Unit), allowed.Format(c.Unit), allowance(e)))
		}
	} else if e.Growth != nil {
		missing = w.noBase(base)
	}
	if waived := w.waiver(&c, head); waived != "" {
		reasons = append(reasons, waived)
	}
	switch {
	case c.Verdict == Waived && missing == "":
	case c.Verdict != Waived && len(c.Failed) > 0:
		c.Verdict = Fail
	case missing != "" && (w.BaseErr != nil || len(w.Runs) > 0 && (base.row != nil || !base.others)):
		// A base was asked for and does not tell: not measured is not passed.
		c.Verdict = NoData
	case missing != "":
		c.Verdict = Warn
	case c.Verdict.whole() == Warn && w.strict() && e.Severity == budget.SeverityFail:
		c.CountsAs = Fail
	}
	if missing != "" {
		reasons = append(reasons, missing)
	}
	if c.Verdict == Fail && !slices.Contains(c.Failed, "waiver") && e.Severity == budget.SeverityWarn {
		c.Verdict = Warn
	}
	if len(reasons) == 0 {
		reasons = []string{holds(c)}
	}
	c.Reason = strings.Join(reasons, "; ")
	w.attribute(&c, head, base)
	return c
}

// strict tells whether growth that decides nothing is a failure.
func (w Workload) strict() bool {
	return w.Budget != nil && w.Budget.Policy.Inconclusive.Value == string(budget.SeverityFail)
}

// little tells that an exact growth per step is too little to matter: over all the
// steps that it was taken from it is not more than the entry's floor, or over its
// horizon (over those steps, where they are more) not more than what it may come to.
func little(e *budget.Entry, head row) bool {
	if !strings.HasSuffix(string(head.Unit), "/step") {
		return false
	}
	within := func(steps int64, limit *budget.Limit) bool {
		return limit != nil && steps > 0 && measure.Float(head.Value.Float64()*float64(steps)).Cmp(limit.Value) <= 0
	}
	return within(int64(head.Samples), e.Floor) || within(max(int64(head.Samples), e.Projection()), e.UpTo)
}

// waiver applies the waiver of a row, if there is one: below its own limit all
// limits of the entry are waived; one that has expired is a failure of its own.
// It says what it did.
func (w Workload) waiver(c *Check, head row) string {
	if w.Budget == nil {
		return ""
	}
	v := w.Budget.WaiverFor(w.Target.Name, head.Name, head.Labels)
	if v == nil {
		return ""
	}
	c.Waiver = &Waiver{Until: string(v.Until), Reason: v.Reason, Owner: v.Owner, File: cmp.Or(v.Pos.File, c.Limit.File), Line: v.Pos.Line, Column: v.Pos.Column}
	place := fmt.Sprintf("%s:%d", c.Waiver.File, c.Waiver.Line)
	switch {
	case v.Expired(w.Today):
		c.Failed = append(c.Failed, "waiver")
		return fmt.Sprintf("the waiver at %s expired after %s: remove it, or renew it with %s", place, v.Until, v.Owner)
	case len(c.Failed) == 0:
		return ""
	case v.Holds(*c.Head):
		c.Verdict = Waived
		return fmt.Sprintf("waived until %s by %s (%s): %s", v.Until, v.Owner, place, v.Reason)
	}
	return fmt.Sprintf("beyond the waiver at %s too", place)
}

// noBase says why growth could not be judged.
func (w Workload) noBase(base baseRow) string {
	switch {
	case w.BaseErr != nil:
		return "growth was not judged: " + w.BaseErr.Error()
	case len(w.Runs) == 0 && w.Base.How != "":
		return "no base: growth was not judged: " + w.Base.How
	case len(w.Runs) == 0:
		return "no base: growth was not judged; name one with base: or --base"
	case base.row != nil:
		return "growth was not judged: the base has no value: " + base.row.NoData
	case base.others:
		return "new row: the base has none with these labels, so growth was not judged"
	}
	return "growth was not judged: the base does not give this metric"
}

// attribute adds who holds the bytes: what moved, and for a broken max also who
// holds most.
func (w Workload) attribute(c *Check, head row, base baseRow) {
	if c.Unit != measure.ByteUnit {
		return
	}
	heads := w.Head.ContributorsOf(head.Name, head.own)
	headTotal := total(heads)
	if c.Base == nil {
		for _, h := range heads {
			one := one(&h)
			one.HeadBytes, one.HeadCount = h.Bytes, h.Count
			c.Contributors = append(c.Contributors, one)
		}
		return
	}
	bases := base.m.ContributorsOf(base.row.Name, base.row.own)
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

// mostPercent is from which growth on a factor reads better than percents.
const mostPercent = 1000

// Percent is the change in percent with its sign, in parentheses and with a space
// before it; the factor where it is tenfold or more. It is empty where the base is 0
// and where nothing changed.
func Percent(base, head measure.Value) string {
	if base.Float64() == 0 || base.Cmp(head) == 0 {
		return ""
	}
	p := (head.Float64() - base.Float64()) / math.Abs(base.Float64()) * 100
	if f := head.Float64() / base.Float64(); p >= mostPercent && f > 0 {
		return fmt.Sprintf(" (×%s)", measure.Int(int64(math.Round(min(f, 1<<62)))).Exact(measure.Count))
	}
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

// allowance tells a growth limit in words: "2% or 16 MiB more than the base".
func allowance(e *budget.Entry) string {
	out := e.Growth.Text
	if e.Floor != nil {
		out += " or " + e.Floor.Text
	}
	if e.Growth.Fall {
		return out + " less than the base"
	}
	return out + " more than the base"
}

// written is a limit as the budget writes it, with its value in IEC units where
// the text has others: "120 MB (114.44 MiB)".
func written(l *budget.Limit, unit measure.Unit) string {
	if unit != measure.ByteUnit || strings.Contains(l.Text, "iB") || l.Text == l.Value.Format(unit) {
		return l.Text
	}
	return l.Text + " (" + l.Value.Format(unit) + ")"
}
