package page

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture/xla"
)

func fixture(name string) string {
	return filepath.Join("..", "fixtures", filepath.FromSlash(name))
}

// TestCurveIsItsBuffers holds the curve against the live ranges: at each position the
// live buffers add up to it, and those at the peak to the peak.
func TestCurveIsItsBuffers(t *testing.T) {
	views := 0
	for _, name := range []string{"regression/xla/head.hlo.pb", "regression/xla/base.hlo.pb", "xla/h100_donate.hlo.pb", "xla/tpu_offload.hlo.pb", "xla/cpu_donate.xplane.pb"} {
		for _, v := range load(t, fixture(name)).Views {
			if v.Peak == nil {
				continue
			}
			views++
			var atPeak int64
			for _, b := range v.Buffers {
				if b.AtPeak {
					atPeak += b.Bytes
				}
				if live := b.Start <= v.Peak.X && v.Peak.X < b.End; live != b.AtPeak {
					t.Errorf("%s %s: buffer %s, %d to %d: at the peak: %v", name, v.Module, b.ID, b.Start, b.End, b.AtPeak)
				}
			}
			if atPeak != v.Peak.Bytes {
				t.Errorf("%s %s %s: buffers at the peak take %d, the peak is %d", name, v.Module, v.Space, atPeak, v.Peak.Bytes)
			}
			for i, x := range v.Curve.X {
				var sum int64
				for _, b := range v.Buffers {
					if b.Start <= x && x < b.End {
						sum += b.Bytes
					}
				}
				if sum != v.Curve.Bytes[i] {
					t.Fatalf("%s %s %s: at %d live buffers take %d, the curve is at %d", name, v.Module, v.Space, x, sum, v.Curve.Bytes[i])
				}
			}
		}
	}
	if views < 5 {
		t.Errorf("looked at %d views", views)
	}
}

// TestBlocksDoNotOverlap: two buffers that are live at one time lie at two places,
// within their allocations. Rows that are shifted would break it.
func TestBlocksDoNotOverlap(t *testing.T) {
	pairs := 0
	for _, name := range []string{"regression/xla/head.hlo.pb", "xla/h100_donate.hlo.pb", "xla/tpu_offload.hlo.pb"} {
		for _, v := range load(t, fixture(name)).Views {
			for i, a := range v.Buffers {
				if a.Y == nil || a.Bytes == 0 {
					continue
				}
				if !slices.ContainsFunc(v.Allocations, func(in Allocation) bool { return in.Y <= *a.Y && *a.Y+a.Bytes <= in.Y+in.Bytes }) {
					t.Errorf("%s: buffer %s lies outside of every allocation", name, a.ID)
				}
				for _, b := range v.Buffers[i+1:] {
					if b.Y == nil || b.Bytes == 0 || max(a.Start, b.Start) >= min(a.End, b.End) {
						continue
					}
					if pairs++; max(*a.Y, *b.Y) < min(*a.Y+a.Bytes, *b.Y+b.Bytes) {
						t.Errorf("%s %s: buffers %s and %s lie over each other", name, v.Space, a.ID, b.ID)
					}
				}
			}
		}
	}
	if pairs < 1000 {
		t.Errorf("compared %d pairs", pairs)
	}
}

