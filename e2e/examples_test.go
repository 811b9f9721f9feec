package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestExamples: each example is green as it is, and red with the patch beside it, for
// the cause and at the lines that the patch is about.
func TestExamples(t *testing.T) {
	for _, c := range []struct {
		dir, python, framework, patch string
		red                           []string // in the report
		lines                         []string // of the largest contributor, of each check that fails
		class                         []string // of each target
	}{
		{
			"pytorch", "PEAKGATE_TORCH_PYTHON", "PyTorch and transformers", "checkpointing-removed.patch",
			[]string{"FAIL: llama_80gb: live.peak_bytes grew by 34.", "is over the max of 30 GiB", "the base recomputes activations (activation checkpointing), the head does not", "train.py:29 train"},
			[]string{"live.peak_bytes train.py:29"}, []string{"assumption"},
		},
		{
			"jax", "PEAKGATE_JAX_PYTHON", "JAX", "donation-lost.patch",
			[]string{"FAIL: h100: plan.donated_bytes fell by 4.35 GiB (-100.0 %)", "cause: donation lost: outputs were written over 4.35 GiB of arguments, now over 0 B", "declare donate_argnums again", "v5e  fail"},
			[]string{"plan.donated_bytes ", "plan.need_bytes train.py:47", "plan.donated_bytes ", "plan.need_bytes train.py:47"}, []string{"assumption", "exact"},
		},
	} {
		t.Run(c.dir, func(t *testing.T) {
			r := newRepository(t, withPython(t, c.python, c.framework))
			from := filepath.Join("../examples", c.dir)
			for _, name := range []string{"train.py", "peakgate.yml"} {
				r.write(t, name, read(t, filepath.Join(from, name)))
			}
			r.begin(t)
			r.write(t, "README.md", []byte("a change of no program\n"))
			r.git(t, "add", ".")
			r.git(t, "commit", "-q", "-m", "words")
			began := time.Now()
			if report, log, code := r.peakgate(t, "check"); code != 0 || !strings.Contains(report, "nothing moved against the base") {
				t.Fatalf("as it is: exit code %d\n%s%s", code, report, log)
			}
			t.Logf("base and head took %v", time.Since(began).Round(time.Second))

			r.git(t, "apply", abs(t, filepath.Join(from, c.patch)))
			r.git(t, "commit", "-q", "-a", "-m", "patch")
			report, log, code := r.peakgate(t, "check", "--report", "json=result.json")
			if code != 1 {
				t.Fatalf("with the patch: exit code %d, want 1\n%s%s", code, report, log)
			}
			for _, want := range c.red {
				if !strings.Contains(report, want) {
					t.Errorf("the report does not have %q:\n%s", want, report)
				}
			}
			lines, classes := failures(t, filepath.Join(r.dir, "result.json"))
			if !slices.Equal(lines, c.lines) || !slices.Equal(classes, c.class) {
				t.Errorf("failed %q of class %q, want %q of %q", lines, classes, c.lines, c.class)
			}
			// The bytes of torch's own counter, which the program prints where it is asked.
			if c.dir == "pytorch" {
				countersAgree(t, r)
			}
		})
	}
}

// failures gives of each check that failed the metric and the line of its largest
// contributor, and of each target the class of the dry run.
func failures(t *testing.T, path string) (lines, classes []string) {
	t.Helper()
	var result struct {
		Targets []struct {
			Environment struct {
				Head struct{ Dryrun struct{ Class string } }
			}
			Checks []struct {
				Metric, Verdict string
				Contributors    []struct {
					Display string
				}
			}
		}
	}
	if err := json.Unmarshal(read(t, path), &result); err != nil {
		t.Fatal(err)
	}
	for _, target := range result.Targets {
		classes = append(classes, target.Environment.Head.Dryrun.Class)
		for _, check := range target.Checks {
			if check.Verdict != "fail" {
				continue
			}
			line := check.Metric + " "
			if len(check.Contributors) > 0 {
				_, after, _ := strings.Cut(check.Contributors[0].Display, "train.py:")
				number, _, _ := strings.Cut(after, " ")
				line += "train.py:" + number
			}
			lines = append(lines, line)
		}
	}
	return lines, classes
}

// countersAgree runs the example alone and holds the measured peak against what torch
// itself counts.
func countersAgree(t *testing.T, r *repository) {
	t.Helper()
	program := string(read(t, filepath.Join(r.dir, "train.py"))) + "    print('peak', torch.cuda.memory_stats()['requested_bytes.all.peak'])\n"
	r.write(t, "counted.py", []byte(program))
	out, log, code := r.peakgate(t, "dryrun", "torch", "--memory", "80GB", "--assume", "1", "--format", "json", "--", "python3", "counted.py")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, log)
	}
	var m struct {
		Metrics []struct {
			Name  string
			Value json.Number
		}
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatal(err)
	}
	for _, row := range m.Metrics {
		if row.Name == "live.peak_bytes" {
			if !strings.Contains(log, "peak "+row.Value.String()+"\n") {
				t.Errorf("live.peak_bytes %s; torch counted otherwise:\n%s", row.Value, log)
			}
			return
		}
	}
	t.Errorf("no live.peak_bytes:\n%s", out)
}
