package jax

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
)

// withJAX names a Python that has JAX, libtpu and the CUDA plugin. .ci/run makes one,
// of pinned versions.
const withJAX = "PEAKGATE_JAX_PYTHON"

func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv(withJAX)
	if path == "" {
		t.Skipf("%s is not set: .ci/run makes a Python that has JAX", withJAX)
	}
	return path
}

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

func compile(t *testing.T, dir, function string, targets ...string) *dryrun.Result {
	t.Helper()
	spec := dryrun.Spec{Framework: dryrun.JAX, Argv: []string{function}, Dir: dir, Env: os.Environ(), Python: python(t), Targets: targets}
	r, err := Run(spec, t.TempDir(), start(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rows gives the bytes of a capture by memory space and metric.
func rows(t *testing.T, c dryrun.Capture) map[string]map[string]int64 {
	t.Helper()
	m, err := capture.Open(c.Path, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]int64{}
	for _, r := range m.Rows {
		if space := r.Labels["memory_space"]; space != "" && r.Value != nil {
			if out[space] == nil {
				out[space] = map[string]int64{}
			}
			out[space][r.Name], _ = r.Value.Int64()
		}
	}
	return out
}

// change is a line of a program and what takes its place.
type change struct{ from, to string }

// programs are those of golden.json: their files, what makes them small enough for a
// CPU, and the one line that is another in the head.
var programs = map[string]struct {
	file        string
	small, head change
}{
	"a2_remat_scan": {"../../fixtures/regression/xla/base.py", change{"= 4, 1024, 8, 4096, 16384, 8, 1024", "= 4, 256, 4, 1024, 2048, 4, 256"}, change{"= jax.checkpoint(block)", "= block"}},
	"b_donate":      {"../../fixtures/xla/h100_donate.py", change{"= 2048, 8192, 1024", "= 512, 2048, 64"}, change{"DONATE = (0, 1)", "DONATE = ()"}},
	"c_scan":        {"testdata/c_scan.py", change{"= 512, 512, 512", "= 256, 64, 256"}, change{"= jax.checkpoint(cell)", "= cell"}},
	"d_upcast":      {"testdata/d_upcast.py", change{"= 8, 1024, 1024, 32768", "= 4, 256, 256, 8192"}, change{`h @ w["emb"].T`, `(h @ w["emb"].T).astype(jnp.float32)`}},
	"k_offload": {"../../fixtures/xla/tpu_offload.py", change{}, change{`jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=[], names_which_can_be_offloaded=["act"], offload_src="device", offload_dst="pinned_host")`, `jax.checkpoint_policies.save_only_these_names("act")`}},
}

// TestGolden: the plans are those of complete compilations, whose sums are XLA's own, of
// its buffer-assignment text and memory_analysis().
func TestGolden(t *testing.T) {
	python(t)
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]map[string]map[string]int64 // by device/program/side, memory space and metric
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	for name, want := range golden {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part := strings.Split(name, "/")
			p := programs[part[1]]
			text, err := os.ReadFile(p.file)
			if err != nil {
				t.Fatal(err)
			}
			changes := []change{}
			if part[0] == "cpu" {
				changes = append(changes, p.small)
			}
			if part[2] == "head" {
				changes = append(changes, p.head)
			}
			for _, c := range changes {
				changed := bytes.Replace(text, []byte(c.from), []byte(c.to), 1)
				if bytes.Equal(changed, text) {
					t.Fatalf("%s does not have %q", p.file, c.from)
				}
				text = changed
			}
			dir := t.TempDir()
			text = append(text, "\n\ndef plan():\n    return jax.jit(fn, donate_argnums=DONATE), arg_specs()\n"...)
			if err := os.WriteFile(filepath.Join(dir, "program.py"), text, 0o644); err != nil {
				t.Fatal(err)
			}
			r := compile(t, dir, "program:plan", part[0])
			if len(r.Captures) != 1 || r.Captures[0].Device != part[0] {
				t.Fatalf("%+v", r)
			}
			got := rows(t, r.Captures[0])
			for space, metrics := range want {
				for metric, bytes := range metrics {
					if n, ok := got[space][metric]; !ok || n != bytes {
						t.Errorf("%s of %s: %d, want %d", metric, space, n, bytes)
					}
				}
			}
			f, class, fits := r.Facts[0], measure.DryrunExact, measure.FitsYes
			switch part[0] {
			case "h100":
				class = measure.DryrunAssumption
			case "cpu":
				fits = ""
			}
			if f.Class != class || f.Fits != fits || f.Device != part[0] {
				t.Errorf("%+v", f)
			}
			if r.Environment["jax"] == "" || part[0] == "v5e" && r.Environment["libtpu"] == "" {
				t.Errorf("versions %v", r.Environment)
			}
			if len(r.Warnings) > 0 {
				t.Errorf("warnings %q", r.Warnings)
			}
		})
	}
}
