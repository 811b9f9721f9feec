package torch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The pretend device of TestRandomFailures: addresses in units of 2 MiB. Slots lie
// side by side and hold one plain segment each; above them pages of ten units
// are mapped one by one, as expandable segments are.
const (
	unit      = 2 << 20
	slotUnits = 20
	slotCount = 6
	pageUnits = 10
	pageCount = 12
	unitCount = slotCount*slotUnits + pageCount*pageUnits
	base      = int64(0x7000000000)
)

type device struct {
	rng    *rand.Rand
	units  [unitCount]int // -1: not reserved, 0: free, else the block there
	sizes  [slotCount]int // units of each slot's segment; 0: none
	blocks map[int][2]int // first unit and number of units, by block
	events []map[string]any
	next   int
	fails  []truth
}

// truth is what the device knew at a failed allocation.
type truth struct {
	live, reserved, total, largest, usable, largestUsable, holes int64
	layout                                                       string
}

func addrOf(u int) int64 { return base + int64(u)*unit }

// streamOf: odd slots belong to a stream of their own.
func streamOf(u int) int64 {
	if s := u / slotUnits; s < slotCount && s%2 == 1 {
		return 77
	}
	return 0
}

func (d *device) record(action string, u, n int) {
	d.events = append(d.events, map[string]any{"action": action, "addr": addrOf(u), "size": n * unit, "stream": streamOf(u), "time_us": len(d.events)})
}

// runs gives the free ranges: they end where a block, a segment or the mapping does.
func (d *device) runs() (out [][2]int) {
	start := -1
	for u := 0; u <= unitCount; u++ {
		free := u < unitCount && d.units[u] == 0
		if start >= 0 && (!free || u <= slotCount*slotUnits && u%slotUnits == 0) {
			out = append(out, [2]int{start, u - start})
			start = -1
		}
		if free && start < 0 {
			start = u
		}
	}
	return out
}

func (d *device) fill(u, n, with int) {
	for i := range n {
		d.units[u+i] = with
	}
}

func (d *device) step() {
	switch d.rng.IntN(12) {
	case 0: // a segment comes
		if s := d.rng.IntN(slotCount); d.sizes[s] == 0 {
			d.sizes[s] = []int{slotUnits, 3 + d.rng.IntN(slotUnits-3)}[d.rng.IntN(2)]
			d.fill(s*slotUnits, d.sizes[s], 0)
			d.record("segment_alloc", s*slotUnits, d.sizes[s])
		}
	case 1: // an empty one goes
		if s := d.rng.IntN(slotCount); d.sizes[s] > 0 && !slices.ContainsFunc(d.units[s*slotUnits:s*slotUnits+d.sizes[s]], func(b int) bool { return b > 0 }) {
			d.fill(s*slotUnits, d.sizes[s], -1)
			d.record("segment_free", s*slotUnits, d.sizes[s])
			d.sizes[s] = 0
		}
	case 2, 3: // a page is mapped or unmapped
		u := slotCount*slotUnits + d.rng.IntN(pageCount)*pageUnits
		switch page := d.units[u : u+pageUnits]; {
		case page[0] < 0:
			d.fill(u, pageUnits, 0)
			d.record("segment_map", u, pageUnits)
		case !slices.ContainsFunc(page, func(b int) bool { return b > 0 }):
			d.fill(u, pageUnits, -1)
			d.record("segment_unmap", u, pageUnits)
		}
	case 4, 5, 6, 7:
		runs := d.runs()
		if len(runs) == 0 {
			return
		}
		r := runs[d.rng.IntN(len(runs))]
		n := 1 + d.rng.IntN(r[1])
		d.next++
		d.blocks[d.next] = [2]int{r[0], n}
		d.fill(r[0], n, d.next)
		d.record("alloc", r[0], n)
	case 8, 9, 10:
		for id, b := range d.blocks {
			d.record("free_requested", b[0], b[1])
			d.record("free_completed", b[0], b[1])
			d.fill(b[0], b[1], 0)
			delete(d.blocks, id)
			break
		}
	case 11:
		stream := []int64{0, 77}[d.rng.IntN(2)]
		d.events = append(d.events, map[string]any{"action": "oom", "size": 50 * unit, "stream": stream, "device_free": 12345, "time_us": len(d.events)})
		f := truth{layout: "rebuilt"}
		for _, b := range d.blocks {
			f.live += int64(b[1]) * unit
		}
		for _, u := range d.units {
			if u >= 0 {
				f.reserved += unit
			}
		}
		for _, r := range d.runs() {
			size := int64(r[1]) * unit
			f.total += size
			f.largest = max(f.largest, size)
			if streamOf(r[0]) == stream {
				f.usable += size
				f.largestUsable = max(f.largestUsable, size)
				f.holes++
			}
		}
		d.fails = append(d.fails, f)
	}
}

