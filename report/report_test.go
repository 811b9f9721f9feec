package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/measure"
)

var update = flag.Bool("update", false, "write the golden files anew")

func value(n int64) *measure.Value { v := measure.Int(n); return &v }

const gib = 1 << 30

// red is a result with one check of each verdict.
func red() *compare.Result {
	device := measure.Labels{"module": "jit_train_step", "memory_space": "device"}
	limit := compare.Limit{Text: "growth 2%, floor 16 MiB", Growth: "2%", Floor: value(16 << 20), Severity: "fail", Why: "must stay beside the evaluation step", File: "peakgate.yml", Line: 8, Column: 7}
	grown := compare.Check{
		Metric: "plan.need_bytes", Labels: device, Unit: measure.ByteUnit, Kind: measure.Exact, Verdict: compare.Fail,
		Head: value(3 * gib), Base: value(2 * gib), Limit: limit, Failed: []string{"growth"}, Excess: 0.5, Unmoved: 7,
		Reason: "grew by 1.00 GiB (+50.0 %), allowed is 2% or 16 MiB",
		Contributors: []compare.Contributor{
			{Key: "forward_kept / softmax / block", Display: "f32[8,8,1024,1024] ×3 softmax — train.py:22 block", BaseBytes: gib / 4, HeadBytes: gib, BaseCount: 1, HeadCount: 3, Change: compare.Grown, Source: &measure.Source{File: "src/train.py", Line: 22}, Place: compare.InChange},
			{Key: "new", Display: "f32[8] dot — train.py:25 block", HeadBytes: gib / 2, HeadCount: 1, Change: compare.New, Source: &measure.Source{File: "src/train.py", Line: 25}, Place: compare.InRepository},
			{Key: "gone", Display: "f32[8] add — train.py:25 block", BaseBytes: gib / 4, BaseCount: 1, Change: compare.Gone},
		},
	}
	over := compare.Check{
		Metric: "plan.temp_bytes", Labels: device, Unit: measure.ByteUnit, Kind: measure.Exact, Verdict: compare.Warn, Head: value(3 * gib),
		Limit: compare.Limit{Text: "max 2 GiB", Max: value(2 * gib), Severity: "warn", File: "peakgate.yml", Line: 9, Column: 7}, Failed: []string{"max"},
		Reason:       "3.00 GiB is over the max of 2 GiB by 1.00 GiB",
		Contributors: []compare.Contributor{{Display: "f32[8,8,1024,1024] softmax — train.py:22 block", HeadBytes: 3 * gib, HeadCount: 3}},
	}
	lost := compare.Check{
		Metric: "live.peak_bytes", Labels: measure.Labels{}, Unit: measure.ByteUnit, Kind: measure.Exact, Verdict: compare.NoData,
		Limit:  compare.Limit{Text: "max 1 GiB", Max: value(gib), Severity: "fail", File: "peakgate.yml", Line: 15, Column: 7},
		Reason: "nothing was measured: out/*.pickle: the pattern matches no file",
	}
	fine := grown
	fine.Metric, fine.Verdict, fine.Failed, fine.Contributors, fine.Head, fine.Limit.Line = "plan.argument_bytes", compare.Pass, nil, nil, value(2*gib), 10
	fine.Reason = "did not change"
	ratio := compare.Check{
		Metric: "pool.hit_ratio", Labels: measure.Labels{"device": "0"}, Unit: measure.Ratio, Verdict: compare.Pass, Head: new(measure.Value),
		Limit: compare.Limit{Text: "min 0.9", Severity: "fail"},
	}
	*ratio.Head = measure.Float(0.985)
	ratio.Limit.Min = new(measure.Value)
	*ratio.Limit.Min = measure.Float(0.9)
	return &compare.Result{
		Schema: compare.Schema, Verdict: compare.Fail, Tool: compare.Tool{Name: "peakgate", Version: "v1"}, Config: "peakgate.yml", Day: "2026-11-30",
		Head: compare.Revision{Commit: "5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed", FilesURL: "https://git.example/org/model/blob/1a2b3c4d5e6f/", Folder: "ci"},
		Base: compare.Base{Kind: "captures", Commit: "ba5eba5eba5eba5eba5eba5eba5eba5eba5eba5e"},
		Targets: []compare.TargetResult{
			{
				Name: "train", Verdict: compare.Fail, Inputs: []measure.Input{{Path: "out/head.hlo.pb", SHA256: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}}, BaseInputs: []measure.Input{{Path: "out/base.hlo.pb"}}, Base: compare.Base{Kind: "captures", Ref: "out/base.hlo.pb"},
				Environment: compare.Environments{Base: map[string]string{"jaxlib": "0.9.2"}, Head: map[string]string{"jaxlib": "0.10.2"}},
				Likeness:    compare.Likeness{Verdict: "different", Notes: []string{"module jit_train_step: 12 instructions, 10 in the base"}},
				Checks:      []compare.Check{grown, over, fine}, Warnings: []string{"a warning"},
				Findings: []measure.Finding{
					{Rule: "remat-lost", Severity: "warning", Evidence: "measured", Text: "remat lost: 1.00 GiB is kept; most of it: f32[8] exp — train.py:22 block (+1.00 GiB)", Fix: "put jax.checkpoint back around the function", Cost: "about one more forward pass", SavingBytes: gib, Labels: measure.Labels{"module": "jit_train_step"}},
					{Rule: "other", Severity: "warning", Evidence: "inferred", Text: "of another module", Labels: measure.Labels{"module": "jit_eval"}},
					{Rule: "note", Severity: "note", Evidence: "inferred", Text: "a note", Labels: measure.Labels{"module": "jit_train_step"}},
				},
			},
			{Name: "serve", Verdict: compare.NoData, Base: compare.Base{Kind: "none"}, Likeness: compare.Likeness{Verdict: "unknown"}, Checks: []compare.Check{lost, ratio}},
		},
		Changes:  []compare.Notice{{Verdict: compare.Warn, Effect: "loosens", Text: "train: plan.temp_bytes: max from 1 GiB to 2 GiB", Bytes: gib, File: "peakgate.yml", Line: 9, Column: 30}},
		Warnings: []string{"the whole run has a warning"},
	}
}

