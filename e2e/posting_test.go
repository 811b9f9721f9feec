package e2e

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/peakgate/peakgate/internal/codehost"
)

var head = strings.Repeat("a", 40)

// Events as GitHub sends them, with what is read of them.
var (
	pull       = event(`"number":7,"pull_request":{"number":7,"head":{"sha":"` + head + `","ref":"change","repo":{"full_name":"o/r","fork":false}},"base":{"ref":"main","repo":{"full_name":"o/r"}}}`)
	fork       = strings.Replace(pull, `{"full_name":"o/r","fork":false}`, `{"full_name":"fork/r","fork":true}`, 1)
	mergeGroup = event(`"action":"checks_requested","merge_group":{"head_sha":"` + head + `","head_ref":"refs/heads/gh-readonly-queue/main/pr-7-b","base_ref":"refs/heads/main"}`)
	push       = event(`"ref":"refs/heads/main","after":"` + head + `"`)
	finished   = event(`"action":"completed","workflow_run":{"id":5,"run_attempt":1,"event":"pull_request","conclusion":"failure","head_sha":"` + head + `","head_repository":{"full_name":"fork/r"},"pull_requests":[]}`)
)

func event(fields string) string { return `{"repository":{"full_name":"o/r"},` + fields + `}` }

// project is a repository that uses the action as docs/workflows shows it, beside
// a code host that its workflows talk to.
type project struct {
	act, dir, store, bin string
	host                 *codehost.Server
	env                  []string
}

const projectBudget = `version: 1
targets:
  train_step:
    captures: captures
    budgets:
      plan.need_bytes: { max: 1 GiB }
`

