package torch

import (
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// under finds the user's lines that all stacks of what the counted steps left
// have in common, outermost first. The stacks are those of the end: of a site
// that several callers reach, only the callers whose blocks stay.
func (w *teller) under() (lines []string, at *measure.Source) {
	var common []place
	first, last := true, -1 // last: the innermost of common that all have with its line
	for _, h := range w.d.End {
		g := w.growth(w.site(h.Stack))
		if h.Stack < firstStack || g.steps < 3 || 2*g.steps < int64(len(w.table.counted)) || h.Count < g.steps {
			continue
		}
		chain := w.userLines(h.Stack)
		if first {
			common, first, last = chain, false, len(chain)-1
			continue
		}
		n := 0
		for n <= last && n < len(chain) && chain[n] == common[n] {
			n++
		}
		end := n
		if n < len(chain) && n < len(common) && chain[n].file == common[n].file && chain[n].function == common[n].function {
			end++ // the same function at different lines
		}
		common, last = common[:min(end, len(common))], n-1
	}
	for i, p := range common {
		lines = append(lines, p.show(i <= last))
		if i <= last && p.line > 0 {
			at = &measure.Source{File: p.file, Line: int(p.line)}
		}
	}
	return lines[max(0, len(lines)-underShown):], at
}

// underShown is how many of the innermost common lines are listed.
const underShown = 8

// userLines are the lines of the user's own code in a stack, outermost first.
func (w *teller) userLines(id StackID) (out []place) {
	for _, f := range w.s.Stacks[id-firstStack] {
		if w.sites.owners[f] == project {
			out = append(out, w.sites.place(f))
		}
	}
	slices.Reverse(out)
	return out
}
