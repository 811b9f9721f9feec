package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/compare"
)

// judge runs check on one head and base with one budget line, and gives the
// result that --format json prints.
func judge(t *testing.T, head, base, entry string) (*compare.Result, int) {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "peakgate.yml")
	text := fmt.Sprintf("version: 1\ntargets:\n  story:\n    captures: %q\n    base: %q\n    budgets:\n      %s\n", filepath.ToSlash(head), filepath.ToSlash(base), entry)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	code := Main([]string{"check", "--config", config, "--format", "json", "--allow-path", sharedCaptures(t)}, Streams{Stdout: &out, Stderr: &problems, Getenv: func(string) string { return "" }})
	if problems.Len() > 0 {
		t.Fatalf("%s: %s", head, problems.String())
	}
	var r compare.Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return &r, code
}

func sharedCaptures(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../../shared/captures")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the shared captures are not beside the repository")
	}
	return dir
}

const noGrowth = "{ growth: 0% }"

// Each story is a program that one line changed, captured with a real
// framework; the truth is what its author changed.
func TestStories(t *testing.T) {
	captures := sharedCaptures(t)
	for _, s := range []struct {
		name, base, head, metric string
		baseBytes, headBytes     int64 // 0: not asserted here
		verdict                  compare.Verdict
	}{
		{"the regression of a public project", "torch/xl_ctx128_forward_base.pickle", "torch/xl_ctx128_forward_head.pickle", "live.peak_bytes", 13_724_936_192, 19_249_000_448, compare.Fail},
		{"its live bytes at the end", "torch/xl_ctx128_forward_base.pickle", "torch/xl_ctx128_forward_head.pickle", "live.end_bytes", 13_635_807_232, 13_635_807_232, compare.Pass},
		{"checkpointing removed", "lab/torch/ckpt_base.pickle", "lab/torch/ckpt_head.pickle", "live.peak_bytes", 119_910_100, 174_349_108, compare.Fail},
		{"a graph is kept", "lab/torch/leak_graph_base.pickle", "lab/torch/leak_graph_head.pickle", "live.end_bytes", 0, 0, compare.Fail},
		{"a graph is kept: the peak", "lab/torch/leak_graph_base.pickle", "lab/torch/leak_graph_head.pickle", "live.peak_bytes", 0, 0, compare.Fail},
		{"clones are kept", "lab/torch/leak_graph_base.pickle", "lab/torch/leak_clone_head.pickle", "live.end_bytes", 0, 0, compare.Fail},
		{"clones are kept: the peak", "lab/torch/leak_graph_base.pickle", "lab/torch/leak_clone_head.pickle", "live.peak_bytes", 0, 0, compare.Fail},
		{"optimizer state", "lab/torch/optim_base.pickle", "lab/torch/optim_head.pickle", "live.peak_bytes", 0, 0, compare.Fail},
		{"remat lost", "lab/xla/cpu-0.10.2/a2_remat_scan/base/plan.hlo.pb", "lab/xla/cpu-0.10.2/a2_remat_scan/head/plan.hlo.pb", "plan.need_bytes", 0, 0, compare.Fail},
		{"remat lost, H100", "lab/xla/gpu-h100/a2_remat_scan/base/plan.hlo.pb", "lab/xla/gpu-h100/a2_remat_scan/head/plan.hlo.pb", "plan.need_bytes", 0, 0, compare.Fail},
		{"remat lost, TPU", "lab/xla/tpu-v5e/a2_remat_scan/base/plan.hlo.pb", "lab/xla/tpu-v5e/a2_remat_scan/head/plan.hlo.pb", "plan.need_bytes", 0, 0, compare.Fail},
		{"residuals stacked", "lab/xla/cpu-0.10.2/c_scan/base/plan.hlo.pb", "lab/xla/cpu-0.10.2/c_scan/head/plan.hlo.pb", "plan.need_bytes", 0, 0, compare.Fail},
		{"residuals stacked, TPU", "lab/xla/tpu-v5e/c_scan/base/plan.hlo.pb", "lab/xla/tpu-v5e/c_scan/head/plan.hlo.pb", "plan.need_bytes", 0, 0, compare.Fail},
		{"donation lost", "lab/xla/cpu-0.10.2/b_donate/base/plan.hlo.pb", "lab/xla/cpu-0.10.2/b_donate/head/plan.hlo.pb", "plan.need_bytes", 0, 0, compare.Fail},
		{"donation lost: temp falls", "lab/xla/cpu-0.10.2/b_donate/base/plan.hlo.pb", "lab/xla/cpu-0.10.2/b_donate/head/plan.hlo.pb", "plan.temp_bytes", 22_544_384, 0, compare.Pass},
		{"donation lost: donated bytes fall", "lab/xla/cpu-0.10.2/b_donate/base/plan.hlo.pb", "lab/xla/cpu-0.10.2/b_donate/head/plan.hlo.pb", "plan.donated_bytes", 0, 0, compare.Fail},
		{"donation lost, H100", "lab/xla/gpu-h100/b_donate/base/plan.hlo.pb", "lab/xla/gpu-h100/b_donate/head/plan.hlo.pb", "plan.need_bytes", 0, 0, compare.Fail},
		{"donation lost, H100: temp falls", "lab/xla/gpu-h100/b_donate/base/plan.hlo.pb", "lab/xla/gpu-h100/b_donate/head/plan.hlo.pb", "plan.temp_bytes", 335_544_856, 536, compare.Pass},
	} {
		r, code := judge(t, filepath.Join(captures, s.head), filepath.Join(captures, s.base), s.metric+": "+noGrowth)
		if r.Verdict != s.verdict || code != exitCode(s.verdict) {
			t.Errorf("%s: %s is %s (exit %d), want %s: %s", s.name, s.metric, r.Verdict, code, s.verdict, r.Targets[0].Checks[0].Reason)
			continue
		}
		c := r.Targets[0].Checks[0]
		head, _ := c.Head.Int64()
		base, _ := c.Base.Int64()
		if s.baseBytes+s.headBytes > 0 && (base != s.baseBytes || head != s.headBytes) {
			t.Errorf("%s: %s from %d to %d, want %d to %d", s.name, s.metric, base, head, s.baseBytes, s.headBytes)
		}
		if s.verdict == compare.Fail && s.metric != "plan.donated_bytes" && (len(c.Contributors) == 0 || c.Contributors[0].Delta() <= 0) {
			t.Errorf("%s: red without a contributor that grew: %+v", s.name, c.Contributors)
		}
		var moved int64
		for _, one := range c.Contributors {
			moved += int64(one.Delta())
		}
		if s.metric != "plan.donated_bytes" && moved != head-base {
			t.Errorf("%s: the contributors moved by %d, the metric by %d", s.name, moved, head-base)
		}
	}
}