func green() *compare.Result {
	r := red()
	r.Verdict, r.Changes = compare.Pass, nil
	r.Targets = r.Targets[:1]
	r.Targets[0].Verdict, r.Targets[0].Checks = compare.Pass, r.Targets[0].Checks[2:]
	c := &r.Targets[0].Checks[0]
	c.Head, c.Limit.Text, c.Limit.Max = value(gib), "max 2 GiB", value(2*gib)
	return r
}

// hostile puts markup, control characters and commands into every name.
func hostile() *compare.Result {
	bad := "x`|@here #1 <script>alert(1)</script>\n::error::owned\x1b[31m [l](http://e.test) ![i](http://e.test/i.png)"
	r := red()
	r.Config = bad
	r.Changes[0].Text, r.Changes[0].File = bad, bad
	for i := range r.Targets {
		t := &r.Targets[i]
		t.Name, t.Warnings = bad, []string{bad}
		t.Dryrun = []measure.DryrunFact{{Framework: bad, Class: bad, Device: bad, Fits: measure.FitsNo}, {
			Framework: "torch", Class: measure.DryrunAssumption, Capability: bad, Reasons: []measure.DryrunReason{{Text: bad, Source: &measure.Source{File: bad, Line: 3}}},
			ReadLines: []measure.DryrunRead{{Source: &measure.Source{File: bad, Line: 4}, Function: bad, Count: 2}, {Count: 1}}}}
		t.Notices = []compare.Notice{{Verdict: compare.Warn, Effect: "stale", Text: bad, File: bad}}
		t.Base = compare.Base{Kind: "captures", Commit: bad, How: bad}
		t.Environment.Base, t.Environment.Head = map[string]string{bad: bad}, map[string]string{bad: "x" + bad}
		t.Likeness.Notes = []string{bad}
		t.Findings = []measure.Finding{{Rule: bad, Severity: "warning", Evidence: "measured", Text: bad, Fix: bad, Cost: bad}}
		for j := range t.Checks {
			c := &t.Checks[j]
			c.Labels, c.Reason, c.Limit.Why, c.Limit.File, c.Limit.Text = measure.Labels{"module": bad, bad: "1"}, bad, bad, bad, bad
			for k := range c.Contributors {
				c.Contributors[k].Display = bad
				c.Contributors[k].Source, c.Contributors[k].Place = &measure.Source{File: bad, Line: 1}, compare.InChange
			}
		}
	}
	return r
}

