package xla

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
)

// timeline gives the timeline of one allocator.
func timeline(t testing.TB, c *Capture, label string) *allocator {
	t.Helper()
	for _, a := range c.trace.allocators {
		if a.label == label {
			return a
		}
	}
	t.Fatalf("no allocator %s", label)
	return nil
}

// TestGoldenRuntime compares every allocator of every profile with an independent replay.
func TestGoldenRuntime(t *testing.T) {
	dir := captures(t, "xla")
	var golden map[string]struct {
		Hostnames  []string
		Allocators map[string]struct {
			Events, Allocs, Deallocs int64
			PeakInWindow             int64   `json:"peak_in_window"`
			PeakLifetime             int64   `json:"peak_lifetime"`
			FirstBytes               int64   `json:"first_bytes"`
			LastBytes                int64   `json:"last_bytes"`
			Limit                    []int64 `json:"limit"`
			Mismatch                 int64   `json:"replay_mismatch"`
			Unmatched                int64   `json:"unmatched_dealloc"`
			LiveAtEnd                int64   `json:"live_at_end"`
			UsedPeak                 int64   `json:"used_peak_with_stack"`
		}
	}
	readJSON(t, filepath.Join(dir, "golden_runtime.json"), &golden)
	if len(golden) < 6 {
		t.Fatalf("%d files in the golden, want 6", len(golden))
	}
	for name, want := range golden {
		c := open(t, filepath.Join(dir, name))
		if len(c.trace.allocators) != len(want.Allocators) {
			t.Errorf("%s: %d allocators, want %d", name, len(c.trace.allocators), len(want.Allocators))
		}
		for label, w := range want.Allocators {
			a := timeline(t, c, label)
			f := a.fact(c, nil)
			got := []any{f.Events, f.Allocations, f.Deallocations, int64(f.PeakBytes), int64(f.LifetimePeakBytes), a.events[0].inUse,
				int64(f.EndBytes), []int64{int64(f.LimitBytes)}, f.Breaks, f.Unmatched, f.Live}
			wanted := []any{w.Events, w.Allocs, w.Deallocs, w.PeakInWindow, w.PeakLifetime, w.FirstBytes,
				w.LastBytes, w.Limit, w.Mismatch, w.Unmatched, w.LiveAtEnd}
			if fmt.Sprint(got) != fmt.Sprint(wanted) {
				t.Errorf("%s: %s:\n got %v\nwant %v", name, label, got, wanted)
			}
			if a.limits != 0 || a.bad != 0 {
				t.Errorf("%s: %s: %d limits more, %d bad events", name, label, a.limits, a.bad)
			}
			if used := max(w.UsedPeak, w.PeakInWindow); int64(f.UsedPeakBytes) != used {
				t.Errorf("%s: %s: used peak %d, want %d", name, label, f.UsedPeakBytes, used)
			}
		}
	}
}

// tfGolden is the independent replay of one TensorFlow capture.
type tfGolden struct {
	StepMarkers int64 `json:"step_markers"`
	NetPeak     int64 `json:"net_requested_peak"`
	NetEnd      int64 `json:"net_requested_end"`
	Allocators  map[string]struct {
		Events, Allocs, Deallocs int64
		Mismatch                 int64   `json:"replay_mismatch"`
		Limits                   []int64 `json:"limits"`
		Baseline                 int64   `json:"window_first"`
		Peak                     int64   `json:"window_peak"`
		Lifetime                 int64   `json:"lifetime_peak"`
		Last                     int64   `json:"last"`
		Unmatched                int64   `json:"unmatched_dealloc"`
		Live                     int64   `json:"live_at_end"`
		Oversized                int64   `json:"oversized_chunks"`
		PerStep                  [][4]int64
	}
}

// tfStories are the TensorFlow captures: the growth of live requested bytes that each
// was made to have, in bytes per step.
var tfStories = map[string]int64{
	"tf/steady": 0, "tf/leak": 1_000_000, "tf/leak_small": 400, "tf/pair_base": 0, "tf/pair_head": 0, "tf/warmup": 0, "tf/many": 0,
	"tf/keras": 0, "tf/oom": 8 << 20, "tf217/steady": 0, "tf217/steady_l3": 0,
}

func TestGoldenTensorFlow(t *testing.T) {
	seen := 0
	for _, folder := range []string{"tf", "tf217"} {
		dir := captures(t, filepath.Join("lab", folder))
		var golden map[string]tfGolden
		readJSON(t, filepath.Join(dir, "golden.json"), &golden)
		for name, want := range golden {
			for label, w := range want.Allocators {
				seen++
				c := open(t, filepath.Join(dir, name+".xplane.pb"))
				a := timeline(t, c, label)
				f := a.fact(c, nil)
				got := []any{f.Events, f.Allocations, f.Deallocations, f.Breaks, []int64{a.limit}, a.baseline, a.peakBytes, a.lifetime,
					int64(f.EndBytes), f.Unmatched, f.Live, f.Oversized, slices.Max(a.netRequested), a.netRequested[len(a.events)], int64(len(c.trace.marks))}
				wanted := []any{w.Events, w.Allocs, w.Deallocs, w.Mismatch, w.Limits, w.Baseline, w.Peak, w.Lifetime,
					w.Last, w.Unmatched, w.Live, w.Oversized, want.NetPeak, want.NetEnd, want.StepMarkers}
				if fmt.Sprint(got) != fmt.Sprint(wanted) {
					t.Errorf("%s/%s:\n got %v\nwant %v", folder, name, got, wanted)
				}
			}
		}
	}
	if seen < 12 {
		t.Errorf("%d allocators in the goldens, want 12", seen)
	}
}

