package cli

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/peakgate/peakgate/internal/codehost"
)

const token = codehost.Token

var (
	sha      = strings.Repeat("a", 40)
	otherSHA = strings.Repeat("b", 40)
)

// newHost is a code host with pull request 7, of a fork, and the run 5 of it.
func newHost(t *testing.T, set ...func(*codehost.Server)) *codehost.Server {
	h := codehost.New(t)
	h.Run = map[string]any{"id": 5, "head_sha": sha, "event": "pull_request", "head_repository": map[string]any{"full_name": "fork/r"}}
	head(sha)(h)
	for _, f := range set {
		if f != nil {
			f(h)
		}
	}
	return h
}

// head sets the head of the pull request.
func head(commit string) func(*codehost.Server) {
	return func(h *codehost.Server) {
		h.Pulls[7] = map[string]any{"number": 7, "state": "open", "head": map[string]any{"sha": commit, "repo": map[string]any{"full_name": "fork/r"}}, "base": map[string]any{"repo": map[string]any{"full_name": "o/r"}}}
	}
}

func readOnly(h *codehost.Server) { h.ReadOnly = true }

func down(h *codehost.Server) {
	h.Fault = func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		codehost.Answer(w, 503, map[string]any{"message": "down"})
		return true
	}
}

// failing answers the first requests whose path holds a part with a code.
func failing(part string, code, times int) func(*codehost.Server) {
	return func(h *codehost.Server) {
		h.Fault = func(w http.ResponseWriter, r *http.Request, _ int) bool {
			if !strings.Contains(r.URL.Path, part) || times == 0 {
				return false
			}
			times--
			codehost.Answer(w, code, map[string]any{"message": "no"})
			return true
		}
	}
}

func gitea(h *codehost.Server) { h.Plain, h.Login = true, "gate" }

// body is the one comment's.
func body(h *codehost.Server) string {
	if len(h.Comments) != 1 {
		return fmt.Sprintf("%d comments", len(h.Comments))
	}
	return h.Comments[0].Body
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	pullEvent = `{"number":7,"repository":{"full_name":"o/r"},"pull_request":{"number":7,"head":{"sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","repo":{"full_name":"o/r"}}}}`
	runEvent  = `{"repository":{"full_name":"o/r"},"workflow_run":{"id":5,"run_attempt":1,"head_sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","head_repository":{"full_name":"fork/r"},"pull_requests":[]}}`
	redResult = `{"schema":"peakgate.result/1","verdict":"fail","config":"peakgate.yml","head":{"commit":"","ref":"","pull_request":7},"targets":[{"name":"@everyone <img src=x>","verdict":"fail","checks":[{"metric":"plan.need_bytes","unit":"B","verdict":"fail","head":500,"base":100,"failed":["growth"],"reason":"grew"}]}]}`
)

var codeSpan = regexp.MustCompile("`[^`]*`")

// runner gives the variables of a run of GitHub Actions.
func runner(t *testing.T, event string, more ...string) map[string]string {
	env := map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_API_URL": "https://api.github.test", "GITHUB_SERVER_URL": "https://github.test", "GITHUB_REPOSITORY": "o/r",
		"GITHUB_RUN_ID": "9", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_EVENT_NAME": "pull_request", "PEAKGATE_TOKEN": token,
	}
	if event != "" {
		env["GITHUB_EVENT_PATH"] = write(t, "event.json", event)
	}
	for i := 0; i < len(more); i += 2 {
		env[more[i]] = more[i+1]
	}
	return env
}

// comment runs the command in virtual time.
func comment(t *testing.T, h *codehost.Server, env map[string]string, args ...string) (code int, out string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		code = Main(append([]string{"comment"}, args...), Streams{Stdout: &stdout, Stderr: &stderr, Getenv: func(k string) string { return env[k] }, Transport: h})
		time.Sleep(time.Minute) // the timers of answered requests end
	})
	out = stdout.String() + stderr.String()
	if strings.Contains(strings.ReplaceAll(out, "::add-mask::"+token, ""), token) {
		t.Errorf("the token is in the log: %s", out)
	}
	return code, out
}