// No change is green at a tolerance of 0 bytes, and no contributor moved,
// though lines shifted, a class was renamed, and another process ran.
func TestNoChangeStories(t *testing.T) {
	captures := sharedCaptures(t)
	torch := []string{"live.peak_bytes", "live.end_bytes"}
	plan := []string{"plan.need_bytes", "plan.temp_bytes", "plan.heap_peak_bytes", "plan.compiler_peak_bytes", "plan.argument_bytes", "plan.output_bytes"}
	for _, s := range []struct {
		base, head string
		metrics    []string
	}{
		{"lab/torch/same_base.pickle", "lab/torch/same_rerun.pickle", torch},
		{"lab/torch/same_base.pickle", "lab/torch/same_shifted.pickle", torch},
		{"lab/torch/same_base.pickle", "lab/torch/same_renamed.pickle", torch},
		{"lab/xla/cpu-0.10.2/e_noise/base/plan.hlo.pb", "lab/xla/cpu-0.10.2/e_noise/head/plan.hlo.pb", plan},
		{"lab/xla/cpu-0.10.2/e_noise/base/step.xplane.pb", "lab/xla/cpu-0.10.2/e_noise/head/step.xplane.pb", plan},
		{"lab/xla/gpu-h100/e_noise/base/plan.hlo.pb", "lab/xla/gpu-h100/e_noise/head/plan.hlo.pb", plan},
		{"lab/xla/tpu-v5e/e_noise/base/plan.hlo.pb", "lab/xla/tpu-v5e/e_noise/head/plan.hlo.pb", plan},
	} {
		for _, metric := range s.metrics {
			r, _ := judge(t, filepath.Join(captures, s.head), filepath.Join(captures, s.base), metric+": "+noGrowth)
			if r.Verdict != compare.Pass || r.Targets[0].Likeness.Verdict != "identical" {
				t.Errorf("%s: %s is %s, workloads %+v", s.head, metric, r.Verdict, r.Targets[0].Likeness)
			}
			for _, c := range r.Targets[0].Checks {
				if len(c.Contributors) != 0 {
					t.Errorf("%s: %s: contributors moved: %+v", s.head, metric, c.Contributors)
				}
			}
		}
	}
}

// The sites of the public regression, in the order of what they grew by.
func TestSitesThatGrew(t *testing.T) {
	captures := sharedCaptures(t)
	r, _ := judge(t, filepath.Join(captures, "torch/xl_ctx128_forward_head.pickle"), filepath.Join(captures, "torch/xl_ctx128_forward_base.pickle"), "live.peak_bytes: "+noGrowth)
	cs := r.Targets[0].Checks[0].Contributors
	if len(cs) < 5 {
		t.Fatalf("%d contributors", len(cs))
	}
	for i, want := range []string{"einsum", "silu"} {
		if !strings.Contains(cs[i].Display, want) {
			t.Errorf("contributor %d is %s, want one of %s", i, cs[i].Display, want)
		}
	}
	for i := 1; i < len(cs); i++ {
		if cs[i].Delta() > cs[i-1].Delta() {
			t.Errorf("contributor %d grew by more than the one before it", i)
		}
	}
}
