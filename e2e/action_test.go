// Package e2e runs the action of this repository as a workflow does, under act
// (github.com/nektos/act) in its host mode: action.yml itself, its inputs, the
// binary that it builds, exit codes, outputs, job summary and annotations; and the
// workflows of docs/workflows and of this repository against a code host in this
// process. It needs no network, no container and no token.
package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// use is what one use of the action left behind.
type use struct {
	outcome     string
	outputs     map[string]string
	exit        int
	summary     string
	annotations []annotation
	log         string // printed text
	report      []byte // the file of report-path
	json        []byte // the file of json-path
}

type annotation struct {
	level, file, title, message string
	line, column                int
}

func TestAction(t *testing.T) {
	uses := runWorkflow(t, findAct(t))

	t.Run("green", func(t *testing.T) {
		u := uses["green"]
		u.expect(t, "success", "pass", 0)
		u.expectFailed(t, 0)
		if len(u.annotations) > 0 {
			t.Errorf("annotations on a pass: %+v", u.annotations)
		}
		u.expectReports(t)
	})

	t.Run("red", func(t *testing.T) {
		u := uses["red"]
		u.expect(t, "failure", "fail", 1)
		u.expectReports(t)
		u.expectOnBudgetLines(t, "fixtures/regression/peakgate.yml", "plan.need_bytes", "live.peak_bytes")
		if dir := filepath.ToSlash(u.outputs["report-path"]); !strings.HasSuffix(dir, "/reports/red/report.md") {
			t.Errorf("report-path is %s, want it in the folder of report-dir", dir)
		}
	})

	t.Run("in a folder", func(t *testing.T) {
		u := uses["inside"]
		u.expect(t, "failure", "fail", 1)
		u.expectOnBudgetLines(t, "fixtures/regression/peakgate.yml", "plan.need_bytes", "live.peak_bytes")
	})

	// An error in the budget file is no verdict: no output is set, and the place
	// of each fault is marked.
	t.Run("broken budget", func(t *testing.T) {
		u := uses["broken"]
		u.expect(t, "failure", "", 2)
		for name, value := range u.outputs {
			if value != "" {
				t.Errorf("output %s is %q, want it not set", name, value)
			}
		}
		// One of the two names a metric that reads like a command: the log quotes
		// it, and it must not act.
		lines := map[int]bool{}
		for _, a := range u.annotations {
			if a.level != "error" || a.file != "e2e/testdata/broken.yml" {
				t.Errorf("got %+v, want an error in e2e/testdata/broken.yml", a)
			}
			lines[a.line] = true
		}
		if len(u.annotations) != 2 || !lines[6] || !lines[7] {
			t.Errorf("marks on lines %v, want 6 (a number without a unit) and 7 (a name that is no metric)", lines)
		}
		if !strings.Contains(u.summary, "no verdict") {
			t.Errorf("the summary does not say that there is no verdict:\n%s", u.summary)
		}
	})

	t.Run("nothing measured", func(t *testing.T) {
		u := uses["nothing"]
		u.expect(t, "failure", "no_data", 3)
		u.expectFailed(t, 1)
		u.expectReports(t)
		u.expectOnBudgetLines(t, "e2e/testdata/nothing.yml", "plan.need_bytes")
	})
}

func (u use) expect(t *testing.T, outcome, verdict string, exit int) {
	t.Helper()
	if u.outcome != outcome {
		t.Errorf("the step ended in %q, want %q\n%s", u.outcome, outcome, u.log)
	}
	if got := u.outputs["verdict"]; got != verdict {
		t.Errorf("output verdict is %q, want %q", got, verdict)
	}
	if u.exit != exit {
		t.Errorf("exit code %d, want %d", u.exit, exit)
	}
	if u.summary == "" {
		t.Error("the job summary is empty")
	}
}

func (u use) expectFailed(t *testing.T, failed int) {
	t.Helper()
	if got := u.outputs["failed"]; got != strconv.Itoa(failed) {
		t.Errorf("output failed is %q, want %d", got, failed)
	}
}

// expectReports holds the two files against each other, the outputs and the
// summary.
func (u use) expectReports(t *testing.T) {
	t.Helper()
	var result struct {
		Schema, Verdict string
		Targets         []struct{ Name string }
	}
	if err := json.Unmarshal(u.json, &result); err != nil {
		t.Fatalf("the file of json-path: %v", err)
	}
	if result.Schema != "peakgate.result/1" || result.Verdict != u.outputs["verdict"] || len(result.Targets) == 0 {
		t.Errorf("the file of json-path says schema %q, verdict %q, %d targets; the output says %q", result.Schema, result.Verdict, len(result.Targets), u.outputs["verdict"])
	}
	if len(u.report) == 0 || strings.TrimSpace(string(u.report)) != strings.TrimSpace(u.summary) {
		t.Errorf("the file of report-path and the summary differ:\n%s\n---\n%s", u.report, u.summary)
	}
	for _, target := range result.Targets {
		if !strings.Contains(u.log, target.Name) || !strings.Contains(u.summary, target.Name) {
			t.Errorf("target %s is not named in both the log and the summary", target.Name)
		}
	}
}

