package cli

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestInterruptedRun: a signal in the middle of the base's run ends the workload, and
// nothing of it is left: no process, no working tree, no folder.
func TestInterruptedRun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no workload is watched on Windows")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git")
	}
	dir, temp := t.TempDir(), t.TempDir()
	env := append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_ACTIONS=", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	for name, text := range map[string]string{
		"peakgate.yml": "version: 1\ntargets:\n  t:\n    run: [sh, work.sh]\n    base: run\n    budgets: { footprint.peak_bytes: 1 GiB }\n",
		"work.sh":      "echo ready $$\nexec sleep 1000\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(git, args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	run("init", "-q", "-b", "main")
	run("add", ".")
	run("commit", "-q", "-m", "base")
	run("checkout", "-q", "-b", "change")
	run("commit", "-q", "--allow-empty", "-m", "change")

	interrupt(t, dir, env, []string{"check", "--quiet"}, func() {
		if got := run("worktree", "list"); strings.Count(got, "\n") != 2 {
			t.Errorf("the base is not run in a working tree: %s", got)
		}
	})
	if got := run("worktree", "list"); strings.Count(got, "\n") != 1 {
		t.Errorf("worktrees are left: %s", got)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("%d folders are left in %s", len(left), temp)
	}
}

// TestInterruptedDryrun: a signal in the middle of a dry run leaves nothing either.
func TestInterruptedDryrun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a dry run of PyTorch needs Linux")
	}
	temp := t.TempDir()
	env := append(os.Environ(), "RUNNER_TEMP="+temp, "PRETEND=1")
	interrupt(t, t.TempDir(), env, []string{"dryrun", "torch", "--", "sh", "-c", "echo ready $$; exec sleep 1000"}, func() {})
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("%d folders are left in %s", len(left), temp)
	}
}

// interrupt runs a command whose workload says ready and its process, ends it by a
// signal when it does, and looks that the workload ends too.
func interrupt(t *testing.T, dir string, env, args []string, ready func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Args = append([]string{"peakgate"}, args...) // by this name the test binary is the command
	cmd.Dir, cmd.Env = dir, env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	told, workload := "", 0
	for lines.Scan() {
		told += lines.Text() + "\n"
		if id, ok := strings.CutPrefix(lines.Text(), "ready "); ok {
			if workload, err = strconv.Atoi(id); err != nil {
				t.Error(err)
			}
			ready()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != ExitNoData || !strings.Contains(told, "interrupted: nothing was judged") {
		t.Errorf("exit code %d, told %q", code, told)
	}
	if p, err := os.FindProcess(workload); workload == 0 || err == nil && p.Signal(syscall.Signal(0)) == nil {
		t.Errorf("the workload %d lives on", workload)
	}
}
