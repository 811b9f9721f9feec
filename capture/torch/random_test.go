package torch

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRandomHistories plays an allocator that forgets nothing, hands the reader
// a window of its events and its final state, in every form, and compares.
func TestRandomHistories(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		type blockAt struct {
			addr, size int64
			site       string
			pending    bool
		}
		type moment struct {
			live int64
			set  map[string]int64
		}
		live := map[int64]*blockAt{}
		var events []map[string]any
		var moments []moment // before each event, and after the last
		now := func() moment {
			m := moment{set: map[string]int64{}}
			for _, b := range live {
				m.live += b.size
				m.set[b.site] += b.size
			}
			return m
		}
		record := func(action string, b *blockAt) {
			e := map[string]any{"action": action, "addr": b.addr, "size": b.size}
			if action == "alloc" {
				e["frames"] = []any{map[string]any{"filename": "/p/" + b.site, "name": "f", "line": 1}}
			}
			events = append(events, e)
		}
		for range 40 + rng.IntN(400) {
			moments = append(moments, now())
			addr := int64(4096 + 512*rng.IntN(40))
			b := live[addr]
			switch {
			case b == nil:
				b = &blockAt{addr: addr, size: 1 + rng.Int64N(512), site: fmt.Sprintf("s%d.py", rng.IntN(6))}
				live[addr] = b
				record("alloc", b)
			case !b.pending:
				b.pending = true
				record("free_requested", b)
			default:
				delete(live, addr)
				record("free_completed", b)
			}
		}
		moments = append(moments, now())
		from := 0
		if seed%3 > 0 {
			from = rng.IntN(len(events) - 2)
		}
		window := events[from:]
		var blocks []any
		for _, a := range slices.Sorted(maps.Keys(live)) {
			b := live[a]
			state := "active_allocated"
			if b.pending {
				state = "active_pending_free"
			}
			blocks = append(blocks, map[string]any{"address": a, "size": 512, "requested_size": b.size, "state": state, "frames": []any{}})
		}
		segments := []any{map[string]any{"device": 0, "address": 4096, "total_size": 512 * len(blocks), "blocks": blocks}}
		want := moments[from]
		for _, m := range moments[from:] {
			if m.live > want.live {
				want = m
			}
		}
		// The reader cannot know the site of what was allocated before.
		known := map[string]int64{}
		at := slices.IndexFunc(moments[from:], func(m moment) bool { return m.live == want.live })
		old := want.live
		open := map[int64]map[string]any{}
		for _, e := range window[:at] {
			switch addr := e["addr"].(int64); e["action"] {
			case "alloc":
				open[addr] = e
			case "free_completed":
				delete(open, addr)
			}
		}
		for _, e := range open {
			site := e["frames"].([]any)[0].(map[string]any)["filename"].(string)
			known[strings.TrimPrefix(site, "/p/")] += e["size"].(int64)
			old -= e["size"].(int64)
		}
		forms := map[string]string{
			"segments first": pickled(dict(text("segments"), write(segments), text("device_traces"), write([]any{window}))),
			"traces first":   pickled(dict(text("device_traces"), write([]any{window}), text("segments"), write(segments))),
		}
		b, err := json.Marshal(map[string]any{"segments": segments, "device_traces": []any{window}})
		if err != nil {
			t.Fatal(err)
		}
		forms["JSON"] = string(b)
		for name, data := range forms {
			s, err := readText(data, int64(len(data)))
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
			if err := s.Validate(); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, name, err)
			}
			h := s.Devices[0].History
			if h.Counts[FreeCompleted] == 0 {
				continue
			}
			if h.NoPeak != "" || h.Peak != want.live || h.Baseline != moments[from].live || h.PeakEvent != int64(at-1) {
				t.Fatalf("seed %d, %s: peak %d at %d, baseline %d (%s), want %d at %d, %d", seed, name, h.Peak, h.PeakEvent, h.Baseline, h.NoPeak, want.live, at-1, moments[from].live)
			}
			got, before := map[string]int64{}, int64(0)
			for _, p := range s.Devices[0].Peak {
				if p.Stack < firstStack {
					before += p.Bytes
					continue
				}
				got[strings.TrimPrefix(s.Stack(p.Stack)[0].File, "/p/")] += p.Bytes
			}
			if fmt.Sprint(got) != fmt.Sprint(known) || before != old {
				t.Fatalf("seed %d, %s: live set %v and %d from before, want %v and %d", seed, name, got, before, known, old)
			}
		}
	}
}

// write pickles plain values without sharing, as the C++ writer does.
func write(v any) string {
	switch v := v.(type) {
	case string:
		return text(v)
	case int:
		return num(int64(v))
	case int64:
		return num(v)
	case []any:
		return list(mapped(v)...)
	case []map[string]any:
		return list(mapped(v)...)
	case map[string]any:
		var kv []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			kv = append(kv, text(k), write(v[k]))
		}
		return dict(kv...)
	}
	panic(fmt.Sprintf("%T", v))
}

func mapped[T any](vs []T) []string {
	var out []string
	for _, v := range vs {
		out = append(out, write(v))
	}
	return out
}

// TestLiveSet compares the hash table with a map: of few addresses that come and go
// often, and of many, for which its tables split.
func TestLiveSet(t *testing.T) {
	for _, addresses := range [...]int{600, 60000} {
		testLiveSet(t, addresses)
	}
}

func testLiveSet(t *testing.T, addresses int) {
	rng := rand.New(rand.NewPCG(7, 7))
	s, want := liveSet{seed: rng.Uint64()}, map[uint64]liveBlock{}
	for i := range 20000 + 4*int64(addresses) {
		addr := uint64(rng.IntN(addresses)) << 9
		if i < 3*int64(addresses) || rng.IntN(2) == 0 {
			b := liveBlock{addr: addr, size: i, event: i + 1, stack: StackID(i)}
			_, there := want[addr]
			if s.put(b) != there {
				t.Fatalf("put %#x: replaced %v, want %v", addr, !there, there)
			}
			want[addr] = b
		} else {
			b, ok := s.take(addr)
			w, there := want[addr]
			if ok != there || b != w {
				t.Fatalf("take %#x: %+v %v, want %+v %v", addr, b, ok, w, there)
			}
			delete(want, addr)
		}
		if s.count != len(want) {
			t.Fatalf("%d blocks, want %d", s.count, len(want))
		}
	}
	s.all(func(b liveBlock) {
		if want[b.addr] != b {
			t.Errorf("%+v, want %+v", b, want[b.addr])
		}
		delete(want, b.addr)
	})
	if len(want) > 0 {
		t.Errorf("%d blocks were not listed", len(want))
	}
}
