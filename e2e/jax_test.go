package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// withJAX names a Python that has JAX. .ci/run makes one, of a pinned version.
const withJAX = "PEAKGATE_JAX_PYTHON"

// TestRunOfJAX: a program that writes no capture is run at the base and at the head,
// which are one line apart, and the line whose memory that is goes red.
func TestRunOfJAX(t *testing.T) {
	python := os.Getenv(withJAX)
	if python == "" {
		if os.Getenv(required) != "" {
			t.Fatalf("%s is not set: want a Python that has JAX", withJAX)
		}
		t.Skipf("%s is not set: .ci/run makes a Python that has JAX", withJAX)
	}
	dir, bin := t.TempDir(), filepath.Join(t.TempDir(), "peakgate")
	env := append(os.Environ(), "PATH="+filepath.Dir(python)+string(filepath.ListSeparator)+os.Getenv("PATH"), "JAX_PLATFORMS=cpu",
		"GITHUB_ACTIONS=", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	run := func(dir, name string, args ...string) (stdout, stderr string, code int) {
		t.Helper()
		cmd := exec.Command(name, args...)
		var out, log bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &log
		if err := cmd.Run(); cmd.ProcessState == nil {
			t.Fatalf("%s: %v", name, err)
		}
		return out.String(), log.String(), cmd.ProcessState.ExitCode()
	}
	must := func(dir, name string, args ...string) {
		t.Helper()
		if _, log, code := run(dir, name, args...); code != 0 {
			t.Fatalf("%s %v: exit code %d\n%s", name, args, code, log)
		}
	}
	program := read(t, "testdata/jax/train.py")
	changed := bytes.Replace(program, []byte("jax.checkpoint(layer)"), []byte("layer"), 1)
	if bytes.Equal(program, changed) {
		t.Fatal("testdata/jax/train.py does not have the line that is changed")
	}
	write := func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	must(".", "go", "build", "-o", bin, "..")
	write("train.py", program)
	write("peakgate.yml", read(t, "testdata/jax/peakgate.yml"))
	must(dir, "git", "init", "-q", "-b", "main")
	must(dir, "git", "add", ".")
	must(dir, "git", "commit", "-q", "-m", "base")
	must(dir, "git", "checkout", "-q", "-b", "change")

	write("train.py", changed)
	must(dir, "git", "commit", "-q", "-a", "-m", "change")
	report, log, code := run(dir, bin, "check", "--report", "json=result.json")
	t.Log(report)
	if code != 1 {
		t.Fatalf("exit code %d, want 1\n%s", code, log)
	}
	// The line that the layer's activations are allocated at, and the one that was changed.
	for _, want := range []string{
		"FAIL: train: plan.need_bytes grew by ", "train.py:12 layer", "train.py:20 ", "remat lost", "put jax.checkpoint back",
		"base commit ", "run/xla/",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not have %q", want)
		}
	}
	var result struct {
		Targets []struct {
			Base   struct{ Kind string }
			Checks []struct {
				Kind         string
				Head, Base   int64
				Contributors []struct {
					Source *struct {
						File string
						Line int
					}
				}
			}
		}
	}
	if err := json.Unmarshal(read(t, filepath.Join(dir, "result.json")), &result); err != nil {
		t.Fatal(err)
	}
	check := result.Targets[0].Checks[0]
	if result.Targets[0].Base.Kind != "run" || check.Kind != "exact" || check.Head-check.Base < 6<<20 {
		t.Errorf("%+v", result.Targets[0])
	}
	if s := check.Contributors[0].Source; s == nil || s.File != "train.py" || s.Line != 12 {
		t.Errorf("the largest part is at %+v, want train.py:12", s)
	}
	if !strings.Contains(log, "step 2: loss ") {
		t.Errorf("what the program printed is not there:\n%s", log)
	}
	// Nothing is left behind.
	if out, _, _ := run(dir, "git", "worktree", "list", "--porcelain"); strings.Count(out, "worktree ") != 1 {
		t.Errorf("worktrees are left: %s", out)
	}
	if out, _, _ := run(dir, "git", "status", "--porcelain"); strings.TrimSpace(out) != "?? result.json" {
		t.Errorf("the repository is not as it was: %s", out)
	}

	// With the line put back it is green: two runs of one program have one plan.
	write("train.py", append(program, "\n# nothing to see here\n"...))
	must(dir, "git", "commit", "-q", "-a", "-m", "back")
	if report, log, code := run(dir, bin, "check"); code != 0 || !strings.Contains(report, "unchanged") {
		t.Errorf("the line put back: exit code %d\n%s%s", code, report, log)
	}
}
