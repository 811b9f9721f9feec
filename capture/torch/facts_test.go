package torch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func snapshotFact(t *testing.T, name string) measure.SnapshotFact {
	t.Helper()
	m := labFile(t, name)
	if len(m.Facts.Snapshots) != 1 {
		t.Fatalf("%s: %d facts, want 1", name, len(m.Facts.Snapshots))
	}
	return m.Facts.Snapshots[0]
}

// Growth per step, as the programs of the stories make it. 4 B is the loss of a
// step that a list keeps.
func TestGrowthStories(t *testing.T) {
	for name, want := range map[string]struct {
		mark                          string
		marks, counted, bytes, blocks int64
	}{
		"leak_graph_base": {"Optimizer.step#AdamW.step", 10, 8, 4, 1},
		"leak_graph_head": {"Optimizer.step#AdamW.step", 10, 8, 90170440, 70},
		"leak_clone_head": {"Optimizer.step#AdamW.step", 10, 8, 2<<20 + 4, 3},
		"optim_base":      {"Optimizer.step#SGD.step", 6, 4, 4, 1},
		"optim_head":      {"Optimizer.step#AdamW.step", 6, 4, 4, 1},
		"same_base":       {"Optimizer.step#AdamW.step", 3, 1, 4, 1},
		"same_rerun":      {"Optimizer.step#AdamW.step", 3, 1, 4, 1},
		"same_shifted":    {"Optimizer.step#AdamW.step", 3, 1, 4, 1},
		"same_renamed":    {"Optimizer.step#AdamW.step", 3, 1, 4, 1},
		"ctx_none":        {"Optimizer.step#AdamW.step", 6, 4, 0, 0},
		"series_step12":   {"snapshot", 4, 3, 3 * 512 << 10, 3}, // a dump each third step: this file is the fourth
		"metadata":        {"snapshot", 3, 1, 0, 0},
	} {
		m := labFile(t, name)
		labels := "device=0 series=live"
		if want.mark == "snapshot" { // of another length than a step of the program
			labels += " step=dump"
		}
		for metric, n := range map[string]int64{"growth.bytes_per_step": want.bytes, "growth.blocks_per_step": want.blocks} {
			i := slices.IndexFunc(m.Rows, func(r measure.Row) bool { return r.Name == metric })
			if i < 0 {
				t.Errorf("%s: no %s", name, metric)
				continue
			}
			r := m.Rows[i]
			if got, exact := r.Value.Int64(); got != n || !exact || r.Kind != measure.Exact || r.Samples != int(want.counted) || r.Labels.Key() != labels {
				t.Errorf("%s: %s = %v of %d samples {%s}, want %d", name, metric, r.Value.Exact(r.Unit), r.Samples, r.Labels.Key(), n)
			}
		}
		s := m.Facts.Snapshots[0].Steps
		if s == nil || s.Mark != want.mark || s.Marks != want.marks || s.Counted != want.counted || int64(s.BytesPerStep) != want.bytes {
			t.Errorf("%s: steps %+v, want %+v", name, s, want)
			continue
		}
		if first, last := s.Steps[0], s.Steps[len(s.Steps)-1]; first.Counted || last.Counted != (name == "series_step12") || last.Whole != last.Counted || first.Number != 0 || last.Number != want.marks-1 {
			t.Errorf("%s: first %+v, last %+v", name, first, last)
		}
		// A step starts where the one before it ended.
		for i, st := range s.Steps {
			if st.NetBytes != st.AllocatedBytes-st.FreedBytes || st.PeakBytes < st.NetBytes || i > 0 && st.StartBytes != s.Steps[i-1].StartBytes+s.Steps[i-1].NetBytes {
				t.Errorf("%s: step %+v", name, st)
			}
		}
		if i := slices.IndexFunc(m.Rows, func(r measure.Row) bool { return r.Name == "live.end_bytes" }); i >= 0 {
			last := s.Steps[len(s.Steps)-1]
			if end, _ := m.Rows[i].Value.Int64(); measure.Bytes(end) != last.StartBytes+last.NetBytes {
				t.Errorf("%s: the steps end at %d, want %d", name, last.StartBytes+last.NetBytes, end)
			}
		}
		sum := measure.Bytes(0)
		for _, c := range m.Contributors {
			if c.Metric == "growth.bytes_per_step" {
				sum += c.Bytes
			}
		}
		if sum != 0 && int64(sum) != want.bytes || sum == 0 && want.bytes > 0 {
			t.Errorf("%s: contributors of the growth add up to %d, want %d", name, sum, want.bytes)
		}
	}
	if got := labFile(t, "optim_head").Facts.Snapshots[0].Steps.Steps[0].NetBytes; got != 29642564 {
		t.Errorf("the first step of optim_head leaves %d, want 29642564", got)
	}
	// What has no marks, or too few, has no growth.
	for _, name := range []string{"oom_frag", "oom_pressure", "ring_500", "cpp_2_15", "enabled_state", "skip_free_completed"} {
		m := labFile(t, name)
		if slices.ContainsFunc(m.Rows, func(r measure.Row) bool { return strings.HasPrefix(r.Name, "growth.") }) {
			t.Errorf("%s: has growth", name)
		}
	}
}

