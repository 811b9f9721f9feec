package e2e

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunOfJAX: a program that writes no capture is run at the base and at the head,
// which are one line apart, and the line whose memory that is goes red.
func TestRunOfJAX(t *testing.T) {
	r := newRepository(t, withPython(t, "PEAKGATE_JAX_PYTHON", "JAX"), "JAX_PLATFORMS=cpu")
	program := read(t, "testdata/jax/train.py")
	changed := bytes.Replace(program, []byte("jax.checkpoint(layer)"), []byte("layer"), 1)
	if bytes.Equal(program, changed) {
		t.Fatal("testdata/jax/train.py does not have the line that is changed")
	}
	r.write(t, "train.py", program)
	r.write(t, "peakgate.yml", read(t, "testdata/jax/peakgate.yml"))
	r.begin(t)

	r.write(t, "train.py", changed)
	r.git(t, "commit", "-q", "-a", "-m", "change")
	report, log, code := r.peakgate(t, "check", "--report", "json=result.json")
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
	if err := json.Unmarshal(read(t, filepath.Join(r.dir, "result.json")), &result); err != nil {
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
	if out := r.git(t, "worktree", "list", "--porcelain"); strings.Count(out, "worktree ") != 1 {
		t.Errorf("worktrees are left: %s", out)
	}
	if out := r.git(t, "status", "--porcelain"); strings.TrimSpace(out) != "?? result.json" {
		t.Errorf("the repository is not as it was: %s", out)
	}

	// With the line put back it is green: two runs of one program have one plan.
	r.write(t, "train.py", append(program, "\n# nothing to see here\n"...))
	r.git(t, "commit", "-q", "-a", "-m", "back")
	if report, log, code := r.peakgate(t, "check"); code != 0 || !strings.Contains(report, "unchanged") {
		t.Errorf("the line put back: exit code %d\n%s%s", code, report, log)
	}
}
