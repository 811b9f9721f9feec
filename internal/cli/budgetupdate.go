package cli

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// defaultHeadroom is what update leaves above what was measured, in percent: as
// much as init leaves on metrics that are the same in every run.
const defaultHeadroom = "5"

var updateCommand = command{
	name: "update", args: "[TARGET…]", summary: "bring limits down to what is measured, in place",
	about: `Measures what the budget names (or takes --measurement) and brings each max, and
the min of a metric where higher is better, to the worst of all rows that the
entry judges plus the headroom. It changes the numbers' own bytes and nothing else
of the files, and says so, one line a change. Limits are only ever tightened,
unless --loosen and --why say otherwise: the reason becomes the entry's why.
Growth limits, and limits of growth.* metrics, which a series is judged by, stay.

What cannot be changed safely (anchors, defaults, a limit that is broken) is
refused and named with its place. If one target has no data, nothing is written.`,
	exits: `Exit codes: 0 done, or nothing to do; 1 something was refused; 2 wrong use, or an
error in the budget file; 3 no data, or peakgate itself failed.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		u := updater{}
		u.declare(f)
		headroom := f.String("headroom", defaultHeadroom, "`percent` of what is measured to leave above it (below it, for a min)")
		f.Var((*list)(&u.measurements), "measurement", "measured elsewhere, `[TARGET=]X`: a measurement, capture or directory; may be given again for other targets")
		f.BoolVar(&u.loosen, "loosen", false, "also raise limits that are lower; wants --why")
		f.StringVar(&u.why, "why", "", "the `reason` for looser limits")
		dry := f.Bool("dry-run", false, "say what would change, and write nothing")
		return func(args []string) (int, error) {
			var err error
			if u.headroom, err = parseHeadroom(*headroom); err != nil {
				return ExitUsage, err
			}
			if u.loosen != (strings.TrimSpace(u.why) != "") {
				return ExitUsage, usagef("budget update: --loosen and --why TEXT go together: a looser limit wants a reason, and only that does")
			}
			if code, err := u.plan(args, s); err != nil {
				return code, err
			}
			return u.finish(*dry, s)
		}
	},
}

var percentage = regexp.MustCompile(`^([0-9]{1,4}(?:\.[0-9]{1,6})?)%?$`)

func parseHeadroom(text string) (*big.Rat, error) {
	m := percentage.FindStringSubmatch(text)
	if m == nil {
		return nil, usagef("--headroom %.40q: want percent from 0 to 1000, for example 5", text)
	}
	r, _ := new(big.Rat).SetString(m[1])
	if r.Cmp(big.NewRat(1000, 1)) > 0 {
		return nil, usagef("--headroom %.40q: want percent from 0 to 1000, for example 5", text)
	}
	return r, nil
}

// updater plans new limits and writes them.
type updater struct {
	budgetOptions
	measurements []string // [TARGET=]X
	headroom     *big.Rat
	loosen       bool
	why          string

	file    *budget.File
	sources map[string][]byte        // by path, as read
	edits   map[string][]budget.Edit // by path
	looked  int                      // limits for which something was measured
	left    int                      // limits of growth, which are left as they are
	refused []budget.Refused
}

// plan measures, and collects the edits. The exit code is for the error.
func (u *updater) plan(targets []string, s Streams) (int, error) {
	within, err := newGuard(u.config, u.allowed, s)
	if err != nil {
		return ExitUsage, err
	}
	o := checkOptions{config: u.config, targets: targets}
	if u.file, u.sources, err = loadBudget(u.config, within); err != nil {
		return ExitUsage, err
	}
	from, err := openBases(u.config, s)
	if err != nil {
		return ExitUsage, err
	}
	from.within = within
	chosen, err := o.selectTargets(u.file)
	if err != nil {
		return ExitUsage, err
	}
	given, err := assign("--measurement", u.measurements, chosen, func(string) bool { return false })
	if err != nil {
		return ExitUsage, err
	}
	if err := from.confine(chosen, u.sources); err != nil {
		return ExitUsage, err
	}
	opt, done := u.reading(s)
	defer done()
	work, finish, err := newRounds(chosen, from, opt, executor{s: s, quiet: u.quiet, capture: true})
	if err != nil {
		return ExitUsage, err
	}
	defer finish()
	u.edits = map[string][]budget.Edit{}
	var missing []error
	for _, t := range chosen {
		runs, err := u.measure(t, given[t.Name], work)
		if err != nil {
			missing = append(missing, fmt.Errorf("target %s: %w", t.Name, err))
			continue
		}
		for _, e := range t.Budgets {
			u.entry(t, e, runs)
		}
	}
	if len(missing) > 0 {
		return ExitNoData, fmt.Errorf("nothing was written: %w", errors.Join(missing...))
	}
	if u.looked == 0 && u.left == 0 {
		return ExitNoData, errors.New("nothing was written: no limit of the budget has a measured row; see peakgate budget lint")
	}
	return ExitPass, nil
}

// measure gives the runs that a target's limits are set by: x, or what it is judged by.
func (u *updater) measure(t *budget.Target, x string, work *rounds) ([]*measure.Measurement, error) {
	w := compare.Workload{Target: t}
	if x != "" {
		work.from.fromFiles(&w, []string{x}, work.opt, nil)
	} else {
		var m *measure.Measurement
		m, w.BaseErr = work.measured(t)
		w.Runs = []*measure.Measurement{m}
	}
	if w.BaseErr != nil {
		return nil, w.BaseErr
	}
	for _, m := range w.Runs {
		if err := compare.Trusted(m); err != nil {
			return nil, err
		}
		for _, f := range m.Facts.Watches {
			if broken := f.Broken(); broken != "" {
				return nil, errors.New(broken)
			}
		}
		if differences := t.Mismatch(m.Environment); len(differences) > 0 {
			return nil, errors.New("not comparable: " + strings.Join(differences, "; "))
		}
		if absent := t.Absent(m); len(absent) > 0 {
			return nil, errors.New(strings.Join(absent, "; "))
		}
	}
	return w.Runs, nil
}

// entry plans the edits of one entry. A row without a value says nothing, and so
// the others do not say what is the worst. Growth per step or per hour is left as it
// is: its max says what is a leak, and not what is used.
func (u *updater) entry(t *budget.Target, e *budget.Entry, runs []*measure.Measurement) {
	if strings.HasPrefix(e.Metric.Name, "growth.") {
		u.left++
		return
	}
	var values []measure.Value
	for _, m := range runs {
		for _, r := range m.Rows {
			if r.Name != e.Metric.Name || !e.Select.Matches(r.Labels) {
				continue
			}
			if r.Value == nil {
				return
			}
			values = append(values, *r.Value)
		}
	}
	limit, name, over := e.Max, "max", 1
	if e.Metric.HigherIsBetter {
		limit, name, over = e.Min, "min", -1
	}
	if limit == nil || len(values) == 0 {
		return
	}
	u.looked++
	worst := slices.MaxFunc(values, func(a, b measure.Value) int { return over * a.Cmp(b) })
	if worst.Cmp(limit.Value) == over && !u.loosen {
		u.refuse(t, e, name, limit, fmt.Sprintf("%s is %s, and %s is measured; --loosen --why TEXT changes it", name, limit.Text, worst.Format(e.Metric.Unit)))
		return
	}
	for _, edit := range budget.Tighten(t.Name, e, values, u.headroom, u.loosen) {
		if edit.Why = u.why; e.Default {
			u.refuse(t, e, name, limit, fmt.Sprintf("it is a default, and a change would change other targets too; give the target an entry of its own with %s: %s", name, strings.ReplaceAll(edit.Value.Exact(e.Metric.Unit), ",", "")))
			continue
		}
		path := cmp.Or(t.Pos.File, u.file.Path)
		u.edits[path] = append(u.edits[path], edit)
	}
}

func (u *updater) refuse(t *budget.Target, e *budget.Entry, name string, limit *budget.Limit, reason string) {
	u.refused = append(u.refused, budget.Refused{Edit: budget.Edit{Target: t.Name, Metric: e.Metric.Name, Limit: name}, Pos: limit.Pos, Reason: reason})
}

// finish makes the edits, and tells and writes them.
func (u *updater) finish(dry bool, s Streams) (int, error) {
	texts := map[string][]byte{}
	for _, path := range u.file.Files {
		if len(u.edits[path]) == 0 {
			continue
		}
		text, refused, err := budget.Update(u.sources[path], path, u.edits[path])
		if err != nil {
			return ExitNoData, err
		}
		u.refused = append(u.refused, refused...)
		if !bytes.Equal(text, u.sources[path]) {
			texts[path] = text
		}
	}
	lines, err := u.changes(texts)
	if err != nil {
		return ExitNoData, err
	}
	if !dry {
		if err := u.write(texts); err != nil {
			return ExitNoData, err
		}
	}
	slices.SortStableFunc(u.refused, func(a, b budget.Refused) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
	for _, r := range u.refused {
		lines = append(lines, r.Error())
	}
	switch {
	case len(lines) == 0:
		line := fmt.Sprintf("nothing to do: %s within %s %% of what is measured, or tighter", plural(u.looked, "limit"), strings.TrimRight(strings.TrimRight(u.headroom.FloatString(6), "0"), "."))
		if u.left > 0 {
			line += fmt.Sprintf("; %s of growth left alone", plural(u.left, "limit"))
		}
		lines = append(lines, line)
	case dry:
		lines = append(lines, "dry run: nothing was written")
	}
	if _, err := fmt.Fprintln(s.Stdout, strings.Join(lines, "\n")); err != nil {
		return ExitNoData, fmt.Errorf("standard output: cannot write: %w", cause(err))
	}
	if len(u.refused) > 0 {
		return ExitFail, nil
	}
	return ExitPass, nil
}

// changes gives a line for each limit that the new texts change, as a reader of
// the budget sees it: the texts are read back.
func (u *updater) changes(texts map[string][]byte) ([]string, error) {
	after, err := budget.Load(u.file.Path, func(path string) ([]byte, error) {
		if text, ok := texts[path]; ok {
			return text, nil
		}
		return u.sources[path], nil
	})
	if err != nil {
		return nil, fmt.Errorf("internal error: the changed budget has a fault, so nothing was written: %w", err)
	}
	var lines []string
	for _, t := range u.file.Targets {
		for i, e := range t.Budgets {
			to := after.Target(t.Name).Budgets[i]
			for _, l := range []struct {
				name     string
				from, to *budget.Limit
			}{{"max", e.Max, to.Max}, {"min", e.Min, to.Min}} {
				if l.from != nil && l.from.Text != l.to.Text {
					lines = append(lines, fmt.Sprintf("%s:%s: %s: %s: %s %s → %s", cmp.Or(l.from.Pos.File, u.file.Path), l.from.Pos, t.Name, e.Metric.Name, l.name, l.from.Text, l.to.Text))
				}
			}
		}
	}
	return lines, nil
}

// write replaces the files, once it is sure that none changed since it was read.
func (u *updater) write(texts map[string][]byte) error {
	for path := range texts {
		now, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			return fmt.Errorf("%s: %w; nothing was written", path, cause(err))
		}
		if !bytes.Equal(now, u.sources[path]) {
			return fmt.Errorf("%s: changed while the captures were read; nothing was written, run it again", path)
		}
	}
	for _, path := range u.file.Files {
		if text, ok := texts[path]; ok {
			if err := replaceFile(filepath.FromSlash(path), text); err != nil {
				return err
			}
		}
	}
	return nil
}