func TestFailureStories(t *testing.T) {
	for name, want := range map[string]measure.OOMFact{
		"oom_frag": {Event: 136, RequestBytes: 1 << 30, LiveBytes: 943718400, ReservedBytes: 3355443200, Layout: "exact", InactiveBytes: 2411724800,
			LargestBytes: 209715200, UsableBytes: 2411724800, UsableHoles: 31, UsableSegments: 4, LargestUsableBytes: 209715200, Site: "oom_frag.py:26 final_request"},
		"oom_pressure": {Event: 3838, RequestBytes: 33554432, LiveBytes: 1305981664, ReservedBytes: 1310720000, Layout: "exact", InactiveBytes: 4738048,
			LargestBytes: 1835008, Site: "model.py:21 forward"},
		"oom_pressure_expandable": {Event: 3823, RequestBytes: 33554432, LiveBytes: 1305981664, ReservedBytes: 1327497216, Layout: "exact", InactiveBytes: 21515264,
			LargestBytes: 16777216, UsableBytes: 16777216, UsableHoles: 1, UsableSegments: 1, LargestUsableBytes: 16777216, Site: "model.py:21 forward"},
	} {
		f := snapshotFact(t, name)
		if len(f.OOMs) != 1 {
			t.Errorf("%s: %d failures, want 1", name, len(f.OOMs))
			continue
		}
		got := f.OOMs[0]
		if got.DeviceFreeBytes == nil || *got.DeviceFreeBytes == 0 || len(got.Stack) == 0 || got.Source == nil || len(got.Holders) == 0 {
			t.Errorf("%s: %+v", name, got)
		}
		sum := measure.Bytes(0)
		for _, h := range got.Holders {
			sum += h.Bytes
		}
		if sum > got.LiveBytes {
			t.Errorf("%s: holders have %d of %d", name, sum, got.LiveBytes)
		}
		got.DeviceFreeBytes, got.Stack, got.Source, got.Holders = nil, nil, nil, nil
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, want)
		}
	}
	if c := snapshotFact(t, "oom_retry").Churn; c.Retries != 1 || c.RetriedBytes != 1468006400 || c.SegmentFrees != 3 {
		t.Errorf("oom_retry: %+v, want one retry", c)
	}
	if c := snapshotFact(t, "pools").Churn; c.EmptyCacheFrees != 4 || c.EmptyCacheAt == nil || c.Retries != 0 {
		t.Errorf("pools: %+v, want four segments given back by empty_cache", c)
	}
	for name, want := range map[string]int{"oom_frag_expandable": 0, "oom_retry": 0, "pending": 0} {
		if got := len(snapshotFact(t, name).OOMs); got != want {
			t.Errorf("%s: %d failures, want %d", name, got, want)
		}
	}
}

