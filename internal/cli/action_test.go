package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/post"
)

// stepRun is one run of `peakgate action` in a step.
type stepRun struct {
	env            map[string]string
	code           int
	stdout, stderr bytes.Buffer
}

// step runs the command as the runner would, with files of its own. Variables
// of env replace those of the runner; an empty one is not set.
func step(t *testing.T, env map[string]string) *stepRun {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &stepRun{env: map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": root, "RUNNER_TEMP": dir,
		"GITHUB_OUTPUT": filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary"),
	}}
	for name, value := range env {
		r.env[name] = value
	}
	r.code = Main([]string{"action"}, Streams{Stdout: &r.stdout, Stderr: &r.stderr, Getenv: func(name string) string { return r.env[name] }})
	if r.stderr.Len() > 0 {
		t.Errorf("printed past the guard: %q", r.stderr.String())
	}
	return r
}

func (r *stepRun) file(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// outputs reads the step's output file: each value stands on one line between
// its delimiters.
func (r *stepRun) outputs(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	data, _ := os.ReadFile(r.env["GITHUB_OUTPUT"])
	for rest := string(data); rest != ""; {
		head, after, _ := strings.Cut(rest, "\n")
		name, delimiter, ok := strings.Cut(head, "<<")
		value, left, closed := strings.Cut(after, "\n"+delimiter+"\n")
		if !ok || !closed {
			t.Fatalf("output file: %q", data)
		}
		out[name], rest = value, left
	}
	return out
}

// commands gives the workflow commands that act, each whole.
func (r *stepRun) commands() (out []string) {
	stop := ""
	for line := range strings.Lines(r.stdout.String()) {
		line = strings.TrimRight(line, "\r\n")
		if stop != "" {
			if line == "::"+stop+"::" {
				stop = ""
			}
			continue
		}
		if token, ok := strings.CutPrefix(line, "::stop-commands::"); ok {
			stop = token
		} else {
			out = append(out, line)
		}
	}
	return out
}

func TestActionRed(t *testing.T) {
	const config = "../../fixtures/regression/peakgate.yml"
	r := step(t, map[string]string{"PEAKGATE_CONFIG": config})
	if r.code != ExitFail {
		t.Errorf("exit code %d, want %d\n%s", r.code, ExitFail, r.stdout.String())
	}
	source := strings.Split(r.file(t, config), "\n")
	out := r.outputs(t)
	marks := 0
	for _, c := range r.commands() {
		properties, ok := strings.CutPrefix(c, "::error ")
		if !ok {
			continue
		}
		marks++
		var line int
		for p := range strings.SplitSeq(properties, ",") {
			fmt.Sscanf(p, "line=%d", &line)
		}
		if !strings.Contains(properties, "file=fixtures/regression/peakgate.yml,") || line < 1 || line > len(source) {
			t.Errorf("mark without its place: %s", c)
		} else if metric, _, _ := strings.Cut(strings.TrimSpace(source[line-1]), ":"); !strings.Contains(c, metric) {
			t.Errorf("marked line %d, %q: %s", line, source[line-1], c)
		}
	}
	if want := fmt.Sprint(marks); out["verdict"] != "fail" || out["failed"] != want || marks < 2 {
		t.Errorf("outputs %v, %d marks; want verdict fail and failed %s, at least one mark a target", out, marks, want)
	}
	if report := r.file(t, out["report-path"]); report != r.file(t, r.env["GITHUB_STEP_SUMMARY"]) || report == "" {
		t.Error("the report's file and the summary differ, or are empty")
	}
	var result compare.Result
	if err := json.Unmarshal([]byte(r.file(t, out["json-path"])), &result); err != nil || result.Verdict != compare.Fail {
		t.Errorf("json-path: verdict %q, %v", result.Verdict, err)
	}
	if html := r.file(t, out["html-path"]); !strings.Contains(html, "peakgate: fail") || !strings.Contains(html, `"target":"torch_train_step"`) {
		t.Errorf("html-path: %.300s", html)
	}
}

// The same inputs give check's own verdict, with targets and bases passed on.
func TestActionInputs(t *testing.T) {
	r := step(t, map[string]string{
		"PEAKGATE_CONFIG":  "../../fixtures/regression/peakgate.yml",
		"PEAKGATE_TARGETS": " jax_train_step\n",
		"PEAKGATE_BASE":    "\njax_train_step=../../fixtures/regression/xla/head.hlo.pb\n\n",
	})
	if out := r.outputs(t); r.code != ExitPass || out["verdict"] != "pass" || out["failed"] != "0" {
		t.Errorf("a capture against itself: exit code %d, outputs %v\n%s", r.code, out, r.stdout.String())
	}
	if strings.Contains(r.stdout.String(), "torch_train_step") {
		t.Error("a target was judged that was not asked for")
	}
	r = step(t, map[string]string{"PEAKGATE_CONFIG": "../../fixtures/regression/peakgate.yml", "PEAKGATE_TARGETS": "nobody"})
	if r.code != ExitUsage || len(r.outputs(t)) > 0 {
		t.Errorf("a target that is not there: exit code %d, outputs %v", r.code, r.outputs(t))
	}
}

func TestActionBrokenBudgetIsNoVerdict(t *testing.T) {
	config := filepath.Join(t.TempDir(), "peakgate.yml")
	source := "version: 1\ntargets:\n  a:\n    captures: [x]\n    budgets:\n      plan.need_bytes: { max: 9.5 }\n      \"::add-mask::x ##[add-mask]y\": 1 GiB\n"
	if err := os.WriteFile(config, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	r := step(t, map[string]string{"PEAKGATE_CONFIG": config, "GITHUB_WORKSPACE": filepath.Dir(config)})
	if r.code != ExitUsage {
		t.Errorf("exit code %d, want %d", r.code, ExitUsage)
	}
	if out := r.outputs(t); len(out) > 0 {
		t.Errorf("outputs without a verdict: %v", out)
	}
	var places []string
	for _, c := range r.commands() {
		switch name, _, _ := strings.Cut(strings.TrimPrefix(c, "::"), ":"); {
		case strings.HasPrefix(name, "error "):
			places = append(places, c)
		case name != "group" && name != "endgroup":
			t.Errorf("acts as a command, or is text outside of the guard: %q", c)
		}
	}
	if len(places) < 2 || !strings.Contains(places[0], "file=peakgate.yml,line=6,") || !strings.Contains(places[1], "file=peakgate.yml,line=7,") {
		t.Errorf("want marks on lines 6 and 7, got %q", places)
	}
	page := r.file(t, r.env["GITHUB_STEP_SUMMARY"])
	if !strings.HasPrefix(page, "**peakgate came to no verdict.**\n\n    peakgate: ") {
		t.Errorf("summary:\n%s", page)
	}
	for line := range strings.Lines(strings.SplitN(page, "\n\n", 2)[1]) {
		if !strings.HasPrefix(line, "    ") {
			t.Errorf("a line of the summary is not in its block: %q", line)
		}
	}
}

func TestActionOutsideOfAWorkflow(t *testing.T) {
	none := map[string]string{"GITHUB_ACTIONS": "", "GITHUB_WORKSPACE": "", "GITHUB_OUTPUT": "", "GITHUB_STEP_SUMMARY": ""}
	none["PEAKGATE_CONFIG"] = "../../fixtures/regression/peakgate.yml"
	dir := filepath.Join(t.TempDir(), "new", "folder")
	none["PEAKGATE_REPORT_DIR"] = dir
	r := step(t, none)
	if r.code != ExitFail {
		t.Errorf("exit code %d, want %d", r.code, ExitFail)
	}
	if strings.Contains(r.stdout.String(), "\n::") || !strings.Contains(r.stdout.String(), "error: ../../fixtures/regression/peakgate.yml:") {
		t.Errorf("want plain lines:\n%s", r.stdout.String())
	}
	for _, name := range []string{"report.md", "result.json"} {
		if r.file(t, filepath.Join(dir, name)) == "" {
			t.Errorf("%s is empty", name)
		}
	}
}

// A file in the way of the report's folder must not leave the step green.
func TestActionThatCannotWriteItsReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	r := step(t, map[string]string{"PEAKGATE_CONFIG": "../../peakgate.yml", "PEAKGATE_REPORT_DIR": filepath.Join(file, "x")})
	if r.code != ExitNoData {
		t.Errorf("exit code %d, want %d", r.code, ExitNoData)
	}
	if out := r.outputs(t); out["verdict"] != "pass" || out["report-path"] != "" {
		t.Errorf("outputs %v, want the verdict and no path", out)
	}
	if !strings.Contains(strings.Join(r.commands(), "\n"), "cannot make the folder for reports") {
		t.Errorf("the error is not marked:\n%s", r.stdout.String())
	}
}

func TestMarksAreWorstFirstAndCounted(t *testing.T) {
	line := 0
	check := func(v compare.Verdict, excess float64, reason string) compare.Check {
		line++
		return compare.Check{Metric: "plan.need_bytes", Verdict: v, Excess: excess, Reason: reason,
			Limit: compare.Limit{File: "peakgate.yml", Line: line, Column: 1}, Labels: measure.Labels{"module": "m"}}
	}
	r := &compare.Result{Verdict: compare.Fail, Targets: []compare.TargetResult{
		{Name: "a", Checks: []compare.Check{check(compare.Fail, 0.1, "small"), check(compare.NoData, 0, "absent"), check(compare.Waived, 9, "waived"), check(compare.Pass, 0, "fine")}},
		{Name: "b", Checks: []compare.Check{check(compare.Fail, 5, "large"), check(compare.Inconclusive, 0, "unsure"), check("invented", 0, "unknown")}},
	}}
	for range post.MaxAnnotations {
		r.Targets[1].Checks = append(r.Targets[1].Checks, check(compare.NoData, 0, "more"))
	}
	var log bytes.Buffer
	a := post.NewActions(&log, func(name string) string { return map[string]string{"GITHUB_ACTIONS": "true"}[name] })
	if got, want := annotate(a, r), 4+post.MaxAnnotations; got != want {
		t.Errorf("%d checks are red, want %d: a verdict that is not known is no pass", got, want)
	}
	a.Close()
	lines := strings.Split(strings.ReplaceAll(strings.TrimSpace(log.String()), "\r\n", "\n"), "\n")
	if len(lines) != post.MaxAnnotations+2 { // with one warning, and the count of the rest
		t.Fatalf("%d lines:\n%s", len(lines), log.String())
	}
	for i, want := range []string{"large {module=m}", "small {module=m}", "absent {module=m}", "unknown {module=m}"} {
		if !strings.HasSuffix(lines[i], "::"+want) {
			t.Errorf("mark %d is %q, want it to end in %q", i, lines[i], want)
		}
	}
	for _, never := range []string{"fine", "waived"} {
		if strings.Contains(log.String(), never) {
			t.Errorf("%s is marked", never)
		}
	}
}

// Several rows of one budget make one mark, on the worst of them.
func TestOneMarkForEachBudget(t *testing.T) {
	row := func(module string, line int) compare.Check {
		return compare.Check{Metric: "plan.need_bytes", Verdict: compare.Fail, Reason: "grew",
			Limit: compare.Limit{File: "peakgate.yml", Line: line, Column: 7}, Labels: measure.Labels{"module": module}}
	}
	r := &compare.Result{Verdict: compare.Fail, Targets: []compare.TargetResult{{Name: "a", Checks: []compare.Check{row("worst", 6), row("second", 6), row("third", 6), row("other", 7)}}}}
	var log bytes.Buffer
	a := post.NewActions(&log, func(name string) string { return map[string]string{"GITHUB_ACTIONS": "true"}[name] })
	if got := annotate(a, r); got != 4 {
		t.Errorf("%d checks are red, want 4", got)
	}
	a.Close()
	if n := strings.Count(log.String(), "::error"); n != 2 {
		t.Errorf("%d marks, want 2:\n%s", n, log.String())
	}
	for _, want := range []string{"grew {module=worst}; and 2 more rows of this budget", "grew {module=other}"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no mark says %q:\n%s", want, log.String())
		}
	}
}

