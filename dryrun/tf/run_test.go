package tf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/watch/hook"
)

// start runs a process; its output is shown where the test fails.
func start(t *testing.T) dryrun.Start {
	return func(p dryrun.Process) (end dryrun.End, err error) {
		cmd := exec.CommandContext(t.Context(), p.Argv[0], p.Argv[1:]...)
		var out bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.Dir, p.Env, &out, &out
		err = cmd.Run()
		t.Logf("%.4000s", out.String())
		if cmd.ProcessState == nil {
			return end, err
		}
		return dryrun.End{Code: cmd.ProcessState.ExitCode()}, nil
	}
}

func run(t *testing.T, spec dryrun.Spec, start dryrun.Start) (*dryrun.Result, measure.DryrunFact) {
	t.Helper()
	r, err := Run(spec, t.TempDir(), start)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Facts) != 1 {
		t.Fatalf("%+v", r)
	}
	return r, r.Facts[0]
}

// pretended runs a program over a tensorflow that writes no real profile.
func pretended(t *testing.T, program string, env ...string) (*dryrun.Result, measure.DryrunFact) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil || runtime.GOOS == "windows" {
		t.Skip("there is no python3 to run the hook with")
	}
	path, err := filepath.Abs("testdata/python")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	spec := dryrun.Spec{Framework: dryrun.TensorFlow, Argv: []string{python, "train.py"}, Dir: dir, Memory: 64 << 20,
		Env: append([]string{"PATH=" + os.Getenv("PATH"), "PYTHONPATH=" + path, "PYTHONDONTWRITEBYTECODE=1"}, env...)}
	return run(t, spec, start(t))
}

func TestProfile(t *testing.T) {
	t.Parallel()
	r, f := pretended(t, "import tensorflow")
	if len(r.Captures) != 1 || filepath.Base(r.Captures[0].Path) != "process0.xplane.pb" || f.Class != measure.DryrunAssumption || f.Fits != "" {
		t.Fatalf("%+v", r)
	}
	text, err := os.ReadFile(r.Captures[0].Path)
	if err != nil || string(text) != "[('device_tracer_level', 0), ('host_tracer_level', 2), ('python_tracer_level', 0)]" {
		t.Errorf("%s %v", text, err)
	}
	if r.Environment["tensorflow"] != "2.0" || len(r.Warnings) > 0 || len(f.Reasons) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestFailures(t *testing.T) {
	const failing = "import tensorflow as tf\ndef f(): raise %s\nf()"
	for _, c := range []struct {
		name, program, env string
		class, fits        string
		want               string
		line               int
	}{
		{"memory", strings.Replace(failing, "%s", "tf.errors.ResourceExhaustedError('OOM when allocating\\nmore')", 1), "", measure.DryrunAssumption, measure.FitsNo, "ResourceExhaustedError: OOM when allocating", 0},
		{"memory, caught", "import tensorflow as tf\ntry: raise tf.errors.ResourceExhaustedError()\nexcept Exception: pass", "", measure.DryrunAssumption, "", "", 0},
		{"an error", strings.Replace(failing, "%s", "ValueError('x\\ny')", 1), "", measure.DryrunDidNotRun, "", "the program failed: ValueError: x", 2},
		{"an exit", "import tensorflow, sys\nsys.exit(3)", "", measure.DryrunDidNotRun, "", "the program ended with exit code 3", 0},
		{"no tensorflow", "print(1)", "", measure.DryrunDidNotRun, "", "no process imported tensorflow", 0},
		{"an error before it", "raise SystemExit('x')", "", measure.DryrunDidNotRun, "", "the program ended with exit code 1", 0},
		{"no profiler", "import tensorflow", "PRETEND_PROFILER_RAISES=1", measure.DryrunDidNotRun, "", "no process imported tensorflow and wrote a profile", 0},
		{"a killed process", "import tensorflow, os\nos._exit(0)", "", measure.DryrunDidNotRun, "", "wrote a profile to its end", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, f := pretended(t, c.program, c.env)
			text := f.FitsReason
			if c.class == measure.DryrunDidNotRun {
				text = f.Reasons[0].Text
			}
			if f.Class != c.class || f.Fits != c.fits || !strings.Contains(text, c.want) || strings.Contains(text, "\n") {
				t.Errorf("%+v", f)
			}
			if did := f.Class != measure.DryrunDidNotRun; did != (len(r.Captures) == 1) {
				t.Errorf("captures %v", r.Captures)
			}
			line := 0
			if s := f.Reasons[0].Source; s != nil && s.File == "train.py" {
				line = s.Line
			}
			if line != c.line {
				t.Errorf("line %d, want %d", line, c.line)
			}
			if warned := len(r.Warnings) > 0; warned != (c.env != "") || warned && !strings.HasPrefix(r.Warnings[0], "TensorFlow: ") {
				t.Errorf("warnings %q", r.Warnings)
			}
		})
	}
}