// Classes of what is live at the peak, to the byte: the parameters and the state
// of the optimizer are known from the programs.
func TestClassStories(t *testing.T) {
	for name, want := range map[string]map[string]measure.Bytes{
		"ckpt_base":       {measure.ClassParameter: 14821280, measure.ClassOptimizer: 29642560},
		"ckpt_head":       {measure.ClassParameter: 14821280, measure.ClassOptimizer: 29642560},
		"optim_base":      {measure.ClassParameter: 14821280, measure.ClassOptimizer: 0},
		"optim_head":      {measure.ClassParameter: 14821280, measure.ClassOptimizer: 29642560},
		"leak_graph_head": {measure.ClassParameter: 14821280, measure.ClassOptimizer: 29642560},
		"ctx_default":     {measure.ClassWorkspace: 33554432, measure.ClassParameter: 8398848, measure.ClassOptimizer: 16797696, measure.ClassGradient: 8390656},
		"ctx_none":        {measure.ClassUnknown: 67797000},
		"oom_frag":        {measure.ClassTemporary: 3355443200},
	} {
		f := snapshotFact(t, name)
		got, sum := map[string]measure.Bytes{}, measure.Bytes(0)
		for _, c := range f.Classes {
			got[c.Class] = c.Bytes
			sum += c.Bytes
		}
		for class, n := range want {
			if got[class] != n {
				t.Errorf("%s: %s %d, want %d (%v)", name, class, got[class], n, got)
			}
		}
		peak := labFile(t, name)
		if r := rowsOf(peak)["live.peak_bytes 0"]; r.Value == nil || measure.Int(int64(sum)).Cmp(*r.Value) != 0 || !f.AtPeak {
			t.Errorf("%s: the classes add up to %d", name, sum)
		}
	}
	// Without checkpoints the forward pass keeps more for the backward pass.
	of := func(name, class string) measure.Bytes {
		for _, c := range snapshotFact(t, name).Classes {
			if c.Class == class {
				return c.Bytes
			}
		}
		return 0
	}
	if base, head := of("ckpt_base", measure.ClassActivation), of("ckpt_head", measure.ClassActivation); head-base < 60<<20 {
		t.Errorf("activations: %d with checkpoints, %d without", base, head)
	}
	for _, s := range snapshotFact(t, "leak_graph_head").Sites {
		if s.GrewBytes > 1<<20 && (s.Phase != measure.PhaseForward || s.Class != measure.ClassActivation || s.Evidence != "grows_each_step" || s.GrewSteps != 8) &&
			!strings.HasPrefix(s.Display, "train.py") {
			t.Errorf("leak_graph_head: %+v", s)
		}
	}
	grew := slices.DeleteFunc(snapshotFact(t, "series_step12").Sites, func(s measure.SiteFact) bool { return s.GrewBytes == 0 })
	if len(grew) != 1 || grew[0].Class != measure.ClassContainer || grew[0].Display != "series.py:17 remember" || grew[0].GrewBlocks != 9 {
		t.Errorf("series_step12: %+v", grew)
	}
}

