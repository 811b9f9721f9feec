package report

import (
	"bytes"
	"fmt"
	"html"
	"io"

	"github.com/peakgate/peakgate/compare"
)

// The most that the HTML of a result holds: rows of its table, and bytes of its text.
const (
	htmlRows = 500
	htmlText = 256 << 10
)

// HTML writes a result as part of a page: its verdict, a table of its checks, those
// that do not hold first, and folded the text of Text. It writes no script, no style
// and no link. Rows, names and the text are cut, so that its size is bounded.
func HTML(w io.Writer, r *compare.Result) error {
	var out bytes.Buffer
	text := func(s string) string { return html.EscapeString(textStyle.name(s)) }
	fmt.Fprintf(&out, `<section id="result" aria-labelledby="result-title"><h1 id="result-title">%s</h1>`+"\n<p>%s</p>\n", text(Title(r)), html.EscapeString(headline(r, textStyle)))
	p := newPage(r)
	all := append(p.open, p.held...)
	shown := all[:min(len(all), htmlRows)]
	if len(shown) > 0 {
		out.WriteString(`<div class="scroll" tabindex="0" role="region" aria-label="Checks"><table><thead><tr><th scope="col">verdict</th><th scope="col">target</th><th scope="col">metric</th><th scope="col" class="n">head</th><th scope="col" class="n">base</th><th scope="col">limit</th><th scope="col">reason</th></tr></thead><tbody>` + "\n")
	}
	for _, at := range shown {
		c, head, base := at.check, "", ""
		if c.Head != nil {
			head = c.Head.Format(c.Unit)
		}
		if c.Base != nil {
			base = c.Base.Format(c.Unit)
		}
		fmt.Fprintf(&out, `<tr class="%s"><td>%s</td><td class="name">%s</td><td class="name">%s</td><td class="n">%s</td><td class="n">%s</td><td class="name">%s</td><td class="how">%s</td></tr>`+"\n",
			text(string(c.Counts())), text(verdictWords(c.Verdict)), text(at.target.Name), text(rowName(c.Metric, without(c.Labels, p.common[at.target]))), text(head), text(base), text(c.Limit.Text), text(c.Reason))
	}
	if len(shown) > 0 {
		out.WriteString("</tbody></table></div>\n")
	}
	if n := len(all) - len(shown); n > 0 {
		fmt.Fprintf(&out, "<p>%s in the JSON of the result.</p>\n", plural(n, "more check is", "more checks are"))
	}
	var whole bytes.Buffer
	if err := Text(&whole, r); err != nil {
		return err
	}
	if whole.Len() > htmlText {
		whole.Truncate(htmlText)
		whole.WriteString("…\n")
	}
	fmt.Fprintf(&out, "<details><summary>The whole report</summary><pre tabindex=\"0\">%s</pre></details>\n</section>\n", html.EscapeString(whole.String()))
	_, err := w.Write(out.Bytes())
	return err
}
