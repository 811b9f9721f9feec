package torch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func labFile(t *testing.T, name string) *measure.Measurement {
	t.Helper()
	return readFile(t, filepath.Join(captures(t, "lab/torch"), name+".pickle")).Measurement()
}

func value(t *testing.T, m *measure.Measurement, metric string) int64 {
	t.Helper()
	r, ok := rowsOf(m)[metric+" 0"]
	if !ok || r.Value == nil {
		t.Fatalf("%s: %+v, want a value", metric, r)
	}
	n, _ := r.Value.Int64()
	return n
}

// TestNoChange: a rerun, a file whose lines moved and a renamed class say the same.
func TestNoChange(t *testing.T) {
	say := func(m *measure.Measurement) string {
		var out []string
		for _, r := range m.Rows {
			v := r.NoData
			if r.Value != nil {
				v = r.Value.Exact(r.Unit)
			}
			out = append(out, fmt.Sprintln(r.Name, r.Labels.Key(), v))
		}
		for _, c := range m.Contributors {
			out = append(out, fmt.Sprintln(c.Metric, c.Labels.Key(), c.Key, c.Group, c.Bytes, c.Count, c.Class))
		}
		for _, f := range m.Facts.Traces {
			out = append(out, fmt.Sprintln(f.Events, f.Actions, f.Sequence, f.Steps, f.History))
		}
		return strings.Join(append(out, fmt.Sprintln(m.Environment, m.Warnings)), "")
	}
	base := labFile(t, "same_base")
	if len(base.Contributors) < 20 {
		t.Fatalf("%d contributors", len(base.Contributors))
	}
	for _, name := range []string{"same_rerun", "same_shifted", "same_renamed"} {
		if got, want := say(labFile(t, name)), say(base); got != want {
			t.Errorf("%s differs from same_base:\n%s\nwant\n%s", name, got, want)
		}
	}
	if slices.EqualFunc(base.Contributors, labFile(t, "same_shifted").Contributors, func(a, b measure.Contributor) bool { return a.Display == b.Display }) {
		t.Error("same_shifted has the lines of same_base: the case shows nothing")
	}
}

func TestRegressions(t *testing.T) {
	for _, c := range []struct {
		base, head, metric string
		rise               int64
		site               string // of the head, and its bytes there
		bytes              int64
	}{
		{"ckpt_base", "ckpt_head", "live.peak_bytes", 174349108 - 119910100, "model.py:32 forward", 33554432},
		{"leak_graph_base", "leak_graph_head", "live.end_bytes", 946168240 - 44463880, "model.py:32 forward", 335544320},
		{"leak_graph_base", "leak_clone_head", "live.end_bytes", 20971520, "model.py:62 forward", 20971520},
		{"optim_base", "optim_head", "live.end_bytes", 29642560, "train.py:29 train_step", 29642560},
	} {
		t.Run(c.head, func(t *testing.T) {
			base, head := labFile(t, c.base), labFile(t, c.head)
			if rise := value(t, head, c.metric) - value(t, base, c.metric); rise != c.rise {
				t.Errorf("%s rises by %d, want %d", c.metric, rise, c.rise)
			}
			got := map[string]int64{}
			for _, k := range head.ContributorsOf(c.metric, measure.Labels{"device": "0"}) {
				got[k.Display] = int64(k.Bytes)
			}
			if got[c.site] != c.bytes {
				t.Errorf("%s holds %d at %s, want %d; all: %v", c.site, got[c.site], c.metric, c.bytes, got)
			}
		})
	}
}

