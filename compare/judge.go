package compare

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
)

// Workload is one target with what was measured of it on both sides.
type Workload struct {
	Target *budget.Target
	Config string // the budget file, for the place of limits
	// Head is nil where nothing could be measured; HeadErr then says why.
	Head    *measure.Measurement
	HeadErr error
	// Runs are the measurements of the base, the newest last; a base may have
	// been measured several times. There is none where there is no base: BaseErr
	// says why one that was asked for could not be read.
	Runs    []*measure.Measurement
	BaseErr error
	Base    Base
	// Budget is the file that the target is from, for its waivers; it may be nil.
	// Today decides which of them have expired.
	Budget *budget.File
	Today  budget.Date
	// Notices have a say in the verdict beside the budgets.
	Notices []Notice

	trends map[string]*trend // by metric and labels
}

// Judge holds the target's budgets against its measurement and base: one check
// for each row that an entry's selectors match, the worst first.
func Judge(w Workload) TargetResult {
	t := TargetResult{
		Name: w.Target.Name, Base: w.Base, Inputs: []measure.Input{}, BaseInputs: []measure.Input{},
		Environment: Environments{Base: measure.Environment{}, Head: measure.Environment{}},
		Notices:     append([]Notice{}, w.Notices...), Checks: []Check{}, Findings: []measure.Finding{}, Warnings: []string{},
	}
	if w.Base.Kind == "" {
		t.Base.Kind = "none"
	}
	if m := w.Head; m != nil {
		t.Inputs, t.Environment.Head, t.Findings, t.Dryrun = m.Inputs, m.Environment, m.Findings, m.Facts.Dryrun
		t.Warnings = append(t.Warnings, m.Warnings...)
	}
	if m := w.newest(); m != nil {
		t.BaseInputs, t.Environment.Base = m.Inputs, m.Environment
		for _, warning := range m.Warnings {
			t.Warnings = append(t.Warnings, "base: "+warning)
		}
		for _, f := range m.Facts.Dryrun {
			if f.Fits == measure.FitsNo && f.Framework != "jax" { // a plan is whole
				t.Warnings = append(t.Warnings, "base: it does not fit "+cmp.Or(f.Device, "the device")+", so its numbers may be of a part of the program: "+cmp.Or(f.FitsReason, "its memory is not enough"))
			}
		}
	}
	if w.BaseErr != nil {
		t.Warnings = append(t.Warnings, "no base: "+w.BaseErr.Error())
	}
	t.Likeness = compareFacts(w.newest(), w.Head)
	t.Notices = append(t.Notices, w.pretended()...)
	w.comparable()
	var runs []baseRun
	for _, m := range w.Runs {
		runs = append(runs, baseRun{m: m, pairs: pairPrograms(m, w.Head)})
	}
	var unfit []string
	w.trends, unfit = w.judgeTrends()
	t.Warnings = append(t.Warnings, unfit...)
	for _, e := range w.Target.Budgets {
		t.Checks = append(t.Checks, w.entry(e, runs)...)
		t.Checks = append(t.Checks, w.members(e)...)
	}
	t.sort()
	t.Notices = append(t.Notices, w.cutHistories()...)
	t.Notices = append(t.Notices, w.ended()...)
	t.Notices = append(t.Notices, w.expired(t.Checks)...)
	t.judge()
	return t
}

// sort puts the worst check first.
func (t *TargetResult) sort() {
	slices.SortStableFunc(t.Checks, func(a, b Check) int {
		return cmp.Or(cmp.Compare(a.Counts().Rank(), b.Counts().Rank()), cmp.Compare(a.Verdict.Rank(), b.Verdict.Rank()), cmp.Compare(b.Excess, a.Excess), strings.Compare(a.Labels.Key(), b.Labels.Key()))
	})
}

// judge folds checks and notices into the verdict.
func (t *TargetResult) judge() {
	t.Verdict = noticed(worst(t.Checks, func(c Check) Verdict { return c.Counts() }), t.Notices)
}

// expired fails for each expired waiver of the target that no check has failed
// for already: one that is still there is a failure, whatever it covers.
func (w Workload) expired(checks []Check) []Notice {
	if w.Budget == nil {
		return nil
	}
	var notices []Notice
	for _, v := range w.Budget.Waivers {
		if v.Target != w.Target.Name || !v.Expired(w.Today) {
			continue
		}
		file := cmp.Or(v.Pos.File, filepath.ToSlash(w.Config))
		if slices.ContainsFunc(checks, func(c Check) bool {
			return c.Waiver != nil && slices.Contains(c.Failed, "waiver") && c.Waiver.File == file && c.Waiver.Line == v.Pos.Line && c.Waiver.Column == v.Pos.Column
		}) {
			continue
		}
		notices = append(notices, Notice{Verdict: Fail, Effect: "expired", Text: fmt.Sprintf("the waiver of %s expired after %s: remove it, or renew it with %s", v.Metric, v.Until, v.Owner), File: file, Line: v.Pos.Line, Column: v.Pos.Column})
	}
	return notices
}

