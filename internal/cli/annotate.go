package cli

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/post"
)

// mark is a remark on a line of a file: of the budget, or of the code that allocates.
// file has slashes and leads there from the repository's top where top is set, else
// from the working directory.
type mark struct {
	class          int // markRed and the following, the worst first
	top            bool
	file           string
	line, column   int
	title, message string
}

const (
	markRed = iota
	markSource
	markWarning
)

// marksOf gives what a result has to say on lines, the worst first, and how many
// checks and notices are red.
func marksOf(r *compare.Result) (marks []mark, failed int) {
	marks = noticeMarks(r)
	failed = len(slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return m.class != markRed }))
	checks, red := checkMarks(r)
	marks = append(append(marks, checks...), sourceMarks(r)...)
	slices.SortStableFunc(marks, func(x, y mark) int { return cmp.Compare(x.class, y.class) })
	return marks, failed + red
}

// annotate shows the marks in a step, and gives the number of checks and notices that
// are red.
func annotate(a *post.Actions, r *compare.Result) (failed int) {
	marks, failed := marksOf(r)
	for _, m := range marks {
		n := post.Annotation{File: filepath.FromSlash(m.fromHere(r)), Line: m.line, Column: m.column, Title: m.title, Message: m.message}
		if m.class == markRed {
			a.Error(n)
		} else {
			a.Warning(n)
		}
	}
	return failed
}

// fromHere is the mark's file from the working directory.
func (m mark) fromHere(r *compare.Result) string {
	if !m.top {
		return m.file
	}
	if rel, err := filepath.Rel(filepath.FromSlash("/"+r.Head.Folder), filepath.FromSlash("/"+m.file)); err == nil {
		return filepath.ToSlash(rel)
	}
	return m.file
}

// fromTop is the mark's file from the repository's top; empty where it is outside.
func (m mark) fromTop(r *compare.Result) string {
	file := m.file
	if !m.top && !path.IsAbs(file) {
		file = path.Join(r.Head.Folder, file)
	}
	if file == "" || !filepath.IsLocal(filepath.FromSlash(file)) {
		return ""
	}
	return file
}

// noticeMarks marks what a change does to its own gate: loosened limits, a base that
// was moved, captures that were not made again. What lies in the base has no line in
// the change.
func noticeMarks(r *compare.Result) (marks []mark) {
	all := slices.Clone(r.Changes)
	for _, t := range r.Targets {
		all = append(all, t.Notices...)
	}
	for _, n := range all {
		m := mark{class: markRed, file: n.File, line: n.Line, column: n.Column, title: fmt.Sprintf("%s: %s", n.Verdict, n.Effect), message: n.Text}
		if strings.Contains(n.File, "@") {
			m.file, m.line, m.column = r.Config, 0, 0
		}
		if n.Verdict == compare.Warn {
			m.class = markWarning
		}
		if n.Verdict != compare.Pass {
			marks = append(marks, m)
		}
	}
	return marks
}

// checkMarks marks each budget that does not hold, once, on its own line: with its
// worst row, and how many more there are. The worst budget comes first. It also gives
// the number of checks that are red.
func checkMarks(r *compare.Result) (marks []mark, failed int) {
	type marked struct {
		mark
		check *compare.Check
		more  int
	}
	var all []*marked
	byBudget := map[string]*marked{}
	for i := range r.Targets {
		t := &r.Targets[i]
		for j := range t.Checks {
			c := &t.Checks[j]
			class := markRed // a verdict that is not known here is no pass
			switch c.Counts() {
			case compare.Pass, compare.Waived:
				continue
			case compare.Warn, compare.Inconclusive, compare.Decelerating:
				class = markWarning
			default:
				failed++
			}
			// Checks of a target are sorted: the first of a budget is its worst.
			key := fmt.Sprint(t.Name, "\x00", c.Limit.File, "\x00", c.Limit.Line, "\x00", c.Limit.Column)
			if m := byBudget[key]; m != nil {
				m.more++
				continue
			}
			m := &marked{check: c, mark: mark{class: class, file: c.Limit.File, line: c.Limit.Line, column: c.Limit.Column,
				title: fmt.Sprintf("%s: %s: %s", c.Verdict, t.Name, c.Metric), message: sentence(c)}}
			byBudget[key], all = m, append(all, m)
		}
	}
	slices.SortStableFunc(all, func(x, y *marked) int {
		return cmp.Or(cmp.Compare(x.class, y.class), cmp.Compare(verdictOrder(x.check), verdictOrder(y.check)), cmp.Compare(y.check.Excess, x.check.Excess))
	})
	for _, m := range all {
		if m.more > 0 {
			m.message += fmt.Sprintf("; and %d more rows of this budget", m.more)
		}
		marks = append(marks, m.mark)
	}
	return marks, failed
}

