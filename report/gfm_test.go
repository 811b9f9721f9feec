package report

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// attacks are texts that would be an element, a link, a mention or a command where a
// report let them.
var attacks = []string{
	"@org/team and @here, cc:@user", "#12 org/repo#3 GH-4 gh-5 repo@0123456789abcdef0123456789abcdef01234567",
	"[link](https://e.test) [ref] [ref][] ![image](https://e.test/i.png)", "[ref]: https://e.test", "![i][ref]",
	"<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "</details></summary><h1>x</h1>", "<!-- comment -->", "--> <b>x</b>", "<https://e.test>", "<a@e.test>", "&lt;b&gt; &#64;user &copy;",
	"https://e.test/x", "http://e.test", "ftp://e.test", "www.e.test", "WWW.e.test", "(www.e.test)", "_www.e.test", "a@e.test", "mailto:a@e.test", "xmpp:a@e.test",
	"| a | b |", "a\n| b |\n|---|", "x\n\n# heading", "# heading", "## h", "x\n===", "---", "***", "===", "- item", "* item", "+ item", "1. item", "1) item", "> quote", "    code", "\tcode",
	"`", "``", "```", "```\ncode\n```", "~~~", "a ` b", "`a``b```c", "x```", "\\", "\\`", "ends \\", "a\\|b", "*a* **b** _c_ __d__ ~e~ ~~f~~", "$x$ $$y$$", "[^1]", "[^1]: note", "- [x] done", "[ ] open",
	":smile: :+1: :100:", "\u202eevil\u202c \u200bx \u2066y", "\x1b[31m \x00 \xff \r\n \u2028 \ufeff", " ", "  x  ", "x  \ny", "x\\\ny", "::error::x", "{0} {{ x }} ${{ x }} {% x %}", "😀", "a:b:c", "\u00a0# x", "|", "x|", "|x",
	"</code></pre><b>", "''\"\"", "%s %d %!", "x\u0301\u0301", "- - -", "* * *", "_ _ _", "+", "-", "12.", "<br>", "a\n\nb", "```yaml", "]", "[", "](", ")](https://e.test)", "](https://e.test) [",
}

// filled is red with a text in the place of every text that a capture, a budget or
// somebody's result may have chosen.
func filled(text string) *compare.Result {
	r := red()
	r.Targets[0].Notices = []compare.Notice{{Verdict: compare.Warn, Effect: "x", Text: "x", File: "x", Line: 3}}
	r.Targets[0].Checks[0].Failed = []string{"max", "growth"}
	url := r.Head.FilesURL // which peakgate itself makes
	fill(reflect.ValueOf(r).Elem(), text)
	r.Schema, r.Head.FilesURL = compare.Schema, url
	for i := range r.Targets {
		for j := range r.Targets[i].Checks {
			if c := &r.Targets[i].Checks[j]; c.Verdict == compare.Fail {
				c.Failed = []string{"max", "growth"}
			}
		}
	}
	r.Targets[0].Findings[0].Severity, r.Targets[0].Findings[0].Labels = "warning", nil
	return r
}

func fill(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && v.Type() != reflect.TypeFor[*measure.Value]() {
			fill(v.Elem(), text)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), text)
		}
	case reflect.Map:
		if v.Len() > 0 && v.CanSet() {
			m := reflect.MakeMap(v.Type())
			m.SetMapIndex(reflect.ValueOf("a"+text), reflect.ValueOf(text))
			m.SetMapIndex(reflect.ValueOf(text), reflect.ValueOf(text))
			v.Set(m)
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() || v.Type() == reflect.TypeFor[measure.Unit]() {
			v.SetString(text)
		}
	}
}