func TestLimitStories(t *testing.T) {
	for name, want := range map[string]string{
		"ring_500": "truncated no_steps", "enabled_state": "state_only", "skip_free_completed": "skipped_actions", "ctx_none": "no_stacks",
		"ctx_python": "autograd_thread", "ctx_default": "", "forms_list": "no_history", "cpp_2_15": "cpp_stacks no_steps",
		"leak_graph_head": "", "same_base": "autograd_thread", "metadata": "",
	} {
		var codes []string
		for _, l := range snapshotFact(t, name).Limits {
			codes = append(codes, l.Code)
			if l.Text == "" || l.Code != measure.LimitCapped && len(strings.Split(l.Fix, "\n")) != 2 || l.Bytes < 0 {
				t.Errorf("%s: %+v, want a text and two lines of a fix", name, l)
			}
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestPoolStories(t *testing.T) {
	f := snapshotFact(t, "pools")
	sums := map[bool]measure.Bytes{}
	for _, p := range f.Pools {
		sums[p.Private] += p.ReservedBytes
		if p.LiveBytes+p.PendingBytes+p.InactiveBytes != p.ReservedBytes || p.LargestBytes > p.InactiveBytes || p.Private != (p.Pool != "(0,0)") {
			t.Errorf("%+v", p)
		}
	}
	rows := rowsOf(labFile(t, "pools"))
	rows.want(t, "pool.private_bytes", 0, int64(sums[true]))
	rows.want(t, "reserved.end_bytes", 0, int64(sums[true]+sums[false]))
	if f := snapshotFact(t, "pending"); f.PendingBytes != 134217728 || f.PendingBlocks != 8 {
		t.Errorf("pending: %d in %d", f.PendingBytes, f.PendingBlocks)
	}
	if f := snapshotFact(t, "metadata"); f.HostBytes != 9437184 || f.HostSegments != 2 || f.HostPeakBytes != 9437184 {
		t.Errorf("metadata: pinned %d in %d, peak %d", f.HostBytes, f.HostSegments, f.HostPeakBytes)
	}
}

// Reading only the newest events gives what a smaller ring buffer would have:
// each number that the full history has too stays the same.
func TestNewestEvents(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(captures(t, "lab/torch"), "leak_clone_head.pickle"))
	if err != nil {
		t.Fatal(err)
	}
	read := func(n int) *Snapshot {
		s, err := Read(bytes.NewReader(data), int64(len(data)), "x.pickle", Options{MaxEvents: n})
		if err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("%d: %v", n, err)
		}
		return s
	}
	full := read(0)
	total := int(full.Devices[0].History.Events)
	if got := jsonOf(t, read(total)); got != jsonOf(t, full) {
		t.Error("reading all of the events one by one differs from reading them as they come")
	}
	for _, n := range []int{2, 3, 100, 5000, total - 1} {
		s := read(n)
		h, f := s.Devices[0].History, full.Devices[0].History
		if h.Events != int64(n) || h.LeftOut != int64(total-n) || h.Kind != "truncated" || h.NoPeak != "" {
			t.Errorf("%d: %+v", n, h)
		}
		if h.Peak > f.Peak || s.Devices[0].State != full.Devices[0].State || h.ReservedPeak > f.ReservedPeak {
			t.Errorf("%d: peak %d of %d", n, h.Peak, f.Peak)
		}
		if !strings.Contains(strings.Join(s.Warnings, "\n"), fmt.Sprintf("%d older events were left out", total-n)) {
			t.Errorf("%d: %q", n, s.Warnings)
		}
	}
	// The window of the last 5,000 events holds three whole steps.
	st := read(5000).Measurement().Facts.Snapshots[0].Steps
	if st == nil || st.Counted < 1 || st.BytesPerStep != 2<<20+4 {
		t.Errorf("steps of the newest events: %+v", st)
	}
}

// torch 1.12 and 1.13 write a bare list: blocks without addresses, some with a
// history, and no requested size.
func TestOldestLists(t *testing.T) {
	const old = `[{"device": 0, "address": 4096, "total_size": 2097152, "allocated_size": 1536, "active_size": 1536, "stream": 0, "segment_type": "small",
		"blocks": [{"size": 512, "state": "active_allocated", "history": [{"addr": 4096, "real_size": 400, "frames": [{"filename": "/p/a.py", "name": "f", "line": 3}]}]},
		{"size": 1024, "state": "active_allocated"}, {"size": 2095616, "state": "inactive"}]}]`
	s, err := readText(old, int64(len(old)))
	if err != nil {
		t.Fatal(err)
	}
	m := s.Measurement()
	rows := rowsOf(m)
	rows.want(t, "live.end_bytes", 0, 1424)
	rows.want(t, "reserved.end_bytes", 0, 2097152)
	rows.want(t, "inactive.largest_bytes", 0, 2095616)
	if r := rows["live.peak_bytes 0"]; r.Value != nil || !strings.Contains(r.NoData, "bare list") {
		t.Errorf("peak %+v", r)
	}
	if f := m.Facts.Snapshots[0]; f.AtPeak || f.Steps != nil || f.Churn != nil || len(f.Sites) != 2 || f.Limits[0].Code != measure.LimitNoHistory {
		t.Errorf("%+v", f)
	}
	if s.Devices[0].Segments[0].Blocks[1].Address != 4096+512 {
		t.Errorf("the second block is at %d", s.Devices[0].Segments[0].Blocks[1].Address)
	}
}

// The facts of public snapshots hold together.
func TestFactsOfAll(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(captures(t, "torch"), "*.pickle"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, path := range files {
		s := readFile(t, path)
		m := s.Measurement()
		addsUp(t, m)
		if len(m.Facts.Snapshots) != len(s.Devices) {
			t.Fatalf("%s: %d facts for %d devices", path, len(m.Facts.Snapshots), len(s.Devices))
		}
		for i, f := range m.Facts.Snapshots {
			d := s.Devices[i]
			sum, want := measure.Bytes(0), d.State.Requested()
			if f.AtPeak {
				want = d.History.Peak
			}
			for _, c := range f.Classes {
				sum += c.Bytes
			}
			reserved := measure.Bytes(0)
			for _, p := range f.Pools {
				reserved += p.ReservedBytes
			}
			if int64(sum) != want || len(f.Pools) < sitesShown && int64(reserved) != d.State.Reserved {
				t.Errorf("%s: classes %d of %d, pools %d of %d", path, sum, want, reserved, d.State.Reserved)
			}
			if f.Churn != nil && (f.Churn.WarmMisses > f.Churn.Misses || f.Churn.WarmAllocations > f.Churn.Allocations) {
				t.Errorf("%s: %+v", path, f.Churn)
			}
		}
		if a, b := jsonOf(t, s), jsonOf(t, readFile(t, path)); a != b {
			t.Errorf("%s: two readings differ", path)
		}
	}
}
