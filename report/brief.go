package report

import (
	"bufio"
	"fmt"
	"io"

	"github.com/peakgate/peakgate/compare"
)

// Sentence is the verdict in one line of plain text, as a commit status shows it.
func Sentence(r *compare.Result) string { return plain(headline(r, textStyle)) }

// Title is the verdict in words: "peakgate: no data".
func Title(r *compare.Result) string { return "peakgate: " + verdictWords(r.Verdict) }

// briefTargets is how many targets Brief names.
const briefTargets = 20

// Brief writes a result in so little markdown that every server takes it: the
// sentence and the verdict of each target.
func Brief(w io.Writer, r *compare.Result) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s **peakgate: %s** — %s.\n\nThe whole report was too long for this place: it is in the job's summary and in its files.\n", icons[r.Verdict], verdictWords(r.Verdict), headline(r, markdownStyle))
	for i, t := range r.Targets {
		if i == 0 {
			fmt.Fprintln(out)
		}
		if i == briefTargets {
			fmt.Fprintf(out, "- and %s\n", plural(len(r.Targets)-i, "more target", "more targets"))
			break
		}
		fmt.Fprintf(out, "- %s %s: %s\n", icons[t.Verdict], code(t.Name), verdictWords(t.Verdict))
	}
	return out.Flush()
}
