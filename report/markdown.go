package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// maxMarkdown is how many bytes of markdown a report has at most. GitHub takes
// comments of 65,536 characters and texts of a check run of 65,535; what posts the
// report adds a line of its own.
const maxMarkdown = 60_000

// room is how much of a result a page shows.
type room struct {
	folded       bool // what needs no action
	contributors int  // of each check
	told         int  // checks that do not hold, in full
	rows         int  // checks that do not hold, in the table
	items        int  // of each list beside: changes of the budget, notices, warnings, differences
}

// rooms are the sizes that are tried, the best first: what is folded goes first,
// then contributors, then the lists. What no longer fits then goes row by row, from the bottom.
// More rows than in the first would fit no page.
var rooms = []room{
	{folded: true, contributors: 12, told: 20, rows: 1500, items: 20},
	{contributors: 12, told: 20, rows: 1500, items: 20},
	{contributors: 4, told: 20, rows: 1500, items: 20},
	{contributors: 0, told: 20, rows: 1500, items: 20},
	{contributors: 0, told: 20, rows: 1500, items: 3},
}

var icons = map[compare.Verdict]string{
	compare.Fail: "🔴", compare.NoData: "⚪", compare.Warn: "🟡", compare.Inconclusive: "🟡",
	compare.Decelerating: "🟡", compare.Waived: "🟡", compare.Pass: "🟢",
}

// Markdown writes a result for a pull request or a job summary, in at most 60,000
// bytes: one sentence to act on, the checks that do not hold with what grew and what
// can be done, and the rest folded.
func Markdown(w io.Writer, r *compare.Result) error {
	_, err := io.WriteString(w, fit(r))
	return err
}

// fit gives the page in the largest room that it fits.
func fit(r *compare.Result) string {
	p := newPage(r)
	for _, size := range rooms {
		if text := p.render(size); len(text) <= maxMarkdown {
			return text
		}
	}
	last := rooms[len(rooms)-1]
	with := func(rows int) string {
		size := last
		size.rows, size.told = rows, min(rows, last.told)
		return p.render(size)
	}
	left := sort.Search(last.rows, func(n int) bool { return len(with(last.rows-n)) <= maxMarkdown })
	return with(last.rows - left)
}

// page is one report while it is written.
type page struct {
	strings.Builder
	r      *compare.Result
	size   room
	cut    bool    // something is left out that a larger room shows
	open   []place // the checks that are no pass
	held   []place // the others
	common map[*compare.TargetResult]measure.Labels
	do     todo
}

// place is a check with its target.
type place struct {
	target *compare.TargetResult
	check  *compare.Check
}

// newPage finds what is the same in every room.
func newPage(r *compare.Result) *page {
	p := &page{r: r, common: map[*compare.TargetResult]measure.Labels{}, do: whatToDo(r, budgetFile(r), r.Day)}
	for i := range r.Targets {
		t := &r.Targets[i]
		p.common[t] = commonLabels(t.Checks)
		for j := range t.Checks {
			if c := &t.Checks[j]; c.Verdict == compare.Pass {
				p.held = append(p.held, place{t, c})
			} else {
				p.open = append(p.open, place{t, c})
			}
		}
	}
	// What is cut off is at the end, so the worst comes first.
	slices.SortStableFunc(p.open, func(a, b place) int { return cmp.Compare(a.check.Verdict.Rank(), b.check.Verdict.Rank()) })
	return p
}

func (p *page) printf(format string, args ...any) { fmt.Fprintf(&p.Builder, format, args...) }

func (p *page) render(size room) string {
	p.Reset()
	p.size, p.cut = size, false
	p.printf("%s **peakgate: %s** — %s.\n", icons[p.r.Verdict], verdictWords(p.r.Verdict), headline(p.r, markdownStyle))
	p.changes()
	p.table()
	p.beside()
	p.checks()
	p.todo()
	p.rest()
	if p.cut {
		p.printf("\nThis is the short form: the whole report would be over %d bytes. All of it is in the result's JSON, and as text in the log of `peakgate check`.\n", maxMarkdown)
	}
	p.printf("\n%s\n", footer(p.r))
	return p.String()
}

// list writes the first items that there is room for, and counts the others.
func (p *page) list(n int, many string, item func(i int)) {
	for i := range min(n, p.size.items) {
		item(i)
	}
	if left := n - p.size.items; left > 0 {
		p.printf("- and %d more %s\n", left, many)
		p.cut = p.cut || p.size.items < rooms[0].items
	}
}