// TestTruth holds the timelines to what TensorFlow's own get_memory_info said after
// each step, and growth to what each program was written to keep.
func TestTruth(t *testing.T) {
	dir := captures(t, "lab")
	for name, perStep := range tfStories {
		var truth struct {
			Limit  int64      `json:"limit_bytes"`
			Before [2]int64   `json:"before"`
			End    [2]int64   `json:"end"`
			Steps  [][3]int64 `json:"oracle_steps"`
		}
		readJSON(t, filepath.Join(dir, name+".truth.json"), &truth)
		c := open(t, filepath.Join(dir, name+".xplane.pb"))
		a := timeline(t, c, "bfc_cpu_allocator_for_gpu")
		if a.limit != truth.Limit || a.baseline != truth.Before[0] || a.inUse(len(a.events)) != truth.End[0] || a.lifetime != truth.End[1] {
			t.Errorf("%s: limit %d, first %d, last %d, lifetime %d: want %+v", name, a.limit, a.baseline, a.inUse(len(a.events)), a.lifetime, truth)
		}
		starts, source := c.trace.stepping(nil).of(1)
		if source != "step_markers" {
			t.Errorf("%s: steps by %q", name, source)
		}
		for i := 1; i < len(starts); i++ {
			if got := a.inUse(a.after(starts[i])); got != truth.Steps[i-1][1] {
				t.Errorf("%s: %d in use after step %d, TensorFlow says %d", name, got, i-1, truth.Steps[i-1][1])
			}
		}
		m := c.Measurement()
		row := findRow(t, m, "growth.bytes_per_step")
		if row.Value == nil || row.Value.Cmp(measure.Int(perStep)) != 0 || row.Kind != measure.Exact {
			t.Errorf("%s: growth %+v, want exactly %d bytes a step", name, row, perStep)
		}
		for _, s := range m.Series {
			if s.Labels["series"] != seriesRequested {
				continue
			}
			levels := make([]int64, len(s.Points))
			for i, p := range s.Points {
				levels[i], _ = p.Int64()
			}
			if g, ok := growth.Exact(levels); !ok || g.PerStep().Cmp(*row.Value) != 0 {
				t.Errorf("%s: the stored series gives %+v, the row %v", name, g, row.Value)
			}
		}
	}
}

func findRow(t testing.TB, m *measure.Measurement, name string) measure.Row {
	t.Helper()
	for _, r := range m.Rows {
		if r.Name == name {
			return r
		}
	}
	t.Fatalf("no row %s", name)
	return measure.Row{}
}

// TestPair: one 4 MiB array more in flight at the peak, and who it is.
func TestPair(t *testing.T) {
	dir := captures(t, "lab/tf")
	base := open(t, filepath.Join(dir, "pair_base.xplane.pb")).Measurement()
	head := open(t, filepath.Join(dir, "pair_head.xplane.pb")).Measurement()
	b, _ := findRow(t, base, "live.peak_bytes").Value.Int64()
	h, _ := findRow(t, head, "live.peak_bytes").Value.Int64()
	if h-b != 4<<20 {
		t.Errorf("the peak moves by %d, want %d", h-b, 4<<20)
	}
	held := func(m *measure.Measurement) map[string]measure.Bytes {
		out := map[string]measure.Bytes{}
		for _, c := range m.Contributors {
			if c.Metric == "live.peak_bytes" {
				out[c.Key] = c.Bytes
			}
		}
		return out
	}
	was, is := held(base), held(head)
	for k := range is {
		if d := is[k] - was[k]; d != 0 && k != "DeepCopy" || k == "DeepCopy" && d != 4<<20 {
			t.Errorf("%s moves by %d", k, d)
		}
	}
	if is["DeepCopy"] == 0 {
		t.Errorf("DeepCopy is not among %v", is)
	}
}

// TestLeakHolder: what the leak holds at the end is named.
func TestLeakHolder(t *testing.T) {
	m := open(t, filepath.Join(captures(t, "lab/tf"), "leak.xplane.pb")).Measurement()
	cs := m.ContributorsOf("live.end_bytes", measure.Labels{"allocator": "bfc_cpu_allocator_for_gpu"})
	if len(cs) == 0 || cs[0].Key != "RandomUniform" || cs[0].Count != 30 || cs[0].Bytes < 30_000_000 {
		t.Errorf("largest at the end: %+v, want 30 of RandomUniform", cs)
	}
}

