package xla

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// timelineSeed is a small profile with every event and statistic that is read.
func timelineSeed() message {
	p, q := newPool("GPU_0_bfc", 512), newPool(1, 0)
	se := clients["stream executor"]
	events := executions(p, 4, func(i int) bool { return i == 2 }, nest(se.events, se.launch, map[string]any{"_ct": 1, "_c": 2, "module_name": ref("jit_step")}))
	events = append(events, at{"$train.py:3 f", 9000, 90, nil}, p.alloc(9001, 7, 9, "tf_op", "MatMul", "region_type", ref("temp"), "shape", "[3]", "fragmentation", 0.5))
	return newHost().line("python", events...).line("other",
		at{"train", 1, 5, map[string]any{"step_num": 1, "_r": 1, "group_id": 3}}, q.alloc(3, 1, 5), at{"FunctionRun", 10, 5, nil}, q.free(11, 1),
		at{"CommonPjRtLoadedExecutable::Execute (jit_f)", 20, 5, map[string]any{"_pt": 1, "_p": 2}}, at{"AllocatorRetry::AllocateRaw", 30, 11_000_000, nil},
		at{"Run", 12_000_000, 10_000_050, nil},
	).space()
}

// kept is a profile of a program that keeps the outputs of each of its 12 executions,
// until the last one waits for memory and never launches.
func kept() message {
	p := newPool("GPU_0_bfc", 1<<20)
	p.limit, p.output = 7<<20, 500_000
	se := clients["stream executor"]
	events := executions(p, 12, func(int) bool { return true }, nest(se.events, se.launch, nil))
	events = append(events, nest(se.events, "", nil)(12_000)[:5]...)
	for i := range events[len(events)-5:] {
		events[len(events)-5+i].length += 10_000_000
	}
	events = append(events, at{"Build buffer allocations", 12_005, 10_000_010, nil})
	for i := range int64(12) {
		// What the program does between two executions, and what JAX does in it.
		events = append(events, at{"$train.py:31 keep", 1000*i + 640, 20, nil}, at{"$<unknown> append", 1000*i + 642, 2, nil},
			at{"$tree_util.py:9 flatten", 1000*i + 650, 5, nil}, at{"$<unknown> extend", 1000*i + 651, 2, nil})
	}
	slices.SortStableFunc(events, func(a, b at) int { return cmp.Compare(a.start, b.start) })
	module := hlo([]message{instruction(1, "p", "parameter").int(9, 0)},
		message{}.bytes(1, buffer(1, p.output, 1, 0)).bytes(3, allocation(0, p.output, 0, message{}.int(7, 1), assigned(p.output, 1))))
	device := message{}.bytes(1, message{}.int(1, 2).text(2, "/device:GPU:0").
		bytes(5, message{}.int(1, 1).bytes(2, message{}.int(1, 1).text(2, "memory_size"))).bytes(6, message{}.int(1, 1).int(3, 9<<20)))
	return append(append(device, newHost().line("python", events...).space()...), space([]string{"jit_step(7)"}, []message{module})...)
}

