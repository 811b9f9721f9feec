package collect

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// python runs a program with the hook before a pretend torch, and without it: both
// must print and end alike. It gives the collector and the exit code.
func python(t *testing.T, program string, env ...string) (*Collector, int) {
	t.Helper()
	return pythonArgs(t, []string{"-c", program}, env...)
}

func needPython(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil || runtime.GOOS == "windows" { // where no workload is watched
		t.Skip("there is no python3 to run the hook with")
	}
	return path
}

func pythonArgs(t *testing.T, args []string, env ...string) (*Collector, int) {
	t.Helper()
	path := needPython(t)
	pretend, err := filepath.Abs("testdata/python")
	if err != nil {
		t.Fatal(err)
	}
	plain := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH=" + pretend}, env...)
	c, err := New(t.TempDir(), Options{Env: plain, Work: "."})
	if err != nil {
		t.Fatal(err)
	}
	type ending struct {
		out, err string
		code     int
	}
	run := func(env []string) ending {
		cmd := exec.Command(path, args...)
		var out, stderr bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &stderr
		err := cmd.Run()
		if _, ended := err.(*exec.ExitError); err != nil && !ended {
			t.Fatal(err)
		}
		return ending{out.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	}
	want, got := run(plain), run(c.Env())
	if got != want {
		t.Errorf("with the hook %+v\nwithout %+v", got, want)
	}
	return c, got.code
}

// snapshot is the text of the only snapshot.
func snapshot(t *testing.T, c *Collector, failed bool) string {
	t.Helper()
	paths := c.Paths(failed)
	if len(paths) != 1 {
		t.Fatalf("snapshots %v, want one; the hook says %q", paths, c.Notes())
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func wantNone(t *testing.T, c *Collector) {
	t.Helper()
	if paths := c.Paths(false); len(paths) > 0 {
		t.Errorf("snapshots %v, want none", paths)
	}
}

const recorded = "record all all python 200000\n"

func TestHookRecordsFromTheFirstAllocation(t *testing.T) {
	t.Parallel()
	c, _ := python(t, "import torch\ntorch.empty(1); torch.empty(2)\nprint(torch.cuda.is_initialized())")
	if got := snapshot(t, c, false); got != recorded+"alloc 1\nalloc 2\n" {
		t.Errorf("snapshot %q", got)
	}
	if notes := c.Notes(); len(notes) > 0 {
		t.Errorf("notes %q", notes)
	}
	if !c.Hooked() {
		t.Error("the hook left no mark")
	}
}

// TestHookLeavesCUDAAlone: a program that only imports torch has no device
// initialised by us: it may fork, or set CUDA_VISIBLE_DEVICES.
func TestHookLeavesCUDAAlone(t *testing.T) {
	t.Parallel()
	c, _ := python(t, "import torch\nprint(torch.cuda.is_initialized(), len(torch.cuda.memory.events))")
	wantNone(t, c)
}

func TestHookWithoutTorch(t *testing.T) {
	t.Parallel()
	c, code := python(t, "import sys\nprint([p for p in sys.path if 'peakgate' in p], 'torch' in sys.modules)\nsys.exit(5)")
	wantNone(t, c)
	if code != 5 {
		t.Errorf("exit code %d, want the program's 5", code)
	}
}

// TestHookIsTransparent: the loader, the import path and what looks for torch
// without importing it are as they would be.
func TestHookIsTransparent(t *testing.T) {
	t.Parallel()
	c, _ := python(t, `
import importlib.util, sys
print(type(importlib.util.find_spec("torch").loader).__name__, importlib.util.find_spec("torch.nothing"))
import torch
print(vars(torch.__spec__.loader).keys(), torch.__spec__.origin.endswith("torch/__init__.py"))
print([type(f).__name__ for f in sys.meta_path if type(f).__name__ == "_Finder"])
print([p for p in sys.path if p.endswith("/python")  and "collect/testdata" not in p])
`)
	wantNone(t, c)
}

func TestHookAtAnUncaughtFailure(t *testing.T) {
	t.Parallel()
	c, code := python(t, "import torch\ntorch.empty(1)\nraise SystemExit('broken')")
	if code != 1 {
		t.Errorf("exit code %d", code)
	}
	if got := snapshot(t, c, true); got != recorded+"alloc 1\n" {
		t.Errorf("snapshot %q", got)
	}
}

// TestHookWhenMemoryRunsOut: what counts for a run that failed is the moment when
// memory ran out, and for one that went on, its end.
func TestHookWhenMemoryRunsOut(t *testing.T) {
	t.Parallel()
	c, _ := python(t, "import torch\ntorch.empty(1)\ntry:\n  torch.empty(1000)\nexcept torch.OutOfMemoryError:\n  torch.empty(2)\n  raise SystemExit(3)")
	if got := snapshot(t, c, true); got != recorded+"alloc 1\n" {
		t.Errorf("snapshot of the failure %q", got)
	}
	c, _ = python(t, "import torch\ntorch.empty(1)\ntry:\n  torch.empty(1000)\nexcept torch.OutOfMemoryError:\n  torch.empty(2)")
	if got := snapshot(t, c, false); got != recorded+"alloc 1\nalloc 2\n" {
		t.Errorf("snapshot of the end %q", got)
	}
}

func TestHookAtSIGTERM(t *testing.T) {
	t.Parallel()
	c, code := python(t, "import os, signal, torch\ntorch.empty(1)\nos.kill(os.getpid(), signal.SIGTERM)\nprint('not reached')")
	if code != -1 {
		t.Errorf("exit code %d, want an end by the signal", code)
	}
	if got := snapshot(t, c, true); got != recorded+"alloc 1\n" {
		t.Errorf("snapshot %q", got)
	}
	// A handler of the program's own stays.
	c, code = python(t, "import os, signal, sys, torch\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(9))\ntorch.empty(1)\nos.kill(os.getpid(), signal.SIGTERM)")
	if code != 9 {
		t.Errorf("exit code %d, want the handler's 9", code)
	}
	snapshot(t, c, true)
}

func TestHookInEachRank(t *testing.T) {
	t.Parallel()
	program := `
import os, subprocess, sys
for rank in range(3):
    subprocess.run([sys.executable, "-c", "import torch; torch.empty(%d)" % rank], env=dict(os.environ, RANK=str(rank)), check=True)
`
	c, _ := python(t, program)
	var names []string
	for _, p := range c.Paths(false) {
		names = append(names, filepath.Base(p))
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "rank0.pickle rank1.pickle rank2.pickle" {
		t.Errorf("snapshots %s", got)
	}
}

// TestHookAndForks: a fork of the process that has the history leaves no snapshot in its
// name; a process of multiprocessing has one of its own.
func TestHookAndForks(t *testing.T) {
	t.Parallel()
	c, _ := python(t, "import os, sys, torch\ntorch.empty(1)\nif os.fork() == 0:\n  torch.empty(2)\n  sys.exit(0)\nos.wait()")
	if got := snapshot(t, c, false); got != recorded+"alloc 1\n" {
		t.Errorf("snapshot %q", got)
	}
	c, _ = python(t, `
import multiprocessing, torch
def work(n):
    torch.empty(n)
workers = [multiprocessing.get_context("fork").Process(target=work, args=(n,)) for n in range(2)]
for w in workers: w.start()
for w in workers: w.join()
print([w.exitcode for w in workers])
`)
	if paths := c.Paths(false); len(paths) != 2 {
		t.Errorf("snapshots %v, want one a worker", paths)
	}
}

// TestHookChains: the sitecustomize that is there already runs too.
func TestHookChains(t *testing.T) {
	t.Parallel()
	site := t.TempDir()
	for name, text := range map[string]string{"good": "import builtins\nbuiltins.chained = __file__\n", "bad": "raise ValueError('mine')\n"} {
		dir := filepath.Join(site, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "sitecustomize.py"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pretend, err := filepath.Abs("testdata/python")
	if err != nil {
		t.Fatal(err)
	}
	program := "import sys, torch\nprint(chained, sys.modules['sitecustomize'].__file__)\ntorch.empty(1)"
	c, code := python(t, program, "PYTHONPATH="+filepath.Join(site, "good")+string(filepath.ListSeparator)+pretend)
	if code != 0 {
		t.Errorf("exit code %d: the other sitecustomize did not run", code)
	}
	snapshot(t, c, false)
	python(t, "print(1)", "PYTHONPATH="+filepath.Join(site, "bad"))
}

func TestHookKeptOut(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-I", "-E", "-S"} {
		c, _ := pythonArgs(t, []string{flag, "-c", "print(1)"})
		if c.Hooked() {
			t.Errorf("%s: the hook ran", flag)
		}
	}
}

// TestHookOfATorchThatIsOtherwise: a torch that lacks what is asked of it, or that
// raises, is left alone, and a note says so.
func TestHookOfATorchThatIsOtherwise(t *testing.T) {
	t.Parallel()
	for _, env := range []string{"PRETEND_TORCH_BROKEN=1", "PRETEND_TORCH_RAISES=1"} {
		c, code := python(t, "import torch\ntorch.empty(1)\nprint('fine')", env)
		wantNone(t, c)
		if notes := c.Notes(); code != 0 || len(notes) != 1 || !strings.Contains(notes[0], "cannot record the history") {
			t.Errorf("%s: exit code %d, notes %q", env, code, notes)
		}
	}
}

// TestHookByModule: python -m, and a script.
func TestHookByModule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "trainer.py"), []byte("import torch\ntorch.empty(1)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	pretend, err := filepath.Abs("testdata/python")
	if err != nil {
		t.Fatal(err)
	}
	path := "PYTHONPATH=" + pretend + string(filepath.ListSeparator) + dir
	for _, args := range [][]string{{"-m", "trainer"}, {filepath.Join(dir, "trainer.py")}} {
		c, _ := pythonArgs(t, args, path)
		snapshot(t, c, false)
	}
}