func TestGoldens(t *testing.T) {
	for name, r := range map[string]*compare.Result{"red": red(), "green": green(), "hostile": hostile()} {
		for ext, write := range map[string]func(io.Writer, *compare.Result) error{
			"txt": Text, "md": Markdown, "html": HTML, "json": func(w io.Writer, r *compare.Result) error { return JSON(w, r) },
		} {
			var first, second bytes.Buffer
			if err := write(&first, r); err != nil {
				t.Fatal(err)
			}
			if err := write(&second, r); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("%s.%s: the same result gave other bytes", name, ext)
			}
			golden(t, filepath.Join("testdata", name+"."+ext), first.Bytes())
		}
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (go test ./report -update writes it anew):\n%s", path, diff)
	}
}

// No name may start a line of its own, reach a terminal as a control sequence,
// or stand in markdown outside a code span or unescaped.
func TestHostileNames(t *testing.T) {
	var text, markdown bytes.Buffer
	if err := Text(&text, hostile()); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&markdown, hostile()); err != nil {
		t.Fatal(err)
	}
	for name, out := range map[string]string{"text": text.String(), "markdown": markdown.String()} {
		if strings.ContainsAny(out, "\x1b\r\x00") || strings.Contains(out, "\n::") {
			t.Errorf("%s: a control character or a command got through", name)
		}
	}
	outside := strings.ReplaceAll(stripCode(markdown.String()), `\]`, "")
	for _, bad := range []string{"<script", "@here", "#1 ", "](http:", "http://"} {
		if strings.Contains(outside, bad) {
			t.Errorf("markdown: %q stands outside a code span:\n%s", bad, outside)
		}
	}
	// Every row of a table keeps the number of cells of its header.
	cells := 0
	for _, line := range strings.Split(stripCode(markdown.String()), "\n") {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if cells == 0 {
			cells = n
		}
		if n != cells {
			t.Errorf("row with %d bars in a table of %d: %s", n, cells, line)
		}
	}
}

// stripCode removes code spans: a run of n backticks up to the next such run.
func stripCode(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) {
			out.WriteString(s[i : i+2])
			i += 2
			continue
		}
		if s[i] != '`' {
			out.WriteByte(s[i])
			i++
			continue
		}
		n := 0
		for i+n < len(s) && s[i+n] == '`' {
			n++
		}
		rest, fence := s[i+n:], strings.Repeat("`", n)
		end := 0
		for {
			j := strings.Index(rest[end:], fence)
			if j < 0 {
				out.WriteString(s[i : i+n])
				i += n
				break
			}
			end += j
			if strings.HasPrefix(rest[end+n:], "`") { // a longer run
				for strings.HasPrefix(rest[end:], "`") {
					end++
				}
				continue
			}
			out.WriteString("CODE")
			i += n + end + n
			break
		}
	}
	return out.String()
}