// made is a capture with many modules of many buffers, and names as bad as they get.
func made(modules, buffers int, name string) *xla.Capture {
	c := &xla.Capture{Name: name, Format: xla.FormatHloProto}
	for range modules {
		m := &xla.Module{Name: name, EntryID: 1, Assignment: &xla.BufferAssignment{}}
		comp := xla.Computation{ID: 1, Name: name}
		var trace xla.HeapTrace
		block := xla.BufferAllocation{Index: 0}
		for i := range int64(buffers) {
			size := 20000 + i
			comp.Instructions = append(comp.Instructions, xla.Instruction{
				ID: i, Name: name, Opcode: name, Shape: &xla.Shape{Type: 11, Dimensions: []int64{size / 4}}, Metadata: &xla.OpMetadata{OpName: name, SourceFile: name, SourceLine: i},
			})
			m.Assignment.Buffers = append(m.Assignment.Buffers, xla.LogicalBuffer{ID: i, SizeBytes: size, Instruction: i})
			block.Assigned = append(block.Assigned, xla.AssignedBuffer{Buffer: i, OffsetBytes: block.SizeBytes, SizeBytes: size})
			block.SizeBytes += size
			trace.Events = append(trace.Events, xla.HeapEvent{Kind: xla.Alloc, Buffer: i, Instruction: name})
		}
		for i := range int64(buffers) {
			trace.Events = append(trace.Events, xla.HeapEvent{Kind: xla.Free, Buffer: i, Instruction: name})
		}
		m.Computations = []xla.Computation{comp}
		m.Assignment.Allocations = []xla.BufferAllocation{block}
		m.Assignment.Traces = []xla.HeapTrace{trace}
		c.Modules = append(c.Modules, m)
	}
	return c
}

// TestBounds: however much a capture holds, its page stays under 2 MB, and says what
// it leaves out.
func TestBounds(t *testing.T) {
	long := strings.Repeat("jit(step)/jvp()/while/body/", 40)
	for _, c := range []struct{ modules, buffers int }{{1, 20000}, {300, 60}, {3, 10000}} {
		side := Plans(made(c.modules, c.buffers, long), "")
		data, err := json.Marshal(New(&side, nil))
		if err != nil {
			t.Fatal(err)
		}
		if len(data) > 6<<20 {
			t.Errorf("%d modules of %d buffers with names of %d bytes: the page takes %d bytes", c.modules, c.buffers, len(long), len(data))
		}
		short := Plans(made(c.modules, c.buffers, "jit(step)/jvp(block)/dot_general"), "")
		if data, _ = json.Marshal(New(&short, nil)); len(data) > 2<<20 {
			t.Errorf("%d modules of %d buffers: the page takes %d bytes", c.modules, c.buffers, len(data))
		}
		if c.modules > maxViews && len(side.Warnings) == 0 {
			t.Error("modules are left out without a word")
		}
		v := side.Views[0]
		var kept int64
		for _, b := range v.Buffers {
			kept += b.Bytes
		}
		if v.LeftOut == nil || v.LeftOut.Count+len(v.Buffers) != c.buffers || kept+v.LeftOut.PeakBytes != v.Peak.Bytes {
			t.Errorf("%d buffers of %d bytes are kept, left out are %+v, the peak is %d", len(v.Buffers), kept, v.LeftOut, v.Peak.Bytes)
		}
		grouped := kept
		for _, g := range v.Groups {
			grouped += g.Bytes
		}
		if grouped != v.Peak.Bytes || len(v.Groups) > viewBuffers {
			t.Errorf("buffers and %d groups take %d bytes, the peak is %d", len(v.Groups), grouped, v.Peak.Bytes)
		}
		if !slices.Contains(v.Curve.Bytes, v.Peak.Bytes) {
			t.Error("the curve lost its peak")
		}
	}
}

func TestThin(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		curve := make([]int64, 1+r.IntN(3000))
		for i := range curve {
			curve[i] = r.Int64N(1000)
		}
		most := 10 + r.IntN(500)
		must := r.IntN(len(curve))
		got := thin(curve, must, most)
		if len(got) > most || !slices.IsSorted(got) || !slices.Contains(got, must) || got[0] != 0 || got[len(got)-1] != len(curve)-1 {
			t.Fatalf("thin(%d points, %d, %d) gave %d points: %v", len(curve), must, most, len(got), got)
		}
		var seen []int64
		for _, i := range got {
			seen = append(seen, curve[i])
		}
		if slices.Max(seen) != slices.Max(curve) || slices.Min(seen) != slices.Min(curve) {
			t.Fatal("the highest or lowest point is lost")
		}
	}
}