func TestComment(t *testing.T) {
	red := write(t, "r.json", redResult)
	green := write(t, "g.json", strings.ReplaceAll(redResult, `"fail"`, `"pass"`))
	for _, c := range []struct {
		name string
		host func(*codehost.Server)
		env  map[string]string
		args []string
		code int
		log  string
		body string // in the one comment; empty: none
	}{
		{name: "a pull request", env: runner(t, pullEvent), args: []string{red}, log: "comment: created https://github.test", body: "peakgate: fail"},
		{name: "a fork's run, proved", env: runner(t, runEvent), args: []string{red}, log: "comment: created", body: "run=5.1"},
		{name: "a newer head", host: head(otherSHA), env: runner(t, runEvent), args: []string{red}, log: "newer head"},
		{name: "another pull request", env: runner(t, strings.ReplaceAll(runEvent, "fork/r", "o/r")), args: []string{red}, code: ExitNoData, log: "not proved"},
		{name: "no permission", host: readOnly, env: runner(t, pullEvent), args: []string{red}, log: "no comment: the server answered 403"},
		{name: "no permission, a fork", host: readOnly, env: runner(t, strings.Replace(pullEvent, `"repo":{"full_name":"o/r"}`, `"repo":null`, 1)), args: []string{red}, log: "the token of a fork's pull request only reads"},
		{name: "the server is down", host: down, env: runner(t, pullEvent), args: []string{red}, code: ExitNoData, log: "503"},
		{name: "a push", env: runner(t, `{"ref":"refs/heads/main"}`, "GITHUB_EVENT_NAME", "push"), args: []string{red}, log: `the event "push" has no pull request`},
		{name: "no event, --pull", env: runner(t, ""), args: []string{"--pull", "7", red}, log: "comment: created", body: "peakgate: fail"},
		{name: "green and on-failure", env: runner(t, pullEvent), args: []string{"--comment", "on-failure", green}, log: "nothing failed"},
		{name: "never", env: runner(t, pullEvent), args: []string{"--comment", "never", red}, log: "comment is never"},
		{name: "a check run that is refused", host: failing("/check-runs", 422, 9), env: runner(t, pullEvent), args: []string{"--check", "run", red}, code: ExitNoData, log: "no check: the server answered 422", body: "peakgate: fail"},
		{name: "a check run without permission", host: failing("/check-runs", 403, 9), env: runner(t, pullEvent), args: []string{"--check", "run", red}, log: "no check: the server answered 403: no; it needs permissions: checks: write", body: "peakgate: fail"},
		{name: "a status that is refused", host: failing("/statuses/", 404, 9), env: runner(t, pullEvent), args: []string{"--check", "status", red}, code: ExitNoData, log: "comment: created", body: "peakgate: fail"},
		{name: "a status, once without an answer", host: failing("/statuses/", 502, 1), env: runner(t, pullEvent), args: []string{"--check", "status", red}, log: "comment: created", body: "peakgate: fail"},
		{name: "no token", env: runner(t, pullEvent, "PEAKGATE_TOKEN", ""), args: []string{red}, log: "there is no token"},
		{name: "no API", env: runner(t, pullEvent, "GITHUB_API_URL", ""), args: []string{red}, code: ExitNoData, log: "GITHUB_API_URL"},
		{name: "a broken event", env: runner(t, "{"), args: []string{red}, code: ExitNoData, log: "the JSON of an event"},
		{name: "an event of another kind", env: runner(t, `[]`), args: []string{red}, code: ExitNoData, log: "the whole holds another kind of value: array"},
		{name: "a number that is none", env: runner(t, strings.ReplaceAll(pullEvent, "7", `"7"`)), args: []string{red}, code: ExitNoData, log: "pull_request.number holds another kind of value: string"},
		{name: "a commit that leads elsewhere", env: runner(t, strings.ReplaceAll(pullEvent, sha, "../../../evil")), args: []string{"--check", "status", red}, code: ExitNoData, log: "no commit's hash"},
		{name: "no result", env: runner(t, pullEvent), args: []string{write(t, "x.json", `{}`)}, code: ExitUsage, log: "schema: expected"},
		{name: "no file", env: runner(t, pullEvent), args: []string{"nowhere.json"}, code: ExitUsage, log: "no such file"},
		{name: "no argument", env: runner(t, pullEvent), code: ExitUsage, log: "want one RESULT.json"},
		{name: "a wrong mode", env: runner(t, pullEvent), args: []string{"--comment", "often", red}, code: ExitUsage, log: "want always, on-failure, never"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t, c.host)
			code, out := comment(t, h, c.env, c.args...)
			if code != c.code || !strings.Contains(out, c.log) {
				t.Errorf("exit code %d, log:\n%s\nwant %d, %q", code, out, c.code, c.log)
			}
			if c.body == "" && len(h.Comments) > 0 || c.body != "" && !strings.Contains(body(h), c.body) {
				t.Errorf("comment %q, want %q", body(h), c.body)
			}
			if got := codeSpan.ReplaceAllString(body(h), ""); strings.Contains(out+got, "@everyone") || strings.Contains(got, "<img") {
				t.Errorf("a hostile name got out: %s %s", out, got)
			}
		})
	}
}