// TestKept: growth per execution is once the outputs, the last execution never
// launched, and it waited ten seconds. The committed capture is this program's.
func TestKept(t *testing.T) {
	file := fixture(t, "xla/kept_outputs.xplane.pb")
	if *update {
		if err := os.WriteFile(file, kept(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, kept()) {
		t.Errorf("%s is not what kept makes; go test -run TestKept -update writes it anew", file)
	}
	c, m := measured(t, data)
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	x := m.Facts.Executions[0]
	if len(m.Facts.Executions) != 1 || x.Count != 13 || *x.NeverLaunched != 1 || x.OutputBytes == nil || *x.OutputBytes != 500_000 ||
		x.OutputMultiple == nil || *x.OutputMultiple != 1 || x.FirstInUse != 1<<20 || x.LastInUse != 1<<20+12*500_224 {
		t.Errorf("executions %+v", m.Facts.Executions)
	}
	f := m.Facts.Timelines[0]
	if f.Growth == nil || f.Growth.ChangeBytes != 500_000 || f.DeviceMemoryBytes != 9<<20 || f.LimitBytes != 7<<20 || f.LastStart.Groups[0].Name != before {
		t.Errorf("timeline %+v", f)
	}
	want := []measure.HostEvent{{Name: "DevicePut", Count: 2}, {Name: "$<unknown> append", Count: 1}, {Name: "$train.py:31 keep", Count: 1}}
	if !slices.Equal(f.LastStart.Between, want) {
		t.Errorf("between the last two calls %v, want %v", f.LastStart.Between, want)
	}
	for name, want := range map[string]int64{"growth.bytes_per_step": 500_000, "launch.never_started": 1, "oom.events": 1} {
		if n, _ := findRow(t, m, name).Value.Int64(); n != want {
			t.Errorf("%s: %d, want %d", name, n, want)
		}
	}
}

// measured reads bytes as a file and as a stream, which must not differ.
func measured(t testing.TB, data []byte) (*Capture, *measure.Measurement) {
	t.Helper()
	c, err := Read(bytes.NewReader(data), int64(len(data)), "x.pb")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(onlyReader{bytes.NewReader(data)}, -1, "x.pb")
	if err != nil {
		t.Fatal(err)
	}
	m := c.Measurement()
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	if got, want := dump(s.Measurement()), dump(m); got != want {
		t.Fatalf("as a stream:\n%s\nas a file:\n%s", got, want)
	}
	return c, m
}

// TestTypes: numbers come as int64, uint64 or double, texts held or by reference.
func TestTypes(t *testing.T) {
	want := ""
	for name, kind := range map[string]func(int64) any{
		"int64": func(n int64) any { return n }, "uint64": func(n int64) any { return uint64(n) }, "double": func(n int64) any { return float64(n) },
	} {
		for _, label := range []any{"GPU_3_bfc", ref("GPU_3_bfc")} {
			p := newPool(label, 1000)
			p.kind = kind
			var events []at
			for i := range int64(5) {
				events = append(events, p.alloc(10*i, 4096+i, 100+i, "fragmentation", 0.25), p.free(10*i+5, 4096+i))
			}
			events = append(events, p.alloc(60, 1, 1, "fragmentation", 0.25))
			_, m := measured(t, newHost().line("python", events...).space())
			got := dump(m)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s, %T:\n%s\nwant\n%s", name, label, got, want)
			}
			if f := m.Facts.Timelines[0]; f.PeakBytes != 1256 || f.Labels["device"] != "3" || f.Fragmentation == nil || *f.Fragmentation != 0.25 {
				t.Errorf("%s: %+v", name, f)
			}
		}
	}
}

// TestClients: a leak of all outputs is found alike for each client, and a steady run is steady.
func TestClients(t *testing.T) {
	for name, client := range clients {
		for _, leak := range []bool{false, true} {
			p := newPool("GPU_0_bfc", 1000)
			h := newHost().line("python", executions(p, 12, func(int) bool { return leak }, nest(client.events, client.launch, client.stats))...)
			_, m := measured(t, h.space())
			want := int64(0)
			if leak {
				want = 5000
			}
			row := findRow(t, m, "growth.bytes_per_step")
			if row.Value == nil || row.Value.Cmp(measure.Int(want)) != 0 || row.Kind != measure.Exact {
				t.Errorf("%s: growth %+v, want %d", name, row, want)
			}
			if len(m.Facts.Executions) != 1 {
				t.Fatalf("%s: executions %+v", name, m.Facts.Executions)
			}
			x := m.Facts.Executions[0]
			if x.Count != 12 || x.Labels["module"] != "jit_step" || x.Labels["device"] != "0" || x.NeverLaunched == nil || *x.NeverLaunched != 0 {
				t.Errorf("%s: executions %+v", name, x)
			}
			last := m.Facts.Timelines[0].LastStart
			if last == nil || last.Module != "jit_step" || len(last.Groups) == 0 {
				t.Fatalf("%s: last start %+v", name, last)
			}
			if !slices.ContainsFunc(last.Groups, func(g measure.LiveGroup) bool {
				return g.Name == "outputs of jit_step execution 11" && g.Bytes == 5120 && g.Count == 1
			}) {
				t.Errorf("%s: live at the last start: %+v", name, last.Groups)
			}
			sum := measure.Bytes(0)
			for _, g := range last.Groups {
				sum += g.Bytes
			}
			if sum != last.InUse {
				t.Errorf("%s: groups add up to %d, want %d", name, sum, last.InUse)
			}
			if name != "TFRT" && !slices.Contains(last.Between, measure.HostEvent{Name: "DevicePut", Count: 2}) {
				t.Errorf("%s: between the last two calls: %+v", name, last.Between)
			}
		}
	}
}

// TestNeverLaunched: an execution without a launch inside, for clients that launch
// inside; never for a client that may launch elsewhere.
func TestNeverLaunched(t *testing.T) {
	se := clients["stream executor"]
	p := newPool("GPU_0_bfc", 0)
	events := executions(p, 3, func(int) bool { return true }, nest(se.events, se.launch, nil))
	failed := nest(se.events, "", nil)(5000)
	_, m := measured(t, newHost().line("python", append(events, failed...)...).space())
	if n, _ := findRow(t, m, "launch.never_started").Value.Int64(); n != 1 {
		t.Errorf("%d executions never launched, want 1", n)
	}

	// All executions of a client that is not known to launch in its own event.
	p = newPool("GPU_0_bfc", 0)
	_, m = measured(t, newHost().line("python", executions(p, 3, func(int) bool { return true }, nest([]string{"TfrtGpuExecutable::ExecuteHelper"}, "", nil))...).space())
	for _, r := range m.Rows {
		if r.Name == "launch.never_started" {
			t.Errorf("row %+v, want none", r)
		}
	}
}

// TestRetries: what the allocator records itself counts, and no gap beside it.
func TestRetries(t *testing.T) {
	p := newPool("GPU_0_bfc", 0)
	const second = 1_000_000
	h := newHost().line("python",
		p.alloc(1, 1, 100),
		at{"PjRtStreamExecutorLoadedExecutable::ExecuteHelper", 10 * second, 12 * second, nil},
		at{"Build buffer allocations", 10*second + 5, 10*second + 20, nil},
		at{"AllocatorRetry::AllocateRaw", 10*second + 7, 10*second + 1, nil},
		at{"AllocatorRetry::AllocateRaw", 23 * second, second / 2, nil},
	)
	_, m := measured(t, h.space())
	for name, want := range map[string]measure.Value{"retry.events": measure.Int(2), "retry.longest_seconds": measure.Float(10.000001), "oom.events": measure.Int(1)} {
		if r := findRow(t, m, name); r.Value == nil || r.Value.Cmp(want) != 0 {
			t.Errorf("%s: %+v, want %v", name, r, want)
		}
	}
	if len(m.Facts.Waits) != 1 || m.Facts.Waits[0].Count != 2 || m.Facts.Waits[0].GaveUp != 1 {
		t.Errorf("waits %+v", m.Facts.Waits)
	}
}

// TestNoGap: ten seconds that are no failed allocation.
func TestNoGap(t *testing.T) {
	const second = 1_000_000
	for name, events := range map[string][]at{
		"Python sleeps":      {{"TFE_Py_Execute", 10, 10*second + 50, nil}, {"$builtins sleep", 20, 10*second + 10, nil}},
		"a step":             {{"train", 10, 10*second + 50, map[string]any{"step_num": 1}}},
		"waits for a thread": {{"BlockUntilReady", 10, 10*second + 50, nil}},
		"shorter":            {{"KernelExecute", 10, 10*second - 1, nil}},
		"much longer":        {{"KernelExecute", 10, 30 * second, nil}},
	} {
		p := newPool("GPU_0_bfc", 1<<40-1000)
		_, m := measured(t, newHost().line("python", append([]at{p.alloc(1, 1, 100)}, events...)...).space())
		if n, _ := findRow(t, m, "oom.events").Value.Int64(); n != 0 {
			t.Errorf("%s: %d failed allocations: %+v", name, n, m.Facts.Waits)
		}
	}
	p := newPool("GPU_0_bfc", 1<<40-1000)
	_, m := measured(t, newHost().line("python", at{"KernelExecute", 10, 10*second + 50, nil}, p.alloc(5*second, 1, 100)).space())
	if n, _ := findRow(t, m, "oom.events").Value.Int64(); n != 0 {
		t.Errorf("an allocation in the middle: %+v", m.Facts.Waits)
	}
	// Ten seconds are a failed allocation only where memory was short.
	for inUse, want := range map[int64]int64{16 << 20: 0, 240 << 20: 1} {
		p := newPool("GPU_0_bfc", inUse)
		p.limit = 256 << 20
		_, m := measured(t, newHost().line("python", p.alloc(1, 1, 1<<20), at{"KernelExecute", 10, 10*second + 50, nil}).space())
		if n, _ := findRow(t, m, "oom.events").Value.Int64(); n != want {
			t.Errorf("%d bytes of 256 MiB in use: %d failed allocations, want %d", inUse, n, want)
		}
	}
}

// TestRefused: a request may be larger than all of a pool that is mostly free. What does
// nothing but allocate, and an execution that never launched, tell that it was refused.
func TestRefused(t *testing.T) {
	const second = 1_000_000
	se := clients["stream executor"]
	for name, c := range map[string]struct {
		events []at
		want   int64
	}{
		"allocations of a module": {[]at{{"Build buffer allocations", second, 10*second + 50, nil}}, 1},
		"outputs":                 {[]at{{"[0] AllocateOutputBuffersWithInputReuse", second, 10*second + 50, nil}}, 1},
		"never launched":          {[]at{{se.events[2], second, 10*second + 90, nil}, {se.events[3], second + 5, 10*second + 80, nil}}, 1},
		"launched":                {[]at{{se.events[2], second, 10*second + 90, nil}, {se.events[3], second + 5, 10*second + 80, nil}, {se.launch, second + 20, 10, nil}}, 0},
		"another client":          {[]at{{"TfrtGpuExecutable::ExecuteHelper", second, 10*second + 90, nil}}, 0},
		"another operation":       {[]at{{"KernelExecute", second, 10*second + 50, nil}}, 0},
	} {
		p := newPool("GPU_0_bfc", 16<<20)
		p.limit = 256 << 20
		_, m := measured(t, newHost().line("python", append([]at{p.alloc(1, 1, 100)}, c.events...)...).space())
		if n, _ := findRow(t, m, "oom.events").Value.Int64(); n != c.want {
			t.Errorf("%s: %d failed allocations, want %d: %+v", name, n, c.want, m.Facts.Waits)
		}
	}
}

// TestFrames: contributors carry the user's frame, and their keys no lines.
func TestFrames(t *testing.T) {
	keys := map[string]string{}
	for _, line := range []int{31, 77} {
		p := newPool("GPU_0_bfc", 0)
		_, m := measured(t, newHost().line("python",
			at{fmt.Sprintf("$train.py:%d load", line), 0, 100, nil}, at{"$pxla.py:12 shard_args", 1, 90, nil}, at{"$<string>:1 f", 2, 85, nil},
			at{"BufferFromHostBuffer(s32[4096])", 3, 80, nil}, at{"AllocateDestinationBuffer", 4, 70, nil}, p.alloc(5, 1, 1<<20),
		).space())
		c := m.ContributorsOf("live.peak_bytes", measure.Labels{"allocator": "GPU_0_bfc", "device": "0"})
		if len(c) != 1 || c[0].Source == nil || *c[0].Source != (measure.Source{File: "train.py", Line: line}) ||
			c[0].Display != fmt.Sprintf("BufferFromHostBuffer(s32[4096]) in train.py:%d load", line) {
			t.Fatalf("contributors %+v", c)
		}
		keys[c[0].Key] = c[0].Display
	}
	if len(keys) != 1 {
		t.Errorf("keys change with the line: %v", keys)
	}
}

// TestBreaks: a lost event is told with its time, and growth is not.
func TestBreaks(t *testing.T) {
	p := newPool("GPU_0_bfc", 0)
	var events []at
	for i := range int64(6) {
		events = append(events, at{"train", 100 * i, 50, map[string]any{"step_num": i, "_r": 1}}, p.alloc(100*i+1, i+1, 1000))
	}
	whole := newHost().line("python", events...)
	c, m := measured(t, whole.space())
	if len(m.Warnings) != 1 || c.trace.allocators[0].breaks != 0 {
		t.Fatalf("warnings %q", m.Warnings)
	}
	cut := newHost().line("python", slices.Delete(slices.Clone(events), 5, 6)...)
	_, m = measured(t, cut.space())
	want := "allocator GPU_0_bfc: the event at 0.000306000 s says that 4,096 B are in use, those before it make 3,072 B: events were lost (1 such places)"
	if !slices.Contains(m.Warnings, want) {
		t.Errorf("warnings %q, want %q", m.Warnings, want)
	}
	if r := findRow(t, m, "growth.bytes_per_step"); r.Value != nil || !strings.Contains(r.NoData, "lost") {
		t.Errorf("growth %+v", r)
	}

	p = newPool("GPU_0_bfc", 0)
	events = []at{p.alloc(1, 1, 1000)}
	p.limit *= 2
	events = append(events, p.alloc(2, 2, 1000))
	if _, m = measured(t, newHost().line("python", events...).space()); !strings.Contains(strings.Join(m.Warnings, "\n"), "another limit") {
		t.Errorf("warnings %q", m.Warnings)
	}
}

// TestTies: events of two threads at one time are put in the order that adds up.
func TestTies(t *testing.T) {
	p := newPool("GPU_0_bfc", 0)
	first, a, b, d := p.alloc(1, 9, 1), p.alloc(7, 1, 1000), p.alloc(7, 2, 3000), p.free(7, 1)
	_, m := measured(t, newHost().line("x", first, b, d).line("y", a).space())
	if f := m.Facts.Timelines[0]; f.Breaks != 0 || f.PeakBytes != 4352 || f.EndBytes != 3328 {
		t.Errorf("%+v", f)
	}
}

// TestUnsorted: a line out of order is told, and its events still count.
func TestUnsorted(t *testing.T) {
	p := newPool("GPU_0_bfc", 0)
	a, b := p.alloc(7, 1, 1000), p.alloc(9, 2, 3000)
	_, m := measured(t, newHost().line("x", b, a).space())
	if f := m.Facts.Timelines[0]; f.Breaks != 0 || f.PeakBytes != 4096 || !strings.Contains(strings.Join(m.Warnings, "\n"), "order of time") {
		t.Errorf("%+v, warnings %q", f, m.Warnings)
	}
}

// TestReplayProperty: a random program's events, on several threads, replay to what
// the program did: peak, end, net requested bytes, who holds what.
func TestReplayProperty(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for round := range 60 {
		name := any("GPU_0_bfc")
		if round%3 == 0 {
			name = 4 // TPU: frees tell no sizes
		}
		p := newPool(name, 256*random.Int64N(1000))
		baseline, peak := p.inUse, p.inUse
		lines := make([][]at, 3)
		var open []int64
		var requested int64
		for i := range int64(300) {
			l := random.IntN(3)
			if len(open) > 0 && random.IntN(2) == 0 {
				k := random.IntN(len(open))
				requested -= p.addresses[open[k]][1]
				lines[l] = append(lines[l], p.free(i, open[k]))
				open = slices.Delete(open, k, k+1)
			} else {
				n := random.Int64N(1 << 20)
				lines[l] = append(lines[l], p.alloc(i, i+1, n, "tf_op", ref(fmt.Sprint("op", random.IntN(5)))))
				open = append(open, i+1)
				requested += n
			}
			peak = max(peak, p.inUse)
		}
		c, m := measured(t, newHost().line("a", lines[0]...).line("b", lines[1]...).line("c", lines[2]...).space())
		a := c.trace.allocators[0]
		if a.breaks != 0 || a.peakBytes != peak || a.baseline != baseline || a.inUse(300) != p.inUse || a.netRequested[300] != requested || int(a.replay.live) != len(open) {
			t.Fatalf("round %d: %+v, want peak %d, end %d, net %d, live %d", round, a.replay, peak, p.inUse, requested, len(open))
		}
		for _, metric := range []string{"live.peak_bytes", "live.end_bytes"} {
			r, sum := findRow(t, m, metric), int64(0)
			for _, x := range m.ContributorsOf(metric, r.Labels) {
				sum += int64(x.Bytes)
			}
			if n, _ := r.Value.Int64(); n != sum {
				t.Fatalf("%s: contributors add up to %d, want %d", metric, sum, n)
			}
		}
	}
}

// TestTimelineHostile: numbers and structures that no profiler writes.
func TestTimelineHostile(t *testing.T) {
	huge := map[string]any{"allocator_name": "GPU_0_bfc", "addr": 1, "bytes_allocated": uint64(1 << 63), "bytes_available": 1, "requested_bytes": 1, "allocation_bytes": 1}
	over := map[string]any{"allocator_name": "GPU_0_bfc", "addr": 1, "bytes_allocated": int64(math.MaxInt64), "bytes_available": int64(math.MaxInt64), "requested_bytes": 1, "allocation_bytes": 1}
	negative := map[string]any{"allocator_name": "GPU_0_bfc", "addr": 1, "bytes_allocated": int64(-5), "bytes_available": 1}
	for name, stats := range map[string]map[string]any{"2^63": huge, "a sum of 2^64": over, "negative": negative, "nothing": {}, "not a number": {"bytes_allocated": math.NaN()}} {
		_, m := measured(t, newHost().line("x", at{"MemoryAllocation", 1, 0, stats}).space())
		if len(m.Facts.Timelines) != 0 || len(m.Warnings) == 0 {
			t.Errorf("%s: %+v, warnings %q", name, m.Facts.Timelines, m.Warnings)
		}
	}

	// Requested bytes whose sum is over 2^63.
	p := newPool("GPU_0_bfc", 0)
	var events []at
	for i := range int64(6) {
		e := p.alloc(100*i+1, i+1, 1000)
		e.stats["requested_bytes"] = int64(math.MaxInt64 / 2)
		events = append(events, at{"train", 100 * i, 50, map[string]any{"step_num": i}}, e)
	}
	_, m := measured(t, newHost().line("x", events...).space())
	if r := findRow(t, m, "growth.bytes_per_step"); r.Value != nil {
		t.Errorf("growth %+v", r)
	}

	// Times beyond all time, and a line whose time comes too late.
	p = newPool("GPU_0_bfc", 0)
	h := newHost().line("x", p.alloc(1, 1, 1000), at{"a", math.MaxInt64 / 1_000_000, 5, nil}, at{"b", 5, math.MaxInt64/1_000_000 - 1, nil})
	h.lines = append(h.lines, message{}.text(2, "late").bytes(4, message{}.int(1, 1)).int(3, 7), message{}.int(3, 1))
	if _, m = measured(t, h.space()); len(m.Facts.Timelines) != 1 || len(m.Warnings) < 3 {
		t.Errorf("warnings %q", m.Warnings)
	}

	// Statistics that name themselves, and ids that nothing explains.
	p = newPool(ref("allocator_name"), 0)
	_, m = measured(t, newHost().line("x", p.alloc(1, 1, 1000)).space())
	if len(m.Facts.Timelines) != 1 || m.Facts.Timelines[0].Labels["allocator"] != "allocator_name" {
		t.Errorf("%+v", m.Facts.Timelines)
	}

	// Many empty host planes, and very many planes.
	var many message
	p = newPool("GPU_0_bfc", 0)
	plane := newHost().line("x", p.alloc(1, 1, 1000)).plane()
	for range 2 * maxHostPlanes {
		many = many.bytes(1, plane)
	}
	for range 1_000_000 {
		many = many.bytes(1, message{}.int(1, 1).text(2, "p"))
	}
	if _, m = measured(t, many); len(m.Facts.Timelines) != 1 {
		t.Errorf("%d timelines", len(m.Facts.Timelines))
	}

	// Events nested without end: each is inside all before it.
	var deep []at
	for i := range int64(50_000) {
		deep = append(deep, at{"f", i, 200_000 - 2*i, nil})
	}
	p = newPool("GPU_0_bfc", 0)
	c, _ := measured(t, newHost().line("x", append(deep[:50_000:50_000], p.alloc(60_000, 1, 1000))...).space())
	if n := len(c.trace.chains); n > maxStack+1 {
		t.Errorf("%d links", n)
	}
}

// TestTimelineCut: a profile that is cut off anywhere is an error, never half a timeline.
func TestTimelineCut(t *testing.T) {
	p := newPool("GPU_0_bfc", 0)
	data := []byte(newHost().line("x", p.alloc(1, 1, 1000), at{"train", 2, 5, map[string]any{"step_num": 1}}, p.free(9, 1)).space())
	for n := 1; n < len(data)-6; n++ {
		for _, r := range []io.Reader{bytes.NewReader(data[:n]), onlyReader{bytes.NewReader(data[:n])}} {
			if c, err := Read(r, -1, "x.pb"); err == nil && c.trace != nil {
				t.Fatalf("cut to %d of %d bytes: a timeline and no error", n, len(data))
			}
		}
	}
	// A byte that changes makes no panic.
	for i := range data {
		for _, bit := range []byte{1, 0x10, 0x80} {
			bad := bytes.Clone(data)
			bad[i] ^= bit
			if c, err := Read(bytes.NewReader(bad), int64(len(bad)), "x.pb"); err == nil {
				if err := c.Measurement().Validate(); err != nil {
					t.Fatalf("byte %d: %v", i, err)
				}
			}
		}
	}
}

// TestSpool: a stream's host plane is set aside in a file that is gone afterwards.
func TestSpool(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	p := newPool("GPU_0_bfc", 0)
	h := newHost().line("x", p.alloc(1, 1, 1000))
	h.lines = append(h.lines, message{}.bytes(11, make([]byte, spoolInMemory)))
	measured(t, h.space())
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "peakgate-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	data := []byte(h.space())
	c, err := Read(onlyReader{bytes.NewReader(data)}, -1, "x.pb")
	if err != nil {
		t.Fatal(err)
	}
	if w := c.Measurement().Warnings; !strings.Contains(strings.Join(w, "\n"), "could not be set aside") {
		t.Errorf("warnings %q", w)
	}

	broken := io.MultiReader(bytes.NewReader(data[:len(data)/2]), failing{})
	if _, err := Read(onlyReader{broken}, -1, "x.pb"); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

var errBroken = errors.New("the disk is gone")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }
