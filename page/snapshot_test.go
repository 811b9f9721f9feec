package page

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/measure"
)

// snapshots are fixtures with a history; some begin in the middle of a run.
var snapshotFixtures = []string{
	"regression/torch/head.pickle", "regression/torch/base.pickle", "torch/ring_500.pickle", "torch/pools.pickle", "torch/drift_2_0_1.pickle", "torch/oom_frag_expandable.pickle",
}

// TestSnapshotCurve holds the curve against the live ranges and the reader's own
// peak: what is live adds up to it at every position that is drawn.
func TestSnapshotCurve(t *testing.T) {
	views := 0
	for _, name := range snapshotFixtures {
		data, err := os.ReadFile(fixture(name))
		if err != nil {
			t.Fatal(err)
		}
		s, err := torch.Read(bytes.NewReader(data), int64(len(data)), name, torch.Options{Record: true})
		if err != nil {
			t.Fatal(err)
		}
		rows := s.Measurement().Rows
		for i := range s.Devices {
			d := &s.Devices[i]
			if d.History.NoPeak != "" {
				continue
			}
			views++
			lived := s.Lived(d)
			curve := curveOf(lived, d.History.Events)
			peak := d.History.PeakEvent + 1
			var most, atPeak int64
			for _, n := range curve {
				most = max(most, n)
			}
			for _, l := range lived {
				if l.Start <= peak && peak < l.End {
					atPeak += l.Bytes
				}
			}
			row := peakRow(rows, d.Ordinal)
			if curve[peak] != row || most != row || atPeak != row {
				t.Errorf("%s device %d: the metric is %d, the curve's peak %d, at the peak's event %d, its blocks %d", name, d.Ordinal, row, most, curve[peak], atPeak)
			}
			if curve[0] != d.History.Baseline || curve[len(curve)-1] != d.State.Requested() {
				t.Errorf("%s device %d: the curve begins at %d and ends at %d, want %d and %d", name, d.Ordinal, curve[0], curve[len(curve)-1], d.History.Baseline, d.State.Requested())
			}
		}
		side := Snapshots(s)
		for _, v := range side.Views {
			if v.Peak == nil || v.LeftOut != nil {
				continue
			}
			for i, x := range v.Curve.X {
				var sum int64
				for _, b := range v.Buffers {
					if b.Start <= x && x < b.End {
						sum += b.Bytes
					}
				}
				if sum != v.Curve.Bytes[i] {
					t.Fatalf("%s %s: at %d blocks take %d, the curve is at %d", name, v.Module, x, sum, v.Curve.Bytes[i])
				}
			}
		}
	}
	if views < 5 {
		t.Errorf("looked at %d devices", views)
	}
}

func peakRow(rows []measure.Row, device int) int64 {
	for _, r := range rows {
		if r.Name == "live.peak_bytes" && r.Labels["device"] == strconv.Itoa(device) && r.Value != nil {
			n, _ := r.Value.Int64()
			return n
		}
	}
	return -1
}

// TestSnapshotBlocks: two blocks that are live at one time lie at two places, and each
// in the segment that holds its address.
func TestSnapshotBlocks(t *testing.T) {
	pairs := 0
	for _, name := range snapshotFixtures {
		for _, v := range load(t, fixture(name)).Views {
			for i, a := range v.Buffers {
				if a.Y == nil {
					continue
				}
				for _, b := range v.Buffers[i+1:] {
					if b.Y == nil || max(a.Start, b.Start) >= min(a.End, b.End) {
						continue
					}
					if pairs++; max(*a.Y, *b.Y) < min(*a.Y+a.Bytes, *b.Y+b.Bytes) {
						t.Fatalf("%s: blocks %s and %s lie over each other", name, a.ID, b.ID)
					}
				}
			}
		}
	}
	if pairs < 1000 {
		t.Errorf("compared %d pairs", pairs)
	}
}

