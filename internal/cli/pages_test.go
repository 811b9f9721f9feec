package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/page"
)

// manySamples is a measurement of a file that takes much room on a page.
func manySamples(path, sha string) *measure.Measurement {
	m := measure.New()
	m.Inputs = []measure.Input{{Path: path, SHA256: sha, Format: "series"}}
	for i := range 4 {
		s := measure.Series{Labels: measure.Labels{"series": fmt.Sprint(i)}, Unit: measure.ByteUnit, XUnit: measure.XStep}
		for x := range 3000 {
			s.X, s.Points = append(s.X, float64(x)), append(s.Points, measure.Int(int64(1<<30+x*7919%5000)))
		}
		m.Series = append(m.Series, s)
	}
	return m
}

// TestPagesBound: many targets make a page of bounded size, with those that fail, and
// name the others.
func TestPagesBound(t *testing.T) {
	p := newPages()
	r := &compare.Result{Verdict: compare.Fail}
	for i := range 40 {
		target := compare.TargetResult{Name: fmt.Sprintf("t%d", i), Verdict: compare.Pass, Inputs: []measure.Input{{Path: "/home/somebody/x.csv", SHA256: fmt.Sprint(i)}}}
		if i == 33 {
			target.Verdict = compare.Fail
		}
		p.note(nil, manySamples("run/x.csv", fmt.Sprint(i)), capture.Options{})
		p.keep(&target)
		r.Targets = append(r.Targets, target)
	}
	read := &readOptions{redact: true}
	read.hide(r)
	p.hide(read)
	var out bytes.Buffer
	if err := p.write(&out, r); err != nil {
		t.Fatal(err)
	}
	html := out.String()
	shown := strings.Count(html, `"target":"`)
	if len(html) > 2<<20 || shown < 2 || shown > 39 {
		t.Errorf("%d bytes for %d targets", len(html), shown)
	}
	if first, _, _ := strings.Cut(html[strings.Index(html, `"target":"`)+10:], `"`); first != "t33" {
		t.Errorf("the first target is %s, want t33, which fails", first)
	}
	if left := strings.Count(html, "there was no more room on this page"); left != 40-shown {
		t.Errorf("%d targets are left out by name, want %d", left, 40-shown)
	}
	if strings.Contains(html, "somebody") || !strings.Contains(html, `"name":"~/x.csv"`) {
		t.Error("the user's name is on the page")
	}
}

// TestPagesBase: a base that was read is shown, and one that was not says why.
func TestPagesBase(t *testing.T) {
	head := []measure.Input{{Path: "head.csv", SHA256: "1"}}
	for _, c := range []struct {
		name   string
		base   compare.Base
		inputs []measure.Input
		note   string
	}{
		{"read", compare.Base{Kind: "captures"}, []measure.Input{{Path: "base.csv@c0ffee", SHA256: "2"}}, ""},
		{"the same file", compare.Base{Kind: "captures"}, head, ""},
		{"a measurement", compare.Base{Kind: "measurement"}, []measure.Input{{Path: "base.json"}, {Path: "other.csv", SHA256: "3"}}, "The base is a measurement, which tells sizes alone: only the head is shown."},
		{"none", compare.Base{Kind: "none", How: "there is no git on PATH"}, nil, "There is no base to show: there is no git on PATH."},
	} {
		p := newPages()
		p.note(nil, manySamples("run/head.csv", "1"), capture.Options{})
		p.note(nil, manySamples("/tmp/peakgate-base-1/base.csv", "2"), capture.Options{})
		p.keep(&compare.TargetResult{Name: "t", Base: c.base, Inputs: head, BaseInputs: c.inputs})
		got := p.kept[0]
		if got.Page == nil || got.Head.Name != "head.csv" || got.Note != c.note || (got.Base != nil) != (c.note == "") {
			t.Errorf("%s: %+v, note %q", c.name, got.Page != nil, got.Note)
		} else if got.Base != nil && got.Base.Name != c.inputs[0].Path {
			t.Errorf("%s: the base is named %s", c.name, got.Base.Name)
		}
		if len(p.sides) != 0 {
			t.Errorf("%s: %d sides are kept for the next target", c.name, len(p.sides))
		}
	}
}

// TestPagesFault: a fault of the page takes its place there, and is no verdict.
func TestPagesFault(t *testing.T) {
	p := newPages()
	m := manySamples("x.pickle", "1")
	p.note((*torch.Snapshot)(nil), m, capture.Options{})
	p.keep(&compare.TargetResult{Name: "t\x1b", Inputs: m.Inputs})
	if got := p.kept[0]; got.Page != nil || !strings.HasPrefix(got.lacks, "t\uFFFD: internal error: ") {
		t.Errorf("%+v, %q", got.Page, got.lacks)
	}
}

// TestPagesFirst: what is shown first is what the worst check is about.
func TestPagesFirst(t *testing.T) {
	view := func(name, space string) page.View { return page.View{Module: name, Name: name, Space: space} }
	s := &page.Side{Views: []page.View{view("jit_eval", "host"), view("jit_eval", "device"), view("jit_step", "device"), view("jit_step", "host"), view("device 1", "device"), view("rss rank=0", "sampled")}}
	second, value := int64(7), measure.Int(7)
	rank := view("device 1", "device")
	rank.Figures = []page.Figure{{Bytes: &second}}
	s.Views = append(s.Views, rank)
	if got := first(s, []compare.Check{{Labels: measure.Labels{"device": "1", "rank": "1"}, Head: &value}}); got != 6 {
		t.Errorf("of two ranks view %d is first, want 6, which holds the value", got)
	}
	for _, c := range []struct {
		labels []measure.Labels
		want   int
	}{
		{nil, 1},
		{[]measure.Labels{{"module": "jit_step", "memory_space": "host"}}, 3},
		{[]measure.Labels{{"module": "jit_step"}}, 2},
		{[]measure.Labels{{"device": "1"}, {"module": "jit_step"}}, 4},
		{[]measure.Labels{{"series": "rss", "rank": "0"}}, 5},
		{[]measure.Labels{{"allocator": "x"}, {"module": "gone"}, {"module": "jit_eval", "memory_space": "device"}}, 1},
	} {
		var checks []compare.Check
		for _, l := range c.labels {
			checks = append(checks, compare.Check{Labels: l})
		}
		if got := first(s, checks); got != c.want {
			t.Errorf("%v: view %d is first, want %d", c.labels, got, c.want)
		}
	}
}
