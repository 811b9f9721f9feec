package cli

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

const token = "ghs_0123456789abcdef"

// codeHost is as much of GitHub as the command needs: comments of one pull
// request, its head, one run. It answers without a network.
type codeHost struct {
	comments []map[string]any
	statuses []string
	requests []string
	deny     bool   // writes are refused
	down     bool   // every request fails
	head     string // of pull request 7
}

func (h *codeHost) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.serve(w, r)
	response := w.Result()
	response.Request = r
	return response, nil
}

func (h *codeHost) serve(w http.ResponseWriter, r *http.Request) {
	send := func(code int, v any) {
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(v)
	}
	h.requests = append(h.requests, r.Method+" "+r.URL.Path)
	var body struct{ Body string }
	if r.Body != nil {
		data, _ := io.ReadAll(r.Body)
		json.Unmarshal(data, &body)
		if strings.Contains(r.URL.Path, "/statuses/") {
			h.statuses = append(h.statuses, string(data))
		}
	}
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	repo := map[string]any{"full_name": "o/r"}
	switch {
	case h.down:
		send(503, map[string]any{"message": "down"})
	case path == "/graphql":
		send(200, map[string]any{"data": map[string]any{"viewer": map[string]any{"login": "github-actions[bot]"}}})
	case path == "/user":
		send(200, map[string]any{"login": "gate"})
	case h.deny && r.Method != http.MethodGet:
		send(403, map[string]any{"message": "Resource not accessible by integration"})
	case path == "/repos/o/r/issues/7/comments" && r.Method == http.MethodGet:
		send(200, append([]map[string]any{}, h.comments...))
	case path == "/repos/o/r/issues/7/comments":
		login := "github-actions[bot]"
		if strings.HasPrefix(r.URL.Path, "/api/v1") {
			login = "gate"
		}
		h.comments = append(h.comments, map[string]any{"id": 100 + len(h.comments), "body": body.Body, "html_url": "https://github.test/o/r/pull/7#c", "user": map[string]any{"login": login, "type": "Bot"}})
		send(201, h.comments[len(h.comments)-1])
	case strings.HasPrefix(path, "/repos/o/r/issues/comments/"):
		h.comments[0]["body"] = body.Body
		send(200, h.comments[0])
	case strings.HasPrefix(path, "/repos/o/r/statuses/"):
		send(201, map[string]any{"id": 1})
	case path == "/repos/o/r/actions/runs/5":
		send(200, map[string]any{"id": 5, "head_sha": strings.Repeat("a", 40), "event": "pull_request", "head_repository": map[string]any{"full_name": "fork/r"}})
	case path == "/repos/o/r/pulls/7":
		send(200, map[string]any{"number": 7, "state": "open", "head": map[string]any{"sha": h.head, "repo": map[string]any{"full_name": "fork/r"}}, "base": map[string]any{"repo": repo}})
	default:
		send(404, map[string]any{"message": "Not Found"})
	}
}

func (h *codeHost) body() string {
	if len(h.comments) != 1 {
		return fmt.Sprintf("%d comments", len(h.comments))
	}
	return h.comments[0]["body"].(string)
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
func comment(t *testing.T, h *codeHost, env map[string]string, args ...string) (code int, out string) {
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
	head := strings.Repeat("a", 40)
	for _, c := range []struct {
		name string
		host codeHost
		env  map[string]string
		args []string
		code int
		log  string
		body string // in the one comment; empty: none
	}{
		{name: "a pull request", env: runner(t, pullEvent), args: []string{red}, log: "comment: created https://github.test", body: "peakgate: fail"},
		{name: "a fork's run, proved", host: codeHost{head: head}, env: runner(t, runEvent), args: []string{red}, log: "comment: created", body: "run=5.1"},
		{name: "a newer head", host: codeHost{head: strings.Repeat("b", 40)}, env: runner(t, runEvent), args: []string{red}, log: "newer head"},
		{name: "another pull request", host: codeHost{head: head}, env: runner(t, strings.ReplaceAll(runEvent, "fork/r", "o/r")), args: []string{red}, code: ExitNoData, log: "not proved"},
		{name: "no permission", host: codeHost{deny: true}, env: runner(t, pullEvent), args: []string{red}, log: "no comment: the server answered 403"},
		{name: "no permission, a fork", host: codeHost{deny: true}, env: runner(t, strings.Replace(pullEvent, `"repo":{"full_name":"o/r"}`, `"repo":null`, 1)), args: []string{red}, log: "the token of a fork's pull request only reads"},
		{name: "the server is down", host: codeHost{down: true}, env: runner(t, pullEvent), args: []string{red}, code: ExitNoData, log: "503"},
		{name: "a push", env: runner(t, `{"ref":"refs/heads/main"}`, "GITHUB_EVENT_NAME", "push"), args: []string{red}, log: `the event "push" has no pull request`},
		{name: "no event, --pull", env: runner(t, ""), args: []string{"--pull", "7", red}, log: "comment: created", body: "peakgate: fail"},
		{name: "green and on-failure", env: runner(t, pullEvent), args: []string{"--comment", "on-failure", green}, log: "nothing failed"},
		{name: "never", env: runner(t, pullEvent), args: []string{"--comment", "never", red}, log: "comment is never"},
		{name: "no token", env: runner(t, pullEvent, "PEAKGATE_TOKEN", ""), args: []string{red}, log: "there is no token"},
		{name: "no API", env: runner(t, pullEvent, "GITHUB_API_URL", ""), args: []string{red}, code: ExitNoData, log: "GITHUB_API_URL"},
		{name: "a broken event", env: runner(t, "{"), args: []string{red}, code: ExitNoData, log: "the JSON of an event"},
		{name: "no result", env: runner(t, pullEvent), args: []string{write(t, "x.json", `{}`)}, code: ExitUsage, log: "schema: expected"},
		{name: "no file", env: runner(t, pullEvent), args: []string{"nowhere.json"}, code: ExitUsage, log: "no such file"},
		{name: "no argument", env: runner(t, pullEvent), code: ExitUsage, log: "want one RESULT.json"},
		{name: "a wrong mode", env: runner(t, pullEvent), args: []string{"--comment", "often", red}, code: ExitUsage, log: "want always, on-failure, never"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := c.host
			code, out := comment(t, &h, c.env, c.args...)
			if code != c.code || !strings.Contains(out, c.log) {
				t.Errorf("exit code %d, log:\n%s\nwant %d, %q", code, out, c.code, c.log)
			}
			if c.body == "" && len(h.comments) > 0 || c.body != "" && !strings.Contains(h.body(), c.body) {
				t.Errorf("comment %q, want %q", h.body(), c.body)
			}
			if got := codeSpan.ReplaceAllString(h.body(), ""); strings.Contains(out+got, "@everyone") || strings.Contains(got, "<img") {
				t.Errorf("a hostile name got out: %s %s", out, got)
			}
		})
	}
}