// TestOOM: no event marks a failed allocation; the wait before it does.
func TestOOM(t *testing.T) {
	dir := captures(t, "lab")
	for name, want := range map[string]int64{"tf/oom": 1, "tf/oom_graph": 1, "tf/steady": 0, "tf/keras": 0, "tf/many": 0, "tf217/steady": 0} {
		m := open(t, filepath.Join(dir, name+".xplane.pb")).Measurement()
		if n, _ := findRow(t, m, "oom.events").Value.Int64(); n != want {
			t.Errorf("%s: %d failed allocations, want %d: %+v", name, n, want, m.Facts.Waits)
		}
		if want > 0 && (len(m.Facts.Waits) != 1 || m.Facts.Waits[0].Kind != "gap" || m.Facts.Waits[0].LongestSeconds < 10) {
			t.Errorf("%s: waits %+v", name, m.Facts.Waits)
		}
	}
	dir = captures(t, "xla")
	files, _ := filepath.Glob(filepath.Join(dir, "*", "*.xplane.pb"))
	for _, f := range files {
		m := open(t, f).Measurement()
		if n, _ := findRow(t, m, "oom.events").Value.Int64(); n != 0 || len(m.Facts.Waits) != 0 {
			t.Errorf("%s: %d failed allocations, want none: %+v", f, n, m.Facts.Waits)
		}
	}
}

// TestNoEvents: a profile that lacks the events says so where it could have them.
func TestNoEvents(t *testing.T) {
	dir := captures(t, "lab")
	for name, want := range map[string]bool{"tf217/steady_l1": true, "tf217/steady_l3": false, "tf/jax_cpu_no_allocator": false} {
		m := open(t, filepath.Join(dir, name+".xplane.pb")).Measurement()
		if got := strings.Contains(strings.Join(m.Warnings, "\n"), "no allocator events"); got != want {
			t.Errorf("%s: warnings %q", name, m.Warnings)
		}
		if name != "tf217/steady_l3" && (len(m.Facts.Timelines) != 0 || len(m.Series) != 0) {
			t.Errorf("%s: timelines %+v", name, m.Facts.Timelines)
		}
	}
}

// xprofMemory is XProf's memory profile of one capture.
type xprofMemory struct {
	Allocators map[string]struct {
		Summary struct {
			Lifetime string `json:"peakBytesUsageLifetime"`
			Peak     struct {
				Stack string `json:"stackReservedBytes"`
				Heap  string `json:"heapAllocatedBytes"`
				Used  string `json:"peakBytesInUse"`
			} `json:"peakStats"`
			PeakTime string `json:"peakStatsTimePs"`
			Capacity string `json:"memoryCapacity"`
		}
		Sampled int
		Series  [][2]int64
	}
}

// TestXProfMemory compares peaks, capacity and the curve with XProf's memory profile.
// XProf orders events by their offset in their line, which is the time where all lines
// start at once, as they do here; of more than 1,000 it shows the largest in each box.
func TestXProfMemory(t *testing.T) {
	dir := captures(t, "lab")
	var files []string
	for _, folder := range []string{"tf", "tf217"} {
		list, err := filepath.Glob(filepath.Join(dir, folder, "*.xprof.json"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, list...)
	}
	compared := 0
	for _, file := range files {
		var x xprofMemory
		readJSON(t, file, &x)
		c := open(t, strings.TrimSuffix(file, ".xprof.json")+".xplane.pb")
		if len(x.Allocators) == 0 && c.trace != nil {
			t.Errorf("%s: XProf sees no allocator, %d are read", file, len(c.trace.allocators))
		}
		for label, w := range x.Allocators {
			a := timeline(t, c, label)
			text := func(n int64) string { return strconv.FormatInt(n, 10) }
			peak := a.events[a.usedAt-1]
			if text(a.usedBytes) != w.Summary.Peak.Used || text(peak.inUse) != w.Summary.Peak.Heap || text(peak.reserved) != w.Summary.Peak.Stack || text(a.limit) != w.Summary.Capacity {
				t.Errorf("%s: %s: peak %d = %d + %d of %d, XProf has %+v", file, label, a.usedBytes, peak.inUse, peak.reserved, a.limit, w.Summary)
			}
			if life, _ := strconv.ParseInt(w.Summary.Lifetime, 10, 64); life > a.lifetime {
				t.Errorf("%s: %s: lifetime peak %d, XProf has %d", file, label, a.lifetime, life)
			}
			var used []int64
			for i := range a.events {
				used = append(used, a.events[i].inUse+a.events[i].reserved)
			}
			thin := growth.Thin(used, 1000)
			if len(w.Series) != len(thin) {
				t.Errorf("%s: %s: XProf's curve has %d points, ours %d", file, label, len(w.Series), len(thin))
				continue
			}
			for i, at := range thin {
				compared++
				e := a.events[at]
				if after := e.at - a.events[thin[0]].at; w.Series[i] != [2]int64{w.Series[0][0] + after, used[at]} {
					t.Errorf("%s: %s: point %d is %d at %d, XProf has %v", file, label, i, used[at], e.at, w.Series[i])
					break
				}
			}
		}
	}
	if compared < 5000 {
		t.Errorf("%d points compared, want more", compared)
	}
}
