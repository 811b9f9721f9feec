package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Found is what the captures of one target say. Each part may be left out; rules
// that need it are then silent.
type Found struct {
	// Files counts the files that each pattern of captures and base matches, by
	// the pattern's text.
	Files map[string]int
	Head  *measure.Measurement
	// Base has one measurement for each run of the base that is known.
	Base []*measure.Measurement
}

// Thresholds of the rules.
const (
	lintSlack     = 2          // times the measured value, from which a limit is no limit
	lintSlackSize = 16 << 20   // bytes of slack under which nothing is said
	lintGrowth    = 50         // percent of growth from which a why is wanted
	lintWaiver    = "366 days" // from today: a waiver that goes further is a limit of its own
)

// Lint finds what is legal and yet does not do what its writer wants: entries that
// judge nothing, limits that cannot fail, or that fail for no reason. found holds
// what is known of each target, by name, and may be nil. All findings are given at
// once, in the order of the files and places; each has its Level.
func Lint(f *File, found map[string]Found, today Date) Errors {
	l := &linter{file: f, found: found, today: today, seen: map[string]bool{}, index: map[*measure.Measurement]map[string][]measure.Row{}}
	for i := range lintRules {
		l.rule = &lintRules[i]
		l.rule.check(l)
	}
	order := map[string]int{}
	for i, name := range f.Files {
		order[name] = i
	}
	slices.SortStableFunc(l.out, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(order[a.File], order[b.File]), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message))
	})
	return l.out
}

// lintRule is one rule of Lint: its name, its usual level, and what docs say of it.
type lintRule struct {
	name  string
	level Level
	doc   string
	check func(*linter)
}

type linter struct {
	file  *File
	found map[string]Found
	today Date
	rule  *lintRule
	seen  map[string]bool // what stands in an anchored value is reported once
	index map[*measure.Measurement]map[string][]measure.Row
	out   Errors
}

func (l *linter) add(at Position, path, message, hint string) {
	l.addAs(l.rule.level, at, path, message, hint)
}

func (l *linter) addAs(level Level, at Position, path, message, hint string) {
	if id := at.File + at.String() + l.rule.name + message; !l.seen[id] && len(l.out) < maxFound {
		l.seen[id] = true
		l.out = append(l.out, &Error{File: at.File, Line: at.Line, Column: at.Column, Path: path, Message: message, Hint: hint, Rule: l.rule.name, Level: level})
	}
}

// entries walks all entries with their target and path.
func (l *linter) entries(visit func(t *Target, e *Entry, path string)) {
	for _, t := range l.file.Targets {
		for _, e := range t.Budgets {
			visit(t, e, "targets."+element(t.Name)+".budgets."+e.Metric.Name)
		}
	}
}

// rows gives what was measured of an entry on the head: rows with a value.
func (l *linter) rows(t *Target, e *Entry) []measure.Row {
	return l.rowsIn(l.found[t.Name].Head, e)
}

// rowsIn is matching with an index by name: many entries ask for the rows of one
// measurement.
func (l *linter) rowsIn(m *measure.Measurement, e *Entry) []measure.Row {
	if m == nil {
		return nil
	}
	byName, ok := l.index[m]
	if !ok {
		byName = map[string][]measure.Row{}
		for _, r := range m.Rows {
			byName[r.Name] = append(byName[r.Name], r)
		}
		l.index[m] = byName
	}
	return matching(byName[e.Metric.Name], e)
}

// matching gives the rows with a value that an entry judges.
func matching(rows []measure.Row, e *Entry) []measure.Row {
	var out []measure.Row
	for _, r := range rows {
		if r.Name == e.Metric.Name && r.Value != nil && e.Select.Matches(r.Labels) {
			out = append(out, r)
		}
	}
	return out
}