var (
	tag  = regexp.MustCompile(`<(/?[a-zA-Z][a-zA-Z0-9]*|!--)([^>]*)>`)
	href = regexp.MustCompile(`^ href="([^"]*)"$`)
	// acts is what a server makes a link or a picture of in plain text.
	acts     = regexp.MustCompile(`(?i)(^|[^a-z0-9_/\x60\x{200b}])(@[a-z0-9]|#[0-9]|gh-[0-9])|https?://|www\.[a-z]|:[a-z0-9+_-]+:`)
	codeSpan = regexp.MustCompile(`(?s)<code.*?</code>`)
)

// skeleton is the elements of a page in their order, without links, whose addresses must
// be ours.
func skeleton(t *testing.T, attack, page string) []string {
	t.Helper()
	var out []string
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		if strings.EqualFold(m[1], "a") || m[1] == "/a" {
			if m[1] == "a" {
				h := href.FindStringSubmatch(m[2])
				if h == nil || !strings.HasPrefix(h[1], red().Head.FilesURL) {
					t.Errorf("%q: a link of another: %s", attack, m[0])
				}
			}
			continue
		}
		out = append(out, m[1]+m[2])
	}
	text := tag.ReplaceAllString(codeSpan.ReplaceAllString(page, "CODE"), "\n")
	if bad := acts.FindString(text); bad != "" {
		t.Errorf("%q: %q acts in the text:\n%s", attack, bad, text)
	}
	return out
}

// TestNothingEscapes renders reports whose every text is an attack with real renderers of
// GitHub's markdown, and finds in them the elements of an honest report and no other:
// goldmark in any case and, where PEAKGATE_CMARK_PYTHON names a Python that has it
// (.ci/run does), GitHub's own cmark-gfm.
func TestNothingEscapes(t *testing.T) {
	renderers := map[string]func([]string) []string{"goldmark": byGoldmark(t)}
	if python := os.Getenv("PEAKGATE_CMARK_PYTHON"); python != "" {
		renderers["cmark-gfm"] = byCmark(t, python)
	} else {
		t.Log("PEAKGATE_CMARK_PYTHON is not set: cmark-gfm is not asked")
	}
	var pages []string
	for _, a := range attacks {
		honest := "x"
		if strings.Contains(a, "\n") { // a fix of several lines is a block of code
			honest = "x\nx"
		}
		plainly, hostile, linked := filled(honest), filled(a), filled(a)
		plainly.Head.FilesURL, hostile.Head.FilesURL = "", "" // whether there is a link depends on the name
		pages = append(pages, fit(plainly), fit(hostile), fit(linked))
	}
	for name, render := range renderers {
		all := render(pages)
		for i, a := range attacks {
			want, got := skeleton(t, "honest", all[3*i]), skeleton(t, name+": "+a, all[3*i+1])
			skeleton(t, name+", with links: "+a, all[3*i+2])
			if !slices.Equal(want, got) {
				t.Errorf("%s: %q changes the elements of the report:\n%s\n%s", name, a, cmp.Diff(want, got), pages[3*i+1])
				break
			}
		}
	}
}

func byGoldmark(t *testing.T) func([]string) []string {
	md := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote), goldmark.WithRendererOptions(html.WithUnsafe()))
	return func(pages []string) (out []string) {
		for _, p := range pages {
			var page bytes.Buffer
			if err := md.Convert([]byte(p), &page); err != nil {
				t.Fatal(err)
			}
			out = append(out, page.String())
		}
		return out
	}
}

// separator stands between pages on the way through cmark-gfm.
const separator = "\x1f"

func byCmark(t *testing.T, python string) func([]string) []string {
	const script = `
import sys, cmarkgfm
from cmarkgfm.cmark import Options
pages = sys.stdin.buffer.read().decode().split("\x1f")
opts = Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
out = [cmarkgfm.github_flavored_markdown_to_html(p, opts) for p in pages]
sys.stdout.buffer.write("\x1f".join(out).encode())
`
	return func(pages []string) []string {
		cmd := exec.Command(python, "-c", script)
		cmd.Stdin = strings.NewReader(strings.Join(pages, separator))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(out), separator)
	}
}