// cutHistories warns of allocation histories of the head whose beginning was
// dropped: their peak is only that of what is left, and a pass is then weaker
// than it looks.
func (w Workload) cutHistories() []Notice {
	if w.Head == nil || !slices.ContainsFunc(w.Target.Budgets, func(e *budget.Entry) bool {
		return strings.HasPrefix(e.Metric.Name, "live.") && strings.Contains(e.Metric.Name, "peak")
	}) {
		return nil
	}
	var notices []Notice
	for _, f := range w.Head.Facts.Traces {
		if f.History == "truncated" {
			notices = append(notices, Notice{Verdict: Warn, Effect: "incomplete", Text: fmt.Sprintf("the history of {%s} was cut: the peak is that of its last %d events, and may have been higher before; record with a larger max_entries", f.Labels.Key(), f.Events),
				File: cmp.Or(w.Target.Pos.File, filepath.ToSlash(w.Config)), Line: w.Target.Pos.Line, Column: w.Target.Pos.Column})
		}
	}
	return notices
}

// noticed is the verdict with what notices have to say.
func noticed(v Verdict, notices []Notice) Verdict {
	for _, n := range notices {
		if w := n.Verdict.whole(); w.Rank() < v.Rank() {
			v = w
		}
	}
	return v
}

// Whole makes the result of a run from its targets and what changed in the
// budget. Nothing judged is no_data.
func Whole(targets []TargetResult, changes []Notice) *Result {
	r := &Result{Schema: Schema, Targets: targets, Changes: append([]Notice{}, changes...), Warnings: []string{}}
	r.Verdict = noticed(worst(targets, func(t TargetResult) Verdict { return t.Verdict }), changes)
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
		if v := verdict(e).whole(); v.Rank() < out.Rank() {
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
	for _, m := range w.Runs {
		if err := mismatch(m); err != nil {
			w.Runs, w.BaseErr = nil, err
		}
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

// newest is the last run of the base; nil where there is none.
func (w Workload) newest() *measure.Measurement {
	if len(w.Runs) == 0 {
		return nil
	}
	return w.Runs[len(w.Runs)-1]
}

// baseRun is one run of the base, with what one entry matches in it.
type baseRun struct {
	m     *measure.Measurement
	pairs programPairs
	rows  []row
	used  []bool
}

// partner takes the row that is the head row's other side; nil if there is none.
func (b *baseRun) partner(head row) *row {
	for i := range b.rows {
		if !b.used[i] && b.pairs.same(b.rows[i].Labels, head.Labels) {
			b.used[i] = true
			return &b.rows[i]
		}
	}
	return nil
}

// baseRow is what a head row is compared with: of all runs of the base the value
// that is the furthest towards a regression, so that nothing which the base has
// shown is one.
type baseRow struct {
	row    *row // nil where no run has a partner
	m      *measure.Measurement
	others bool // some run has rows of the metric
	values []measure.Value
}

func findBase(runs []baseRun, head row, higherIsBetter bool) baseRow {
	var b baseRow
	for i := range runs {
		run := &runs[i]
		b.others = b.others || len(run.rows) > 0
		partner := run.partner(head)
		if why := distrust(run.m, head.Name, head.own); why != "" {
			partner = &row{Row: measure.Row{Name: head.Name, Labels: head.Labels, Unit: head.Unit, NoData: why}, own: head.own}
		}
		if partner == nil {
			continue
		}
		if partner.Unit != head.Unit {
			other := *partner
			other.Value, other.NoData = nil, fmt.Sprintf("it is in %s there, and in %s here", partner.Unit, head.Unit)
			partner = &other
		}
		if partner.Value != nil {
			b.values = append(b.values, *partner.Value)
		}
		further := b.row == nil || b.row.Value == nil
		if !further && partner.Value != nil {
			further = partner.Value.Cmp(*b.row.Value) >= 0 != higherIsBetter
		}
		if further {
			b.row, b.m = partner, run.m
		}
	}
	return b
}

// entry judges one budget entry on every row that its selectors match.
func (w Workload) entry(e *budget.Entry, runs []baseRun) []Check {
	nothing := func(labels measure.Labels, reason string) Check {
		c := w.check(e, labels)
		c.Verdict, c.Reason = NoData, reason
		return c
	}
	if w.Head == nil {
		return []Check{nothing(measure.Labels{}, "nothing was measured: "+w.HeadErr.Error())}
	}
	heads := matching(w.Head, e)
	if w.newest() != nil {
		heads = unfold(heads, w.Head, matching(w.newest(), e))
	}
	if len(heads) == 0 {
		return []Check{nothing(measure.Labels{}, absence(w.Head, e))}
	}
	for i := range runs {
		runs[i].rows = unfold(matching(runs[i].m, e), runs[i].m, heads)
		runs[i].used = make([]bool, len(runs[i].rows))
	}
	var checks []Check
	for _, row := range heads {
		base := findBase(runs, row, e.Metric.HigherIsBetter)
		if row.Value == nil {
			checks = append(checks, nothing(row.Labels, row.NoData))
			continue
		}
		c := w.row(e, row, base)
		if why := distrust(w.Head, row.Name, row.own); why != "" {
			c.Verdict, c.Reason, c.Failed, c.Excess, c.CountsAs, c.Contributors, c.Unmoved = NoData, why, nil, 0, "", []Contributor{}, 0
		}
		checks = append(checks, c)
	}
	if len(runs) == 0 {
		return checks
	}
	newest := runs[len(runs)-1]
	for i, b := range newest.rows {
		if !newest.used[i] && b.Value != nil {
			c := nothing(b.Labels, "the base has this row and the head has not: the program, device or file that it belongs to is gone")
			c.Base = b.Value
			checks = append(checks, c)
		}
	}
	return checks
}

// row is a row to judge. Its labels may say a file that the measurement's own
// row stands for together with others: own are the labels there.
type row struct {
	measure.Row
	own measure.Labels
}

func matching(m *measure.Measurement, e *budget.Entry) []row {
	var rows []row
	for _, r := range m.Rows {
		if r.Name == e.Metric.Name && e.Select.Matches(r.Labels) {
			rows = append(rows, row{r, r.Labels})
		}
	}
	if _, named := e.Select["series"]; named && len(rows) == 0 {
		for _, r := range information(m, e.Metric.Name) {
			if e.Select.Matches(r.Labels) {
				rows = append(rows, row{r, r.Labels})
			}
		}
	}
	return rows
}

// information gives rows for the series that a capture holds without their growth:
// they are judged where an entry selects them, and nothing else.
func information(m *measure.Measurement, metric string) (rows []measure.Row) {
	for _, s := range m.Series {
		if s.Metric() != metric || s.Kind == measure.Observed || slices.ContainsFunc(m.Rows, func(r measure.Row) bool {
			return r.Name == metric && r.Labels.Key() == s.Labels.Key()
		}) {
			continue
		}
		if r, ok := growth.Row(s); ok {
			rows = append(rows, r)
		}
	}
	return rows
}

// unfold undoes, as far as the other side needs it, that equal rows of several
// files are one row: four equal ranks on one side and one that differs on the
// other are four pairs. A row stands only for files that its side has read.
func unfold(rows []row, m *measure.Measurement, others []row) []row {
	var out []row
	for _, r := range rows {
		var files []string
		if _, ok := r.Labels["file"]; !ok {
			for _, o := range others {
				file, ok := o.Labels["file"]
				if ok && o.Labels.Key("file", "program", "host") == r.Labels.Key("program", "host") && hasFile(m, file) && !slices.Contains(files, file) {
					files = append(files, file)
				}
			}
		}
		if len(files) == 0 {
			out = append(out, r)
		}
		for _, file := range files {
			one := r
			one.Labels = r.Labels.With("file", file)
			out = append(out, one)
		}
	}
	return out
}

// hasFile tells whether a measurement has read a file of the label's name.
func hasFile(m *measure.Measurement, file string) bool {
	return slices.ContainsFunc(m.Inputs, func(in measure.Input) bool {
		path, _, _ := strings.Cut(filepath.ToSlash(in.Path), "@")
		return path == file || strings.HasSuffix(path, "/"+file)
	})
}

// absence says why an entry matches no row, and what would match.
func absence(m *measure.Measurement, e *budget.Entry) string {
	name := e.Metric.Name
	var labels, names []string
	for _, r := range slices.Concat(m.Rows, information(m, name)) {
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
