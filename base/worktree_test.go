package base

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWorktree(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("1", "ci/peakgate.yml", "", "ci/train.py", "1")
	head := r.commit("2", "ci/train.py", "2")
	w, err := r.at("ci/peakgate.yml", base).Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(w.Folder, "train.py")); err != nil || string(data) != "1" {
		t.Errorf("train.py at the base: %q, %v", data, err)
	}
	if got := r.sha("HEAD"); got != head {
		t.Errorf("HEAD moved to %s", got)
	}
	if got := r.git("worktree", "list"); strings.Count(got, "\n") != 1 {
		t.Errorf("worktrees: %s", got)
	}
	// Whatever the workload leaves there goes.
	if err := os.WriteFile(filepath.Join(w.Folder, "train.py"), []byte("dirty"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.Folder, "new"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	gone := func() {
		t.Helper()
		if _, err := os.Stat(w.dir); !os.IsNotExist(err) {
			t.Errorf("the folder is still there: %v", err)
		}
		if got := r.git("worktree", "list"); strings.Contains(got, "\n") {
			t.Errorf("worktrees: %s", got)
		}
	}
	gone()
	// A workload that removes its own working tree, or git's note of it.
	for _, what := range []string{"tree", "tree/.git"} {
		if w, err = r.at("ci/peakgate.yml", base).Worktree(); err != nil {
			t.Fatal(err)
		}
		if err := os.RemoveAll(filepath.Join(w.dir, what)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		gone()
	}
	if got := r.git("status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
}
