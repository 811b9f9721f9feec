package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/peakgate/peakgate/compare"
)

// markdownContributors is how many contributors the markdown shows for a check.
const markdownContributors = 12

// markdownChecks is how many checks that are not a pass are told in full.
const markdownChecks = 20

var icons = map[compare.Verdict]string{
	compare.Fail: "🔴", compare.NoData: "⚪", compare.Warn: "🟡", compare.Inconclusive: "🟡",
	compare.Decelerating: "🟡", compare.Waived: "🟡", compare.Pass: "🟢",
}

// Markdown writes a result for a pull request or a job summary: one sentence to
// act on, the checks that do not hold with what grew, and the rest folded.
func Markdown(w io.Writer, r *compare.Result) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s **peakgate: %s** — %s.\n", icons[r.Verdict], verdictWords(r.Verdict), headline(r, markdownStyle))
	if len(r.Changes) > 0 {
		fmt.Fprint(out, "\n**This change edits its own budget:**\n\n")
		for i, n := range r.Changes {
			if i == markdownChecks {
				fmt.Fprintf(out, "- and %s\n", plural(len(r.Changes)-i, "more change", "more changes"))
				break
			}
			fmt.Fprintf(out, "- %s %s\n", icons[n.Verdict], prose(noticeLine(n)))
		}
	}
	var open []place
	for i := range r.Targets {
		for j := range r.Targets[i].Checks {
			if c := &r.Targets[i].Checks[j]; c.Verdict != compare.Pass {
				open = append(open, place{&r.Targets[i], c})
			}
		}
	}
	if len(open) > 0 {
		fmt.Fprint(out, "\n| | target | metric | base | head | change | limit | budget |\n|---|---|---|--:|--:|--:|---|---|\n")
		for _, p := range open {
			markdownRow(out, p, true)
		}
	}
	for i := range r.Targets {
		for _, n := range r.Targets[i].Notices {
			fmt.Fprintf(out, "\n%s %s: %s\n", icons[n.Verdict], code(r.Targets[i].Name), prose(noticeLine(n)))
		}
	}
	told, caused := map[*compare.TargetResult]tables{}, map[*compare.TargetResult]map[string]bool{}
	for i, p := range open {
		if told[p.target] == nil {
			told[p.target], caused[p.target] = tables{}, map[string]bool{}
		}
		if i == markdownChecks {
			fmt.Fprintf(out, "\n%s more are in the table above.\n", plural(len(open)-i, "check", "checks"))
			break
		}
		markdownCheck(out, p, told[p.target])
		markdownFindings(out, "Cause", causes(p.check, p.target.Findings, caused[p.target]))
	}
	for i := range r.Targets {
		markdownFindings(out, "Doubt about "+code(r.Targets[i].Name), doubts(r.Targets[i].Findings))
	}
	if a := advice(r); a != "" {
		fmt.Fprintf(out, "\n%s\n", a)
	}
	markdownRest(out, r)
	fmt.Fprintf(out, "\n<sub>%s</sub>\n", prose(footer(r)))
	return out.Flush()
}

// unbroken keeps a number and its unit on one line of a narrow table.
func unbroken(s string) string {
	return strings.NewReplacer(" (", " (", " ", "\u00a0").Replace(s)
}

// place is a check with its target.
type place struct {
	target *compare.TargetResult
	check  *compare.Check
}

func verdictWords(v compare.Verdict) string {
	if v == compare.NoData {
		return "no data"
	}
	return string(v)
}

func markdownRow(out io.Writer, p place, budget bool) {
	c := p.check
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
	if len(c.Labels) > 0 {
		metric += " " + code(c.Labels.Key())
	}
	fmt.Fprintf(out, "| %s %s | %s | %s | %s | %s | %s | %s |", icons[c.Verdict], verdictWords(c.Verdict), code(p.target.Name), metric, unbroken(base), unbroken(head), unbroken(change), prose(c.Limit.Text))
	if budget {
		fmt.Fprintf(out, " %s |", code(fmt.Sprintf("%s:%d", c.Limit.File, c.Limit.Line)))
	}
	fmt.Fprintln(out)
}