// TestCommentRecovers: a green run turns the red comment green.
func TestCommentRecovers(t *testing.T) {
	h := &codeHost{}
	if code, out := comment(t, h, runner(t, pullEvent), write(t, "r.json", redResult)); code != 0 {
		t.Fatal(code, out)
	}
	green := write(t, "g.json", strings.ReplaceAll(redResult, `"fail"`, `"pass"`))
	code, out := comment(t, h, runner(t, pullEvent, "GITHUB_RUN_ID", "10"), "--comment", "on-failure", green)
	if code != 0 || !strings.Contains(out, "comment: updated") || !strings.Contains(h.body(), "peakgate: pass") {
		t.Errorf("%d: %s\n%s", code, out, h.body())
	}
}

// TestCommentGitea: there a status stands in for annotations, and the comment is
// found by the login of the token.
func TestCommentGitea(t *testing.T) {
	h := &codeHost{}
	env := runner(t, pullEvent, "GITHUB_API_URL", "https://gitea.test/api/v1")
	red := write(t, "r.json", redResult)
	for _, want := range []string{"created", "unchanged"} {
		if code, out := comment(t, h, env, red); code != 0 || !strings.Contains(out, "comment: "+want) {
			t.Errorf("%d: %s, want %s", code, out, want)
		}
	}
	if len(h.statuses) != 2 || !strings.Contains(h.statuses[0], `"failure"`) || !strings.Contains(h.statuses[0], "actions/runs/9") {
		t.Errorf("statuses %q", h.statuses)
	}
}

// TestCommentZip: an artifact is a zip. One file of it is read, by its name, and
// nothing is unpacked.
func TestCommentZip(t *testing.T) {
	archive := func(names ...string) string {
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
		return write(t, "a.zip", out.String())
	}
	for _, c := range []struct {
		file string
		code int
		want string
	}{
		{archive("report.md", "result.json"), 0, "comment: created"},
		{archive("../result.json", "x/result.json"), ExitUsage, "2 files without it"},
		{write(t, "b.zip", "PK\x03\x04 and nothing more"), ExitUsage, "expected a zip"},
	} {
		if code, out := comment(t, &codeHost{}, runner(t, pullEvent), c.file); code != c.code || !strings.Contains(out, c.want) {
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
		host               codeHost
		code               int
		log, body          string
	}{
		{"red", "fixtures/regression/peakgate.yml", "", codeHost{}, ExitFail, "comment: created", "peakgate: fail"},
		{"green", "peakgate.yml", "", codeHost{}, ExitPass, "nothing failed", ""},
		{"green, always", "peakgate.yml", "always", codeHost{}, ExitPass, "comment: created", "peakgate: pass"},
		{"no permission", "fixtures/regression/peakgate.yml", "", codeHost{deny: true}, ExitFail, "needs permissions: pull-requests: write", ""},
		{"the server is down", "peakgate.yml", "always", codeHost{down: true}, ExitPass, "no comment: the server answered 503", ""},
		{"a wrong mode", "peakgate.yml", "sometimes", codeHost{}, ExitUsage, "want always, on-failure, never", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			env := runner(t, pullEvent, "GITHUB_WORKSPACE", root, "RUNNER_TEMP", dir, "GITHUB_STEP_SUMMARY", filepath.Join(dir, "summary"), "GITHUB_OUTPUT", filepath.Join(dir, "output"),
				"PEAKGATE_CONFIG", filepath.Join(root, c.config), "PEAKGATE_COMMENT", c.mode)
			var out bytes.Buffer
			h := c.host
			var code int
			synctest.Test(t, func(t *testing.T) {
				code = Main([]string{"action"}, Streams{Stdout: &out, Stderr: &out, Getenv: func(k string) string { return env[k] }, Transport: &h})
				time.Sleep(time.Minute)
			})
			if code != c.code || !strings.Contains(out.String(), c.log) {
				t.Errorf("exit code %d, want %d; log without %q:\n%s", code, c.code, c.log, out.String())
			}
			if c.body == "" && len(h.comments) > 0 || c.body != "" && !strings.Contains(h.body(), c.body) {
				t.Errorf("comment %q, want %q", h.body(), c.body)
			}
		})
	}
}