func TestDiffAndMeasurementText(t *testing.T) {
	side := func(n int64) *measure.Measurement {
		m := measure.New()
		labels := measure.Labels{"device": "0"}
		m.Inputs = []measure.Input{{Path: "a.pickle", Format: "torch.snapshot", Bytes: 2048}}
		m.Rows = []measure.Row{measure.NewRow("live.peak_bytes", labels, measure.Int(n)), measure.Absent("live.end_bytes", labels, "why not"), measure.NewRow("pool.misses", labels, measure.Int(3))}
		m.Contributors = []measure.Contributor{{Metric: "live.peak_bytes", Labels: labels, Key: "m.py f", Display: "m.py:3 f", Bytes: measure.Bytes(n), Count: 2}}
		m.Warnings = []string{"the history starts mid-run"}
		return m
	}
	var out bytes.Buffer
	if err := Measurement(&out, side(3*gib)); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "measurement.txt"), out.Bytes())
	out.Reset()
	if err := Diff(&out, compare.Compare(side(2*gib), side(3*gib))); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "diff.txt"), out.Bytes())
}

func TestExplain(t *testing.T) {
	m := measure.New()
	labels := measure.Labels{"module": "jit_step", "program": "7"}
	on := labels.With("memory_space", "device")
	m.Inputs = []measure.Input{{Path: "step.xplane.pb", Format: "xla.xspace", Bytes: 2048}}
	m.Environment["device"] = "H100"
	m.Rows = []measure.Row{
		measure.NewRow("plan.need_bytes", on, measure.Int(4*gib)), measure.NewRow("plan.donated_bytes", on, measure.Int(0)), measure.NewRow("plan.heap_peak_bytes", on, measure.Int(4*gib)),
		measure.NewRow("plan.need_bytes", labels.With("memory_space", "host"), measure.Int(gib)), measure.NewRow("plan.remat_instructions", labels, measure.Int(9)),
		measure.NewRow("plan.need_bytes", measure.Labels{"module": "jit_other", "memory_space": "device"}, measure.Int(8*gib)),
	}
	m.Contributors = []measure.Contributor{
		{Metric: "plan.heap_peak_bytes", Labels: on, Key: "a", Display: "f32[8,1024] exp — train.py:22 block", Bytes: 3 * gib, Count: 3, Class: "forward_kept"},
		{Metric: "plan.heap_peak_bytes", Labels: on, Key: "b", Display: "argument w\x1b[31m", Bytes: gib / 2, Count: 1, Class: "argument"},
		{Metric: "plan.heap_peak_bytes", Labels: on, Key: "(other)", Display: "(other)", Bytes: gib / 2, Count: 9},
	}
	m.Facts.Plans = []measure.PlanFact{{Labels: on, BlockBytes: 3 * gib, Donation: &measure.DonationFact{Arguments: 2, LeftCount: 1}}}
	m.Facts.Timelines = []measure.TimelineFact{{Labels: measure.Labels{"allocator": "GPU_0_bfc"}, Pool: "device", LimitBytes: 3 * gib, PeakBytes: gib, LastStart: &measure.LiveFact{Module: "jit_step(7)", InUse: gib / 4}}}
	m.Facts.Executions = []measure.ExecutionFact{{Labels: measure.Labels{"module": "jit_step(7)", "allocator": "GPU_0_bfc"}, Count: 2, FirstInUse: gib / 8, LastInUse: gib / 4}}
	m.Findings = []measure.Finding{
		{Rule: "does-not-fit", Severity: "error", Evidence: "measured", Text: "it needs 4.00 GiB > 3.00 GiB", Fix: "wrap it:\nf = jax.checkpoint(f)", Cost: "a forward pass", SavingBytes: gib, Labels: labels},
		{Rule: "elsewhere", Severity: "warning", Evidence: "measured", Text: "of another module", Labels: measure.Labels{"module": "jit_other"}},
	}
	m.Warnings = []string{"a warning"}
	subject, err := diagnose.Choose(m, "jit_step")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Explain(&out, m, subject, 2); err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "explain.txt"), out.Bytes())
	out.Reset()
	if err := Explain(&out, measure.New(), nil, 2); err != nil || !strings.Contains(out.String(), "nothing was measured") {
		t.Errorf("an empty measurement: %v\n%s", err, out.String())
	}
}

