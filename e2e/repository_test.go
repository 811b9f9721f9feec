package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// withPython gives the Python that a variable names. .ci/run makes it, with a framework
// of a pinned version.
func withPython(t *testing.T, variable, framework string) string {
	t.Helper()
	python := os.Getenv(variable)
	if python == "" {
		if os.Getenv(required) != "" {
			t.Fatalf("%s is not set: want a Python that has %s", variable, framework)
		}
		t.Skipf("%s is not set: .ci/run makes a Python that has %s", variable, framework)
	}
	return python
}

// repository is a repository of somebody who uses peakgate, and has a Python.
type repository struct {
	dir, bin string
	env      []string
}

func newRepository(t *testing.T, python string, env ...string) *repository {
	t.Helper()
	r := &repository{dir: t.TempDir(), bin: filepath.Join(t.TempDir(), "peakgate")}
	r.env = append(os.Environ(), "PATH="+filepath.Dir(python)+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"GITHUB_ACTIONS=", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "PYTHONDONTWRITEBYTECODE=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	r.env = append(r.env, env...)
	if out, err := exec.Command("go", "build", "-o", r.bin, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return r
}

// begin commits what is there to main, and leaves it for a branch.
func (r *repository) begin(t *testing.T) {
	t.Helper()
	r.git(t, "init", "-q", "-b", "main")
	r.git(t, "add", ".")
	r.git(t, "commit", "-q", "-m", "base")
	r.git(t, "checkout", "-q", "-b", "change")
}

func (r *repository) write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func (r *repository) git(t *testing.T, args ...string) string {
	t.Helper()
	out, log, code := r.run(t, "git", args...)
	if code != 0 {
		t.Fatalf("git %v: exit code %d\n%s", args, code, log)
	}
	return out
}

func (r *repository) peakgate(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return r.run(t, r.bin, args...)
}

func (r *repository) run(t *testing.T, name string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(name, args...)
	var out, log bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = r.dir, r.env, &out, &log
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatalf("%s: %v", name, err)
	}
	return out.String(), log.String(), cmd.ProcessState.ExitCode()
}
