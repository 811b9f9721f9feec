package e2e

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestDryRunOfTensorFlow: growth is exact, memory that runs out is told, an error has
// its line.
func TestDryRunOfTensorFlow(t *testing.T) {
	python := withPython(t, "PEAKGATE_TF_PYTHON", "TensorFlow")
	bin := filepath.Join(t.TempDir(), "peakgate")
	if out, err := exec.Command("go", "build", "-o", bin, "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		story, memory string
		code          int
		class, fits   string
		growth        int64
		line          int
	}{
		{"steady", "256MiB", 0, "assumption", "unsure", 0, 0},
		{"leak", "2GiB", 0, "assumption", "yes", 1_000_000, 0},
		{"large", "128MiB", 1, "assumption", "no", 32 << 20, 0},
		{"wrong", "256MiB", 3, "did_not_run", "", 0, 21},
		{"exit", "256MiB", 3, "did_not_run", "", 0, 0},
	} {
		t.Run(c.story, func(t *testing.T) {
			cmd := exec.Command(bin, "dryrun", "tf", "--memory", c.memory, "--format", "json", "--", python, "train_tf.py", c.story)
			var out, log bytes.Buffer
			cmd.Dir, cmd.Stdout, cmd.Stderr = "testdata", &out, &log
			cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d\n%.4000s", code, c.code, log.String())
			}
			var m struct {
				Metrics []struct {
					Name  string
					Value int64
				}
				Facts struct {
					Dryrun []struct {
						Class, Fits string
						Reasons     []struct{ Source *struct{ Line int } }
					}
				}
			}
			if err := json.Unmarshal(out.Bytes(), &m); err != nil {
				t.Fatalf("%v\n%.4000s", err, out.String())
			}
			f := m.Facts.Dryrun[0]
			if f.Class != c.class || f.Fits != c.fits {
				t.Errorf("%+v", f)
			}
			if s := f.Reasons[0].Source; (s != nil) != (c.line > 0) || s != nil && s.Line != c.line {
				t.Errorf("source %+v, want line %d", s, c.line)
			}
			if c.class == "did_not_run" {
				return
			}
			got := map[string]int64{}
			for _, r := range m.Metrics {
				got[r.Name] = r.Value
			}
			if n, ok := got["growth.bytes_per_step"]; !ok || n != c.growth {
				t.Errorf("growth %d, want %d", n, c.growth)
			}
			// The weights and the batch at least.
			if got["live.peak_bytes"] < 4*(784*512+128*784) || (got["oom.events"] > 0) != (c.fits == "no") {
				t.Errorf("%v", got)
			}
		})
	}
}
