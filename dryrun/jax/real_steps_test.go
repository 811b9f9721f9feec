package jax

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// TestContract: what a function may return, for one device and for several.
func TestContract(t *testing.T) {
	python(t)
	const kib = 1024
	for _, c := range []struct {
		function, target        string
		argument, donated, need int64 // of one device; need 0 is not looked at
		devices                 int64
	}{
		{"steps:plan", "cpu", 4 * kib, 0, 8 * kib, 1},
		{"steps.py:plan", "v5e", 4 * kib, 0, 0, 4},
		{"steps:arrays", "h100", 4 * kib, 0, 0, 1},
		{"steps:committed", "h100", 4 * kib, 0, 0, 1},
		{"steps:calls_back", "h100", 4 * kib, 0, 0, 1},
		{"steps:calls_back", "v5e", 4 * kib, 0, 0, 4},
		{"steps:numpys", "h100", 4*kib + 4, 0, 0, 1},
		{"steps:Step.plan", "v5e:1x1", 4 * kib, 0, 0, 1},
		{"steps:chatty", "cpu", 4 * kib, 0, 8 * kib, 1},
		{"steps:flags", "h100", 4 * kib, 0, 0, 1},
		{"steps:in_shardings", "cpu:4", 4 * kib, 0, 8 * kib, 4},
		{"steps:in_shardings", "h100:2x8", 4 * kib, 0, 0, 16},
		// 2 × 16 MiB of weights on 16 devices, 2 MiB of activations on 4 of them.
		{"steps:mesh", "v5e:4x4", 2<<20 + 512<<10, 2 << 20, 0, 16},
		{"steps:mesh", "h100:4", 8<<20 + 1<<20, 8 << 20, 0, 4},
		{"steps:mesh", "v4", 8<<20 + 1<<20, 8 << 20, 0, 4},
		{"steps:in_shardings", "a100:4", 4 * kib, 0, 0, 4},
		{"steps:in_shardings", "h200", 4 * kib, 0, 0, 1},
		{"steps:in_shardings", "b200", 4 * kib, 0, 0, 1},
		{"steps:in_shardings", "v3", 4 * kib, 0, 0, 8},
		{"steps:in_shardings", "v5p", 4 * kib, 0, 0, 4},
		{"steps:in_shardings", "v6e", 4 * kib, 0, 0, 4},
		{"steps:in_shardings", "tpu7x", 4 * kib, 0, 0, 8},
	} {
		t.Run(c.function+" "+c.target, func(t *testing.T) {
			t.Parallel()
			r := compile(t, "testdata", c.function, c.target)
			if len(r.Captures) != 1 {
				t.Fatalf("%+v", r.Facts)
			}
			got := rows(t, r.Captures[0])["device"]
			if got["plan.argument_bytes"] != c.argument || got["plan.donated_bytes"] != c.donated || c.need > 0 && got["plan.need_bytes"] != c.need {
				t.Errorf("%v", got)
			}
			if r.Facts[0].Devices != c.devices {
				t.Errorf("%d devices, want %d", r.Facts[0].Devices, c.devices)
			}
		})
	}
}

// TestDocumented: the program of the documentation compiles for one device and for several.
func TestDocumented(t *testing.T) {
	python(t)
	text, err := os.ReadFile("../../docs/dryrun.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```python\n")
	program, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("docs/dryrun.md has no program in Python")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "train.py"), []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	r := compile(t, dir, "train:step", "v5e:4x4", "cpu")
	for i, batch := range []int64{16, 256} {
		if i >= len(r.Captures) {
			t.Fatalf("%+v", r)
		}
		got := rows(t, r.Captures[i])["device"]
		if got["plan.argument_bytes"] != 4*(4096*4096+batch*4096) || got["plan.donated_bytes"] != 4*4096*4096 {
			t.Errorf("%s: %v", r.Captures[i].Device, got)
		}
	}
}

// TestTooLarge: what does not fit has a plan all the same, and is not taken for a fault
// of the program.
func TestTooLarge(t *testing.T) {
	python(t)
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	r := compile(t, dir, "steps:too_large", "h100", "v5e", "v6e", "cpu")
	if len(r.Captures) != 4 || len(r.Facts) != 4 {
		t.Fatalf("%+v", r)
	}
	for i, want := range []struct{ fits, reason string }{
		{measure.FitsNo, "the device has 79.10 GiB"},
		{measure.FitsNo, "15.75"},
		{measure.FitsNo, "31.25"},
		{"", ""},
	} {
		if f := r.Facts[i]; f.Fits != want.fits || !strings.Contains(f.FitsReason, want.reason) || f.Class == measure.DryrunDidNotRun {
			t.Errorf("%+v", f)
		}
		if need := rows(t, r.Captures[i])["device"]["plan.need_bytes"]; need < 240<<30 {
			t.Errorf("%s needs %d", r.Captures[i].Device, need)
		}
	}
}

// TestFaults: what cannot be compiled names the user's line.
func TestFaults(t *testing.T) {
	python(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"missing.py": "import nothing_of_this_name\n",
		"wrong.py":   "def step(:\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	steps, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, function, target, want, at string }{
		{dir, "missing:step", "cpu", `importing "missing:step" failed: ModuleNotFoundError: No module named 'nothing_of_this_name'`, "missing.py:1"},
		{dir, "wrong:step", "cpu", `importing "wrong:step" failed: SyntaxError: invalid syntax`, "wrong.py:1"},
		{dir, "none:step", "cpu", `importing "none:step" failed: ModuleNotFoundError: No module named 'none'`, ""},
		{dir, "none.py:step", "cpu", `"none.py:step": there is no file none.py`, ""},
		{steps, "steps:none", "cpu", `"steps:none": steps has no none`, ""},
		{steps, "steps:number", "cpu", `"steps:number": number is no function; want (jitted function, arguments)`, ""},
		{steps, "steps:plain", "cpu", `it returns a function that is not jitted; wrap it in jax.jit`, ""},
		{steps, "steps:partial", "cpu", `it returns a partial that is not jitted; wrap it in jax.jit`, ""},
		{steps, "steps:nothing", "cpu", `it returns NoneType; want (jitted function, arguments)`, ""},
		{steps, "steps:elsewhere", "v5e", `; make its sharding of the devices that the function is given`, ""},
		{steps, "steps:raises", "cpu", `calling "steps:raises" failed: ValueError: no data`, "steps.py:"},
		{steps, "steps:untraceable", "v5e", `tracing what "steps:untraceable" returns failed: TracerBoolConversionError: `, "steps.py:"},
		{steps, "steps:ends", "cpu", `the process ended with exit code 7 while calling "steps:ends"`, ""},
		{steps, "steps:plan", "v5e:3x3", `JAX cannot make the device v5e:3x3: `, ""},
	} {
		t.Run(c.function+" "+c.target, func(t *testing.T) {
			t.Parallel()
			r := compile(t, c.dir, c.function, c.target)
			f := r.Facts[0]
			if f.Class != measure.DryrunDidNotRun || len(f.Reasons) != 1 || !strings.Contains(f.Reasons[0].Text, c.want) || len(r.Captures) > 0 {
				t.Fatalf("%+v", r)
			}
			at := ""
			if s := f.Reasons[0].Source; s != nil {
				at = fmt.Sprintf("%s:%d", s.File, s.Line)
			}
			if !strings.HasPrefix(at, c.at) || c.at == "" && at != "" {
				t.Errorf("at %q, want %q", at, c.at)
			}
		})
	}
}
