package base

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// repo is a real repository that a test makes with git.
type repo struct {
	t   testing.TB
	dir string
	env map[string]string // what the code under test and git see
}

// zero is the time of an imported commit, in seconds.
const zero = 1_700_000_000

func newRepo(t testing.TB) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("these tests need git: ", err)
	}
	home := t.TempDir()
	r := &repo{t: t, dir: filepath.Join(t.TempDir(), "a repo"), env: map[string]string{
		"PATH": os.Getenv("PATH"), "HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1",
		"SystemRoot": os.Getenv("SystemRoot"), "TEMP": os.Getenv("TEMP"),
	}}
	global := "[user]\n name = A\n email = a@example.org\n[init]\n defaultBranch = main\n[protocol \"file\"]\n allow = always\n[commit]\n gpgSign = false\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(global), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git("init", "-q")
	return r
}

// beside is another folder with the same home.
func (r *repo) beside(name string) *repo {
	return &repo{r.t, filepath.Join(filepath.Dir(r.dir), name), maps.Clone(r.env)}
}

func (r *repo) getenv(name string) string { return r.env[name] }

// tryGit runs git as the test, not as the code under test.
func (r *repo) tryGit(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	for k, v := range r.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

func (r *repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.tryGit(args...)
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

// sh runs a command that a message advised.
func (r *repo) sh(command string) {
	r.t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = r.dir
	for k, v := range r.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

func (r *repo) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// commit writes files (name, text, name, text …) and commits all; it gives the SHA.
func (r *repo) commit(message string, files ...string) string {
	r.t.Helper()
	for i := 0; i < len(files); i += 2 {
		r.write(files[i], files[i+1])
	}
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.sha("HEAD")
}

func (r *repo) sha(rev string) string { r.t.Helper(); return r.git("rev-parse", rev) }

func (r *repo) open() *Repository {
	r.t.Helper()
	return r.openAt("peakgate.yml")
}

func (r *repo) openAt(budget string) *Repository {
	r.t.Helper()
	repository, err := Open(filepath.Join(r.dir, budget), r.getenv)
	if err != nil {
		r.t.Fatal(err)
	}
	return repository
}

// at is the tree of a revision.
func (r *repo) at(budget, rev string) *Tree {
	r.t.Helper()
	repository := r.openAt(budget)
	c, err := repository.Base(rev)
	if err != nil {
		r.t.Fatal(err)
	}
	tree, err := repository.At(c)
	if err != nil {
		r.t.Fatal(err)
	}
	return tree
}

// event makes the environment that of a workflow.
func (r *repo) event(name string, payload map[string]any, env ...string) {
	r.t.Helper()
	data, err := json.Marshal(payload)
	if err != nil {
		r.t.Fatal(err)
	}
	path := filepath.Join(r.t.TempDir(), "event.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.env["GITHUB_ACTIONS"], r.env["GITHUB_EVENT_NAME"], r.env["GITHUB_EVENT_PATH"] = "true", name, path
	for i := 0; i < len(env); i += 2 {
		r.env[env[i]] = env[i+1]
	}
}

type object = map[string]any

func pull(head, base string) object {
	return object{"number": 7, "pull_request": object{"head": object{"sha": head, "ref": "feature"}, "base": object{"sha": base, "ref": "main"}}}
}

// want asks for the base and compares.
func (r *repo) want(sha, how string) {
	r.t.Helper()
	c, err := r.open().Base("")
	if err != nil {
		r.t.Fatalf("base: %v; want %s", err, how)
	}
	if c.SHA != sha || c.How != how {
		r.t.Errorf("base is %s, %q (%s)\nwant    %s, %q", c.Short(), c.How, c.Ref, sha[:min(12, len(sha))], how)
	}
}

// wantError asks for the base and gives the command that the error names.
func (r *repo) wantError(part string) string {
	r.t.Helper()
	c, err := r.open().Base("")
	if err == nil {
		r.t.Fatalf("base is %s, %q; want an error with %q", c.Short(), c.How, part)
	}
	wantLine(r.t, err, part)
	_, command, _ := strings.Cut(err.Error(), "run `")
	command, _, _ = strings.Cut(command, "`")
	return command
}

// wantLine checks that an error is one line that holds a part.
func wantLine(t testing.TB, err error, part string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", part)
	}
	if s := err.Error(); !strings.Contains(s, part) || strings.ContainsAny(s, "\n\r") || strings.HasSuffix(s, ".") {
		t.Errorf("error %q\nwant one line with %q and no full stop", s, part)
	}
}

// measured is the JSON of a measurement with one row.
func measured(target string, bytes_ int64) string {
	m := measure.New()
	m.Target = target
	m.Rows = append(m.Rows, measure.NewRow("live.peak_bytes", measure.Labels{"device": "0"}, measure.Int(bytes_)))
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	if err := e.Encode(m); err != nil {
		panic(err)
	}
	return out.String()
}

// peaks gives the values of all rows, with the label file where there is one.
func peaks(m *measure.Measurement) string {
	var out []string
	for _, r := range m.Rows {
		n, _ := r.Value.Int64()
		s := fmt.Sprint(n)
		if f := r.Labels["file"]; f != "" {
			s = f + "=" + s
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func inputs(m *measure.Measurement) string {
	var out []string
	for _, in := range m.Inputs {
		out = append(out, in.Path)
	}
	return strings.Join(out, " ")
}
