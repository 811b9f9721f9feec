package diagnose

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/measure"
)

// torchStory is what must be said of one capture of lab/torch: its rule, the
// bytes it saves, its place, and parts of its text.
type torchStory struct {
	head, base string // "" for base: the head alone
	earlier    bool
	steps      int64
	// alone lists every finding but notes; of a comparison, every finding.
	rule, alone string
	saving      measure.Bytes
	at          string
	texts       []string
	fix         []string
	not         []string // neither in the text nor in the fix
}

// torchStories are the verdicts of truth.json and of the list of stories.
var torchStories = []torchStory{
	// Activation checkpointing was removed; the peak rose by 54,439,008 B.
	{head: "ckpt_head", base: "ckpt_base", rule: "torch-checkpointing-removed", alone: "torch-checkpointing-removed peak-moved", saving: 54439008, at: "model.py:32",
		texts: []string{"the base recomputes activations", "model.py:32 forward (+24.00 MiB, +6 blocks)"}, fix: []string{"torch.utils.checkpoint"}},
	{head: "ckpt_base", base: "ckpt_head"},
	// Every appended loss keeps its graph: 90,170,440 B a step, kept by train.py:49.
	{head: "leak_graph_head", base: "leak_graph_base", rule: "torch-retained-graph", alone: "torch-retained-graph peak-moved", saving: 721297472, at: "train.py:49",
		texts: []string{"(90,170,440 B) a step over 8 whole steps", "allocated at model.py:32 forward", "train.py:49 main > train.py evaluate"}, fix: []string{"loss.detach()", "torch.no_grad()"}, not: []string{"leaked by"}},
	{head: "leak_graph_head", rule: "torch-retained-graph", alone: "torch-retained-graph", saving: 721297472, at: "train.py:49"},
	// A clone of 1 MiB a call, two calls a step.
	{head: "leak_clone_head", base: "leak_graph_base", rule: "torch-growing-container", alone: "torch-growing-container peak-moved", saving: 8 * 2097152, at: "model.py:62",
		texts: []string{"grows by 2.00 MiB", "allocated at model.py:62 forward", "16 blocks of 1.00 MiB"}, not: []string{"leaked by"}},
	// Optimizer state: 29,642,560 B once, expected.
	{head: "optim_head", base: "optim_base", rule: "torch-optimizer-state", alone: "peak-moved torch-optimizer-state", saving: 29642560 - 29642560/4, at: "train.py:29",
		texts: []string{"29,642,560 B", "108 blocks", "appeared in the first step", "expected, not a leak"}},
	{head: "optim_base", base: "optim_head"},
	{head: "oom_frag", rule: "torch-oom-fragmentation", alone: "torch-oom-fragmentation torch-growing-container", saving: 2411724800, at: "oom_frag.py:26",
		texts: []string{"1.00 GiB failed at oom_frag.py:26 final_request", "live 900.00 MiB", "2.25 GiB that it could use are free, in 31 pieces of 4 segments", "the largest is 200.00 MiB"},
		fix:   []string{"1. PYTORCH_ALLOC_CONF=expandable_segments:True\n2. if that is not possible, PYTORCH_ALLOC_CONF=max_split_size_mb:800 (never both)\n3. "}},
	{head: "oom_frag_2_1_2", rule: "torch-oom-fragmentation", alone: "torch-oom-fragmentation torch-growing-container", saving: 2411724800, at: "oom_frag.py:26", fix: []string{"1. PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}},
	// The advice, followed: no failure.
	{head: "oom_frag_expandable", rule: "torch-alloc-retries", alone: "torch-growing-container torch-alloc-retries", not: []string{"expandable_segments"}},
	{head: "oom_frag_expandable_2_1_2", rule: "torch-alloc-retries", alone: "torch-growing-container torch-alloc-retries"},
	{head: "oom_pressure", rule: "torch-oom-pressure", alone: "torch-oom-pressure", saving: 1242301440, at: "model.py:21",
		texts: []string{"32.00 MiB failed at model.py:21 forward", "allocator tuning will not help", "97 % of the 1.25 GiB", "this request alone lacks 2.00 MiB", "activations and temporaries hold 1.16 GiB", "allocated at model.py:19 forward"}, not: []string{"expandable_segments", "max_split_size"}},
	{head: "oom_pressure_expandable", rule: "torch-oom-pressure", alone: "torch-oom-pressure", at: "model.py:21", saving: 1242301440, not: []string{"expandable_segments", "max_split_size"}},
	{head: "oom_retry", rule: "torch-alloc-retries", alone: "torch-alloc-retries", texts: []string{"1 time", "1.37 GiB", "no allocation failed"}},
	{head: "pending", rule: "torch-pending-free", alone: "torch-pending-free", saving: 134217728, texts: []string{"134,217,728 B", "8 blocks", "not a leak"}, fix: []string{"record_stream"}},
	{head: "pools", rule: "torch-private-pools", saving: 81887232, texts: []string{"(0,1), (1,0)", "81,887,232 B"}},
	{head: "cpp_2_15", rule: "torch-growing-container", alone: "torch-growing-container", saving: 629145600, texts: []string{"allocated at serve leak_activations", "200 blocks of 3.00 MiB"}},
	{head: "series_step12", base: "series_step03", earlier: true, steps: 9, rule: "torch-leak", alone: "torch-leak torch-growing-container", saving: 9 * 524288, at: "series.py:17",
		texts: []string{"4.50 MiB in 9 blocks came to stay, 512.00 KiB (524,288 B) a step over 9 steps", "allocated at series.py:17 remember (+4.50 MiB, +9 blocks: 512.00 KiB and 1 block a step)"}},
	{head: "series_step12", rule: "torch-growing-container", alone: "torch-growing-container", saving: 9 * 524288, at: "series.py:17",
		texts: []string{"1.50 MiB (1,572,864 B) from dump to dump, 3 times", "what lies between two dumps counts as a step here"}},
	{head: "series_step09", rule: "torch-growing-container", alone: "torch-growing-container", saving: 9 * 524288, at: "series.py:17", texts: []string{"fewer than three steps can be counted"}},
	{head: "series_step06", base: "series_step03", earlier: true, rule: "torch-leak", alone: "torch-leak", saving: 3 * 524288, at: "series.py:17", texts: []string{"a dump over 1 dump", "3 blocks a dump"}},
	{head: "series_step03", base: "series_step03", earlier: true, rule: "torch-leak", texts: []string{"no sign of a leak"}},
	// Nothing changed.
	{head: "same_rerun", base: "same_base"},
	{head: "same_shifted", base: "same_base"},
	{head: "same_renamed", base: "same_base"},
	{head: "ranks_base", base: "ranks_base"},
	{head: "ranks_head", base: "ranks_base", rule: "torch-rank-outlier", alone: "torch-rank-outlier peak-moved", saving: 55388160, at: "model.py:32", texts: []string{"rank 2 peaks at", "30 %", "median of 4 ranks"}},
	{head: "drift_2_15", base: "drift_2_14_1", rule: "torch-release-changed", alone: "torch-release-changed", texts: []string{"torch is 2.15 or newer, 2.14 or newer in the base"}},
	// A run that did less is no saving.
	{head: "ring_500", base: "leak_graph_head", rule: "torch-suspicious-saving", texts: []string{"500 allocator events, 14365 in the base", "another workload, not a saving"}},
	// What a file cannot answer.
	{head: "ring_500", rule: "torch-history-truncated", fix: []string{"max_entries="}},
	{head: "enabled_state", rule: "torch-state-only", fix: []string{"_record_memory_history(", "_dump_snapshot("}},
	{head: "forms_list", rule: "torch-no-history", fix: []string{"_record_memory_history("}},
	{head: "skip_free_completed", rule: "torch-skipped-actions", texts: []string{"no free_completed"}, fix: []string{"skip_actions"}},
	{head: "skip_free_requested", rule: "torch-skipped-actions", texts: []string{"no free_requested"}},
	{head: "ctx_none", rule: "torch-no-stacks", texts: []string{"64.66 MiB of 64.66 MiB"}},
	{head: "ctx_state", rule: "torch-no-stacks"},
	{head: "ctx_python", rule: "torch-autograd-thread", fix: []string{`stacks="all"`}},
	{head: "ctx_default", rule: "torch-workspaces", saving: 33554432},
}

// labs keeps what lab has read: several tests look at the same captures.
var labs = map[string]*measure.Measurement{}

// lab reads a capture, or a folder of ranks, of lab/torch.
func lab(t testing.TB, name string) *measure.Measurement {
	t.Helper()
	if m := labs[name]; m != nil {
		return m
	}
	path := shared(t, "lab/torch", name)
	if _, err := os.Stat(path); err != nil {
		path += ".pickle"
	}
	files, _, err := capture.Find(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := capture.Measure("", files, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	labs[name] = m
	return m
}

func (s torchStory) run(t testing.TB, change func(*measure.Measurement) *measure.Measurement) []measure.Finding {
	in := Input{Head: change(lab(t, s.head)), Earlier: s.earlier, Steps: s.steps}
	if s.base != "" {
		in.Base = change(lab(t, s.base))
	}
	return Changed(in)
}

func same(m *measure.Measurement) *measure.Measurement { return m }

func TestTorchStories(t *testing.T) {
	for _, s := range torchStories {
		t.Run(s.head+" against "+s.base, func(t *testing.T) {
			fs := s.run(t, same)
			var told []string
			for _, f := range fs {
				if s.base != "" || f.Severity != Note {
					told = append(told, f.Rule)
				}
			}
			if got := strings.Join(told, " "); got != s.alone && (s.alone != "" || s.rule == "") {
				t.Errorf("findings %q, want %q", got, s.alone)
			}
			if s.rule == "" {
				return
			}
			i := slices.IndexFunc(fs, func(f measure.Finding) bool { return f.Rule == s.rule })
			if i < 0 {
				t.Fatalf("no %s in %q", s.rule, rules(fs))
			}
			f := fs[i]
			if f.SavingBytes != s.saving {
				t.Errorf("saves %d, want %d", f.SavingBytes, s.saving)
			}
			if at := place(f.Source); at != s.at {
				t.Errorf("at %q, want %q", at, s.at)
			}
			for _, want := range s.texts {
				if !strings.Contains(f.Text, want) {
					t.Errorf("text %q\nwant %q in it", f.Text, want)
				}
			}
			for _, want := range s.fix {
				if !strings.Contains(f.Fix, want) {
					t.Errorf("fix %q\nwant %q in it", f.Fix, want)
				}
			}
			for _, word := range s.not {
				if strings.Contains(f.Text+f.Fix, word) {
					t.Errorf("%q must not be in %q", word, f.Text+f.Fix)
				}
			}
		})
	}
}

// TestDryRunIsNotRecordedByTheProgram: no advice on how to record it.
func TestDryRunIsNotRecordedByTheProgram(t *testing.T) {
	m := *lab(t, "ctx_python")
	m.Facts.Dryrun = []measure.DryrunFact{{Framework: "torch", Class: measure.DryrunExact}}
	fs := Run(Input{Head: &m})
	i := slices.IndexFunc(fs, func(f measure.Finding) bool { return f.Rule == "torch-autograd-thread" })
	if i < 0 || fs[i].Fix != "" {
		t.Errorf("findings %+v", fs)
	}
}

// TestTorchVerdicts: each verdict of truth.json has a story here.
func TestTorchVerdicts(t *testing.T) {
	data, err := os.ReadFile(shared(t, "lab/torch/truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var truth map[string]struct {
		Verdict string
		Files   map[string]any
	}
	if err := json.Unmarshal(data, &truth); err != nil {
		t.Fatal(err)
	}
	n := 0
	for name, c := range truth {
		if c.Verdict == "" {
			continue
		}
		n++
		if !slices.ContainsFunc(torchStories, func(s torchStory) bool {
			return s.head == name || s.head == filepath.Dir(name) || strings.HasPrefix(s.head, name+"_step")
		}) {
			t.Errorf("%s (%s) has no story", name, c.Verdict)
		}
	}
	if n < 15 {
		t.Errorf("%d verdicts in truth.json", n)
	}
}

// renamedTorch gives a measurement of the same program whose files and functions have
// other names.
func renamedTorch(m *measure.Measurement) *measure.Measurement {
	out := *m
	name := func(s string) string {
		for _, p := range [][2]string{{"model", "net"}, {"train.py", "run.py"}, {"forward", "call"}, {"evaluate", "score"}, {"train_step", "go"}, {"remember", "put"}, {"series", "loop"}, {"oom_", "o_"}, {"rank.py", "r.py"}, {"final_request", "last"}} {
			s = strings.ReplaceAll(s, p[0], p[1])
		}
		return s
	}
	at := func(s *measure.Source) *measure.Source {
		if s == nil {
			return nil
		}
		return &measure.Source{File: name(s.File), Line: s.Line + 1000}
	}
	out.Contributors = slices.Clone(m.Contributors)
	for i := range out.Contributors {
		c := &out.Contributors[i]
		c.Key, c.Display, c.Group, c.Source = name(c.Key), name(c.Display), name(c.Group), at(c.Source)
	}
	out.Facts.Snapshots = slices.Clone(m.Facts.Snapshots)
	for i := range out.Facts.Snapshots {
		s := &out.Facts.Snapshots[i]
		s.Sites, s.OOMs = slices.Clone(s.Sites), slices.Clone(s.OOMs)
		for j := range s.Sites {
			e := &s.Sites[j]
			e.Key, e.Display, e.Source = name(e.Key), name(e.Display), at(e.Source)
		}
		for j := range s.OOMs {
			o := &s.OOMs[j]
			o.Site, o.Source, o.Stack = name(o.Site), at(o.Source), nil
		}
		if s.Steps != nil {
			steps := *s.Steps
			steps.GrewUnder, steps.GrewUnderAt = []string{"x.py:9 f"}, at(steps.GrewUnderAt)
			s.Steps = &steps
		}
	}
	return &out
}

// Names decide nothing: a renamed program has the same findings, to the byte.
func TestTorchRenamed(t *testing.T) {
	for _, s := range torchStories {
		say := func(fs []measure.Finding) (out []string) {
			for _, f := range fs {
				out = append(out, f.Rule+" "+f.Severity+" "+f.Evidence+" "+f.SavingBytes.Exact()+" "+f.Labels.Key())
			}
			return out
		}
		if got, want := say(s.run(t, renamedTorch)), say(s.run(t, same)); !slices.Equal(got, want) {
			t.Errorf("%s against %s, renamed: %q, want %q", s.head, s.base, got, want)
		}
	}
}

// Without a cause for alarm in a real run, the rules raise none: public captures
// of training and inference that worked.
func TestTorchPublicCaptures(t *testing.T) {
	files, err := filepath.Glob(shared(t, "torch", "*.pickle"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d captures, %v", len(files), err)
	}
	alarms := map[string]string{"private_pools_pending.pickle": "torch-pending-free"}
	for _, path := range files {
		var told []string
		for _, f := range Run(Input{Head: open(t, path)}) {
			if f.Severity != Note {
				told = append(told, f.Rule)
			}
			if strings.Contains(f.Text+f.Fix, "leaked by") || f.Text == "" {
				t.Errorf("%s: %s: %q", path, f.Rule, f.Text)
			}
		}
		if got := strings.Join(told, " "); got != alarms[filepath.Base(path)] {
			t.Errorf("%s: %q, want %q", filepath.Base(path), got, alarms[filepath.Base(path)])
		}
	}
}

// TestMadeFailures: programs of our own, run on PyTorch's allocator, that have one thing
// wrong each: the finding says which.
func TestMadeFailures(t *testing.T) {
	for _, c := range []struct {
		name, rules, text, at string
		saving                measure.Bytes
	}{
		{"oom_limit", "torch-oom-limit", "the device had more left than was asked for", "fill.py:13", 0},
		{"oom_foreign", "torch-oom-foreign", "of the device's 4.00 GiB, 3.42 GiB are held outside of PyTorch's allocator", "fill.py:13", 3500 << 20},
		{"oom_stranded", "torch-oom-stranded", "2.00 GiB are in private pools, 0 B belong to another stream", "oom_stranded.py:12", 2 << 30},
		{"oom_stream", "torch-oom-stranded", "360.00 MiB belong to another stream or to the pool of small blocks; the largest free range, 15.00 MiB, would have served it", "oom_stream.py:12", 360 << 20},
		{"cycles", "torch-reference-cycles", "Python's cycle collector freed 192.00 MiB of tensors in 24 frees", "", 0},
		{"thrash", "torch-thrash", "empty_cache() returned 48 segments at thrash.py:14; that costs time, not memory", "thrash.py:14", 0},
		{"ddp", "", "", "", 0},
	} {
		m, err := capture.Measure("", []string{filepath.Join("..", "fixtures", "torch", c.name+".pickle.gz")}, capture.Options{})
		if err != nil {
			t.Fatal(err)
		}
		// What the run printed tells the device as well as the caller could.
		m.Facts.Logs, _, _ = ReadLog(strings.NewReader("CUDA out of memory. Tried to allocate 128.00 MiB. GPU 0 has a total capacity of 4.00 GiB of which 84.00 MiB is free."), "run.log")
		fs := Run(Input{Head: m})
		wrong := slices.DeleteFunc(slices.Clone(fs), func(f measure.Finding) bool { return f.Severity == Note })
		if got := rules(wrong); got != c.rules {
			t.Errorf("%s: findings %q, want %q", c.name, got, c.rules)
			continue
		}
		if c.rules == "" {
			if got := rules(fs); !strings.Contains(got, "torch-replication") {
				t.Errorf("%s: notes %q", c.name, got)
			}
			continue
		}
		if f := wrong[0]; !strings.Contains(f.Text, c.text) || place(f.Source) != c.at || f.SavingBytes != c.saving || f.Evidence != Measured {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// TestCheckpointOnOneLine: a program whose one line serves the forward pass and its
// recomputation; what the head lost is told all the same.
func TestCheckpointOnOneLine(t *testing.T) {
	open := func(side string) *measure.Measurement {
		m, err := capture.Measure("", []string{filepath.Join("..", "fixtures", "torch", "checkpoint_"+side+".pickle.gz")}, capture.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	base, head := open("base"), open("head")
	found := slices.DeleteFunc(Changed(Input{Base: base, Head: head}), func(f measure.Finding) bool { return f.Severity == Note })
	if got := rules(found); got != "torch-checkpointing-removed" {
		t.Fatalf("findings %q", got)
	}
	// torch.cuda.memory_stats()["requested_bytes.all.peak"] printed the two peaks.
	if f := found[0]; f.SavingBytes != 321_938_472-224_426_024 || place(f.Source) != "train.py:7" {
		t.Errorf("%+v", f)
	}
	if got := rules(Changed(Input{Base: head, Head: base})); strings.Contains(got, "torch-checkpointing-removed") {
		t.Errorf("the other way: %q", got)
	}
}