// What a change does to its own gate is marked too, and counts as a failure.
func TestNoticesAreMarked(t *testing.T) {
	r := &compare.Result{Verdict: compare.Fail, Config: "peakgate.yml",
		Changes: []compare.Notice{
			{Verdict: compare.Fail, Effect: "loosens", Text: "max was raised", File: "peakgate.yml", Line: 6, Column: 9},
			{Verdict: compare.Fail, Effect: "loosens", Text: "target was removed", File: "peakgate.yml@0123456789ab", Line: 3},
			{Verdict: compare.Pass, Effect: "tightens", Text: "max was lowered", File: "peakgate.yml", Line: 7},
		},
		Targets: []compare.TargetResult{{Notices: []compare.Notice{{Verdict: compare.Warn, Effect: "stale", Text: "not measured again", File: "peakgate.yml", Line: 3}}}},
	}
	var log bytes.Buffer
	a := post.NewActions(&log, func(name string) string { return map[string]string{"GITHUB_ACTIONS": "true"}[name] })
	if got := annotate(a, r); got != 2 {
		t.Errorf("%d notices are red, want 2", got)
	}
	a.Close()
	for _, want := range []string{"::error col=9,file=peakgate.yml,line=6,title=fail%3A loosens::max was raised", "::error file=peakgate.yml,title=fail%3A loosens::target was removed", "::warning file=peakgate.yml,line=3,title=warn%3A stale::not measured again"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("no mark %q:\n%s", want, log.String())
		}
	}
	if strings.Contains(log.String(), "lowered") {
		t.Error("what tightens is marked")
	}
}
