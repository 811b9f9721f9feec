package xla

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// factOf gives the fact of the one module's plan in a memory space.
func factOf(t *testing.T, m *measure.Measurement, space string) measure.PlanFact {
	t.Helper()
	for _, f := range m.Facts.Plans {
		if f.Labels["memory_space"] == space {
			return f
		}
	}
	t.Fatalf("no plan of memory space %s", space)
	return measure.PlanFact{}
}

// TestDonationFacts checks who is donated and who could be, by what the programs say.
func TestDonationFacts(t *testing.T) {
	dir := captures(t, "lab/xla")
	for _, platform := range []string{"cpu-0.10.2", "gpu-h100", "cpu-0.6.2"} {
		base := open(t, filepath.Join(dir, platform, "b_donate/base/plan.hlo.pb")).Measurement()
		head := open(t, filepath.Join(dir, platform, "b_donate/head/plan.hlo.pb")).Measurement()
		b, h := factOf(t, base, "device").Donation, factOf(t, head, "device").Donation
		if b.Arguments != 11 || b.Donated != 9 || b.Declared != 9 || b.MissingCount != 0 || b.LeftCount != 0 {
			t.Errorf("%s base: %+v", platform, b)
		}
		// The nine leaves of the state, whose sizes are those of nine outputs.
		if h.Arguments != 11 || h.Donated != 0 || h.Declared != 0 || h.MissingCount != 9 || int64(h.MissingBytes) != row(t, base, "plan.donated_bytes", "device") || len(h.Missing) != classHolders {
			t.Errorf("%s head: %+v", platform, h)
		}
	}
}

// TestClassFacts checks that classes add up to the heap peak, that their largest
// holders are among the contributors, and that e_noise has the same facts.
func TestClassFacts(t *testing.T) {
	eachCapture(t, func(t *testing.T, file string, c *Capture) {
		m := c.Measurement()
		keys := map[string]bool{}
		for _, c := range m.Contributors {
			keys[c.Key] = true
		}
		for _, f := range m.Facts.Plans {
			var sum measure.Bytes
			for _, c := range f.Classes {
				sum += c.Bytes
			}
			for _, r := range m.Rows {
				if r.Name == "plan.heap_peak_bytes" && r.Labels.Key() == f.Labels.Key() && r.Value != nil {
					if n, _ := r.Value.Int64(); measure.Bytes(n) != sum {
						t.Errorf("%s %s: classes hold %d of a peak of %d bytes", file, f.Labels.Key(), sum, n)
					}
				}
			}
			for _, h := range f.Holders {
				if h.Bytes <= 0 || h.Count <= 0 || h.UnpaddedBytes > h.Bytes || h.Display == "" || h.Class == "" || h.Operation == "" {
					t.Errorf("%s %s: holder %+v", file, f.Labels.Key(), h)
				}
				if h.Bytes > 1<<20 && !keys[h.Key] && h.Class != "temp" {
					t.Errorf("%s %s: %s is no contributor", file, f.Labels.Key(), h.Key)
				}
			}
		}
	})
}

func TestNoiseFacts(t *testing.T) {
	dir := captures(t, "lab/xla")
	for _, platform := range []string{"cpu-0.10.2", "gpu-h100", "tpu-v5e"} {
		base := open(t, filepath.Join(dir, platform, "e_noise/base/plan.hlo.pb")).Measurement().Facts
		head := open(t, filepath.Join(dir, platform, "e_noise/head/plan.hlo.pb")).Measurement().Facts
		for i, b := range base.Plans {
			if h := head.Plans[i]; b.Schedule != h.Schedule || b.BlockBytes != h.BlockBytes || fmt.Sprint(b.Classes) != fmt.Sprint(h.Classes) {
				t.Errorf("%s: %+v\n%+v", platform, b, h)
			}
		}
		if base.Modules[0].Contents != head.Modules[0].Contents || len(base.Modules[0].Contents) != 16 {
			t.Errorf("%s: contents %s and %s", platform, base.Modules[0].Contents, head.Modules[0].Contents)
		}
	}
}

func TestCheckpointFacts(t *testing.T) {
	dir := captures(t, "lab/xla")
	for path, want := range map[string]bool{"a2_remat_scan/base": true, "a2_remat_scan/head": false} {
		for _, platform := range []string{"cpu-0.4.30", "cpu-0.10.2", "gpu-h100", "tpu-v5e"} {
			f := open(t, filepath.Join(dir, platform, path, "plan.hlo.pb")).Measurement().Facts.Modules[0]
			if f.Checkpointed > 0 != want || f.Scopes > 0 != want || f.Scopes < f.Checkpointed {
				t.Errorf("%s %s: %d computed again of %d in checkpointed functions", platform, path, f.Checkpointed, f.Scopes)
			}
		}
	}
}

// TestModuleFields reads partitions, shardings, scratch memory, and the same
// instructions in another order.
func TestModuleFields(t *testing.T) {
	build := func(configs []string, order ...int64) *Module {
		c := message{}.text(1, "main").int(5, 1).int(6, 1)
		for _, id := range order {
			in := instruction(id, fmt.Sprintf("op%d", id), []string{"", "add", "multiply", "exponential"}[id])
			for _, config := range configs {
				in = in.text(43, config)
			}
			c = c.bytes(2, in)
		}
		m := message{}.text(1, "test_module").bytes(3, c).int(6, 1).
			bytes(14, message{}.int(1, 3)).bytes(14, message{}.int(1, 0)).bytes(14, message{}).bytes(14, message{}.int(1, 3)).
			bytes(15, message{}.int(1, 2).int(2, 4))
		file := message{}.bytes(1, m)
		capture, err := Read(bytes.NewReader(file), int64(len(file)), "made")
		if err != nil {
			t.Fatal(err)
		}
		return capture.Modules[0]
	}
	a, b := build(nil, 1, 2, 3), build(nil, 3, 1, 2)
	if a.Partitions != 4 || a.Sharded != 2 || a.ScopedBytes != 0 {
		t.Errorf("%d partitions, %d sharded, %d scoped bytes", a.Partitions, a.Sharded, a.ScopedBytes)
	}
	if a.Fingerprint == b.Fingerprint || a.contents != b.contents || a.contents == build(nil, 1, 2).contents || a.contents == build(nil, 1, 2, 2).contents {
		t.Errorf("contents %x %x, fingerprints %s %s", a.contents, b.contents, a.Fingerprint, b.Fingerprint)
	}
	for config, want := range map[string]int64{
		`{"used_scoped_memory_configs":[{"memory_space":"1","offset":"0","size":"4096"}],"x":1}`:                                                 4096,
		`{"a":[],"used_scoped_memory_configs":[{"memory_space":1,"size":4096},{"memory_space":"1","size":"4"},{"memory_space":"0","size":"9"}]}`: 4100,
		`{"used_scoped_memory_configs":[]}`:                                                  0,
		`{"used_scoped_memory_configs":[{"memory_space":"1","size":"-5"}]}`:                  0,
		`{"used_scoped_memory_configs":[{"memory_space":"1","size":"99999999999999999999`:    0,
		`{"used_scoped_memory_configs":{"memory_space":"1"}}`:                                0,
		`{"used_scoped_memory_configs":[{"memory_space":"1","size":"9223372036854775807"}]}`: 0,
		``: 0,
	} {
		if got := build([]string{config}, 1).ScopedBytes; got != want {
			t.Errorf("%s: %d scoped bytes, want %d", config, got, want)
		}
	}
}
