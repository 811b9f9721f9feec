package xla

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// row gives the exact value of the one row of a metric in a memory space.
func row(t testing.TB, m *measure.Measurement, name, space string) int64 {
	t.Helper()
	for _, r := range m.Rows {
		if r.Name != name || r.Labels["memory_space"] != space {
			continue
		}
		if r.Value == nil {
			t.Fatalf("%s: no data: %s", name, r.NoData)
		}
		n, _ := r.Value.Int64()
		return n
	}
	t.Fatalf("%s: no row of memory space %q", name, space)
	return 0
}

// TestStories checks that each known regression raises the metric that a budget names.
func TestStories(t *testing.T) {
	dir := captures(t, "lab/xla")
	for _, s := range []struct {
		story, platform, metric, space string
		up                             bool
	}{
		{"a2_remat_scan", "cpu-0.10.2", "plan.need_bytes", "device", true},
		{"a2_remat_scan", "cpu-0.10.2", "plan.forward_kept_bytes", "device", true},
		{"a2_remat_scan", "gpu-h100", "plan.need_bytes", "device", true},
		{"a2_remat_scan", "gpu-h100", "plan.forward_kept_bytes", "device", true},
		{"a2_remat_scan", "tpu-v5e", "plan.need_bytes", "device", true},
		{"a2_remat_scan", "tpu-v5e", "plan.forward_kept_bytes", "device", true},
		{"c_scan", "cpu-0.10.2", "plan.need_bytes", "device", true},
		{"c_scan", "cpu-0.10.2", "plan.temp_bytes", "device", true},
		{"c_scan", "tpu-v5e", "plan.need_bytes", "device", true},
		{"b_donate", "cpu-0.10.2", "plan.need_bytes", "device", true},
		{"b_donate", "cpu-0.10.2", "plan.temp_bytes", "device", false},
		{"b_donate", "cpu-0.10.2", "plan.donated_bytes", "device", false},
		{"b_donate", "gpu-h100", "plan.need_bytes", "device", true},
		{"b_donate", "gpu-h100", "plan.temp_bytes", "device", false},
		{"b_donate", "gpu-h100", "plan.donated_bytes", "device", false},
		{"b_donate", "gpu-h100", "plan.unaliased_output_bytes", "device", true},
		{"d_upcast", "gpu-h100", "plan.need_bytes", "device", true},
		{"k_offload", "tpu-v5e", "plan.need_bytes", "device", true},
		{"k_offload", "tpu-v5e", "plan.compiler_peak_bytes", "", false}, // it counts the host's memory too
	} {
		t.Run(s.story+"/"+s.platform+"/"+s.metric, func(t *testing.T) {
			base := row(t, open(t, filepath.Join(dir, s.platform, s.story, "base", "plan.hlo.pb")).Measurement(), s.metric, s.space)
			head := row(t, open(t, filepath.Join(dir, s.platform, s.story, "head", "plan.hlo.pb")).Measurement(), s.metric, s.space)
			if base == head || head > base != s.up {
				t.Errorf("base %d, head %d: want the head to be larger: %v", base, head, s.up)
			}
		})
	}
}

// TestNoise checks that a program with shifted lines and renamed locals is the same program.
func TestNoise(t *testing.T) {
	dir := captures(t, "lab/xla")
	for _, platform := range []string{"cpu-0.10.2", "gpu-h100", "tpu-v5e"} {
		for _, file := range []string{"plan.hlo.pb", "step.xplane.pb"} {
			if file == "step.xplane.pb" && platform != "cpu-0.10.2" {
				continue
			}
			base := open(t, filepath.Join(dir, platform, "e_noise", "base", file)).Measurement()
			head := open(t, filepath.Join(dir, platform, "e_noise", "head", file)).Measurement()
			sameMeasurement(t, platform+"/"+file, base, head)
		}
	}
}

func sameMeasurement(t *testing.T, what string, base, head *measure.Measurement) {
	t.Helper()
	if len(base.Rows) == 0 || len(base.Rows) != len(head.Rows) {
		t.Fatalf("%s: %d rows in base, %d in head", what, len(base.Rows), len(head.Rows))
	}
	for i, b := range base.Rows {
		h := head.Rows[i]
		if b.Name != h.Name || b.Labels.Key() != h.Labels.Key() || (b.Value == nil) != (h.Value == nil) || b.Value != nil && b.Value.Cmp(*h.Value) != 0 {
			t.Errorf("%s: row %s %s differs: %v, %v", what, b.Name, b.Labels.Key(), b.Value, h.Value)
		}
	}
	if len(base.Contributors) == 0 || len(base.Contributors) != len(head.Contributors) {
		t.Fatalf("%s: %d contributors in base, %d in head", what, len(base.Contributors), len(head.Contributors))
	}
	for i, b := range base.Contributors {
		if h := head.Contributors[i]; b.Key != h.Key || b.Bytes != h.Bytes || b.Count != h.Count || b.Metric != h.Metric || b.Class != h.Class {
			t.Errorf("%s: contributor of %s differs: %s %d, %s %d", what, b.Metric, b.Key, b.Bytes, h.Key, h.Bytes)
		}
	}
	for i, b := range base.Facts.Modules {
		if h := head.Facts.Modules[i]; b.Fingerprint != h.Fingerprint {
			t.Errorf("%s: fingerprint of %s differs", what, b.Labels.Key())
		}
	}
}