// TestCommentRecovers: a green run turns the red comment green.
func TestCommentRecovers(t *testing.T) {
	h := newHost(t)
	if code, out := comment(t, h, runner(t, pullEvent), write(t, "r.json", redResult)); code != 0 {
		t.Fatal(code, out)
	}
	green := write(t, "g.json", strings.ReplaceAll(redResult, `"fail"`, `"pass"`))
	code, out := comment(t, h, runner(t, pullEvent, "GITHUB_RUN_ID", "10"), "--comment", "on-failure", green)
	if code != 0 || !strings.Contains(out, "comment: updated") || !strings.Contains(body(h), "peakgate: pass") {
		t.Errorf("%d: %s\n%s", code, out, body(h))
	}
}

// TestCommentGitea: there a status stands in for annotations, and the comment is
// found by the login of the token.
func TestCommentGitea(t *testing.T) {
	h := newHost(t, gitea)
	env := runner(t, pullEvent, "GITHUB_API_URL", codehost.Gitea)
	red := write(t, "r.json", redResult)
	for _, want := range []string{"created", "unchanged"} {
		if code, out := comment(t, h, env, red); code != 0 || !strings.Contains(out, "comment: "+want) {
			t.Errorf("%d: %s, want %s", code, out, want)
		}
	}
	if len(h.Statuses) != 2 || !strings.Contains(h.Statuses[0], `"failure"`) || !strings.Contains(h.Statuses[0], "actions/runs/9") {
		t.Errorf("statuses %q", h.Statuses)
	}
}

// zipped is an artifact that holds a red result under each name.
func zipped(t *testing.T, names ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, name := range names {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, redResult)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestCommentWithoutVerdict: a run that comes to no verdict does not leave an earlier
// run's green comment as if it were its own.
func TestCommentWithoutVerdict(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "peakgate.yml")
	h := newHost(t, gitea)
	env := runner(t, pullEvent, "GITHUB_API_URL", codehost.Gitea, "RUNNER_TEMP", dir, "GITHUB_STEP_SUMMARY", filepath.Join(dir, "summary"),
		"GITHUB_OUTPUT", filepath.Join(dir, "output"), "PEAKGATE_CONFIG", config, "PEAKGATE_COMMENT", "always")
	series := filepath.Join(dir, "peakgate-series.csv")
	const budgets = "version: 1\ntargets: { t: { captures: [peakgate-series.csv], budgets: { series.peak_bytes: { max: "
	for i, c := range []struct{ limit, want string }{{"1 GiB", "peakgate: pass"}, {"9.5", "peakgate came to no verdict"}, {"1 GiB", "peakgate: pass"}} {
		for name, text := range map[string]string{series: "step,rss_mib\n1,2\n2,2\n", config: budgets + c.limit + " } } } }\n"} {
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		env["GITHUB_RUN_ID"] = strconv.Itoa(100 + i)
		var out bytes.Buffer
		synctest.Test(t, func(t *testing.T) {
			Main([]string{"action"}, Streams{Stdout: &out, Stderr: &out, Getenv: func(k string) string { return env[k] }, Transport: h})
			time.Sleep(time.Minute)
		})
		if len(h.Comments) != 1 || !strings.Contains(body(h), c.want) {
			t.Errorf("%d comments, want one with %q: %q\n%s", len(h.Comments), c.want, body(h), out.String())
		}
		if want := map[bool]string{true: `"state":"error"`, false: `"state":"success"`}[i == 1]; len(h.Statuses) != i+1 || !strings.Contains(h.Statuses[i], want) {
			t.Errorf("statuses %q, want %s", h.Statuses, want)
		}
	}
}

// TestKeys: gates of other budgets and of other folders have comments and checks of
// their own, and none turns another's green.
func TestKeys(t *testing.T) {
	h := newHost(t, gitea)
	env := runner(t, pullEvent, "GITHUB_API_URL", codehost.Gitea)
	inFolder := strings.Replace(redResult, `"head":{`, `"head":{"folder":"b",`, 1)
	for i, c := range []struct{ result, name string }{
		{redResult, `"peakgate"`},
		{strings.Replace(redResult, "peakgate.yml", "soak.yml", 1), `"peakgate (soak.yml)"`},
		{inFolder, `"peakgate (b/peakgate.yml)"`},
		{strings.Replace(inFolder, "peakgate.yml", "../c/peakgate.yml", 1), `"peakgate (c/peakgate.yml)"`},
		{strings.Replace(redResult, "peakgate.yml", strings.Repeat("long", 99), 1), `"peakgate (longlong`},
	} {
		if code, out := comment(t, h, env, write(t, "r.json", c.result)); code != 0 || !strings.Contains(out, "comment: created") {
			t.Errorf("%s: %d: %s", c.name, code, out)
		}
		if len(h.Statuses) != i+1 || !strings.Contains(h.Statuses[i], `"context":`+c.name) || len(h.Statuses[i]) > 600 {
			t.Errorf("%s: statuses %q", c.name, h.Statuses)
		}
	}
}

// TestCommentArtifact: what the finished run has uploaded is fetched from the
// server's storage, which sees no token, and taken for a stranger's.
func TestCommentArtifact(t *testing.T) {
	good := zipped(t, "result.json")
	left := func(name string, data []byte) func(*codehost.Server) {
		return func(h *codehost.Server) { h.Artifacts = map[string][]byte{"other": nil, name: data} }
	}
	for _, c := range []struct {
		name  string
		host  func(*codehost.Server)
		event string
		args  []string
		code  int
		log   string
		made  bool
	}{
		{name: "a fork's", host: left("peakgate", good), log: "comment: created", made: true},
		{name: "of a newer head", host: func(h *codehost.Server) { left("peakgate", good)(h); head(otherSHA)(h) }, log: "newer head"},
		{name: "none", host: left("peakgate2", good), log: "::warning title=peakgate::no comment: run 5: the run has left no such artifact"},
		{name: "no zip", host: left("peakgate", []byte("text")), code: ExitUsage, log: "artifact peakgate: expected a zip"},
		{name: "another file", host: left("peakgate", zipped(t, "../result.json")), code: ExitUsage, log: "1 files without it"},
		{name: "too large", host: left("peakgate", make([]byte, maxArtifact+1)), code: ExitNoData, log: "expected at most 16777216 bytes"},
		{name: "the server is down", host: down, code: ExitNoData, log: "503"},
		{name: "another event", host: left("peakgate", good), event: pullEvent, code: ExitNoData, log: "expected an event workflow_run"},
		{name: "a file too", args: []string{"result.json"}, code: ExitUsage, log: "got both"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHost(t, c.host)
			code, out := comment(t, h, runner(t, cmp.Or(c.event, runEvent)), append([]string{"--artifact", "peakgate"}, c.args...)...)
			if code != c.code || !strings.Contains(out, c.log) || (len(h.Comments) == 1) != c.made {
				t.Errorf("exit code %d, %d comments, log:\n%s\nwant %d, %q", code, len(h.Comments), out, c.code, c.log)
			}
			if h.Leaked {
				t.Error("the token went to the storage")
			}
		})
	}
}