// TestPeakSet: the live bytes of this real regression are equal, and so are the
// event counts; only the live set at the peak tells.
func TestPeakSet(t *testing.T) {
	dir := captures(t, "torch")
	base := readFile(t, filepath.Join(dir, "xl_ctx128_forward_base.pickle")).Measurement()
	head := readFile(t, filepath.Join(dir, "xl_ctx128_forward_head.pickle")).Measurement()
	if a, b := value(t, base, "live.end_bytes"), value(t, head, "live.end_bytes"); a != b {
		t.Errorf("live.end_bytes %d and %d, want them equal", a, b)
	}
	if a, b := value(t, base, "live.peak_bytes"), value(t, head, "live.peak_bytes"); a != 13724936192 || b != 19249000448 {
		t.Errorf("live.peak_bytes %d and %d", a, b)
	}
	labels := measure.Labels{"device": "0"}
	before := map[string]measure.Contributor{}
	for _, c := range base.ContributorsOf("live.peak_bytes", labels) {
		before[c.Key] = c
	}
	type growth struct {
		c     measure.Contributor
		bytes measure.Bytes
	}
	var grown []growth
	for _, c := range head.ContributorsOf("live.peak_bytes", labels) {
		if b, ok := before[c.Key]; ok && c.Source != nil && b.Source != nil && *b.Source != *c.Source {
			t.Errorf("key %q means %v in the base and %v in the head", c.Key, b.Source, c.Source)
		}
		grown = append(grown, growth{c, c.Bytes - before[c.Key].Bytes})
	}
	slices.SortStableFunc(grown, func(a, b growth) int { return int((b.bytes - a.bytes) / 1) })
	want := []string{
		"cs336-basics/cs336_basics/model.py:39 forward → einops/_backends.py:291 einsum 1336442880",
		"cs336-basics/cs336_basics/model.py:532 silu 1300234240",
		"cs336-basics/cs336_basics/model.py:399 forward 671088640",
	}
	for i, w := range want {
		if got := fmt.Sprintf("%s %d", grown[i].c.Display, grown[i].bytes); got != w {
			t.Errorf("growth %d is %s, want %s", i, got, w)
		}
	}
}

// TestForms: one state saved six ways reads the same.
func TestForms(t *testing.T) {
	dir := filepath.Join(repoRoot(t), "fixtures", "torch")
	say := func(name string) string {
		s := readFile(t, filepath.Join(dir, name))
		m := s.Measurement()
		out := fmt.Sprintln(m.Environment, m.Warnings)
		for _, r := range m.Rows {
			out += fmt.Sprintln(r.Name, r.Labels.Key(), r.NoData, r.Value)
		}
		for _, c := range m.Contributors {
			out += fmt.Sprintln(c.Metric, c.Key, c.Display, c.Bytes, c.Count)
		}
		return out + fmt.Sprintln(m.Facts.Traces)
	}
	want := say("forms_dict.pickle")
	for _, name := range []string{"forms_proto0.pickle", "forms_proto2.pickle", "forms_proto5.pickle", "forms_json.pickle"} {
		if got := say(name); got != want {
			t.Errorf("%s:\n%s\nwant that of forms_dict.pickle:\n%s", name, got, want)
		}
	}
	list := readFile(t, filepath.Join(dir, "forms_list.pickle"))
	dict := readFile(t, filepath.Join(dir, "forms_dict.pickle"))
	if !list.SegmentsOnly || list.Devices[0].State != dict.Devices[0].State {
		t.Errorf("the bare list says %+v, want %+v", list.Devices[0].State, dict.Devices[0].State)
	}
	if r := rowsOf(list.Measurement())["live.peak_bytes 0"]; !strings.Contains(r.NoData, "bare list of segments") {
		t.Errorf("live.peak_bytes of the bare list: %+v", r)
	}
	for name, form := range map[string]string{"forms_dict.pickle": "pickle protocol 4", "forms_proto0.pickle": "pickle protocol 0",
		"forms_proto2.pickle": "pickle protocol 2", "forms_proto5.pickle": "pickle protocol 5", "forms_json.pickle": "JSON"} {
		if got := readFile(t, filepath.Join(dir, name)).Form; got != form {
			t.Errorf("%s: form %q, want %q", name, got, form)
		}
	}
}

func TestHistoryKinds(t *testing.T) {
	for name, want := range map[string]string{
		"ckpt_base": "complete", "ring_500": "truncated", "enabled_state": "state_only", "forms_list": "none", "pending": "complete",
		"skip_free_completed": "truncated", "skip_free_requested": "complete",
	} {
		if got := labFile(t, name).Facts.Traces[0].History; got != want {
			t.Errorf("%s: history %q, want %q", name, got, want)
		}
	}
	dir := captures(t, "torch")
	for name, want := range map[string]string{
		"xl_ctx128_forward_base": "starts_mid_run", "xl_ctx128_full_step": "starts_mid_run", "batch100_forward": "complete",
		"torch24_no_trace": "state_only", "no_trace_no_frames": "none",
	} {
		if got := readFile(t, filepath.Join(dir, name+".pickle")).Devices[0].History.Kind; got != want {
			t.Errorf("%s: history %q, want %q", name, got, want)
		}
	}
}