func newProject(t *testing.T) *project {
	t.Helper()
	p := &project{act: findAct(t), dir: t.TempDir(), store: t.TempDir(), bin: t.TempDir(), host: codehost.New(t)}
	touchSources(t)
	api, storage := httptest.NewServer(p.host), httptest.NewServer(http.HandlerFunc(p.host.ServeStorage))
	t.Cleanup(api.Close)
	t.Cleanup(storage.Close)
	p.host.Storage = storage.URL
	p.host.Run = map[string]any{"id": 5, "head_sha": head, "event": "pull_request", "head_repository": map[string]any{"full_name": "fork/r"}}
	p.host.Pulls[7] = map[string]any{"number": 7, "state": "open", "head": map[string]any{"sha": head, "repo": map[string]any{"full_name": "fork/r"}}, "base": map[string]any{"repo": map[string]any{"full_name": "o/r"}}}
	realGo, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	p.env = []string{
		"GITHUB_API_URL=" + api.URL, "GITHUB_REPOSITORY=o/r", "GITHUB_RUN_ID=5", "GITHUB_RUN_ATTEMPT=1",
		"STORE=" + p.store, "CAPTURE=" + abs(t, "../fixtures/steady/xla/head.hlo.pb"), "REALGO=" + realGo,
	}
	program, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(p.bin, "peakgate")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(p.bin, "go"), string(read(t, "testdata/go.sh")))
	write(t, filepath.Join(p.bin, "python"), string(read(t, "testdata/train.sh")))
	write(t, filepath.Join(p.dir, "peakgate.yml"), projectBudget)
	write(t, filepath.Join(p.dir, "soak.yml"), "version: 1\ntargets:\n  soak:\n    captures: [soak.jsonl]\n    budgets: { footprint.peak_bytes: 9 GiB }\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "budget"}, {"remote", "add", "origin", "https://github.com/o/r"}} {
		if out, err := exec.Command("git", append([]string{"-C", p.dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return p
}

// programDir holds the program that stands for a released one.
var programDir string

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(programDir)
	os.Exit(code)
}

var buildProgram = sync.OnceValues(func() (path string, err error) {
	if programDir, err = os.MkdirTemp("", "peakgate-e2e-"); err != nil {
		return "", err
	}
	path = filepath.Join(programDir, "peakgate")
	if out, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "..").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return path, nil
})

// run runs a workflow and gives the text of its log; red is what becomes of it.
func (p *project) run(t *testing.T, name, payload, workflow string, red bool) string {
	t.Helper()
	log, err := run{act: p.act, event: name, payload: payload, dir: p.dir, workflow: workflow, env: p.env, path: p.bin, token: codehost.Token}.start(t)
	text := messages(log)
	if (err != nil) != red {
		t.Errorf("act: %v, want an error: %v\n%s", err, red, text)
	}
	if strings.Contains(text, codehost.Token) {
		t.Errorf("the token is in the log:\n%s", text)
	}
	if p.host.Leaked {
		t.Error("the token went to another host")
	}
	return text
}

// comment is the text of the one comment.
func (p *project) comment(t *testing.T) string {
	t.Helper()
	if len(p.host.Comments) != 1 {
		t.Errorf("%d comments, want one; requests %q", len(p.host.Comments), p.host.Requests)
		return ""
	}
	return p.host.Comments[0].Body
}

// TestPosting runs the workflow of the documentation for each event that it may
// meet. Each time a budget is broken, and nothing about comments changes that.
func TestPosting(t *testing.T) {
	memory := "../docs/workflows/memory.yml"
	for _, c := range []struct {
		name, event, payload string
		readOnly             bool
		log                  string
		comments             int
	}{
		{name: "a pull request", event: "pull_request", payload: pull, log: "comment: created ", comments: 1},
		{name: "a fork's", event: "pull_request", payload: fork, readOnly: true, log: "no comment: the token of a fork's pull request only reads"},
		{name: "merge queue", event: "merge_group", payload: mergeGroup, log: `no comment: the event "merge_group" has no pull request`},
		{name: "push", event: "push", payload: push, log: `no comment: the event "push" has no pull request`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProject(t)
			p.host.ReadOnly = c.readOnly
			workflow := memory
			if c.event == "push" {
				workflow = filepath.Join(t.TempDir(), "push.yml")
				write(t, workflow, strings.Replace(string(read(t, memory)), "  merge_group:\n", "  merge_group:\n  push:\n", 1))
			}
			log := p.run(t, c.event, c.payload, workflow, true)
			if strings.Count(log, c.log) != 1 || !strings.Contains(log, "exit status 1\n") {
				t.Errorf("want %q once, and the exit code of a broken budget, in\n%s", c.log, log)
			}
			if len(p.host.Comments) != c.comments {
				t.Errorf("%d comments, want %d", len(p.host.Comments), c.comments)
			}
			var result struct {
				Verdict string
				Head    struct {
					PullRequest int `json:"pull_request"`
				}
			}
			if err := json.Unmarshal(read(t, filepath.Join(p.store, "peakgate", "result.json")), &result); err != nil || result.Verdict != "fail" || (result.Head.PullRequest == 7) != (c.event == "pull_request") {
				t.Errorf("what was uploaded: %+v, %v", result, err)
			}
			if c.event == "pull_request" {
				p.afterwards(t, c.comments == 1)
			}
		})
	}
}

// afterwards runs the workflow that comments when the first has finished. It gives
// a fork's pull request its comment, and leaves one that is there as it is.
func (p *project) afterwards(t *testing.T, there bool) {
	p.host.ReadOnly = false
	p.host.Artifacts = map[string][]byte{"peakgate": zipped(t, filepath.Join(p.store, "peakgate"))}
	want := "comment: created "
	if there {
		want = "comment: unchanged "
	}
	if log := p.run(t, "workflow_run", finished, "../docs/workflows/comment.yml", false); !strings.Contains(log, want) {
		t.Errorf("want %q in\n%s", want, log)
	}
	if body := p.comment(t); !strings.Contains(body, "run=5.1") || !strings.Contains(body, "plan.need_bytes") {
		t.Errorf("the comment:\n%s", body)
	}
	if p.host.Judged() == nil {
		t.Log("PEAKGATE_OPENAPI is not set: requests are not held against GitHub's description of its API (.ci/run does)")
	}
}

