package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/measure"
)

// explainer writes the explanation of captures: of one XLA module (s), or of all that
// was measured (s is nil).
type explainer struct {
	out io.Writer
	m   *measure.Measurement
	s   *diagnose.Subject
	top int // how many holders, findings and steps
	// findings are about the subject; limits say what the captures cannot answer.
	findings, limits []measure.Finding
}

// Explain writes a diagnosis for a person whose job is out of memory, on one screen:
// one sentence, the totals, who holds the peak (the first top of them), when memory
// comes back, the findings, what to do, and what the captures cannot tell. s is nil
// where they hold no XLA module.
func Explain(w io.Writer, m *measure.Measurement, s *diagnose.Subject, top int) error {
	out := bufio.NewWriter(w)
	e := explainer{out: out, m: m, s: s, top: top}
	about := m.Findings
	if s != nil {
		about = diagnose.About(s.Labels, m.Findings)
	}
	for _, f := range about {
		if diagnose.Unseen(f.Rule) != "" {
			e.limits = append(e.limits, f)
		} else {
			e.findings = append(e.findings, f)
		}
	}
	e.header()
	fmt.Fprintln(out)
	wrapped(out, "", "", plain(e.sentence()))
	switch {
	case s != nil:
		e.plan()
	case len(m.Facts.Snapshots) > 0:
		e.snapshots()
	default:
		e.measured()
	}
	e.run()
	e.diagnosis()
	e.nextSteps()
	e.notTold()
	e.warnings()
	return out.Flush()
}

// warnings tells the warnings, those that differ in their numbers alone once.
func (e *explainer) warnings() {
	at := map[string]int{}
	var texts []string
	more := map[int]int{}
	for _, w := range e.m.Warnings {
		if i, ok := at[pattern(w)]; ok {
			more[i]++
			continue
		}
		at[pattern(w)] = len(texts)
		texts = append(texts, plain(w))
	}
	for i, text := range texts {
		if n := more[i]; n > 0 {
			text += fmt.Sprintf(" (and %d like it)", n)
		}
		if i == 0 {
			fmt.Fprintln(e.out)
		}
		wrapped(e.out, "warning: ", "  ", text)
	}
}

// header says what was read.
func (e *explainer) header() {
	var size measure.Bytes
	for i, in := range e.m.Inputs {
		if size += in.Bytes; len(e.m.Inputs) <= 2 {
			fmt.Fprintf(e.out, "%s  (%s, %s)\n", plain(in.Path), in.Format, in.Bytes)
		} else if i == len(e.m.Inputs)-1 {
			fmt.Fprintf(e.out, "%s … %s  (%d files, %s, %s)\n", plain(e.m.Inputs[0].Path), plain(in.Path), len(e.m.Inputs), in.Format, size)
		}
	}
	var environment []string
	for _, k := range sortedKeys(e.m.Environment) {
		environment = append(environment, plain(k)+": "+plain(e.m.Environment[k]))
	}
	if len(environment) > 0 {
		wrapped(e.out, "", "  ", strings.Join(environment, " · "))
	}
	if e.s != nil {
		others := ""
		if e.s.Others > 0 {
			others = fmt.Sprintf(" (of %d; --module names another)", e.s.Others+1)
		}
		wrapped(e.out, "", "  ", fmt.Sprintf("module %s: %s%s", plain(e.s.Title), plain(e.s.Why), others))
	}
}

// holders lists who holds a row's bytes: the shares of the classes, then the largest.
func (e *explainer) holders(r measure.Row, top int, whose string) {
	cs := e.m.ContributorsOf(r.Name, r.Labels)
	if len(cs) == 0 || r.Value == nil {
		return
	}
	total := max(1, r.Value.Float64())
	sums := map[string]measure.Bytes{}
	var order []string
	for _, c := range cs {
		if _, ok := sums[c.Class]; !ok && c.Class != "" {
			order = append(order, c.Class)
		}
		sums[c.Class] += c.Bytes
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	var shares []string
	for _, class := range order {
		shares = append(shares, fmt.Sprintf("%s %s (%s)", plain(class), sums[class], percent(sums[class], total)))
	}
	title := fmt.Sprintf("who holds %s of %s%s", r.Value.Format(r.Unit), plain(r.Name), whose)
	if len(shares) > 1 {
		title += ": " + strings.Join(shares, " · ")
	}
	fmt.Fprintln(e.out)
	wrapped(e.out, "", "  ", title)
	cs = numbered(cs)
	rows, rest := [][]string{{"bytes", "share", "count", "class", holder(r.Name)}}, measure.Bytes(0)
	for i, c := range cs {
		if i >= top {
			rest += c.Bytes
			continue
		}
		rows = append(rows, []string{c.Bytes.String(), percent(c.Bytes, total), fmt.Sprint(c.Count), plain(c.Class), textStyle.name(c.Display)})
	}
	narrow(e.out, rows, "rrrll")
	if rest > 0 {
		fmt.Fprintf(e.out, "  %d more hold %s; --top N shows more\n", len(cs)-top, rest)
	}
}

// narrow writes a table whose last column is cut to the width of the page.
func narrow(out io.Writer, rows [][]string, align string) {
	left := width - 2
	for i := range len(align) - 1 {
		column := 0
		for _, r := range rows {
			column = max(column, len([]rune(r[i])))
		}
		left -= column + 2
	}
	for _, r := range rows {
		r[len(align)-1] = clip(r[len(align)-1], left)
	}
	table(out, "  ", rows, align)
}

// numbered makes one holder of those whose names differ in their numbers alone: the
// layers of a TensorFlow model. Names with a place in the program stay apart.
func numbered(cs []measure.Contributor) (out []measure.Contributor) {
	at := map[string]int{}
	for _, c := range cs {
		name := pattern(c.Display)
		if c.Source != nil || strings.Contains(c.Display, ":") || !strings.Contains(c.Display, "/") {
			name = c.Display + "\x00" + c.Class
		}
		i, ok := at[name]
		if !ok {
			at[name] = len(out)
			out = append(out, c)
			continue
		}
		out[i].Bytes, out[i].Count, out[i].Display = out[i].Bytes+c.Bytes, out[i].Count+c.Count, name
	}
	slices.SortStableFunc(out, func(a, b measure.Contributor) int {
		if last := a.Key == measure.Other; last != (b.Key == measure.Other) {
			if last {
				return 1
			}
			return -1
		}
		return cmp.Compare(b.Bytes, a.Bytes)
	})
	return out
}

// pattern writes each number of a name as a star.
func pattern(s string) string {
	var b strings.Builder
	digit := false
	for _, r := range s {
		if d := r >= '0' && r <= '9'; !d {
			b.WriteRune(r)
			digit = false
		} else if !digit {
			b.WriteByte('*')
			digit = true
		}
	}
	return b.String()
}

func percent(part measure.Bytes, total float64) string {
	return fmt.Sprintf("%.1f %%", 100*float64(part)/total)
}