func (p *page) changes() {
	if len(p.r.Changes) == 0 {
		return
	}
	p.printf("\n**This change edits its own budget:**\n\n")
	p.list(len(p.r.Changes), "changes", func(i int) {
		n := p.r.Changes[i]
		p.printf("- %s %s%s\n", icons[n.Verdict], prose(noticeText(n)), p.at(n))
	})
}

// at is the place of a notice, with a link where it has a page.
func (p *page) at(n compare.Notice) string {
	if n.File == "" {
		return ""
	}
	return " (" + budgetLink(p.r, code(fmt.Sprintf("%s:%d", n.File, n.Line)), n.File, n.Line) + ")"
}

// table lists what does not hold.
func (p *page) table() {
	if len(p.open) == 0 {
		return
	}
	if p.size.rows > 0 {
		p.printf("\n| | target | metric | base | head | change | limit |\n|---|---|---|--:|--:|--:|---|\n")
	}
	for i, c := range p.open {
		if i == p.size.rows {
			p.printf("\n%s not hold and %s not in the table.\n", plural(len(p.open)-i, "more check does", "more checks do"), map[bool]string{true: "is", false: "are"}[len(p.open)-i == 1])
			p.cut = true
			break
		}
		if p.row(c); p.Len() > maxMarkdown {
			return // no page: the rest of it need not be written
		}
	}
}

// row is a check as a row of a table; what its numbers are about stands there where a
// target has several.
func (p *page) row(at place) {
	c := at.check
	base, head, change := "–", "–", "–"
	if c.Base != nil {
		base = c.Base.Format(c.Unit)
	}
	if c.Head != nil {
		head = c.Head.Format(c.Unit)
	}
	if c.Base != nil && c.Head != nil && c.Head.Cmp(*c.Base) == 0 {
		change = "unchanged"
	} else if c.Base != nil && c.Head != nil {
		change = c.Head.Sub(*c.Base).FormatSigned(c.Unit) + compare.Percent(*c.Base, *c.Head)
	}
	metric := code(c.Metric)
	if labels := without(c.Labels, p.common[at.target]); len(labels) > 0 {
		metric += " " + code(labels.Key())
	}
	limit := prose(c.Limit.Text)
	if link := budgetLink(p.r, limit, c.Limit.File, c.Limit.Line); link != limit {
		limit = link
	} else if c.Limit.File != "" && c.Verdict != compare.Pass {
		limit += " · " + code(fmt.Sprintf("%s:%d", c.Limit.File, c.Limit.Line))
	}
	p.printf("| %s %s | %s | %s | %s | %s | %s | %s |\n", icons[c.Verdict], verdictWords(c.Verdict), code(at.target.Name), metric, unbroken(base), unbroken(head), unbroken(change), limit)
}

// beside tells what has to be known with the numbers: notices, and how the two sides
// differ in machine and software.
func (p *page) beside() {
	var lines []func() string
	for i := range p.r.Targets {
		t := &p.r.Targets[i]
		for j := range t.Dryrun {
			lines = append(lines, func() string { return p.dryrun(t, &t.Dryrun[j]) })
		}
		for _, n := range t.Notices {
			lines = append(lines, func() string {
				return fmt.Sprintf("- %s %s: %s%s\n", icons[n.Verdict], code(t.Name), prose(noticeText(n)), p.at(n))
			})
		}
		for _, d := range environmentDifferences(t.Environment) {
			lines = append(lines, func() string {
				return fmt.Sprintf("- %s: base and head differ in %s\n", code(t.Name), prose(d))
			})
		}
	}
	if len(lines) > 0 {
		p.printf("\n")
	}
	p.list(len(lines), "notices", func(i int) { p.printf("%s", lines[i]()) })
}

// unbroken keeps a number and its unit on one line of a narrow table. The unit is as
// the result has it.
func unbroken(s string) string {
	return strings.NewReplacer(" (", " (", " ", "\u00a0").Replace(prose(s))
}

// verdictWords is a verdict in words; a result may come from anybody.
func verdictWords(v compare.Verdict) string {
	switch {
	case v == compare.NoData:
		return "no data"
	case icons[v] == "":
		return "unknown verdict"
	}
	return string(v)
}