// expectOnBudgetLines wants one error a metric, on the line of the budget file
// that names it, and as many as the output failed says.
func (u use) expectOnBudgetLines(t *testing.T, file string, metrics ...string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	source := strings.Split(string(data), "\n")
	seen := map[string]bool{}
	for _, a := range u.annotations {
		if a.level != "error" {
			continue
		}
		if a.file != file || a.line < 1 || a.line > len(source) {
			t.Errorf("got %+v, want a line of %s", a, file)
			continue
		}
		for _, metric := range metrics {
			if strings.Contains(a.title, metric) {
				seen[metric] = true
				if !strings.Contains(source[a.line-1], metric) {
					t.Errorf("%s is marked on line %d, which is %q", metric, a.line, source[a.line-1])
				}
			}
		}
	}
	for _, metric := range metrics {
		if !seen[metric] {
			t.Errorf("no error for %s among %+v\n%s", metric, u.annotations, u.log)
		}
	}
	var errs int
	for _, a := range u.annotations {
		if a.level == "error" {
			errs++
		}
	}
	u.expectFailed(t, errs)
}

// runWorkflow runs testdata/workflows/action.yml under act and collects what each use of
// the action left, by the id of its step.
func runWorkflow(t *testing.T, act string) map[string]*use {
	t.Helper()
	touchSources(t)
	seen, keep := t.TempDir(), abs(t, "testdata/keep.sh")
	log, err := run{
		act: act, event: "pull_request", payload: pull,
		dir: "..", workflow: "testdata/workflows/action.yml", env: []string{"SEEN=" + seen, "KEEP=" + keep},
	}.start(t)
	if err != nil {
		t.Fatalf("act: %v\n%s", err, messages(log))
	}
	uses := readLog(t, log)
	for id, u := range uses {
		u.outcome = string(read(t, filepath.Join(seen, id+".outcome")))
		if err := json.Unmarshal(read(t, filepath.Join(seen, id+".outputs")), &u.outputs); err != nil {
			t.Fatalf("%s: outputs: %v", id, err)
		}
		u.report, _ = os.ReadFile(filepath.Join(seen, id+".md"))
		u.json, _ = os.ReadFile(filepath.Join(seen, id+".json"))
	}
	if len(uses) != 5 {
		t.Fatalf("%d uses of the action ran, want 5\n%s", len(uses), messages(log))
	}
	return uses
}

// readLog takes act's JSON log apart: one object a line.
func readLog(t *testing.T, log []byte) map[string]*use {
	t.Helper()
	uses := map[string]*use{}
	exit := regexp.MustCompile(`^exit status (\d+)$`)
	for line := range bytes.Lines(log) {
		var l struct {
			StepID                            []string
			Stage, Command, Raw, Content, Msg string
			RawOutput                         bool `json:"raw_output"`
		}
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("act printed %q: %v", line, err)
		}
		if len(l.StepID) != 2 || l.StepID[1] != "check" || l.Stage != "Main" { // the composite's own step
			continue
		}
		u := uses[l.StepID[0]]
		if u == nil {
			u = &use{}
			uses[l.StepID[0]] = u
		}
		switch {
		case l.Command == "summary":
			u.summary = l.Content
		case l.Command == "error", l.Command == "warning", l.Command == "notice":
			u.annotations = append(u.annotations, parseAnnotation(t, l.Command, l.Raw))
		case l.RawOutput:
			u.log += l.Msg
		default:
			if m := exit.FindStringSubmatch(l.Msg); m != nil {
				u.exit, _ = strconv.Atoi(m[1])
			}
		}
	}
	return uses
}

// parseAnnotation reads a workflow command as the runner does: properties end at
// the first "::" (act goes to the last).
func parseAnnotation(t *testing.T, level, raw string) annotation {
	t.Helper()
	properties, message, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(raw), "::"+level), "::")
	if !ok {
		t.Fatalf("not an annotation: %q", raw)
	}
	unescape := strings.NewReplacer("%25", "%", "%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",").Replace
	a := annotation{level: level, message: unescape(message)}
	for p := range strings.SplitSeq(strings.TrimSpace(properties), ",") {
		name, value, _ := strings.Cut(p, "=")
		switch value = unescape(value); name {
		case "file":
			a.file = value
		case "title":
			a.title = value
		case "line":
			a.line, _ = strconv.Atoi(value)
		case "col":
			a.column, _ = strconv.Atoi(value)
		}
	}
	return a
}