// TestOwnWorkflows runs this repository's own gate, which asks the server for
// nothing, and then its comment workflow on what the gate has left, made red.
func TestOwnWorkflows(t *testing.T) {
	p := newProject(t)
	p.dir, p.env = "..", append(p.env, "GOFLAGS=-trimpath") // as action.yml builds, so that little is compiled anew
	p.run(t, "pull_request", fork, "../.github/workflows/gate.yml", false)
	if len(p.host.Requests) > 0 {
		t.Errorf("the gate asked the server: %q", p.host.Requests)
	}
	result := filepath.Join(p.store, "peakgate", "result.json")
	text := string(read(t, result))
	red := strings.Replace(text, `"verdict": "pass"`, `"verdict": "fail"`, 1)
	if red == text {
		t.Fatalf("the result is not that of the green job:\n%s", text)
	}
	write(t, result, red)
	p.host.Artifacts = map[string][]byte{"peakgate": zipped(t, filepath.Dir(result))}
	if log := p.run(t, "workflow_run", finished, "../.github/workflows/comment.yml", false); !strings.Contains(log, "comment: created ") {
		t.Errorf("no comment:\n%s", log)
	}
	p.comment(t)
}

// TestLegs: eight jobs that comment at the same time leave one comment.
func TestLegs(t *testing.T) {
	p := newProject(t)
	result := filepath.Join(t.TempDir(), "result.json")
	write(t, result, `{"schema":"peakgate.result/1","verdict":"fail","config":"peakgate.yml","head":{"commit":"","ref":""},"targets":[{"name":"leg LEG","verdict":"fail","checks":[]}]}`)
	p.env = append(p.env, "RESULT="+result)
	log := p.run(t, "pull_request", pull, "testdata/workflows/legs.yml", false)
	if n := strings.Count(log, "comment: "); n != 8 {
		t.Errorf("%d of 8 legs told of their comment:\n%s", n, log)
	}
	if body := p.comment(t); !strings.Contains(body, "leg ") {
		t.Errorf("the comment is of no leg:\n%s", body)
	}
	t.Logf("%d requests", len(p.host.Requests))
}

// TestSamples runs what docs/workflows has besides, but for dryrun.yml: it installs PyTorch.
func TestSamples(t *testing.T) {
	t.Run("matrix", func(t *testing.T) {
		p := newProject(t)
		log := p.run(t, "pull_request", pull, "../docs/workflows/matrix.yml", true)
		if body := p.comment(t); !strings.Contains(body, "captures/small/head.hlo.pb") || !strings.Contains(body, "captures/large/head.hlo.pb") {
			t.Errorf("the comment is not of both legs:\n%s\n%s", body, log)
		}
		p.afterwards(t, true) // as memory.yml: a fork's has its comment from there
	})
	t.Run("gpu", func(t *testing.T) {
		p := newProject(t)
		p.run(t, "pull_request", pull, "../docs/workflows/gpu.yml", true)
		p.comment(t)
	})
	t.Run("gpu, a fork's", func(t *testing.T) {
		p := newProject(t)
		log := p.run(t, "pull_request", fork, "../docs/workflows/gpu.yml", true)
		if len(p.host.Requests) > 0 || !strings.Contains(log, `Run Main test "$RESULT" = success`) {
			t.Errorf("want a job that fails and none that measures; requests %q\n%s", p.host.Requests, log)
		}
	})
	t.Run("nightly", func(t *testing.T) {
		p := newProject(t)
		p.run(t, "schedule", event(`"schedule":"17 2 * * *"`), "../docs/workflows/nightly.yml", false)
		for _, name := range []string{"soak.jsonl", "report/result.json"} {
			if len(read(t, filepath.Join(p.store, "soak", name))) == 0 {
				t.Errorf("%s is empty", name)
			}
		}
	})
}

// zipped is a folder as an artifact.
func zipped(t *testing.T, dir string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	if err := z.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