// TestFingerprint checks that different programs have different fingerprints.
func TestFingerprint(t *testing.T) {
	dir := captures(t, "lab/xla")
	for _, story := range []string{"a2_remat_scan", "c_scan", "d_upcast"} {
		base := open(t, filepath.Join(dir, "cpu-0.10.2", story, "base", "plan.hlo.pb"))
		head := open(t, filepath.Join(dir, "cpu-0.10.2", story, "head", "plan.hlo.pb"))
		if f := base.Modules[0].Fingerprint; f == head.Modules[0].Fingerprint || len(f) != 16 {
			t.Errorf("%s: fingerprints %s and %s, want two of 16 digits that differ", story, f, head.Modules[0].Fingerprint)
		}
	}
}

// eachCapture calls f with every XLA capture of the fixtures and the shared folder.
func eachCapture(t *testing.T, f func(t *testing.T, file string, c *Capture)) {
	t.Helper()
	roots := []string{fixture(t, "")}
	shared := filepath.Join(repository(t), "..", "shared", "captures")
	roots = append(roots, shared)
	n := 0
	for _, root := range roots {
		filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
			if err != nil {
				return nil // the shared folder may be absent
			}
			name := e.Name()
			if !e.IsDir() && (strings.HasSuffix(name, ".xplane.pb") || strings.HasSuffix(name, ".hlo.pb") || strings.HasSuffix(name, ".hlo_proto.pb")) {
				n++
				t.Run(strings.TrimPrefix(file, root+"/"), func(t *testing.T) { f(t, file, open(t, file)) })
			}
			return nil
		})
	}
	if n < 7 {
		t.Fatalf("%d captures, want the fixtures at least", n)
	}
}

// TestSums checks, on every capture there is, that the parts of a plan add up.
func TestSums(t *testing.T) {
	eachCapture(t, func(t *testing.T, file string, c *Capture) {
		m := c.Measurement()
		sums := map[string]int64{}
		for _, c := range m.Contributors {
			sums[c.Metric+" "+c.Labels.Key()] += int64(c.Bytes)
			if c.Bytes < 0 || c.Key == "" || c.Display == "" {
				t.Errorf("contributor %+v", c)
			}
		}
		keys := map[string]bool{}
		for _, c := range m.Contributors {
			id := c.Metric + " " + c.Labels.Key() + " " + c.Key
			if keys[id] {
				t.Errorf("contributor %s occurs twice", id)
			}
			keys[id] = true
		}
		seen := map[string]int64{}
		for _, r := range m.Rows {
			id := r.Name + " " + r.Labels.Key()
			if _, ok := seen[id]; ok {
				t.Errorf("row %s occurs twice", id)
			}
			if r.Value == nil {
				if r.NoData == "" {
					t.Errorf("row %s has neither a value nor a reason", id)
				}
				continue
			}
			n, exact := r.Value.Int64()
			seen[id] = n
			if r.Unit != measure.ByteUnit && r.Unit != measure.Count {
				continue
			}
			if !exact || n < 0 {
				t.Errorf("row %s: want a whole number from 0, got %v", id, r.Value)
			}
			switch r.Name {
			case "plan.need_bytes", "plan.argument_bytes", "plan.output_bytes", "plan.temp_bytes", "plan.heap_peak_bytes", "live.peak_bytes", "live.end_bytes":
				if sums[id] != n {
					t.Errorf("row %s: contributors add up to %d, want %d", id, sums[id], n)
				}
			}
		}
		for _, r := range m.Rows {
			key := " " + r.Labels.Key()
			sum := func(names ...string) (n int64) {
				for _, name := range names {
					n += seen[name+key]
				}
				return n
			}
			switch need, known := seen["plan.need_bytes"+key]; {
			case r.Name != "plan.need_bytes" || !known:
			case need != sum("plan.argument_bytes", "plan.unaliased_output_bytes", "plan.constant_bytes", "plan.temp_bytes"):
				t.Errorf("%s: need %d is not arguments + unaliased outputs + constants + temp", key, need)
			}
			if peak, known := seen["plan.heap_peak_bytes"+key]; known && peak != sum("plan.forward_kept_bytes", "plan.backward_bytes", "plan.workspace_bytes", "plan.other_bytes") {
				t.Errorf("%s: heap peak %d is not the sum of its classes", key, peak)
			}
		}
	})
}