// TestLargest: where few can be kept, most are of the peak, and equal ones from all along.
func TestLargest(t *testing.T) {
	const count, most = 10000, 100
	live := func(i int) bool { return i >= 9000 && i < 9900 }
	kept, left := largest(count, most, func(i int) int64 { return 1 + int64(i%2) }, live)
	peak, large := 0, 0
	for n, i := range kept {
		if n > 0 && i <= kept[n-1] {
			t.Fatalf("%d after %d", i, kept[n-1])
		}
		if live(i) {
			peak++
		}
		large += i % 2
	}
	if len(kept) != most || peak < 75 || large != most || kept[0] > 1000 || kept[24] < 7000 {
		t.Errorf("kept %d, %d of the peak, %d large ones, the first others at %d to %d", len(kept), peak, large, kept[0], kept[24])
	}
	if left.Count != count-most || left.PeakCount != 900-peak || left.LargestLeft != 2 {
		t.Errorf("left out: %+v", left)
	}
	if kept, left := largest(5, 5, nil, nil); len(kept) != 5 || left != nil {
		t.Errorf("all are kept: %v, %v", kept, left)
	}
}

// TestGroups: what is alike is one, and the smallest are others.
func TestGroups(t *testing.T) {
	var all []Group
	for i := range 60 {
		all = append(all, Group{Origin: Origin{Source: string(rune('a' + i%6))}, Count: 1, Bytes: int64(i % 6), Unpadded: 1})
	}
	got := groups(all, 3)
	want := []Group{
		{Origin: Origin{Source: "f"}, Count: 10, Bytes: 50, Unpadded: 10}, {Origin: Origin{Source: "e"}, Count: 10, Bytes: 40, Unpadded: 10}, {Origin: Origin{Source: "d"}, Count: 10, Bytes: 30, Unpadded: 10},
		{Origin: Origin{others, others, others, others, others}, Count: 30, Bytes: 30, Unpadded: 30},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"fusion.1": "fusion.1", "a\x00b\u202ec\u2028d": "a\uFFFDb\uFFFDc\uFFFDd", "\xff": "\uFFFD", "<b>": "<b>", "é ü": "é ü",
		strings.Repeat("x", 1000): strings.Repeat("x", maxText-1) + "…",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%.20q): want %.20q, got %.20q", in, want, got)
		}
	}
}

// TestStacksAreShared: what many buffers have in common is written once.
func TestStacksAreShared(t *testing.T) {
	s := load(t, fixture("regression/xla/head.hlo.pb"))
	with := 0
	for _, b := range s.Views[0].Buffers {
		if b.Stack > 0 {
			with++
			if len(s.Stacks[b.Stack-1]) == 0 {
				t.Errorf("buffer %s has an empty stack", b.ID)
			}
		}
	}
	if with < 20 || len(s.Stacks) >= with {
		t.Errorf("%d buffers have %d stacks", with, len(s.Stacks))
	}
}

func TestNotShown(t *testing.T) {
	for name, want := range map[string]string{
		"affon/after.json": "the viewer shows XLA plans",
		"dump/module_0000.jit_metric_step.cpu_after_optimizations-buffer-assignment.txt": "xla.text holds no live ranges",
	} {
		s, err := open(fixture(name))
		if err == nil || s != nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), filepath.ToSlash(fixture(name))) {
			t.Errorf("%s: want an error with %q, got %v", name, want, err)
		}
		if want == "the viewer shows XLA plans" && !errors.Is(err, ErrNotShown) {
			t.Errorf("%s: %v is not ErrNotShown", name, err)
		}
	}
}

// TestIDs: a buffer's id is unique in its view, since links name it.
func TestIDs(t *testing.T) {
	for _, name := range []string{"regression/xla/head.hlo.pb", "xla/tpu_offload.hlo.pb", "xla/cpu_donate.xplane.pb"} {
		for _, v := range load(t, fixture(name)).Views {
			seen := map[string]bool{}
			for _, b := range v.Buffers {
				if seen[b.ID] {
					t.Errorf("%s %s %s: two buffers have the id %s", name, v.Module, v.Space, b.ID)
				}
				seen[b.ID] = true
			}
		}
	}
}

// size is what a side takes on its page.
func size(t testing.TB, s *Side) int {
	t.Helper()
	data, err := json.Marshal(New(s, nil))
	if err != nil {
		t.Fatal(err)
	}
	return len(data)
}