// segments is the state at the dump: one entry for each plain segment and for
// each mapped range.
func (d *device) segments() (out []any) {
	add := func(u, n int, expandable bool) {
		var blocks []any
		for i := u; i < u+n; {
			k := i
			for k < u+n && d.units[k] == d.units[i] {
				k++
			}
			b := map[string]any{"address": addrOf(i), "size": (k - i) * unit, "requested_size": (k - i) * unit, "state": "active_allocated"}
			if d.units[i] == 0 {
				b["state"] = "inactive"
			}
			blocks = append(blocks, b)
			i = k
		}
		out = append(out, map[string]any{"device": 0, "address": addrOf(u), "total_size": n * unit, "stream": streamOf(u), "segment_type": "large",
			"segment_pool_id": []int{0, 0}, "is_expandable": expandable, "blocks": blocks})
	}
	for s, n := range d.sizes {
		if n > 0 {
			add(s*slotUnits, n, false)
		}
	}
	for u := slotCount * slotUnits; u < unitCount; u++ {
		n := 0
		for u+n < unitCount && d.units[u+n] >= 0 {
			n++
		}
		if n > 0 {
			add(u, n, true)
			u += n
		}
	}
	return out
}

// TestRandomFailures plays a device with plain and expandable segments on two
// streams, and compares the state at each failed allocation, which the reader
// rebuilds from the end, with what the device knew.
func TestRandomFailures(t *testing.T) {
	rebuilt := 0
	for seed := range uint64(100) {
		d := &device{rng: rand.New(rand.NewPCG(seed, 2)), blocks: map[int][2]int{}}
		d.fill(0, unitCount, -1)
		from := 0
		for i := range 300 {
			if i == 100 && seed%2 == 1 {
				from = len(d.events) // recording begins mid-run
				d.fails = nil
			}
			d.step()
		}
		data, err := json.Marshal(map[string]any{"segments": d.segments(), "device_traces": []any{d.events[from:]}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(bytes.NewReader(data), int64(len(data)), "x.json", Options{})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if why := s.Devices[0].History.NoPeak; why != "" {
			t.Fatalf("seed %d: %s", seed, why)
		}
		got := s.Devices[0].Failures
		want := d.fails[max(0, len(d.fails)-momentLimit):]
		if len(got) != len(want) {
			t.Fatalf("seed %d: %d failures, want %d", seed, len(got), len(want))
		}
		for i, f := range got {
			w := want[i]
			if f.Live != w.live || f.Reserved != w.reserved || f.Request != 50*unit || f.DeviceFree != 12345 || !f.Known || f.Pending != 0 {
				t.Fatalf("seed %d, failure %d: %+v, want %+v", seed, i, f, w)
			}
			if i < len(got)-trackedLimit {
				if f.Layout != "" || f.shares != nil {
					t.Fatalf("seed %d, failure %d: layout %q of one that is not tracked", seed, i, f.Layout)
				}
				continue
			}
			sum := int64(0)
			for _, h := range f.shares {
				sum += h.Bytes
			}
			have := truth{f.Live, f.Reserved, f.free.total, f.free.largest, f.free.usable, f.free.largestUsable, f.free.holes, "rebuilt"}
			if f.Layout == "" || have != w || sum != w.live {
				t.Fatalf("seed %d, failure %d (%q): %+v with holders of %d, want %+v", seed, i, f.Layout, have, sum, w)
			}
			if f.Layout == "rebuilt" {
				rebuilt++
			}
		}
	}
	if rebuilt < 200 {
		t.Errorf("only %d layouts were rebuilt: the test sees too little", rebuilt)
	}
}

// A layout that the events contradict is not given.
func TestFailureWithoutLayout(t *testing.T) {
	oom := dict(text("action"), text("oom"), text("size"), num(1<<20), text("device_free"), num(0))
	for name, c := range map[string]struct {
		segments, events []string
	}{
		"a block outside of all segments": {[]string{segment(4096, 1024, block(4096, 1024, "active_allocated"))},
			[]string{event("alloc", 4096, 1024), event("alloc", 1<<20, 512), oom, event("free_completed", 1<<20, 512)}},
		"a segment that is freed while it is there": {[]string{segment(4096, 1024, block(4096, 1024, "active_allocated"))},
			[]string{event("alloc", 4096, 1024), event("free_requested", 4096, 1024), oom, event("segment_free", 4096, 1024), event("free_completed", 4096, 1024), event("alloc", 4096, 1024)}},
		"blocks that overlap": {[]string{segment(4096, 4096, block(4096, 4096, "active_allocated"))},
			[]string{event("alloc", 4096, 4096), event("alloc", 4608, 512), oom, event("free_completed", 4608, 512)}},
	} {
		data := snapshot(c.segments, c.events)
		s, err := readText(data, int64(len(data)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		f := s.Devices[0].Failures
		if len(f) != 1 || f[0].Layout != "" || f[0].free != (freeRanges{}) || f[0].Live <= 0 {
			t.Errorf("%s: %+v", name, f)
		}
	}
	// Thousands of failures cost no more than the newest ones.
	events := []string{event("alloc", 4096, 1024)}
	for range 3000 {
		events = append(events, oom)
	}
	data := snapshot([]string{segment(4096, 1024, block(4096, 1024, "active_allocated"))}, events)
	s, err := readText(data, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if f := s.Devices[0].Failures; len(f) != momentLimit || f[0].Event != int64(3001-momentLimit) || fmt.Sprint(f[15].Layout) != "exact" {
		t.Errorf("%d failures: %+v", len(f), f)
	}
}