// TestGivenBack: blocks of segments that the allocator had returned before the dump have
// their places too.
func TestGivenBack(t *testing.T) {
	for _, name := range []string{"torch/thrash.pickle.gz", "torch/oom_frag_expandable.pickle"} {
		v := load(t, fixture(name)).Views[0]
		given, within := 0, 0
		for _, a := range v.Allocations {
			if a.Kind != "given back before the dump" {
				continue
			}
			given++
			for _, b := range v.Buffers {
				if b.Y != nil && *b.Y >= a.Y && *b.Y+b.Bytes <= a.Y+a.Bytes {
					within++
				}
			}
		}
		for _, b := range v.Buffers {
			if b.Y == nil {
				t.Errorf("%s: block %s of %d bytes has no place", name, b.ID, b.Bytes)
			}
		}
		if name == "torch/thrash.pickle.gz" && (given == 0 || within < 10) {
			t.Errorf("%s: %d blocks in %d areas that were given back", name, within, given)
		}
	}
}

// TestSnapshotClasses: each block says what it is for, as far as the recording tells.
func TestSnapshotClasses(t *testing.T) {
	sum := func(name string) map[string]int64 {
		out := map[string]int64{}
		for _, b := range load(t, fixture(name)).Views[0].Buffers {
			if b.AtPeak {
				out[b.Class] += b.Bytes
			}
		}
		return out
	}
	head, base := sum("regression/torch/head.pickle"), sum("regression/torch/base.pickle")
	for _, class := range []string{measure.ClassParameter, measure.ClassOptimizer} {
		if head[class] == 0 || math.Abs(float64(head[class]-base[class])) > 0.01*float64(base[class]) { // the smallest blocks are left out
			t.Errorf("%s: %d bytes, %d in the base: want about the same, it is one model", class, head[class], base[class])
		}
	}
	// The base computes activations again in the backward pass, the head keeps them.
	if more := head[measure.ClassActivation] - base[measure.ClassActivation]; more < 48<<20 {
		t.Errorf("activations grew by %d bytes, want most of 51.92 MiB", more)
	}
	if sum("torch/ring_500.pickle")["before_the_recording"] == 0 {
		t.Error("no block is from before the recording")
	}
}

// TestSnapshotSteps: steps are marked where the capture marks them.
func TestSnapshotSteps(t *testing.T) {
	v := load(t, fixture("regression/torch/head.pickle")).Views[0]
	if v.Mark == "" || len(v.Marks) < 3 {
		t.Errorf("steps: %q at %v", v.Mark, v.Marks)
	}
	for i, at := range v.Marks {
		if at < 0 || at > v.Steps || i > 0 && at <= v.Marks[i-1] {
			t.Errorf("step %d begins at event %d of %d", i, at, v.Steps)
		}
	}
	sites := 0
	for _, b := range v.Buffers {
		if strings.Contains(b.Source, "model.py:") && b.Stack > 0 {
			sites++
		}
	}
	if sites < 20 {
		t.Errorf("%d blocks name a line of the program", sites)
	}
}

// TestSnapshotsOfOthers: every shared snapshot that can be read can be shown, under 2 MB.
func TestSnapshotsOfOthers(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(captures(t), "lab", "torch", "*.pickle"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d snapshots, %v", len(files), err)
	}
	shown := 0
	for _, file := range files[:min(len(files), 25)] {
		side, err := open(file)
		if err != nil {
			continue
		}
		shown++
		if n := size(t, side); n > 2<<20 {
			t.Errorf("%s: the page takes %d bytes", file, n)
		}
	}
	if shown < 10 {
		t.Errorf("showed %d of %d snapshots", shown, len(files))
	}
}