// TestCommentZip: an artifact is a zip. One file of it is read, by its name, and
// nothing is unpacked.
func TestCommentZip(t *testing.T) {
	archive := func(names ...string) string { return write(t, "a.zip", string(zipped(t, names...))) }
	for _, c := range []struct {
		file string
		code int
		want string
	}{
		{archive("report.md", "result.json"), 0, "comment: created"},
		{archive("../result.json", "x/result.json"), ExitUsage, "2 files without it"},
		{write(t, "b.zip", "PK\x03\x04 and nothing more"), ExitUsage, "expected a zip"},
	} {
		if code, out := comment(t, newHost(t), runner(t, pullEvent), c.file); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%d: %s, want %q", code, out, c.want)
		}
	}
}

// TestActionComments: the step comments after the verdict, and no trouble with
// the server changes its exit code.
func TestActionComments(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, config, mode string
		host               func(*codehost.Server)
		code               int
		log, body          string
	}{
		{"red", "fixtures/regression/peakgate.yml", "", nil, ExitFail, "comment: created", "peakgate: fail"},
		{"green", "peakgate.yml", "", nil, ExitPass, "nothing failed", ""},
		{"green, always", "peakgate.yml", "always", nil, ExitPass, "comment: created", "peakgate: pass"},
		{"no permission", "fixtures/regression/peakgate.yml", "", readOnly, ExitFail, "needs permissions: pull-requests: write", ""},
		{"the server is down", "peakgate.yml", "always", down, ExitPass, "no comment: the server answered 503", ""},
		{"a wrong mode", "peakgate.yml", "sometimes", nil, ExitUsage, "want always, on-failure, never", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			env := runner(t, pullEvent, "GITHUB_WORKSPACE", root, "RUNNER_TEMP", dir, "GITHUB_STEP_SUMMARY", filepath.Join(dir, "summary"), "GITHUB_OUTPUT", filepath.Join(dir, "output"),
				"PEAKGATE_CONFIG", filepath.Join(root, c.config), "PEAKGATE_COMMENT", c.mode)
			var out bytes.Buffer
			h := newHost(t, c.host)
			var code int
			synctest.Test(t, func(t *testing.T) {
				code = Main([]string{"action"}, Streams{Stdout: &out, Stderr: &out, Getenv: func(k string) string { return env[k] }, Transport: h})
				time.Sleep(time.Minute)
			})
			if code != c.code || !strings.Contains(out.String(), c.log) {
				t.Errorf("exit code %d, want %d; log without %q:\n%s", code, c.code, c.log, out.String())
			}
			if c.body == "" && len(h.Comments) > 0 || c.body != "" && !strings.Contains(body(h), c.body) {
				t.Errorf("comment %q, want %q", body(h), c.body)
			}
		})
	}
}
