package diagnose

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/capture/xla"
	"github.com/peakgate/peakgate/measure"
)

// shared gives a path in the shared captures.
func shared(t testing.TB, path ...string) string {
	t.Helper()
	dir, err := filepath.Abs("../../shared/captures")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the shared captures are not beside the repository")
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

func open(t testing.TB, path string) *measure.Measurement {
	t.Helper()
	m, err := capture.Open(path, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func rules(fs []measure.Finding) string {
	var out []string
	for _, f := range fs {
		out = append(out, f.Rule)
	}
	return strings.Join(out, " ")
}

// stories are programs of which the head changed one line; the truth is what its
// author changed, and in which function.
var stories = []struct{ story, rule, function string }{
	{"gpu-h100/a2_remat_scan", "remat-lost", "block"},
	{"tpu-v5e/a2_remat_scan", "remat-lost", "block"},
	{"tpu-v5e-small/a_remat", "remat-lost", "block"},
	{"cpu-0.10.2/a2_remat_scan", "remat-lost", "block"},
	{"cpu-0.8.1/a2_remat_scan", "remat-lost", "block"},
	{"cpu-0.4.30/a2_remat_scan", "remat-lost", "block"},
	{"tpu-v5e/c_scan", "remat-lost", "cell"},
	{"cpu-0.10.2/c_scan", "remat-lost", "cell"},
	{"gpu-h100/b_donate", "donation-lost", "adam_step"},
	{"cpu-0.10.2/b_donate", "donation-lost", "adam_step"},
	{"cpu-0.6.2/b_donate", "donation-lost", "adam_step"},
	{"gpu-h100/d_upcast", "dtype-widened", "loss_fn"},
	{"tpu-v5e/k_offload", "offload-lost", "layer"},
	// Nothing changed, or nothing that a plan can show.
	{"gpu-h100/e_noise", "", ""},
	{"tpu-v5e/e_noise", "", ""},
	{"cpu-0.10.2/e_noise", "", ""},
	{"cpu-0.10.2/g_leak", "", ""},
	{"cpu-0.10.2/d_upcast", "", ""}, // the CPU computes bf16 in f32 on both sides
}

// TestHolder: the holder of a leak is named from the capture alone.
func TestHolder(t *testing.T) {
	for _, f := range Run(Input{Head: open(t, filepath.FromSlash("../fixtures/xla/kept_outputs.xplane.pb"))}) {
		if f.Rule == "growth-per-execution" {
			const want = " = 1.00x its outputs that have memory of their own: each step's outputs are kept; between executions: $<unknown> append = list.append"
			if !strings.HasSuffix(f.Text, want) {
				t.Errorf("%q, want the end %q", f.Text, want)
			}
			return
		}
	}
	t.Error("no finding of growth")
}

// TestStepHolder: growth without any XLA module is told from step markers, with the
// operation that made what is kept.
func TestStepHolder(t *testing.T) {
	for name, want := range map[string]string{
		"leak": "grows by 976.56 KiB with each step (26.70 MiB over 28); live when the last step begins, the largest first: RandomUniform: 28.86 MiB in 29",
		"oom":  "grows by 8.00 MiB with each step (48.00 MiB over 6); live when the last step begins, the largest first: RandomUniform: 62.00 MiB in 7",
	} {
		fs := Run(Input{Head: open(t, shared(t, "lab/tf", name+".xplane.pb"))})
		if !slices.ContainsFunc(fs, func(f measure.Finding) bool {
			return f.Rule == "growth-per-step" && f.Evidence == Measured && strings.Contains(f.Text, want)
		}) {
			t.Errorf("%s: %+v, want %q", name, fs, want)
		}
	}
	for _, name := range []string{"steady", "keras", "many", "warmup"} {
		if got := rules(Run(Input{Head: open(t, shared(t, "lab/tf", name+".xplane.pb"))})); strings.Contains(got, "growth") {
			t.Errorf("%s: findings %q", name, got)
		}
	}
}

// TestProfilesApart: of two device memory profiles, the line that made what was kept.
func TestProfilesApart(t *testing.T) {
	base, head := open(t, "../fixtures/leak/base.pprof.gz"), open(t, "../fixtures/leak/head.pprof.gz")
	fs := Changed(Input{Base: base, Head: head})
	if len(fs) != 1 || fs[0].Rule != "live-arrays-grew" || !strings.HasPrefix(fs[0].Text, "live arrays grew at train.py:25 run: by 5.00 MiB, from 2 arrays to 7; ") {
		t.Errorf("findings %+v", fs)
	}
	if got := rules(Changed(Input{Base: head, Head: base})); got != "" {
		t.Errorf("the improvement has the findings %q", got)
	}
}

// TestCauseFirst: where a leak ran out of memory, it comes first, and what it left
// behind after it.
func TestCauseFirst(t *testing.T) {
	if got := rules(Run(Input{Head: open(t, "../fixtures/xla/kept_outputs.xplane.pb")})); !strings.HasPrefix(got, "growth-per-execution ") || !strings.Contains(got, "never-launched") {
		t.Errorf("findings %q", got)
	}
	if got := rules(Run(Input{Head: open(t, shared(t, "lab/tf/oom.xplane.pb"))})); got != "growth-per-step allocator-retry" {
		t.Errorf("findings %q", got)
	}
	m := ran(made(keptForward(), measure.ModuleFact{}, nil), func(tl *measure.TimelineFact, e *measure.ExecutionFact) {
		e.Growth = &measure.GrowthFact{ChangeBytes: 9 * mi, Steps: 9}
		tl.LastStart.InUse = 2950 * mi
	})
	if got := rules(Run(Input{Head: m})); got != "growth-per-execution other-live-arrays forward-kept" {
		t.Errorf("findings %q", got)
	}
}

// keptForward is a plan most of whose peak the forward pass keeps.
func keptForward() rows {
	return rows{"need_bytes": 400, "heap_peak_bytes": 400, "forward_kept_bytes": 300}
}

func TestStories(t *testing.T) {
	for _, s := range stories {
		t.Run(s.story, func(t *testing.T) {
			base, head := open(t, shared(t, "lab/xla", s.story, "base/plan.hlo.pb")), open(t, shared(t, "lab/xla", s.story, "head/plan.hlo.pb"))
			fs := Changed(Input{Base: base, Head: head})
			if got := rules(fs); got != s.rule {
				t.Fatalf("findings %q, want %q alone", got, s.rule)
			}
			if got := rules(Changed(Input{Base: head, Head: base})); got != "" {
				t.Errorf("the improvement has the findings %q", got)
			}
			if s.rule == "" {
				return
			}
			f := fs[0]
			grew := int64(0)
			for _, space := range []string{"device", "space1"} {
				grew = max(grew, value(head, "plan.heap_peak_bytes", space)-value(base, "plan.heap_peak_bytes", space), value(head, "plan.need_bytes", space)-value(base, "plan.need_bytes", space))
			}
			if !strings.Contains(f.Text, " "+s.function) || f.Source == nil || f.Source.Line == 0 {
				t.Errorf("want the function %s and its place, got %s (%+v)", s.function, f.Text, f.Source)
			}
			if f.Fix == "" || f.Cost == "" || f.SavingBytes <= 0 || int64(f.SavingBytes) > 2*grew || f.Evidence != Measured || f.Severity != Warning {
				t.Errorf("growth of %d bytes explained by %+v", grew, f)
			}
		})
	}
}

func value(m *measure.Measurement, metric, space string) int64 {
	for _, r := range m.Rows {
		if r.Name == metric && r.Labels["memory_space"] == space && r.Value != nil {
			n, _ := r.Value.Int64()
			return n
		}
	}
	return 0
}

// renamed reads a plan as if its folder, module and functions had other names.
func renamed(t *testing.T, path string) *measure.Measurement {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := xla.Read(f, -1, "elsewhere/x.pb")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.Modules {
		old := strings.TrimPrefix(m.Name, "jit_")
		m.Name = "jit_zebra"
		for i, name := range m.Frames.Functions {
			m.Frames.Functions[i] = fmt.Sprintf("z%d_%d", len(name), i)
		}
		for i := range m.Frames.Files {
			m.Frames.Files[i] = fmt.Sprintf("/other/folder/f%d.py", i)
		}
		for i := range m.Computations {
			for j := range m.Computations[i].Instructions {
				if meta := m.Computations[i].Instructions[j].Metadata; meta != nil {
					meta.OpName = strings.Replace(meta.OpName, "jit("+old+")", "jit(zebra)", 1)
				}
			}
		}
	}
	return c.Measurement()
}

// gist is what a finding says but for names.
func gist(fs []measure.Finding) string {
	var out strings.Builder
	for _, f := range fs {
		fmt.Fprintf(&out, "%s %s %s %s %d %s\n", f.Rule, f.Severity, f.Evidence, f.Fix, f.SavingBytes, f.Cost)
	}
	return out.String()
}

// TestRenamed checks that findings come from facts of the plan, not from names:
// of the head alone, of both sides, or of one capture that is explained.
func TestRenamed(t *testing.T) {
	for _, s := range stories {
		basePath, headPath := shared(t, "lab/xla", s.story, "base/plan.hlo.pb"), shared(t, "lab/xla", s.story, "head/plan.hlo.pb")
		base, head := open(t, basePath), open(t, headPath)
		otherBase, otherHead := renamed(t, basePath), renamed(t, headPath)
		want := gist(Run(Input{Base: base, Head: head}))
		if want == "" && s.rule != "" {
			t.Fatalf("%s: no findings", s.story)
		}
		for name, in := range map[string]Input{"head": {Base: base, Head: otherHead}, "both": {Base: otherBase, Head: otherHead}} {
			if got := gist(Run(in)); got != want {
				t.Errorf("%s: with other names (%s) the findings are\n%swant\n%s", s.story, name, got, want)
			}
		}
		if got, want := gist(Run(Input{Head: otherHead})), gist(Run(Input{Head: head})); got != want {
			t.Errorf("%s: with other names, explained alone, the findings are\n%swant\n%s", s.story, got, want)
		}
	}
}

// TestOversize explains a plan that is larger than its device, and the failed
// compile of another, each with what was printed.
func TestOversize(t *testing.T) {
	for _, c := range []struct{ plan, log, rules, text, alone string }{
		{"gpu-h100-oversize/plan.hlo.pb", "gpu-h100-oversize/stderr.txt", "does-not-fit remat-exhausted forward-kept xla-remat", "needs 113.79 GiB > 60.13 GiB (what XLA's rematerialization aims at on a device of about 79.10 GiB,", "may not fit: it needs 113.79 GiB > 79.10 GiB (what an A100 or H100 with 80 GB has)"},
		{"tpu-v5e-oom/oom_b21/plan.hlo.pb", "tpu-v5e-oom/oom_b21/stderr.txt", "does-not-fit tpu-hbm-out-of-memory forward-kept xla-remat", "needs 15.86 GiB > 15.75 GiB", ""},
	} {
		m := open(t, shared(t, "lab/xla", c.plan))
		alone := Run(Input{Head: m})
		if got := strings.Contains(rules(alone), "does-not-fit"); got != (c.alone != "") {
			t.Errorf("%s: without a log there is %s", c.plan, rules(alone))
		} else if f := alone[0]; got && (!strings.Contains(f.Text, c.alone) || f.Severity != Warning || f.Evidence != Inferred) {
			t.Errorf("%s: without a log: %+v", c.plan, f)
		}
		f, err := os.Open(shared(t, "lab/xla", c.log))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if m.Facts.Logs, _, err = ReadLog(f, c.log); err != nil {
			t.Fatal(err)
		}
		fs := Run(Input{Head: m})
		if got := rules(fs); got != c.rules {
			t.Errorf("%s: findings %s, want %s", c.plan, got, c.rules)
		}
		if !strings.Contains(fs[0].Text, c.text) || fs[0].Severity != Error {
			t.Errorf("%s: %s, want %q", c.plan, fs[0].Text, c.text)
		}
	}
}

// TestHealthy checks that runs which ended well have no finding of an error.
func TestHealthy(t *testing.T) {
	seen := 0
	for _, folder := range []string{"xla/rocm-te", "xla/rocm-mi300", "xla/tpu", "xla/tf-gpu"} {
		files, err := filepath.Glob(filepath.Join(shared(t, folder), "*.xplane.pb"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			seen++
			for _, f := range Run(Input{Head: open(t, path)}) {
				if f.Severity == Error {
					t.Errorf("%s: %+v", filepath.Base(path), f)
				}
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d captures", seen)
	}
}

// TestDeviceMemory judges a plan by the memory that the caller knows of.
func TestDeviceMemory(t *testing.T) {
	m := open(t, shared(t, "lab/xla/gpu-h100-oversize/plan.hlo.pb"))
	var need measure.Bytes
	for _, r := range m.Rows {
		if n, ok := r.Value.Int64(); ok && r.Name == "plan.need_bytes" && r.Labels["memory_space"] == "device" {
			need = measure.Bytes(n)
		}
	}
	for memory, fits := range map[measure.Bytes]bool{80e9: false, need: true, need - 1: false, 141e9: true} {
		got := rules(Run(Input{Head: m, DeviceMemory: memory}))
		if strings.Contains(got, "does-not-fit") == fits {
			t.Errorf("on a device of %s: %s", memory, got)
		}
	}
}

// TestDeviceOfLimit: the memory of the device follows from the limit that XLA prints, to
// the last bytes; the plan was made for a device of 84,929,347,584 B.
func TestDeviceOfLimit(t *testing.T) {
	m := open(t, shared(t, "lab/xla/gpu-h100-oversize/plan.hlo.pb"))
	got := deviceOf(measure.LogFact{LimitBytes: 64558729791}, modules(m))
	if off := got - 84929347584; max(off, -off) > 256 {
		t.Errorf("the device has %d B, %d off", got, off)
	}
	if got := deviceOf(measure.LogFact{LimitBytes: 64558729791}, nil); got != 0 {
		t.Errorf("without a plan the device has %d B", got)
	}
}

// TestUsualMemory judges a plan by what its device has as a rule, where the file names it.
func TestUsualMemory(t *testing.T) {
	for _, c := range []struct {
		name string
		gib  int64
		fits bool
	}{
		{"TPU v5 lite", 17, false}, {"TPU v5 Lite", 15, true}, {"TPU v6 Lite", 20, true}, {"TPU v5p", 90, true}, {"TPU v5", 97, false},
		{"TPU v4 lite", 20, false}, {"TPU v4", 20, true}, {"TPU7x", 100, false},
		{"compute 7.0", 33, false}, {"Nvidia compute 7.0", 33, false}, {"Nvidia compute 8.9", 40, true},
		{"AMD compute 9.4", 200, true}, {"AMD compute 9.4", 257, false}, {"a new device", 900, true},
	} {
		m := made(rows{"need_bytes": c.gib << 10, "heap_peak_bytes": c.gib << 10}, measure.ModuleFact{}, nil)
		m.Environment["device"] = c.name
		fs := Run(Input{Head: m})
		if got := len(fs) == 0; got != c.fits {
			t.Errorf("%d GiB on %s: %s", c.gib, c.name, rules(fs))
		}
		if !c.fits && (fs[0].Severity != Warning || fs[0].Evidence != Inferred || !strings.Contains(fs[0].Text, "what "+c.name+" has as a rule")) {
			t.Errorf("%+v", fs[0])
		}
	}
}
