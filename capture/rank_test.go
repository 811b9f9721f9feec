package capture

import (
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func TestRankOf(t *testing.T) {
	for path, want := range map[string]string{
		"rank0_memory_snapshot.pickle": "0", "out/rank12_memory_snapshot.pickle": "12", "snapshot_oom_rank-3.pickle": "3",
		"oom_rank7.pickle": "7", "oom_snapshot_dev1.pickle": "1", "rank2/snapshot.pickle": "2", "host1/rank_004/a.pickle": "4",
		"000005_step_10.pickle": "5", "profiling/iteration_10/000000_step_10.pickle": "0", `rank0\rank10.pickle`: "10",
		"snapshot.pickle": "", "step_10.pickle": "", "frank.pickle": "", "rank.pickle": "",
	} {
		if got, _ := rankOf(path); got != want {
			t.Errorf("rankOf(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestRanksAreLabelled(t *testing.T) {
	ranks := func(files map[string]string) []string {
		found, _, err := Find(tree(t, files))
		if err != nil {
			t.Fatal(err)
		}
		m, err := Measure("t", found, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, r := range m.Rows {
			if r.Name == "live.end_bytes" {
				text := strings.TrimSpace(r.Labels.Key("device"))
				if r.Value == nil {
					text += " no data"
				}
				out = append(out, text)
			}
		}
		slices.Sort(out)
		return out
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"equal ranks stay apart": {map[string]string{"rank0.pickle": snapshot, "rank1.pickle": snapshot}, []string{"rank=0", "rank=1"}},
		"a rank is missing":      {map[string]string{"rank0.pickle": snapshot, "rank3.pickle": snapshot}, []string{"rank=0", "rank=1 no data", "rank=2 no data", "rank=3"}},
		"one file is no rank":    {map[string]string{"rank0.pickle": snapshot}, []string{""}},
		"a rank twice":           {map[string]string{"a/rank0.pickle": snapshot, "b/rank0.pickle": snapshot}, []string{""}},
		"numbers from 0":         {map[string]string{"snapshot_0.pickle": snapshot, "snapshot_1.pickle": "torch/forms_dict.pickle", "snapshot_2.pickle": "steady/torch/base.pickle.gz"}, []string{"rank=0", "rank=1", "rank=2"}},
		"numbers from 1":         {map[string]string{"snapshot_1.pickle": snapshot, "snapshot_2.pickle": "torch/forms_dict.pickle"}, []string{"file=snapshot_1.pickle", "file=snapshot_2.pickle"}},
		"numbers with a gap":     {map[string]string{"snapshot_0.pickle": snapshot, "snapshot_2.pickle": "torch/forms_dict.pickle"}, []string{"file=snapshot_0.pickle", "file=snapshot_2.pickle"}},
		"numbers of steps":       {map[string]string{"step_0.pickle": snapshot, "step_1.pickle": snapshot}, []string{""}},
		"numbers of two names":   {map[string]string{"a_0.pickle": snapshot, "b_1.pickle": snapshot}, []string{""}},
		"a file without a rank":  {map[string]string{"rank0.pickle": snapshot, "x.pickle": snapshot}, []string{""}},
	} {
		if got := ranks(c.files); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Dumps of one process are no ranks, however they are numbered.
func TestDumpsOfOneProcessAreNoRanks(t *testing.T) {
	part := func(path string, start int64) *measure.Measurement {
		m := measure.New()
		m.Inputs = []measure.Input{{Path: path, Format: "torch.snapshot"}}
		m.Facts.Traces = []measure.TraceFact{{Labels: measure.Labels{"device": "0"}, StartUS: start}}
		return m
	}
	for start, want := range map[int64]string{100: "", 101: "1"} {
		parts := []*measure.Measurement{part("snapshot_0.pickle", 100), part("snapshot_1.pickle", start)}
		labelRanks(parts)
		if got := parts[1].Facts.Traces[0].Labels["rank"]; got != want {
			t.Errorf("histories that begin at 100 and %d: rank %q, want %q", start, got, want)
		}
	}
}

// The footprint of a run beside its ranks' snapshots has no rank, and is no reason
// against them.
func TestRanksBesideAFootprint(t *testing.T) {
	part := func(path, format string) *measure.Measurement {
		m := measure.New()
		m.Inputs = []measure.Input{{Path: path, Format: format}}
		m.Rows = []measure.Row{measure.NewRow("live.peak_bytes", measure.Labels{}, measure.Int(1))}
		return m
	}
	parts := []*measure.Measurement{part("run/footprint.jsonl", "footprint.jsonl"), part("torch/rank0.pickle", "torch.snapshot"), part("torch/rank1.pickle", "torch.snapshot")}
	labelRanks(parts)
	for i, want := range []string{"", "0", "1"} {
		if got := parts[i].Rows[0].Labels["rank"]; got != want {
			t.Errorf("%s: rank %q, want %q", parts[i].Inputs[0].Path, got, want)
		}
	}
}