// TestFit: beside the peak there is room for what a GPU holds, or not for sure.
func TestFit(t *testing.T) {
	const peak, gib = 35_630_848, 1 << 30 // of fixtures/xla/tf_leak.xplane.pb
	for _, c := range []struct {
		memory int64
		want   string
	}{
		{0, ""}, {peak + gib, measure.FitsYes}, {peak + gib - 1, measure.FitsUnsure}, {64 << 20, measure.FitsUnsure},
	} {
		spec := dryrun.Spec{Argv: []string{"train"}, Memory: c.memory}
		_, f := run(t, spec, func(p dryrun.Process) (dryrun.End, error) {
			data, err := os.ReadFile("../../fixtures/xla/tf_leak.xplane.pb")
			if err != nil {
				return dryrun.End{}, err
			}
			return dryrun.End{}, os.WriteFile(filepath.Join(dryrun.Variable(p.Env, hook.Variable), "rank3-pid7.xplane.pb"), data, 0o600)
		})
		if f.Fits != c.want || (f.FitsReason != "") != (c.want == measure.FitsUnsure) {
			t.Errorf("%d: %+v", c.memory, f)
		}
	}
}

func TestEnds(t *testing.T) {
	for end, want := range map[dryrun.End]string{
		{TimedOut: true}:    "the program ran past its time",
		{Signal: "SIGKILL"}: "the program ended by SIGKILL",
		{}:                  "no Python was started that could be seen",
	} {
		spec := dryrun.Spec{Argv: []string{"train"}, Env: []string{"TF_NUM_INTEROP_THREADS=4", "CUDA_VISIBLE_DEVICES=0"}, Memory: 65 << 20}
		_, f := run(t, spec, func(p dryrun.Process) (dryrun.End, error) {
			for _, v := range []string{"TF_CPU_BFC_MEM_LIMIT_IN_MB=65", "TF_CPU_ALLOCATOR_USE_BFC=true", "CUDA_VISIBLE_DEVICES=-1", "TF_NUM_INTEROP_THREADS=4"} {
				if !slices.Contains(p.Env, v) {
					t.Errorf("no %s in %v", v, p.Env)
				}
			}
			// What the program may have written in the hook's name is read as far as it goes.
			dir := dryrun.Variable(p.Env, hook.Variable)
			for name, text := range map[string]string{"pid1.json": "{", "pid2.json": strings.Repeat(" ", maxReport) + "{}", "pid3.json": "[]"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			return end, nil
		})
		if f.Class != measure.DryrunDidNotRun || !strings.Contains(f.Reasons[0].Text, want) || f.Fits != "" {
			t.Errorf("%+v", f)
		}
	}
}

func TestSpecErrors(t *testing.T) {
	for _, c := range []struct {
		spec dryrun.Spec
		want string
	}{
		{dryrun.Spec{}, "no program"},
		{dryrun.Spec{Argv: []string{"train"}, Memory: 1<<20 - 1}, "is too small; want 1 MiB or more"},
	} {
		if _, err := Run(c.spec, t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v", err)
		}
	}
}