// lintDead finds patterns without files, and entries and waivers without rows.
func lintDead(l *linter) {
	for _, t := range l.file.Targets {
		files := l.found[t.Name].Files
		for name, list := range map[string][]Pattern{"captures": t.Captures, "base": t.Base} {
			for _, p := range list {
				if n, looked := files[p.Text]; looked && n == 0 {
					l.add(p.Pos, "targets."+element(t.Name)+"."+name, "path "+quote(p.Text)+" matches no file", "")
				}
			}
		}
	}
	l.entries(func(t *Target, e *Entry, path string) {
		head := l.found[t.Name].Head
		if head == nil || len(l.rows(t, e)) > 0 {
			return
		}
		message, hint := "the captures of target "+element(t.Name)+" do not give "+e.Metric.Name, "remove the entry, or capture what gives it"
		for _, r := range head.Rows {
			if r.Name == e.Metric.Name {
				message = "no row of " + e.Metric.Name + " matches the selectors of target " + element(t.Name)
				hint = "there is {" + clip(printable(r.Labels.Key())) + "}"
				break
			}
		}
		l.add(e.Pos, path, message, hint)
	})
	for i, w := range l.file.Waivers {
		head := l.found[w.Target].Head
		if head != nil && !slices.ContainsFunc(head.Rows, func(r measure.Row) bool { return w.Covers(w.Target, r.Name, r.Labels) }) {
			l.addAs(LevelWarning, w.Pos, fmt.Sprintf("waivers[%d]", i), "no row of "+w.Metric+" is covered", "")
		}
	}
	if len(l.file.Targets) > 0 {
		for _, d := range l.file.Defaults {
			if !slices.ContainsFunc(l.file.Targets, func(t *Target) bool { e := entryOf(t, d.Metric.Name); return e != nil && e.Default }) {
				l.addAs(LevelAdvice, d.Pos, "defaults.budgets."+d.Metric.Name, "every target has an entry of its own", "remove the default")
			}
		}
	}
}

// lintSlackRule finds limits that are far from what was measured.
func lintSlackRule(l *linter) {
	l.entries(func(t *Target, e *Entry, path string) {
		largest, smallest := extremes(l.rows(t, e))
		if largest == nil || isSlope(e.Metric.Unit) { // a leak is not what is used
			return
		}
		far := func(limit *Limit, high, low measure.Value, name, than string) {
			apart := high.Sub(low)
			if high.Float64() <= lintSlack*low.Float64() || e.Metric.Unit == measure.ByteUnit && apart.Cmp(measure.Int(lintSlackSize)) < 0 {
				return
			}
			what := than
			if low.Float64() > 0 {
				what = fmt.Sprintf("%.1f times %s", high.Float64()/low.Float64(), than)
			} else if name == "max" {
				what = "nothing is used"
			}
			l.add(limit.Pos, path, fmt.Sprintf("%s %s: %s (%s is measured)", name, limit.Text, what, measured(*largest, *smallest, e.Metric)), "peakgate budget update brings it closer")
		}
		if e.Max != nil && !e.Metric.HigherIsBetter {
			far(e.Max, e.Max.Value, *largest, "max", "as much as is used")
		}
		if e.Min != nil && e.Metric.HigherIsBetter {
			far(e.Min, *smallest, e.Min.Value, "min", "less than there is")
		}
		if e.Floor != nil && e.Growth != nil && 2*e.Floor.Value.Float64() > largest.Float64() {
			l.addAs(LevelAdvice, e.Floor.Pos, path, "floor "+e.Floor.Text+" is more than half of the measured "+largest.Format(e.Metric.Unit), "growth under the floor never fails")
		}
	})
}

func measured(largest, smallest measure.Value, metric measure.Metric) string {
	if metric.HigherIsBetter {
		return smallest.Format(metric.Unit)
	}
	return largest.Format(metric.Unit)
}

func extremes(rows []measure.Row) (largest, smallest *measure.Value) {
	for _, r := range rows {
		if largest == nil || r.Value.Cmp(*largest) > 0 {
			largest = r.Value
		}
		if smallest == nil || r.Value.Cmp(*smallest) < 0 {
			smallest = r.Value
		}
	}
	return largest, smallest
}
