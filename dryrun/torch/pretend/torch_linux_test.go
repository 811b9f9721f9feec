package pretend

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTorch runs a real PyTorch: its own counters are the truth.
func TestTorch(t *testing.T) {
	python := os.Getenv("PEAKGATE_TORCH_PYTHON")
	if python == "" {
		t.Skip("PEAKGATE_TORCH_PYTHON is not set: .ci/run makes a Python that has torch")
	}
	l, err := Build(t.Context(), python, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const gib = 1 << 30
	for _, c := range []struct {
		capability string
		workspace  float64 // that torch gives to cuBLAS
		reads      string
		item       float64
	}{
		{"9.0", 33_554_432, Zero, 0},
		{"8.0", 8_519_680, One, 1},
	} {
		if !slices.Contains(l.Capabilities, c.capability) {
			t.Errorf("capability %s is not among %v", c.capability, l.Capabilities)
		}
		claim := Claim{Memory: 4*gib + 6<<20 + 1, Context: gib, Capability: c.capability, Reads: c.reads, Dir: t.TempDir()}
		cmd := exec.Command(python, append([]string{"testdata/exact.py"}, l.Preload...)...)
		cmd.Env = append(os.Environ(), claim.Environ()...)
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+l.Dir)
		cmd.Stderr = os.Stderr
		text, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		want := map[string]any{
			"capability": []any{float64(c.capability[0] - '0'), float64(0)},
			"zeros":      4e6, "matmul": 4e6 + c.workspace,
			"free": float64(3*gib + 6<<20 + 1), "total": float64(4*gib + 6<<20 + 1),
			"the rest fits": true, "2 MiB more fit": false, "reserved": float64(0),
			"reads of a training step": float64(0), "refused by a training step": float64(0),
			"notes of training":   []any{},
			"written by the host": []any{3.0, 4.0},
			"item":                c.item, "nonzero": c.item, "reads": float64(2),
			"raised": []any{"lstm", "qr"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("capability %s: (-want +got)\n%s", c.capability, diff)
		}
		notes := strings.Split(readNotes(t, claim.Dir), "\n")
		for _, line := range []string{"assumption the workspace of cuDNN's engines", "unsupported cudnnSetDropoutDescriptor", "assumption the workspace of cuFFT"} {
			if !slices.Contains(notes, line) {
				t.Errorf("notes %q lack %q", notes, line)
			}
		}
	}
}