// verdictOrder puts what fails before what has no data.
func verdictOrder(c *compare.Check) int {
	if c.Counts() == compare.Fail {
		return 0
	}
	return 1
}

// sourceMarks marks the lines of the change at which what grew is allocated, for
// checks that do not hold: each line once, with the metric of which it is the most.
func sourceMarks(r *compare.Result) (marks []mark) {
	type line struct {
		file string
		line int
	}
	grown := map[line]measure.Bytes{}
	best := map[line]mark{}
	for _, t := range r.Targets {
		for _, c := range t.Checks {
			if c.Counts() == compare.Pass || c.Verdict == compare.Waived || c.Base == nil {
				continue
			}
			here := map[line]measure.Bytes{}
			for _, s := range c.Contributors {
				if s.Place == compare.InChange && s.Source != nil && s.Delta() > 0 {
					here[line{s.Source.File, s.Source.Line}] += s.Delta()
				}
			}
			for at, bytes := range here {
				if bytes > grown[at] {
					grown[at] = bytes
					best[at] = mark{class: markSource, top: true, file: at.file, line: at.line, title: fmt.Sprintf("%s: %s", t.Name, c.Metric),
						message: fmt.Sprintf("%s %s is allocated here; %s: %s", bytes.Signed(), liveAt(c.Metric), t.Name, c.Reason)}
				}
			}
		}
	}
	for _, m := range best {
		marks = append(marks, m)
	}
	slices.SortFunc(marks, func(x, y mark) int {
		return cmp.Or(cmp.Compare(grown[line{y.file, y.line}], grown[line{x.file, x.line}]), cmp.Compare(x.file, y.file), cmp.Compare(x.line, y.line))
	})
	return marks
}

// liveAt says at which moment the contributors of a metric are live.
func liveAt(metric string) string {
	switch {
	case strings.HasPrefix(metric, "plan."), strings.HasPrefix(metric, "live.") && strings.HasSuffix(metric, "peak_bytes"):
		return "live at the peak"
	case metric == "live.end_bytes":
		return "live at the end"
	}
	return "of " + metric
}

// sentence is a check's reason with the code that the largest part of its growth is
// from.
func sentence(c *compare.Check) string {
	out := c.Reason
	if key := c.Labels.Key(); key != "" {
		out += " {" + key + "}"
	}
	if len(c.Contributors) > 0 && c.Base != nil {
		if top := c.Contributors[0]; top.Delta() > 0 && top.Key != measure.Other {
			out += fmt.Sprintf("; the largest part, %s, is allocated at %s", top.Delta().Signed(), top.Display)
		}
	}
	if c.Limit.Why != "" {
		out += "; why the budget is so: " + c.Limit.Why
	}
	return out
}

// maxMarks is how many annotations a check run gets: each 50 are a request.
const maxMarks = 200

// resultMarks are the annotations of a check run.
func resultMarks(r *compare.Result) []post.Mark {
	var out []post.Mark
	all, _ := marksOf(r)
	for _, m := range all {
		level := "failure"
		if m.class != markRed {
			level = "warning"
		}
		if file := m.fromTop(r); file != "" && !strings.Contains(file, "@") && len(out) < maxMarks {
			out = append(out, post.Mark{File: file, Line: m.line, Level: level, Title: m.title, Detail: m.message})
		}
	}
	return out
}