func TestSteps(t *testing.T) {
	for name, want := range map[string]int64{"ckpt_base": 4, "leak_graph_base": 10, "optim_head": 6, "cpp_2_15": 0} {
		if got := labFile(t, name).Facts.Traces[0].Steps; got != want {
			t.Errorf("%s: %d steps, want %d", name, got, want)
		}
	}
	var s steps
	for _, name := range []string{"eval#1", "eval#2", "layer#0", "layer#1", "layer#0", "layer#1", "layer#0", "no number#x"} {
		s.start(name, mark{})
	}
	if s.count() != 2 {
		t.Errorf("%d steps, want the 2 of eval: the numbers of layer do not rise", s.count())
	}
	s.start("Optimizer.step#SGD.step", mark{})
	if s.count() != 1 {
		t.Errorf("%d steps, want 1 of the optimizer", s.count())
	}
	s.start("ProfilerStep#7", mark{})
	s.start("ProfilerStep#8", mark{})
	if s.count() != 2 {
		t.Errorf("%d steps, want 2 of the profiler", s.count())
	}
}

func TestEnvironment(t *testing.T) {
	for name, want := range map[string]string{
		"drift_2_0_1": "2.0", "drift_2_1_2": "2.1", "drift_2_3_1": "2.3 to 2.4", "drift_2_6_0": "2.5 to 2.6", "drift_2_11_0": "2.10 to 2.11",
		"drift_2_12_1": "2.12", "drift_2_14_1": "2.14 or newer", "drift_2_15": "2.15 or newer", "forms_json": "2.14 or newer",
	} {
		if got := labFile(t, name).Environment["torch"]; got != want {
			t.Errorf("%s: torch %q, want %q", name, got, want)
		}
	}
	got := labFile(t, "conf_split_gc").Environment
	for k, want := range map[string]string{"allocator.max_split_size": "33554432", "allocator.garbage_collection_threshold": "0.6"} {
		if got[k] != want {
			t.Errorf("conf_split_gc: %s = %q, want %q", k, got[k], want)
		}
	}
	if !strings.HasPrefix(got["allocator.roundup_power2_divisions"], "1:1") && !strings.Contains(got["allocator.roundup_power2_divisions"], "1024:4") {
		t.Errorf("conf_split_gc: roundup_power2_divisions %q", got["allocator.roundup_power2_divisions"])
	}
	if len(labFile(t, "ckpt_base").Environment) != 1 {
		t.Errorf("default settings are listed: %v", labFile(t, "ckpt_base").Environment)
	}
}

func TestRanks(t *testing.T) {
	dir := captures(t, "lab/torch")
	for rank := range 4 {
		name := fmt.Sprintf("rank%d_memory_snapshot.pickle", rank)
		base := value(t, readFile(t, filepath.Join(dir, "ranks_base", name)).Measurement(), "live.peak_bytes")
		head := value(t, readFile(t, filepath.Join(dir, "ranks_head", name)).Measurement(), "live.peak_bytes")
		if grown := head > base; grown != (rank == 2) {
			t.Errorf("rank %d: %d to %d", rank, base, head)
		}
	}
}

func TestSpecialSites(t *testing.T) {
	find := func(m *measure.Measurement, display string) *measure.Contributor {
		for _, c := range m.Contributors {
			if c.Display == display {
				return &c
			}
		}
		t.Errorf("no contributor %q", display)
		return &measure.Contributor{}
	}
	if c := find(labFile(t, "ctx_default"), "cuBLAS workspace"); c.Class != "workspace" || c.Bytes != 33554432 {
		t.Errorf("workspace: %+v", c)
	}
	find(labFile(t, "ctx_default"), "autograd AddmmBackward0")
	find(labFile(t, "ctx_python"), "autograd thread (no Python frames)")
	find(labFile(t, "ctx_none"), "(recorded without stacks)")
	if c := find(labFile(t, "cpp_2_15"), "serve leak_activations → serve make_weights"); c.Bytes != 629145600 || c.Count != 200 || c.Source != nil {
		t.Errorf("C++ site: %+v", c)
	}
	if c := find(labFile(t, "compiled"), "compiled.py:15 forward → <eval_with_key>:13 forward"); c.Source == nil || c.Source.File != "compiled.py" {
		t.Errorf("generated code: %+v", c)
	}
	dir := captures(t, "torch")
	// Windows paths, and a root that the caller gives.
	m := readFile(t, filepath.Join(dir, "torch210_plus.pickle")).Measurement()
	find(m, "cs336-basics/cs336_basics/model.py:39 forward → einops/_backends.py:291 einsum")
	m = readFile(t, filepath.Join(dir, "no_trace_no_frames.pickle")).Measurement()
	find(m, "(recorded without stacks)")
}
