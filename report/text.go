package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// textContributors is how many contributors the text shows for one check.
const textContributors = 8

// Text writes a result for a terminal or a log.
func Text(w io.Writer, r *compare.Result) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s\n", strings.ToUpper(string(r.Verdict)), headline(r, textStyle))
	if len(r.Changes) > 0 {
		fmt.Fprint(out, "\nthis change edits its own budget\n")
		for _, n := range r.Changes {
			fmt.Fprintf(out, "  %s\n", plain(noticeLine(n)))
		}
	}
	for i := range r.Targets {
		textTarget(out, &r.Targets[i])
	}
	for _, line := range r.Warnings {
		fmt.Fprintf(out, "\nwarning: %s\n", plain(line))
	}
	for i, line := range textTodo(r) {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintln(out, line)
	}
	return out.Flush()
}

func textTarget(out io.Writer, t *compare.TargetResult) {
	fmt.Fprintf(out, "\n%s  %s\n", plain(t.Name), t.Verdict)
	if len(t.Inputs) > 0 {
		fmt.Fprintf(out, "  head  %s\n", plain(paths(t.Inputs)))
	}
	if len(t.BaseInputs) > 0 {
		fmt.Fprintf(out, "  base  %s\n", plain(paths(t.BaseInputs)))
		if t.Likeness.Verdict != "unknown" {
			fmt.Fprintf(out, "  the two workloads are %s%s\n", t.Likeness.Verdict, notes(t.Likeness.Notes))
		}
	}
	if b := baseStory(t.Base); b != "" {
		fmt.Fprintf(out, "  %s\n", plain(b))
	}
	for _, d := range environmentDifferences(t.Environment) {
		fmt.Fprintf(out, "  differs: %s\n", plain(d))
	}
	for i := range t.Dryrun {
		dryrunText(out, "  ", &t.Dryrun[i], t)
	}
	for _, n := range t.Notices {
		fmt.Fprintf(out, "  %s\n", plain(noticeLine(n)))
	}
	told, caused := tables{}, map[string]bool{}
	textFindings(out, "    ", "cause", unfit(t.Dryrun, t.Findings, caused))
	common := commonLabels(t.Checks)
	if len(common) > 0 {
		fmt.Fprintf(out, "  rows  {%s}\n", plain(common.Key()))
	}
	for i := range t.Checks {
		if c := &t.Checks[i]; c.Verdict != compare.Pass {
			textCheck(out, c, common, told)
			textFindings(out, "    ", "cause", causes(c, t.Findings, caused))
		}
	}
	var rows [][]string
	for i := range t.Checks {
		if c := &t.Checks[i]; c.Verdict == compare.Pass {
			rows = append(rows, passRow(c, common))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(out)
		table(out, "  ", rows, "llrll")
	}
	for i := range t.Checks {
		if c := &t.Checks[i]; c.Verdict == compare.Pass && c.Trend != nil {
			fmt.Fprintf(out, "\n  how %s was judged\n", plain(rowName(c.Metric, without(c.Labels, common))))
			for _, line := range append([]string{c.Reason}, growthLines(c)...) {
				fmt.Fprintf(out, "    %s\n", plain(line))
			}
		}
	}
	textFindings(out, "  ", "doubt", doubts(t.Findings))
	for _, w := range t.Warnings {
		fmt.Fprintf(out, "  warning: %s\n", plain(w))
	}
}

func notes(notes []string) string {
	const most = 3
	if len(notes) == 0 {
		return ""
	}
	if len(notes) > most {
		notes = append(append([]string{}, notes[:most]...), fmt.Sprintf("%d more", len(notes)-most))
	}
	return ": " + plain(strings.Join(notes, "; "))
}

// noticeLine tells a notice with its verdict and place.
func noticeLine(n compare.Notice) string {
	line := noticeText(n)
	if n.File != "" {
		line += fmt.Sprintf(" (%s:%d)", n.File, n.Line)
	}
	return line
}

// noticeText tells a notice without its place.
func noticeText(n compare.Notice) string {
	if n.Verdict == compare.Pass {
		return n.Effect + ": " + n.Text
	}
	return string(n.Verdict) + ": " + n.Effect + ": " + n.Text
}

// baseStory says which commit the base is and how it was found; empty for a base
// that was named as files.
func baseStory(b compare.Base) string {
	switch {
	case b.Commit != "" && b.Kind != "none":
		return fmt.Sprintf("base commit %s: %s", b.Commit[:min(12, len(b.Commit))], b.How)
	case b.Kind == "none" && b.How != "":
		return "no base: " + b.How
	}
	return ""
}

// spread tells what several runs of the base have shown.
func spread(c *compare.Check) string {
	if c.BaseSpread == nil {
		return ""
	}
	return fmt.Sprintf(" (%d runs, %s to %s)", c.BaseSpread.Runs, c.BaseSpread.Min.Format(c.Unit), c.BaseSpread.Max.Format(c.Unit))
}

// passRow is one line of the table of what holds.
func passRow(c *compare.Check, common measure.Labels) []string {
	change := "no base"
	if c.Base != nil {
		change = "unchanged"
		if c.Head.Cmp(*c.Base) != 0 {
			change = c.Head.Sub(*c.Base).FormatSigned(c.Unit) + compare.Percent(*c.Base, *c.Head)
		}
	}
	change += spread(c)
	return []string{"pass", plain(rowName(c.Metric, without(c.Labels, common))), plain(c.Head.Format(c.Unit)), plain(change), plain(c.Limit.Text)}
}

func rowName(metric string, labels measure.Labels) string {
	if len(labels) == 0 {
		return metric
	}
	return metric + " {" + labels.Key() + "}"
}

// tables remembers which check has shown a list of contributors: several metrics
// of one plan often have the same.
type tables map[string]string

// shown gives the metric that has shown these contributors before, if any.
func (t tables) shown(metric string, cs []compare.Contributor) string {
	key := ""
	for _, c := range cs {
		key += fmt.Sprintf("%s\x00%d\x00%d\x00", c.Key, c.BaseBytes, c.HeadBytes)
	}
	if before, ok := t[key]; ok {
		return before
	}
	t[key] = metric
	return ""
}

func textCheck(out io.Writer, c *compare.Check, common measure.Labels, told tables) {
	fmt.Fprintf(out, "\n  %s  %s\n", c.Verdict, plain(rowName(c.Metric, without(c.Labels, common))))
	var figures []string
	if c.Head != nil {
		figures = append(figures, "head "+c.Head.Exact(c.Unit))
	}
	if c.Base != nil {
		figures = append(figures, "base "+c.Base.Exact(c.Unit)+spread(c))
	}
	figures = append(figures, "limit "+c.Limit.Text)
	fmt.Fprintf(out, "    %s\n", plain(strings.Join(figures, " · ")))
	fmt.Fprintf(out, "    %s\n", plain(c.Reason))
	if c.Limit.Why != "" {
		fmt.Fprintf(out, "    why: %s\n", plain(c.Limit.Why))
	}
	fmt.Fprintf(out, "    budget: %s:%d:%d\n", plain(c.Limit.File), c.Limit.Line, c.Limit.Column)
	for _, line := range growthLines(c) {
		fmt.Fprintf(out, "    %s\n", plain(line))
	}
	textContributorTable(out, c, told)
}

func textContributorTable(out io.Writer, c *compare.Check, told tables) {
	shown, hidden := selectContributors(c, textContributors)
	if len(shown) == 0 {
		return
	}
	if k := kinds(c.Contributors); k != "" && c.Base != nil {
		fmt.Fprintf(out, "    by kind: %s\n", k)
	}
	if before := told.shown(c.Metric, shown); before != "" {
		fmt.Fprintf(out, "    allocated at: as in %s above\n", plain(before))
		return
	}
	rows := [][]string{{"change", "base", "head", "count", holder(c.Metric)}}
	if c.Base == nil {
		rows = [][]string{{"bytes", "count", holder(c.Metric)}}
	}
	for _, s := range shown {
		name := textStyle.name(s.Display)
		if c.Base == nil {
			rows = append(rows, []string{s.HeadBytes.String(), fmt.Sprint(s.HeadCount), name})
			continue
		}
		rows = append(rows, []string{s.Delta().Signed(), s.BaseBytes.String(), s.HeadBytes.String(), counts(s), name})
	}
	fmt.Fprintln(out)
	align := "rrrrl"
	if c.Base == nil {
		align = "rrl"
	}
	table(out, "    ", rows, align)
	if hidden != "" {
		fmt.Fprintf(out, "    %s\n", hidden)
	}
}

// grows tells whether any contributor grew: the first one is the most grown.
func grows(c *compare.Check) bool {
	return len(c.Contributors) > 0 && c.Contributors[0].Delta() > 0
}

func counts(c compare.Contributor) string {
	if c.BaseCount == c.HeadCount {
		return fmt.Sprint(c.HeadCount)
	}
	return fmt.Sprintf("%d→%d", c.BaseCount, c.HeadCount)
}

// selectContributors takes the first contributors that tell most: what grew
// (with a base), or who holds most (without); and says what is left out.
func selectContributors(c *compare.Check, most int) (shown []compare.Contributor, hidden string) {
	shrunk, left := 0, 0
	var leftBytes, shrunkBytes measure.Bytes
	for _, s := range c.Contributors {
		switch {
		case c.Base != nil && s.Delta() < 0:
			shrunk++
			shrunkBytes += s.Delta()
		case c.Base != nil && s.Delta() == 0 && grows(c):
			// listed for a max that is broken too; what grew is the answer
		case len(shown) < most:
			shown = append(shown, s)
		case c.Base == nil || s.Delta() > 0:
			left++
			leftBytes += s.Delta()
		}
	}
	var parts []string
	if left > 0 {
		parts = append(parts, fmt.Sprintf("%d more: %s", left, leftBytes.Signed()))
	}
	if shrunk > 0 {
		parts = append(parts, fmt.Sprintf("%d shrank: %s", shrunk, shrunkBytes))
	}
	if c.Unmoved > 0 {
		parts = append(parts, fmt.Sprintf("%d did not move", c.Unmoved))
	}
	return shown, strings.Join(parts, " · ")
}

// table aligns columns: l left, r right. The last column is not padded.
func table(out io.Writer, indent string, rows [][]string, align string) {
	widths := make([]int, len(align))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		var line strings.Builder
		for i, cell := range r {
			if i > 0 {
				line.WriteString("  ")
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if align[i] == 'r' {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		fmt.Fprintf(out, "%s%s\n", indent, strings.TrimRight(line.String(), " "))
	}
}
