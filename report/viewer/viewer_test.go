package viewer

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/page"
)

// side reads a fixture.
func side(t testing.TB, name string) *page.Side {
	t.Helper()
	var s *page.Side
	var err error
	opt := capture.Options{Records: func(records any, m *measure.Measurement, _ capture.Options) { s, err = page.Of(records, m, "") }}
	if _, unread := capture.Open(filepath.Join("..", "..", "fixtures", filepath.FromSlash(name)), opt); unread != nil || err != nil {
		t.Fatal(unread, err)
	}
	return s
}

func regression(t testing.TB) *page.Page {
	return page.New(side(t, "regression/xla/head.hlo.pb"), side(t, "regression/xla/base.hlo.pb"))
}

func render(t testing.TB, p *page.Page) string {
	t.Helper()
	var out bytes.Buffer
	if err := HTML(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// evil are names that try to become markup, script, or a placeholder of ours.
var evil = []string{
	`</script><script>window.owned = 1</script>`, `<img src=x onerror="window.owned = 1">`, `"><svg onload=window.owned=1>`, `<!--<script>`, `]]>`,
	`{{.Script}}`, `' onmouseover='window.owned=1`, `javascript:window.owned=1`, "\u2028window.owned=1", `\u003cscript>`, `=cmd|'/C calc'!A0`, `${window.owned=1}`,
}

// hostile is a page all of whose names are evil.
func hostile(t testing.TB) *page.Page {
	t.Helper()
	p := regression(t)
	next := someEvil()
	for _, s := range []*page.Side{&p.Head, p.Base} {
		s.Name = strings.Join(evil, " ")
		s.Warnings = evil
		for i := range s.Frames {
			s.Frames[i] = next()
		}
		for i := range s.Views {
			v := &s.Views[i]
			v.Module, v.Name, v.Entry, v.NoPeak = evil[0], evil[0], next(), next()
			for j := range v.Figures {
				v.Figures[j].Text = next()
			}
			for j := range v.Curve.Instructions {
				v.Curve.Instructions[j] = next()
			}
			for j := range v.Buffers {
				b := &v.Buffers[j]
				b.Name, b.Op, b.Opcode, b.Source, b.Shape, b.Class, b.Kind = next(), next(), next(), next(), next(), next(), next()
			}
		}
	}
	return p
}

// judged is a result whose names are as next gives them, with the pages of two targets.
func judged(t testing.TB, next func() string) string {
	t.Helper()
	value := measure.Int(3 << 30)
	var r compare.Result
	r.Verdict = compare.Fail
	for range 2 {
		c := compare.Check{Metric: next(), Labels: measure.Labels{"module": next()}, Unit: measure.ByteUnit, Verdict: compare.Fail, Head: &value, Base: &value, Reason: next(), Limit: compare.Limit{Text: next()}}
		r.Targets = append(r.Targets, compare.TargetResult{Name: next(), Verdict: compare.Fail, Checks: []compare.Check{c}, Warnings: []string{next()}})
	}
	head := hostile(t)
	head.Target, head.Note = next(), next()
	other := page.New(side(t, "regression/torch/head.pickle"), nil)
	other.Target = "other"
	var out bytes.Buffer
	if err := Check(&out, &r, []*page.Page{head, other}, []string{next(), next()}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// someEvil gives one evil name after another.
func someEvil() func() string {
	n := 0
	return func() string { n++; return evil[n%len(evil)] }
}

// TestMarkupIsOurs: whatever names a capture or a budget holds, the page's elements are the same.
func TestMarkupIsOurs(t *testing.T) {
	tags := regexp.MustCompile(`<[a-zA-Z/!][^>]*>`)
	data := regexp.MustCompile(`(?s)(id="data">).*?(</script>)`)
	title := regexp.MustCompile(`(?s)<title>.*?</title>`)
	skeleton := func(html string) []string {
		return tags.FindAllString(title.ReplaceAllString(data.ReplaceAllString(html, "$1$2"), ""), -1)
	}
	for name, pair := range map[string][2]string{
		"a capture's": {render(t, regression(t)), render(t, hostile(t))},
		"a check's":   {judged(t, func() string { return "x" }), judged(t, someEvil())},
	} {
		tame, wild := pair[0], pair[1]
		if a, b := skeleton(tame), skeleton(wild); strings.Join(a, "\n") != strings.Join(b, "\n") || len(a) < 50 {
			t.Errorf("%s page: the names changed the markup: %d and %d tags", name, len(a), len(b))
		}
		json := data.FindString(wild)
		if strings.ContainsAny(strings.TrimSuffix(strings.TrimPrefix(json, `id="data">`), "</script>"), "<>&\u2028") {
			t.Errorf("%s page: the data is not escaped", name)
		}
		if title := title.FindString(wild); strings.Count(title, "<") != 2 {
			t.Errorf("%s page: the title is not escaped: %s", name, title)
		}
	}
}

// TestDataIsWhole: the page's script sees what package page made.
func TestDataIsWhole(t *testing.T) {
	p := hostile(t)
	html := render(t, p)
	_, rest, _ := strings.Cut(html, `id="data">`)
	text, _, _ := strings.Cut(rest, "</script>")
	var got []page.Page
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal([]*page.Page{p})
	again, _ := json.Marshal(got)
	if !bytes.Equal(want, again) {
		t.Error("the data changed on its way")
	}
}

// TestNoOutside: the page names no other place, and its policy lets nothing in.
func TestNoOutside(t *testing.T) {
	html := render(t, regression(t))
	for _, found := range regexp.MustCompile(`(?:https?:)?//[\w.-]+\.\w+[^\s"']*`).FindAllString(html, -1) {
		if !strings.HasPrefix(found, "http://www.w3.org/") { // the name of SVG's namespace, which is not fetched
			t.Errorf("the page names %s", found)
		}
	}
	if !strings.Contains(html, `content="default-src 'none'; script-src 'sha256-`) || strings.Contains(html, "unsafe") {
		t.Error("the policy is not strict")
	}
	for _, found := range regexp.MustCompile(`(?i)innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setTimeout\("|\.src\s*=`).FindAllString(html, -1) {
		t.Errorf("the script uses %s, which can make markup or code of a name", found)
	}
	if again := render(t, regression(t)); again != html {
		t.Error("the same page is written differently")
	}
	if len(html) > 2<<20 {
		t.Errorf("the page takes %d bytes", len(html))
	}
}

// TestSVG: the picture is well-formed XML with a rectangle for each block.
func TestSVG(t *testing.T) {
	for _, p := range []*page.Page{regression(t), hostile(t)} {
		v := &p.Head.Views[0]
		var out bytes.Buffer
		if err := SVG(&out, v); err != nil {
			t.Fatal(err)
		}
		rects, other := 0, map[string]bool{}
		for d := xml.NewDecoder(&out); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok {
				if e.Name.Local == "rect" {
					rects++
				} else {
					other[e.Name.Local] = true
				}
			}
		}
		if want := len(v.Allocations) + placed(v); rects != want || len(other) != 2 {
			t.Errorf("%d rectangles, want %d; other elements: %v", rects, want, other)
		}
	}
}

func placed(v *page.View) (n int) {
	for _, b := range v.Buffers {
		if b.Y != nil {
			n++
		}
	}
	return n
}

// TestDOT: a line a block, and no name leaves its string.
func TestDOT(t *testing.T) {
	for _, p := range []*page.Page{regression(t), hostile(t)} {
		v := &p.Head.Views[0]
		var out bytes.Buffer
		if err := DOT(&out, v); err != nil {
			t.Fatal(err)
		}
		node := regexp.MustCompile(`^  "(?:[^"\\]|\\.)*" \[pos="[\d.]+,[\d.]+", width=[\d.]+, height=[\d.]+, fillcolor="#\w{6}", label="(?:[^"\\]|\\.)*", tooltip="(?:[^"\\]|\\.)*"\];$`)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		for _, line := range lines[3 : len(lines)-1] {
			if !node.MatchString(line) {
				t.Errorf("not a node: %s", line)
			}
		}
		if n := len(lines) - 4; n != placed(v) {
			t.Errorf("%d nodes, want %d", n, placed(v))
		}
	}
}