func markdownCheck(out io.Writer, p place, told tables) {
	c := p.check
	fmt.Fprintf(out, "\n#### %s: %s\n\n%s.\n", code(p.target.Name), code(c.Metric), prose(strings.TrimSuffix(c.Reason, ".")))
	if c.Limit.Why != "" {
		fmt.Fprintf(out, "\n> why this limit: %s\n", prose(c.Limit.Why))
	}
	markdownGrowth(out, c)
	shown, hidden := selectContributors(c, markdownContributors)
	if len(shown) == 0 {
		return
	}
	if k := kinds(c.Contributors); k != "" && c.Base != nil {
		fmt.Fprintf(out, "\nBy kind: %s.\n", unbroken(k))
	}
	if before := told.shown(c.Metric, shown); before != "" {
		fmt.Fprintf(out, "\nAllocated at: as under %s above.\n", code(before))
		return
	}
	if c.Base == nil {
		fmt.Fprint(out, "\n| bytes | count | allocated at |\n|--:|--:|---|\n")
		for _, s := range shown {
			fmt.Fprintf(out, "| %s | %d | %s |\n", unbroken(s.HeadBytes.String()), s.HeadCount, code(s.Display))
		}
	} else {
		fmt.Fprint(out, "\n| change | base | head | count | allocated at |\n|--:|--:|--:|--:|---|\n")
		for _, s := range shown {
			fmt.Fprintf(out, "| **%s** | %s | %s | %s | %s |\n", unbroken(s.Delta().Signed()), unbroken(s.BaseBytes.String()), unbroken(s.HeadBytes.String()), counts(s), code(s.Display))
		}
	}
	if hidden != "" {
		fmt.Fprintf(out, "\n%s\n", hidden)
	}
}

// markdownGrowth shows how a sampled growth was judged. None of its text is from a
// capture, so nothing can end the block.
func markdownGrowth(out io.Writer, c *compare.Check) {
	lines := growthLines(c)
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "\n```text\n%s\n```\n", strings.Join(lines, "\n"))
}

// markdownRest folds what needs no action: what holds, what was read, how alike
// the workloads are, differences of environment, warnings.
func markdownRest(out io.Writer, r *compare.Result) {
	var passed []place
	for i := range r.Targets {
		for j := range r.Targets[i].Checks {
			if c := &r.Targets[i].Checks[j]; c.Verdict == compare.Pass {
				passed = append(passed, place{&r.Targets[i], c})
			}
		}
	}
	if len(passed) > 0 {
		fmt.Fprintf(out, "\n<details><summary>%s</summary>\n\n| | target | metric | base | head | change | limit |\n|---|---|---|--:|--:|--:|---|\n", plural(len(passed), "budget holds", "budgets hold"))
		for _, p := range passed {
			markdownRow(out, p, false)
		}
		for _, p := range passed {
			if p.check.Trend != nil {
				fmt.Fprintf(out, "\n%s %s: %s.\n", code(p.target.Name), code(rowName(p.check.Metric, p.check.Labels)), prose(p.check.Reason))
				markdownGrowth(out, p.check)
			}
		}
		fmt.Fprint(out, "\n</details>\n")
	}
	fmt.Fprint(out, "\n<details><summary>what was compared</summary>\n\n")
	for i := range r.Targets {
		t := &r.Targets[i]
		fmt.Fprintf(out, "- %s: head %s", code(t.Name), code(orNothing(paths(t.Inputs))))
		if len(t.BaseInputs) > 0 {
			fmt.Fprintf(out, ", base %s", code(paths(t.BaseInputs)))
		}
		if t.Likeness.Verdict != "unknown" {
			fmt.Fprintf(out, "; the two workloads are %s%s", t.Likeness.Verdict, prose(notes(t.Likeness.Notes)))
		}
		fmt.Fprintln(out)
		if b := baseStory(t.Base); b != "" {
			fmt.Fprintf(out, "  - %s\n", prose(b))
		}
		for _, d := range environmentDifferences(t.Environment) {
			fmt.Fprintf(out, "  - differs: %s\n", prose(d))
		}
		for _, w := range t.Warnings {
			fmt.Fprintf(out, "  - warning: %s\n", prose(w))
		}
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(out, "- warning: %s\n", prose(w))
	}
	fmt.Fprint(out, "\n</details>\n")
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}

func footer(r *compare.Result) string {
	s := fmt.Sprintf("%s %s · %s", r.Tool.Name, r.Tool.Version, r.Config)
	if r.Head.Commit != "" {
		s += " · head " + r.Head.Commit[:min(12, len(r.Head.Commit))]
	}
	if r.Base.Ref != "" {
		s += " · base " + r.Base.Ref
	}
	return s
}