// TestOutOfMemory: the overview tells of the request that failed.
func TestOutOfMemory(t *testing.T) {
	figures := load(t, fixture("torch/oom_stranded.pickle.gz")).Views[0].Figures
	i := slices.IndexFunc(figures, func(f Figure) bool { return f.Key == "oom" })
	const want = "event 31 of 31; live then were 1.75 GiB, in segments of 3.75 GiB"
	if i < 0 || *figures[i].Bytes != 256<<20 || figures[i].Formula != want {
		t.Errorf("want %q of 256 MiB, got %+v", want, figures)
	}
}

// TestDump: where no history tells a peak, the blocks of the dump are there, with those
// that found no room in their groups: together what the metric says. None is at a peak.
func TestDump(t *testing.T) {
	for _, name := range []string{"enabled_state", "forms_list", "skip_free_completed"} {
		checkDump(t, fixture("torch/"+name+".pickle"))
	}
}

// TestDumpOfOthers is the same of shared captures.
func TestDumpOfOthers(t *testing.T) {
	for _, name := range []string{"no_trace_no_frames", "torch24_no_trace", "torch21_no_trace_two_devices"} {
		checkDump(t, filepath.Join(captures(t), "torch", name+".pickle"))
	}
}

func checkDump(t *testing.T, file string) {
	t.Helper()
	var rows []measure.Row
	opt := capture.Options{Records: func(_ any, m *measure.Measurement, _ capture.Options) { rows = m.Rows }}
	if _, err := capture.Open(file, opt); err != nil {
		t.Fatal(err)
	}
	views := load(t, file).Views
	for _, v := range views {
		var sum int64
		for _, b := range v.Buffers {
			sum += b.Bytes
			if b.Start != 0 || b.End != 1 || b.AtPeak || b.Y == nil || b.Name == "" || b.Class == "" || b.BlockBytes < b.Bytes {
				t.Errorf("%s %s: block %+v", file, v.Module, b)
			}
		}
		for _, g := range v.Groups {
			sum += g.Bytes
		}
		i := slices.IndexFunc(rows, func(r measure.Row) bool {
			return r.Name == "live.end_bytes" && "device "+r.Labels["device"] == v.Module
		})
		if want, _ := rows[i].Value.Int64(); sum != want || v.DumpBytes == nil || *v.DumpBytes != want || sum == 0 {
			t.Errorf("%s %s: its %d blocks and %d groups take %d, the metric says %d", file, v.Module, len(v.Buffers), len(v.Groups), sum, want)
		}
		if v.Peak != nil || v.NoPeak == "" || len(v.Curve.X) != 0 || v.Steps != 0 {
			t.Errorf("%s %s: a curve of %d positions, peak %+v (%s)", file, v.Module, len(v.Curve.X), v.Peak, v.NoPeak)
		}
	}
}

// TestDumpBounds: of many blocks those that find no room are in the sums of their groups.
func TestDumpBounds(t *testing.T) {
	const blocks = 5000
	var text strings.Builder
	for i := range blocks {
		fmt.Fprintf(&text, `%s{"address": %d, "size": 512, "requested_size": %d, "state": "active_allocated"}`, strings.Repeat(", ", min(i, 1)), 1<<30+512*i, 1+i%500)
	}
	data := fmt.Sprintf(`{"segments": [{"device": 0, "address": %d, "total_size": %d, "allocated_size": %d, "active_size": %d, "stream": 0, "segment_type": "small", "blocks": [%s]}], "device_traces": []}`, 1<<30, 512*blocks, 512*blocks, 512*blocks, text.String())
	file := filepath.Join(t.TempDir(), "many.json")
	if err := os.WriteFile(file, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	checkDump(t, file)
	v := load(t, file).Views[0]
	if len(v.Buffers) != viewBuffers || v.LeftOut.Count != blocks-viewBuffers || v.LeftOut.PeakCount != v.LeftOut.Count || len(v.Groups) != 1 {
		t.Errorf("%d blocks are kept; left out: %+v in %d groups", len(v.Buffers), v.LeftOut, len(v.Groups))
	}
}
