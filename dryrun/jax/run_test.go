package jax

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
)

// pretend is what a process does that stands for Python.
type pretend struct {
	end    dryrun.End
	answer string // JSON; none is written where it is empty
	plan   string // a file that is copied to the dump as plan.hlo.pb
}

// play runs a spec with a pretended Python, and gives what the processes were.
func play(t *testing.T, spec dryrun.Spec, p pretend) (*dryrun.Result, []dryrun.Process, []request) {
	t.Helper()
	var processes []dryrun.Process
	var requests []request
	dir := t.TempDir()
	r, err := Run(spec, dir, func(process dryrun.Process) (dryrun.End, error) {
		processes = append(processes, process)
		data, err := os.ReadFile(process.Argv[2])
		if err != nil {
			t.Fatal(err)
		}
		var q request
		if err := json.Unmarshal(data, &q); err != nil {
			t.Fatal(err)
		}
		requests = append(requests, q)
		if p.plan != "" {
			data, err := os.ReadFile(p.plan)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(q.Dump, "plan.hlo.pb"), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if p.answer != "" {
			if err := os.WriteFile(q.Answer, []byte(p.answer), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return p.end, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Nothing but plans is left.
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(r.Captures) {
		t.Errorf("%d files are left, %d are captures: %v", len(entries), len(r.Captures), entries)
	}
	return r, processes, requests
}

var repo, _ = filepath.Abs("/repo")

func spec(targets ...string) dryrun.Spec {
	return dryrun.Spec{Framework: dryrun.JAX, Argv: []string{"train:step"}, Dir: filepath.Join(repo, "sub"), Root: repo, Env: []string{"A=1", "JAX_PLATFORMS=tpu"}, Python: "python3.11", Targets: targets}
}

const (
	large     = "../../fixtures/regression/xla/head.hlo.pb" // needs 7,972,195,136 B
	versioned = `"versions": {"dryrun.class": "exact", "jax": "0.10.2", "jaxlib": "0.10.2", "libtpu": "0.0.42.1", "jax-cuda12-plugin": "0.10.2"}, "wanted": "libtpu==0.0.42.*"`
	planned   = `{"stage": "compile", ` + versioned + `, "devices": 4, "ended": true, "plan": "plan.hlo.pb"}`
)

func failed(stage, text string) string {
	return `{"stage": "` + stage + `", ` + versioned + `, "ended": true, "error": "` + text + `", "place": {"file": "train.py", "line": 3}}`
}

func TestRequests(t *testing.T) {
	r, processes, requests := play(t, spec("h100:2x8", "v5e:1x1", "v4", "cpu:3"), pretend{answer: planned, plan: large})
	for i, want := range []struct{ label, topology, options, flag, env string }{
		{"h100:2x8", "h100", `"topology":"1x2x8"`, "--xla_gpu_autotune_level=0", "JAX_SKIP_CUDA_CONSTRAINTS_CHECK=1"},
		{"v5e:1x1", "v5e:1x1", `{"chips_per_host_bounds":[1,1,1]}`, "--xla_dump_hlo_as_proto", "TPU_SKIP_MDS_QUERY=1"},
		{"v4", "v4:2x2x1", `{"chip_config_name":"megacore"}`, "--xla_dump_hlo_as_proto", "TPU_WORKER_HOSTNAMES=localhost"},
		{"cpu:3", "cpu", `{}`, "--xla_force_host_platform_device_count=3", "JAX_ENABLE_COMPILATION_CACHE=false"},
	} {
		q, p := requests[i], processes[i]
		options, err := json.Marshal(q.Options)
		if err != nil {
			t.Fatal(err)
		}
		if q.Function != "train:step" || q.Topology != want.topology || !strings.Contains(string(options), want.options) || !strings.Contains(q.Flags, want.flag) {
			t.Errorf("%s: %+v", want.label, q)
		}
		if !slices.Contains(p.Env, want.env) || p.Dir != filepath.Join(repo, "sub") || p.Argv[0] != "python3.11" || p.Timeout != timeout {
			t.Errorf("%s: %+v", want.label, p)
		}
		// The user's variables are there, and ours count.
		if !slices.Contains(p.Env, "A=1") || dryrun.Variable(p.Env, "JAX_PLATFORMS") != "cpu" {
			t.Errorf("%s: %v", want.label, p.Env)
		}
		if c := r.Captures[i]; c.Device != want.label || filepath.Base(c.Path) != strings.ReplaceAll(want.label, ":", "-")+".hlo.pb" {
			t.Errorf("%s: %+v", want.label, c)
		}
		if f := r.Facts[i]; f.Device != want.label || f.Devices != 4 || f.Framework != "jax" {
			t.Errorf("%s: %+v", want.label, f)
		}
	}
	if r.Environment["libtpu"] != "0.0.42.1" || len(r.Environment) != 4 {
		t.Errorf("%v", r.Environment)
	}
}

func TestFits(t *testing.T) {
	const need = 7_972_195_136
	for _, c := range []struct {
		name, target, env, error string
		memory                   int64
		class, fits, reason      string
	}{
		{"GPU", "h100", "", "", 0, measure.DryrunAssumption, measure.FitsYes, ""},
		{"GPU, a byte too small", "h100", "", "", need - 1, measure.DryrunAssumption, measure.FitsNo, "one execution needs 7.42 GiB, the device has 7.42 GiB"},
		{"GPU, all of it", "h100", "", "", need, measure.DryrunAssumption, measure.FitsUnsure, "JAX takes 75 % of a GPU's memory; XLA_PYTHON_CLIENT_MEM_FRACTION changes that"},
		{"GPU, the program has all", "h100", "XLA_PYTHON_CLIENT_MEM_FRACTION=1.0", "", need, measure.DryrunAssumption, measure.FitsYes, ""},
		{"GPU, three quarters", "h100", "", "", need / 3 * 4, measure.DryrunAssumption, measure.FitsUnsure, ""},
		{"GPU, above three quarters", "h100", "", "", need/3*4 + 4, measure.DryrunAssumption, measure.FitsYes, ""},
		{"GPU, code is not generated", "h100", "", "UNAVAILABLE: no ptxas", 0, measure.DryrunAssumption, measure.FitsYes, ""},
		{"TPU", "v5e", "", "", 0, measure.DryrunExact, measure.FitsYes, ""},
		{"TPU, all of it", "v5e", "", "", need, measure.DryrunExact, measure.FitsUnsure, "of which 7.24 GiB of 7.42 GiB are sure"},
		{"TPU, by XLA", "v5e", "", `JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory on HBM (15.86G)\n more`, 0, measure.DryrunExact, measure.FitsNo, "JaxRuntimeError: RESOURCE_EXHAUSTED: Ran out of memory on HBM (15.86G)"},
		{"TPU, another fault", "v5e", "", "INTERNAL: Mosaic failed", 0, measure.DryrunDidNotRun, "", ""},
		{"CPU", "cpu", "", "", 0, measure.DryrunExact, "", ""},
		{"CPU with a limit", "cpu", "", "", need - 1, measure.DryrunExact, measure.FitsNo, ""},
	} {
		s := spec(c.target)
		s.Memory = c.memory
		s.Env = append(s.Env, c.env)
		answer := planned
		if c.error != "" {
			answer = strings.Replace(planned, `"plan"`, `"error": "`+c.error+`", "plan"`, 1)
		}
		r, _, _ := play(t, s, pretend{answer: answer, plan: large})
		f := r.Facts[0]
		if f.Class != c.class || f.Fits != c.fits || !strings.Contains(f.FitsReason, c.reason) || strings.Contains(f.FitsReason, "\n") {
			t.Errorf("%s: %+v", c.name, f)
		}
		if did := f.Class != measure.DryrunDidNotRun; did != (len(r.Captures) == 1) {
			t.Errorf("%s: captures %v", c.name, r.Captures)
		}
		if (f.Class == measure.DryrunExact) != (len(f.Reasons) == 0) {
			t.Errorf("%s: reasons %v", c.name, f.Reasons)
		}
	}
}

func TestDidNotRun(t *testing.T) {
	hasNot := func(name, answer string) string {
		return strings.Replace(answer, `"`+name+`"`, `"other"`, 1)
	}
	for _, c := range []struct {
		name, target string
		pretend
		want string
	}{
		{"no Python", "cpu", pretend{end: dryrun.End{Code: 127}}, `"python3.11" did not begin: it ended with exit code 127; want a Python that has JAX`},
		{"no JAX", "cpu", pretend{answer: `{"stage": "jax", "ended": true, "error": "ModuleNotFoundError: No module named 'jax'"}`}, "JAX cannot be imported: ModuleNotFoundError: No module named 'jax'; pip install jax, or name the Python that has it"},
		{"killed", "cpu", pretend{end: dryrun.End{Signal: "SIGKILL"}, answer: `{"stage": "compile"}`}, `the process ended by SIGKILL while compiling what "train:step" returns`},
		{"aborted", "v5e", pretend{end: dryrun.End{Signal: "SIGABRT"}, answer: `{"stage": "device"}`}, "the process ended by SIGABRT while making the device"},
		{"too long", "cpu", pretend{end: dryrun.End{TimedOut: true}, answer: `{"stage": "lower"}`}, `the process ran past its time while tracing what "train:step" returns`},
		{"an exit", "cpu", pretend{end: dryrun.End{Code: 3}, answer: `{"stage": "import"}`}, `the process ended with exit code 3 while importing "train:step"`},
		{"no libtpu", "v5e", pretend{answer: hasNot("libtpu", failed("device", "RuntimeError: JAX TPU support not installed"))}, "JAX cannot make the device v5e: RuntimeError: JAX TPU support not installed; pip install 'libtpu==0.0.42.*'"},
		{"another libtpu", "v5e", pretend{answer: strings.Replace(failed("device", "INTERNAL: x"), "0.0.42.1", "0.0.17", 1)}, "INTERNAL: x; pip install 'libtpu==0.0.42.*'"},
		{"a topology", "v5e:3x3", pretend{answer: failed("device", "INVALID_ARGUMENT: not divisible")}, "JAX cannot make the device v5e:3x3: INVALID_ARGUMENT: not divisible"},
		{"no plugin", "h100", pretend{answer: hasNot("jax-cuda12-plugin", failed("device", "NotImplementedError: cuda"))}, "NotImplementedError: cuda; pip install --no-deps jax-cuda12-plugin==0.10.2 jax-cuda12-pjrt==0.10.2"},
		{"an old JAX", "h100", pretend{answer: failed("device", "FAILED_PRECONDITION: Failed to parse GpuTargetConfigProto")}, "; GPUs want jax 0.6 or newer"},
		{"the function", "cpu", pretend{answer: failed("function", "ValueError: x")}, `calling "train:step" failed: ValueError: x`},
		{"the contract", "cpu", pretend{answer: strings.Replace(failed("function", "it returns int"), `"ended"`, `"refused": true, "ended"`, 1)}, `"train:step": it returns int`},
		{"no plan", "cpu", pretend{answer: `{"stage": "compile", "ended": true}`}, "XLA was asked for a plan and wrote none"},
		{"a broken plan", "cpu", pretend{answer: planned, plan: "../../fixtures/regression/peakgate.yml"}, "the plan that XLA wrote cannot be read: "},
		{"a plan elsewhere", "cpu", pretend{answer: strings.Replace(planned, "plan.hlo.pb", "../../../x.hlo.pb", 1)}, `its name is "../../../x.hlo.pb"`},
		{"no such plan", "cpu", pretend{answer: planned}, "the plan that XLA wrote cannot be read: "},
		{"a folder", "cpu", pretend{answer: strings.Replace(planned, "plan.hlo.pb", ".", 1)}, `"." is no plain file`},
		{"no JSON", "cpu", pretend{answer: `{"stage": `}, "did not begin"},
		{"much", "cpu", pretend{answer: `{"stage": "` + strings.Repeat("x", maxAnswer) + `"}`}, "did not begin"},
		{"a long error", "cpu", pretend{answer: failed("lower", strings.Repeat("é", 1000))}, "éé…"},
	} {
		r, _, _ := play(t, spec(c.target), c.pretend)
		f := r.Facts[0]
		if f.Class != measure.DryrunDidNotRun || len(f.Reasons) != 1 || !strings.Contains(f.Reasons[0].Text, c.want) || f.Fits != "" || len(r.Captures) > 0 {
			t.Errorf("%s: %+v, captures %v", c.name, f, r.Captures)
			continue
		}
		if s := f.Reasons[0].Source; strings.Contains(c.answer, `"place"`) != (s != nil) || s != nil && *s != (measure.Source{File: "sub/train.py", Line: 3}) {
			t.Errorf("%s: source %v", c.name, s)
		}
	}
}

func TestMismatch(t *testing.T) {
	for from, want := range map[string]string{
		`"libtpu": "0.0.42.1"`:          "v5e: libtpu 0.0.4 is not the one that jax 0.10.2 asks for: libtpu==0.0.42.*",
		`"jax-cuda12-plugin": "0.10.2"`: "h100: jax-cuda12-plugin 0.0.4 is not the one of jaxlib 0.10.2",
	} {
		name, _, _ := strings.Cut(from, ":")
		r, _, _ := play(t, spec("h100", "v5e", "cpu"), pretend{answer: strings.Replace(planned, from, name+`: "0.0.4"`, 1), plan: large})
		if len(r.Warnings) != 1 || r.Warnings[0] != want || len(r.Captures) != 3 {
			t.Errorf("%q: warnings %q", from, r.Warnings)
		}
	}
}

func TestSpecErrors(t *testing.T) {
	for _, c := range []struct {
		argv, targets []string
		want          string
	}{
		{[]string{"python", "train.py"}, []string{"cpu"}, `JAX: want one module:function or FILE.py:function, found "python train.py"`},
		{[]string{"train.py"}, []string{"cpu"}, `found "train.py"`},
		{[]string{"t:f"}, nil, "no device is named"},
		{[]string{"t:f"}, []string{"p100"}, `device "p100": want a100, h100, h200, b200, v3, v4, v5e, v5p, v6e, tpu7x, cpu or one of them with a topology, such as v5e:4x4; found "p100"`},
		{[]string{"t:f"}, []string{"v5e:4"}, `device "v5e:4": want a topology such as v5e:2x2, found "4"`},
		{[]string{"t:f"}, []string{"v5e:4x4x4"}, "want a topology"},
		{[]string{"t:f"}, []string{"v5e:0x4"}, "want a topology"},
		{[]string{"t:f"}, []string{"v5e:"}, "want a topology"},
		{[]string{"t:f"}, []string{"h100:99999"}, "want a topology such as h100:1"},
		{[]string{"t:f"}, []string{"cpu:2x2"}, "want a topology such as cpu:1"},
		{[]string{"t:f"}, []string{"v5e", "cpu", "v5e"}, `device "v5e": named twice`},
	} {
		s := spec(c.targets...)
		s.Argv = c.argv
		_, err := Run(s, t.TempDir(), func(dryrun.Process) (dryrun.End, error) {
			t.Error("a process was started")
			return dryrun.End{}, nil
		})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q %q: %v", c.argv, c.targets, err)
		}
	}
}

func TestInterrupted(t *testing.T) {
	stop := errors.New("interrupted")
	dir := t.TempDir()
	s := spec("cpu")
	s.Timeout = time.Minute
	_, err := Run(s, dir, func(p dryrun.Process) (dryrun.End, error) {
		if p.Timeout != time.Minute {
			t.Errorf("timeout %v", p.Timeout)
		}
		return dryrun.End{}, stop
	})
	if !errors.Is(err, stop) {
		t.Errorf("error %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

var update = flag.Bool("update", false, "rewrite the table of docs/dryrun.md")

// TestDevices: the documentation has the devices that there are.
func TestDevices(t *testing.T) {
	const file, begin, end = "../../docs/dryrun.md", "<!-- devices -->\n", "<!-- end of devices -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok1 := strings.Cut(string(text), begin)
	table, tail, ok2 := strings.Cut(rest, end)
	if !ok1 || !ok2 {
		t.Fatalf("%s has no table between %q and %q", file, begin, end)
	}
	var want strings.Builder
	want.WriteString("| device | is | for programs, of one | topology, unless one is named |\n|---|---|---|---|\n")
	for _, d := range devices {
		is, memory := map[string]string{tpu: "TPU", cpu: "CPU"}[d.platform], "not known"
		if d.platform == cuda {
			is = gpus[d.name].name
		}
		if d.memory > 0 {
			memory = d.memory.String()
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s | `%s` |\n", d.name, is, memory, d.topology)
	}
	if table == want.String() {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is not that of the devices; go test ./dryrun/jax -update\n%s", file, want.String())
	}
	if err := os.WriteFile(file, []byte(head+begin+want.String()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestDescription: the golden plans were compiled for this description.
func TestDescription(t *testing.T) {
	want, err := os.ReadFile("../../fixtures/xla/h100.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	if got := gpus["h100"].description(); got != string(want) {
		t.Errorf("%s", got)
	}
}