// TestOneMoment: of a capture without a peak, who holds what is live at the end.
func TestOneMoment(t *testing.T) {
	m := measure.New()
	labels := measure.Labels{"device": "cpu:0"}
	m.Rows = []measure.Row{measure.NewRow("live.end_bytes", labels, measure.Int(1<<20))}
	m.Contributors = []measure.Contributor{{Metric: "live.end_bytes", Labels: labels, Key: "run", Display: "train.py:25 run", Bytes: 1 << 20, Count: 4}}
	for name, write := range map[string]func(io.Writer) error{
		"measure": func(w io.Writer) error { return Measurement(w, m) },
		"explain": func(w io.Writer) error { return Explain(w, m, nil, 25) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil || !strings.Contains(out.String(), "train.py:25 run") {
			t.Errorf("%s: %v, %s", name, err, &out)
		}
	}
}

// TestNothingMeasured: a capture without any value is not called fine.
func TestNothingMeasured(t *testing.T) {
	var out bytes.Buffer
	if err := Explain(&out, measure.New(), nil, 25); err != nil || !strings.Contains(out.String(), "nothing was measured") || strings.Contains(out.String(), "stands out") {
		t.Errorf("%v, %s", err, &out)
	}
}

// TestAllocators: the limit stands beside heap and stack together, and what was live is shown.
func TestAllocators(t *testing.T) {
	m := measure.New()
	m.Facts.Timelines = []measure.TimelineFact{{Labels: measure.Labels{"allocator": "index_on_host=0"}, Pool: "device", LimitBytes: 16 << 20, PeakBytes: 9 << 20, UsedPeakBytes: 15 << 20,
		LastStart: &measure.LiveFact{InUse: 8 << 20, Groups: []measure.LiveGroup{{Name: "outputs of jit_step execution 3", Bytes: 8 << 20, Count: 2}}}}}
	var out bytes.Buffer
	if err := Explain(&out, m, nil, 25); err != nil || !strings.Contains(out.String(), "16.00 MiB     9.00 MiB       15.00 MiB                      8.00 MiB") ||
		!strings.Contains(out.String(), "8.00 MiB  2  outputs of jit_step execution 3") {
		t.Errorf("%v, %s", err, &out)
	}
}

// TestWrapped: lines fit the page, long words stay whole, and no line is a command of
// a workflow.
func TestWrapped(t *testing.T) {
	long := strings.Repeat("x", width+9)
	var out bytes.Buffer
	wrapped(&out, "- ", "  ", strings.Repeat("word ", 60)+long+" ::error::no "+strings.Repeat("é ", 100))
	for line := range strings.Lines(out.String()) {
		line = strings.TrimRight(line, "\n")
		if n := len([]rune(line)); n > width && strings.TrimSpace(line) != long {
			t.Errorf("%d columns: %s", n, line)
		}
		if strings.HasPrefix(strings.TrimSpace(line), "::") {
			t.Errorf("a command: %s", line)
		}
	}
	if got := strings.Join(strings.Fields(out.String()), ""); !strings.Contains(got, "::error::no") || strings.Count(got, "word") != 60 || strings.Count(got, "é") != 100 {
		t.Errorf("words are lost: %s", got)
	}
	if got := clip("f32[4,128,8,1024,1024] jvp()/while/body/mul — train.py:22 block", 40); len([]rune(got)) != 40 || !strings.HasSuffix(got, "train.py:22 block") || !strings.HasPrefix(got, "f32[4,128") {
		t.Errorf("clip gives %q", got)
	}
}
