package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// many is a result of n checks that do not hold, each with contributors, and n that do.
func many(n int) *compare.Result {
	r := red()
	t := &r.Targets[0]
	grown, fine := t.Checks[0], t.Checks[2]
	t.Checks = nil
	for i := range n {
		c := grown
		c.Labels = measure.Labels{"module": fmt.Sprintf("jit_step_%d", i)}
		c.Contributors = nil
		for j := range 20 {
			c.Contributors = append(c.Contributors, compare.Contributor{Key: fmt.Sprint(i, j), Display: fmt.Sprintf("f32[%d,%d] softmax — train.py:%d block", i, j, j), HeadBytes: gib - measure.Bytes(j), HeadCount: 1, Change: compare.New})
		}
		t.Checks = append(t.Checks, c)
	}
	for range n {
		t.Checks = append(t.Checks, fine)
	}
	return r
}

// padded lengthens a text of the report that is in every room, until the report in the
// largest one has so many bytes.
func padded(t *testing.T, r *compare.Result, size int) {
	t.Helper()
	for range 200 {
		missing := size - len(newPage(r).render(rooms[0]))
		if missing == 0 {
			return
		}
		if missing < 0 {
			t.Fatalf("the report is %d bytes too long", -missing)
		}
		r.Warnings = append(r.Warnings, "")
		empty := len(newPage(r).render(rooms[0]))
		if left := size - empty; left >= 0 {
			r.Warnings[len(r.Warnings)-1] = strings.Repeat("x", min(left, maxWords))
		} else {
			r.Warnings = r.Warnings[:len(r.Warnings)-1]
			r.Warnings[0] = strings.Repeat("x", len(r.Warnings[0])+missing)
		}
	}
	t.Fatalf("the report has %d bytes, want %d", len(newPage(r).render(rooms[0])), size)
}

// A report of exactly the limit is whole; one byte more, and only what is folded is left
// out. However much there is, the limit holds and what is left out is counted.
func TestMarkdownFits(t *testing.T) {
	r := many(20)
	for len(newPage(r).render(rooms[0])) > maxMarkdown-25*maxWords {
		r.Targets[0].Checks = r.Targets[0].Checks[1:]
	}
	whole := rooms[0]
	rooms[0].items = 1000
	defer func() { rooms[0] = whole }()
	padded(t, r, maxMarkdown)
	if got := fit(r); len(got) != maxMarkdown || !strings.Contains(got, "<details>") || strings.Contains(got, "short form") {
		t.Errorf("a report of exactly %d bytes was changed: %d bytes", maxMarkdown, len(got))
	}
	r.Config += "y" // one more byte, or several
	if got := fit(r); strings.Contains(got, "<details>") || !strings.Contains(got, "short form") || strings.Count(got, "\n| **") == 0 {
		t.Errorf("one byte over the limit must cost what is folded, and nothing else")
	}
	rooms[0] = whole
	for _, n := range []int{1, 30, 100, 3000} {
		r := many(n)
		got := fit(r)
		if len(got) > maxMarkdown {
			t.Errorf("%d checks: %d bytes", n, len(got))
		}
		rows := strings.Count(got, "\n| 🔴 fail |") + strings.Count(got, "\n| ⚪ no data |")
		if left := n + 1 - rows; left > 0 && !strings.Contains(got, fmt.Sprintf("\n%d more checks do not hold and are not in the table.\n", left)) {
			t.Errorf("%d checks, %d rows, and the rest is not counted", n, rows)
		} else if left > 0 && len(got) < maxMarkdown*9/10 {
			t.Errorf("%d checks: %d are left out of a report of %d bytes", n, left, len(got))
		}
		if again := fit(many(n)); again != got {
			t.Errorf("%d checks: the same result gave other bytes", n)
		}
	}
}

// Long texts of anybody cannot push the verdict out of the report.
func TestMarkdownHoldsLongTexts(t *testing.T) {
	long := strings.Repeat("\u202e`|@a ", 1<<12)
	r := hostile()
	r.Config, r.Base.Ref, r.Tool.Version = long, long, long
	for range 200 {
		n := compare.Notice{Verdict: compare.Fail, Effect: "loosens", Text: long, File: long}
		r.Changes, r.Warnings = append(r.Changes, n), append(r.Warnings, long)
		t := compare.TargetResult{Name: long, Verdict: compare.Fail, Notices: []compare.Notice{n}, Checks: red().Targets[0].Checks[:1]}
		read := measure.DryrunRead{Source: &measure.Source{File: long, Line: 1}, Function: long, Count: 2}
		t.Dryrun = []measure.DryrunFact{{Framework: long, Class: measure.DryrunValueDependent, Device: long, Reasons: []measure.DryrunReason{{Text: long}},
			ReadLines: []measure.DryrunRead{read, read, read, read, read, read, read, read}}}
		t.Checks[0].Reason, t.Checks[0].Metric, t.Checks[0].Limit.Text = long, long, long
		r.Targets = append(r.Targets, t)
	}
	got := fit(r)
	if len(got) > maxMarkdown || !strings.HasPrefix(got, "🔴 **peakgate: fail** — ") {
		t.Errorf("%d bytes, beginning %.60q", len(got), got)
	}
}

func TestLinks(t *testing.T) {
	at := func(url, file string) string {
		return linked(&compare.Result{Head: compare.Revision{FilesURL: url}}, "text", file, 7)
	}
	const good = "https://git.example:8443/o/r/blob/1a2b/"
	for file, want := range map[string]string{
		"a/b.py": "[text](" + good + "a/b.py#L7)", "a b(1)[2]&é.py": "[text](" + good + "a%20b%281%29%5B2%5D%26%C3%A9.py#L7)",
		"": "text", "../x": "text", "/etc/passwd": "text", "a/../../x": "text", "a//b": "text", "./a": "text", strings.Repeat("a", 501): "text",
	} {
		if got := at(good, file); got != want {
			t.Errorf("%q: %s, want %s", file, got, want)
		}
	}
	for _, url := range []string{"", "javascript:alert(1)/x/", "https://e.test/a b/", "https://e.test/a)b/", "https://u:p@e.test/a/", "https://e.test/?q=/", "https://e.test/a/#/", "https://e.test", "ftp://e.test/a/", good + strings.Repeat("a", 500) + "/"} {
		if got := at(url, "a.py"); got != "text" {
			t.Errorf("%q became %s", url, got)
		}
	}
}

func TestCeiling(t *testing.T) {
	for _, test := range []struct {
		v    measure.Value
		unit measure.Unit
		down bool
		want string
	}{
		{measure.Int(0), measure.ByteUnit, false, "0 B"},
		{measure.Int(1023), measure.ByteUnit, false, "1023 B"},
		{measure.Int(1024), measure.ByteUnit, false, "1 KiB"},
		{measure.Int(1025), measure.ByteUnit, false, "1.01 KiB"},
		{measure.Int(1025), measure.ByteUnit, true, "1 KiB"},
		{measure.Int(7_972_195_136), measure.ByteUnit, false, "7.43 GiB"},
		{measure.Int(1<<63 - 1), measure.ByteUnit, false, "8388608 TiB"},
		{measure.Float(1000.5), measure.BytesPerStep, false, "1001 B"},
		{measure.Float(0.98765), measure.Ratio, true, "0.987"},
		{measure.Int(12), measure.Count, false, "12"},
	} {
		if got := ceiling(test.v, test.unit, test.down); got != test.want {
			t.Errorf("%v %s: %s, want %s", test.v, test.unit, got, test.want)
		}
	}
}

// TestLookCloser wants a command that works as it stands, or none.
func TestLookCloser(t *testing.T) {
	in := func(paths ...string) (out []measure.Input) {
		for _, p := range paths {
			out = append(out, measure.Input{Path: p})
		}
		return out
	}
	beside := compare.Base{Kind: "captures"}
	for name, c := range map[string]struct {
		target compare.TargetResult
		want   string
	}{
		"beside":      {compare.TargetResult{Inputs: in("head.pb"), BaseInputs: in("a base.pb"), Base: beside}, "peakgate diff 'a base.pb' head.pb"},
		"in git":      {compare.TargetResult{Inputs: in("step.pb"), BaseInputs: in("step.pb@349a4e7f9326"), Base: compare.Base{Kind: "captures", Commit: "349a4e7f9326"}}, "peakgate explain step.pb"},
		"measurement": {compare.TargetResult{Inputs: in("step.pb"), BaseInputs: in("base.pb"), Base: compare.Base{Kind: "measurement"}}, "peakgate explain step.pb"},
		"no base":     {compare.TargetResult{Inputs: in("step.pb")}, "peakgate explain step.pb"},
		"a run":       {compare.TargetResult{Inputs: in("run/footprint.jsonl")}, ""},
		"several":     {compare.TargetResult{Inputs: in("a.pb", "b.pb"), BaseInputs: in("base.pb"), Base: beside}, ""},
		"a flag":      {compare.TargetResult{Inputs: in("-o")}, ""},
	} {
		if got := lookCloser(&c.target); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestQuoting(t *testing.T) {
	for name, want := range map[string][2]string{
		"train_step": {"train_step", "train_step"}, "a b'c": {`"a b'c"`, `'a b'\''c'`}, "yes": {`"yes"`, "yes"}, "$(id)\n": {`"$(id)\n"`, `'$(id)\x0a'`}, "x\u202e": {`"x\u202e"`, `'x\u{202e}'`}, "1.5": {`"1.5"`, "1.5"}, "": {`""`, "''"},
	} {
		if y, s := yaml(name), shell(name); y != want[0] || s != want[1] {
			t.Errorf("%q: %s and %s, want %v", name, y, s, want)
		}
	}
}
