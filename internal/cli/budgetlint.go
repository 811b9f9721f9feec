package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/base"
	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// lintSchema names the JSON that lint prints.
const lintSchema = "peakgate.lint/1"

var lintCommand = command{
	name: "lint", summary: "what in the budget is wrong or, most likely, not meant",
	about: `Finds all faults of the budget file and of what it includes at once, in the order
of the files: errors of the language, then what is legal and yet does not do what
its writer wants, with the captures and the bases that it names measured as check
would. One line each, with the line of the file and a mark:

  FILE:LINE:COLUMN: LEVEL: PATH: MESSAGE; HINT [RULE]

An error has no LEVEL; others are warning or advice. docs/budget.md tells of the
rules of the language, docs/budget-lint.md of the others.

--format json prints {"schema": "` + lintSchema + `", "config", "findings": [{"file",
"line", "column", "level": "error|warning|advice", "rule", "path", "message",
"hint"}]}. All keys are always there, and keys are only ever added.`,
	exits: `Exit codes: 0 nothing but advice; 1 an error or a warning; 2 errors that stop the
gate, or wrong use; 3 peakgate itself failed.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		o := budgetOptions{}
		o.declare(f)
		format := f.String("format", "text", "`text` or json, on standard output")
		blind := f.Bool("no-captures", false, "look at the budget only: rules that need numbers are silent")
		return func(args []string) (int, error) {
			if len(args) > 0 {
				return ExitUsage, usagef("budget lint: takes no arguments, got %.40q; name the budget file with --config", args[0])
			}
			if err := checkFormat(*format); err != nil {
				return ExitUsage, err
			}
			l := linter{budgetOptions: o}
			if err := l.lint(s, !*blind); err != nil {
				return ExitUsage, err
			}
			code, err := emit(s, *format, "", l.document(), l.text)
			return max(code, l.code()), err
		}
	},
}

// linter collects the findings of one budget.
type linter struct {
	budgetOptions
	from     *bases
	reader   capture.Options
	sources  map[string][]byte
	findings budget.Errors
	stops    bool // one of them keeps check from running
	read     int  // captures
}

// lint finds all. Its error is one of use: faults of the file are findings.
func (l *linter) lint(s Streams, look bool) error {
	within, err := newGuard(l.config, l.allowed, s)
	if err != nil {
		return err
	}
	file, sources, err := loadBudget(l.config, within)
	var faults budgetError
	if errors.As(err, &faults) {
		l.findings, l.sources, l.stops = faults.faults, faults.sources, true
		return nil
	}
	if err != nil {
		return err
	}
	l.sources = sources
	found := map[string]budget.Found{}
	if look {
		if l.from, err = openBases(l.config, s); err != nil {
			return err
		}
		l.from.within = within
		var done func()
		l.reader, done = l.reading(s)
		defer done()
		for _, t := range file.Targets {
			found[t.Name] = l.look(t, file)
		}
	}
	l.findings = append(l.findings, budget.Lint(file, found, budget.DateOf(s.now().UTC()))...)
	slices.SortStableFunc(l.findings, func(a, b *budget.Error) int {
		return cmp.Or(cmp.Compare(slices.Index(file.Files, a.File), slices.Index(file.Files, b.File)),
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), strings.Compare(a.Rule, b.Rule), strings.Compare(a.Message, b.Message))
	})
	return nil
}

// unmet tells what the captures cannot meet: with it the target is no data,
// whatever its budgets say.
func (l *linter) unmet(t *budget.Target, m *measure.Measurement) {
	const hint = "the target is no data with these captures"
	for _, text := range t.Mismatch(m.Environment) {
		l.add(budget.LevelWarning, t.OnlyWhen[0].Pos, "targets."+t.Name+".only_when", "dead", text, hint)
	}
	for _, text := range t.Absent(m) {
		l.add(budget.LevelWarning, t.Expect[0].Pos, "targets."+t.Name+".expect", "dead", text, hint)
	}
}

// look measures the two sides of a target. A side that is not read in full gives
// no numbers: part of them would make other findings false.
func (l *linter) look(t *budget.Target, file *budget.File) budget.Found {
	out := budget.Found{Files: map[string]int{}}
	comparable := func(m *measure.Measurement) bool { return len(t.Mismatch(m.Environment)) == 0 }
	var files [][]string
	ok := !isRun(t) // lint runs nothing: of such a target the head is not known
	if ok {
		files, ok = l.files(t, "captures", t.Captures, out.Files)
	}
	if ok {
		m, err := capture.Measure(t.Name, slices.Compact(slices.Sorted(slices.Values(slices.Concat(files...)))), l.reader)
		switch {
		case err != nil:
			l.unreadable(t, "captures", t.Captures, files, err)
		case comparable(m):
			out.Head = m
		}
		if err == nil {
			l.unmet(t, m)
		}
	}
	w := compare.Workload{Target: t, Config: l.config, Budget: file}
	if len(t.Base) > 0 {
		files, ok := l.files(t, "base", t.Base, out.Files)
		if !ok {
			return out
		}
		if l.from.fill(&w, l.reader); w.BaseErr != nil {
			l.unreadable(t, "base", t.Base, files, w.BaseErr)
		}
	} else {
		if l.from.fill(&w, l.reader); w.BaseErr != nil {
			l.add(budget.LevelAdvice, t.Pos, "targets."+t.Name, "base", "the base cannot be read: "+clean(w.BaseErr.Error()), "rules that need it are silent")
		}
		if runs := l.committed(t); runs != nil && len(runs.Runs) > len(w.Runs) {
			w.Runs = runs.Runs
		}
	}
	if !slices.ContainsFunc(w.Runs, func(m *measure.Measurement) bool { return !comparable(m) }) {
		out.Base = w.Runs
	}
	return out
}

// committed reads the base that check --update-base wrote, as it lies in the
// working tree; nil where there is none.
func (l *linter) committed(t *budget.Target) *base.Runs {
	path := filepath.Join(filepath.Dir(l.config), filepath.FromSlash(base.FileName(t.Name)))
	if !exists(path) || l.from.within.files([]string{path}) != nil {
		return nil
	}
	runs := openRuns(path)
	if runs == nil {
		l.add(budget.LevelWarning, t.Pos, "targets."+t.Name, "unreadable", clean(filepath.ToSlash(path))+" is no base that peakgate wrote", "write it again: peakgate check --update-base")
	}
	return runs
}

// files finds what patterns name, and counts it; ok tells that all of it is there.
func (l *linter) files(t *budget.Target, key string, patterns []budget.Pattern, counts map[string]int) (files [][]string, ok bool) {
	ok = len(patterns) > 0
	for i, full := range l.from.resolve(t, patterns) {
		p, where := patterns[i], "targets."+t.Name+"."+key
		files = append(files, nil)
		if l.from.within.pattern(full) != nil {
			l.add(budget.LevelError, p.Pos, where, "path", fmt.Sprintf("%q leads outside of the repository of the budget file", p.Text), "keep it inside, or allow the folder with --allow-path")
			l.stops, ok = true, false
			continue
		}
		found, _, err := capture.Find(full)
		var none *capture.NotFoundError
		switch {
		case errors.As(err, &none):
			counts[p.Text], ok = 0, false
		case err != nil:
			l.add(budget.LevelError, p.Pos, where, "unreadable", clean(err.Error()), "")
			ok = false
		default:
			if err := l.from.within.files(found); err != nil {
				l.add(budget.LevelError, p.Pos, where, "path", clean(err.Error()), "")
				ok = false
				continue
			}
			counts[p.Text], files[i] = len(found), found
			l.read += len(found)
		}
	}
	return files, ok
}

// unreadable says which files cannot be read, each at the pattern that names it.
func (l *linter) unreadable(t *budget.Target, key string, patterns []budget.Pattern, files [][]string, whole error) {
	const most = 10 // of one pattern
	where, before := "targets."+t.Name+"."+key, len(l.findings)
	for i, p := range patterns {
		bad := 0
		for _, f := range files[i] {
			if _, err := capture.Open(f, l.reader); err != nil {
				if bad++; bad <= most {
					l.add(budget.LevelError, p.Pos, where, "unreadable", clean(err.Error()), "")
				}
			}
		}
		if bad > most {
			l.add(budget.LevelError, p.Pos, where, "unreadable", fmt.Sprintf("%d more files of %q cannot be read", bad-most, p.Text), "")
		}
	}
	if len(l.findings) == before {
		l.add(budget.LevelError, patterns[0].Pos, where, "unreadable", clean(whole.Error()), "")
	}
}

func (l *linter) add(level budget.Level, at budget.Position, path, rule, message, hint string) {
	l.findings = append(l.findings, &budget.Error{File: cmp.Or(at.File, filepath.ToSlash(l.config)), Line: at.Line, Column: at.Column, Path: path, Message: message, Hint: hint, Rule: rule, Level: level})
}

func (l *linter) count(level budget.Level) (n int) {
	for _, f := range l.findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

func (l *linter) code() int {
	switch {
	case l.stops:
		return ExitUsage
	case l.count(budget.LevelError)+l.count(budget.LevelWarning) > 0:
		return ExitFail
	}
	return ExitPass
}

func (l *linter) text(w io.Writer) error {
	_, err := io.WriteString(w, l.findings.RenderFiles(func(path string) ([]byte, error) {
		if data, ok := l.sources[path]; ok {
			return data, nil
		}
		return nil, os.ErrNotExist
	}))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s: %s, %s, %d advice; %s looked at\n", clean(filepath.ToSlash(l.config)),
		plural(l.count(budget.LevelError), "error"), plural(l.count(budget.LevelWarning), "warning"), l.count(budget.LevelAdvice), plural(l.read, "capture"))
	return err
}

func plural(n int, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprintf("%d %s", n, word)
}

// finding is one of them in JSON.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Level   string `json:"level"`
	Rule    string `json:"rule"`
	Path    string `json:"path"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

func (l *linter) document() any {
	findings := []finding{}
	for _, f := range l.findings {
		findings = append(findings, finding{f.File, f.Line, f.Column, cmp.Or(string(f.Level), "error"), f.Rule, f.Path, f.Message, f.Hint})
	}
	return struct {
		Schema   string    `json:"schema"`
		Config   string    `json:"config"`
		Findings []finding `json:"findings"`
	}{lintSchema, filepath.ToSlash(l.config), findings}
}
