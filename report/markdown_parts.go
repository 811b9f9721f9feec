package report

import (
	"fmt"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// checks tells each check that does not hold: why, what grew, where, and the cause.
func (p *page) checks() {
	told, caused := map[*compare.TargetResult]tables{}, map[*compare.TargetResult]map[string]bool{}
	for i := range p.r.Targets {
		t := &p.r.Targets[i]
		told[t], caused[t] = tables{}, map[string]bool{}
		if fs := unfit(t.Dryrun, t.Findings, caused[t]); i < p.size.rows {
			p.findings("Why "+code(t.Name)+" does not fit", fs)
		} else {
			p.cut = p.cut || len(fs) > 0
		}
	}
	for i, at := range p.open {
		if i == p.size.told {
			if i < p.size.rows {
				p.printf("\n%s in the table above.\n", plural(min(len(p.open), p.size.rows)-i, "more is", "more are"))
			}
			break
		}
		p.check(at, told[at.target])
		p.findings("Cause", causes(at.check, at.target.Findings, caused[at.target]))
	}
	for i := range p.r.Targets {
		if i >= rooms[0].rows {
			break
		}
		if fs := doubts(p.r.Targets[i].Findings); len(fs) > 0 && i < p.size.rows {
			p.findings("Doubt about "+code(p.r.Targets[i].Name), fs)
		} else {
			p.cut = p.cut || len(fs) > 0
		}
	}
}

func (p *page) check(at place, told tables) {
	c := at.check
	p.printf("\n#### %s: %s\n\n%s\n", code(at.target.Name), code(c.Metric), prose(strings.TrimSuffix(c.Reason, ".")+"."))
	if c.Limit.Why != "" {
		p.printf("\n> why this limit: %s\n", prose(c.Limit.Why))
	}
	p.growth(c)
	most := p.size.contributors
	shown, hidden := selectContributors(c, most)
	if most < rooms[0].contributors {
		all, _ := selectContributors(c, rooms[0].contributors)
		p.cut = p.cut || len(all) > len(shown)
	}
	if len(shown) == 0 {
		if most == 0 && hidden != "" {
			p.printf("\nContributors: %s\n", hidden)
		}
		return
	}
	if k := kinds(c.Contributors); k != "" && c.Base != nil {
		p.printf("\nBy kind: %s.\n", unbroken(k))
	}
	if before := told.shown(c.Metric, shown); before != "" {
		p.printf("\nAllocated at: as under %s above.\n", code(before))
		return
	}
	p.contributors(c, shown)
	if hidden != "" {
		p.printf("\n%s\n", hidden)
	}
}

// growth shows how a sampled growth was judged.
func (p *page) growth(c *compare.Check) {
	if lines := growthLines(c); len(lines) > 0 {
		p.printf("\n%s", block("", "text", lines))
	}
}

// contributors lists who grew, or without a base who holds the memory, each with a
// link to its line.
func (p *page) contributors(c *compare.Check, shown []compare.Contributor) {
	if c.Base == nil {
		p.printf("\n| bytes | count | allocated at |\n|--:|--:|---|\n")
	} else {
		p.printf("\n| change | base | head | count | allocated at |\n|--:|--:|--:|--:|---|\n")
	}
	for _, s := range shown {
		name := sourceLink(p.r, code(s.Display), s.Source, s.Place)
		if s.Place == compare.InChange {
			name += " (in this change)"
		}
		if c.Base == nil {
			p.printf("| %s | %d | %s |\n", unbroken(s.HeadBytes.String()), s.HeadCount, name)
			continue
		}
		p.printf("| **%s** | %s | %s | %s | %s |\n", unbroken(s.Delta().Signed()), unbroken(s.BaseBytes.String()), unbroken(s.HeadBytes.String()), counts(s), name)
	}
}

// findings lists what may explain a check; word says what they are.
func (p *page) findings(word string, fs []measure.Finding) {
	for i, f := range fs {
		if i == 0 {
			p.printf("\n")
		}
		p.printf("- **%s** (%s): %s.", word, evidence(f), prose(strings.TrimSuffix(f.Text, ".")))
		fix, lines, _ := strings.Cut(f.Fix, "\n")
		if fix != "" {
			p.printf(" **Fix:** %s", prose(strings.TrimSuffix(fix, ".")))
			if more := gain(f); more != "" {
				p.printf(" (%s)", prose(more))
			}
			p.printf(".")
		}
		p.printf("\n")
		if lines != "" {
			all := strings.Split(lines, "\n")
			p.printf("\n%s", block("  ", "python", all[:min(len(all), mostCode)]))
		}
	}
}

// mostCode is how many lines of code a fix shows.
const mostCode = 20

func evidence(f measure.Finding) string {
	if f.Evidence == "measured" {
		return f.Evidence
	}
	return "inferred"
}

// todo tells what can be done, with the commands and lines to paste.
func (p *page) todo() {
	do := p.do
	if p.r.Verdict == compare.NoData {
		p.printf("\n%s\n", missing)
	}
	if do.wanted() {
		p.printf("\n#### What to do\n\n")
		for _, l := range do.leaks {
			p.printf("%s:\n\n", prose(l.of))
			for _, s := range l.steps {
				p.printf("- %s\n", s)
			}
			p.printf("\n")
		}
		p.printf("If the memory is not wanted, change what the causes name and measure again. If it is wanted:\n")
	}
	if do.raise != "" {
		p.printf("\nRaise the limit, with the reason, which becomes its `why`:\n\n%s", block("", "sh", []string{do.raise}))
	}
	for i, at := range do.byHand[:min(len(do.byHand), mostWaivers)] {
		l := at.check.Limit
		if i == 0 {
			p.printf("\nRaise the limit by hand, with a `why`, where growth is limited:\n\n")
		}
		p.printf("- %s of %s at %s\n", code(at.check.Metric), code(at.target.Name), budgetLink(p.r, code(fmt.Sprintf("%s:%d", l.File, l.Line)), l.File, l.Line))
	}
	for i, w := range do.widen[:min(len(do.widen), mostWaivers)] {
		if i == 0 {
			p.printf("\nOr widen the waiver that is there:\n\n")
		}
		p.printf("- to `%s` at %s\n", w.limit, budgetLink(p.r, code(fmt.Sprintf("%s:%d", w.File, w.Line)), w.File, w.Line))
	}
	if len(do.waivers) > 0 {
		p.printf("\nOr let it pass for some days, in %s (the first line only where it has no waivers yet):\n\n", code(budgetFile(p.r)))
		lines := []string{"waivers:"}
		for _, w := range do.waivers {
			lines = append(lines, "  "+w)
		}
		if do.more > 0 {
			lines = append(lines, fmt.Sprintf("  # and %d more", do.more))
		}
		p.printf("%s", block("", "yaml", lines))
	}
	if do.tighten != "" {
		p.printf("\nMemory was saved. To keep it so:\n\n%s", block("", "sh", []string{do.tighten}))
	}
}

// rest folds what needs no action: what holds, what was read, how alike the workloads
// are, warnings.
func (p *page) rest() {
	if !p.size.folded {
		p.cut = true
		return
	}
	if len(p.held) > 0 {
		p.printf("\n<details><summary>%s</summary>\n\n| | target | metric | base | head | change | limit |\n|---|---|---|--:|--:|--:|---|\n", plural(len(p.held), "budget holds", "budgets hold"))
		for _, at := range p.held[:min(len(p.held), p.size.rows)] {
			p.row(at)
		}
		for _, at := range p.held[:min(len(p.held), p.size.told)] {
			if at.check.Trend != nil {
				p.printf("\n%s %s: %s.\n", code(at.target.Name), code(rowName(at.check.Metric, at.check.Labels)), prose(at.check.Reason))
				p.growth(at.check)
			}
		}
		p.printf("\n</details>\n")
	}
	p.printf("\n<details><summary>what was compared</summary>\n\n")
	for i := range p.r.Targets[:min(len(p.r.Targets), p.size.rows)] {
		p.compared(&p.r.Targets[i])
	}
	p.list(len(p.r.Warnings), "warnings", func(i int) { p.printf("- warning: %s\n", prose(p.r.Warnings[i])) })
	p.printf("\n</details>\n")
}

func (p *page) compared(t *compare.TargetResult) {
	p.printf("- %s: head %s", code(t.Name), files(t.Inputs))
	if len(t.BaseInputs) > 0 {
		p.printf(", base %s", files(t.BaseInputs))
	}
	if t.Likeness.Verdict != "unknown" {
		p.printf("; the two workloads are %s", prose(t.Likeness.Verdict+notes(t.Likeness.Notes)))
	}
	p.printf("\n")
	if common := p.common[t]; len(common) > 0 {
		p.printf("  - rows of %s\n", code(common.Key()))
	}
	if b := baseStory(t.Base); b != "" {
		p.printf("  - %s\n", prose(b))
	}
	for i, w := range t.Warnings {
		if i == p.size.items {
			p.printf("  - and %s\n", plural(len(t.Warnings)-i, "more warning", "more warnings"))
			break
		}
		p.printf("  - warning: %s\n", prose(w))
	}
}

// files names a side's captures, each with the start of its hash where it has one.
func files(inputs []measure.Input) string {
	const most = 4
	var out []string
	for i, in := range inputs {
		if i == most-1 && len(inputs) > most {
			out = append(out, fmt.Sprintf("and %d more", len(inputs)-i))
			break
		}
		name := code(in.Path)
		if in.SHA256 != "" {
			name += " (sha256 " + code(in.SHA256[:min(12, len(in.SHA256))]) + ")"
		}
		out = append(out, name)
		if in.Format == "peakgate.measurement" {
			break // what follows are the captures that it was made from
		}
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(out, ", ")
}

// footer says what was judged, against what, by which version.
func footer(r *compare.Result) string {
	parts := []string{prose(r.Tool.Name + " " + r.Tool.Version), code(r.Config)}
	if r.Head.Commit != "" {
		parts = append(parts, "head "+code(short(r.Head.Commit)))
	}
	switch {
	case r.Base.Commit != "":
		parts = append(parts, "base "+code(short(r.Base.Commit)))
	case r.Base.Ref != "":
		parts = append(parts, "base "+code(r.Base.Ref))
	}
	return strings.Join(parts, " · ")
}

func short(commit string) string { return commit[:min(12, len(commit))] }
