package xla

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// dullLine are n frames of the Python tracer, each of one microsecond, in a thread's line
// that is longer than the window, with more behind them.
func dullLine(n int64, more ...at) (events []at) {
	for i := range n {
		events = append(events, at{fmt.Sprintf("$layer.py:%d forward", i%200+1), 2 * i, 1, nil})
	}
	return append(events, more...)
}

// TestIdleLines: threads that have to do nothing with memory change nothing, and what
// stands behind thousands of frames is found.
func TestIdleLines(t *testing.T) {
	const frames = 20_000
	allocations := func(p *pool) []at {
		return []at{{"DevicePut", 3 * frames, 50, nil}, p.alloc(3*frames+1, 1, 5000), p.alloc(3*frames+2, 2, 7000), p.free(3*frames+3, 1)}
	}
	_, alone := measured(t, newHost().line("python", allocations(newPool("GPU_0_bfc", 0))...).space())
	_, beside := measured(t, newHost().line("python", allocations(newPool("GPU_0_bfc", 0))...).
		line("tracer", dullLine(frames)...).line("tracer", dullLine(1)...).line("empty").space())
	if got, want := dump(beside), dump(alone); got != want {
		t.Errorf("beside idle threads:\n%s\nalone:\n%s", got, want)
	}
	_, behind := measured(t, newHost().line("python", dullLine(frames, allocations(newPool("GPU_0_bfc", 0))...)...).space())
	if got, want := dump(behind), dump(alone); got != want {
		t.Errorf("behind frames:\n%s\nalone:\n%s", got, want)
	}

	// An outer frame that began long before holds what is allocated.
	p := newPool("GPU_0_bfc", 0)
	outer := append([]at{{"$train.py:7 main", 0, 9 * frames, nil}}, dullLine(frames, p.alloc(3*frames, 1, 5000))...)
	c, _ := measured(t, newHost().line("python", outer...).space())
	if n := len(c.trace.chains); n != 2 || c.trace.text(c.trace.chains[1].text) != "$train.py:7 main" {
		t.Errorf("%d chains around the allocation: %+v, %q", n, c.trace.chains, c.trace.texts)
	}

	// A wait, a step's mark and an execution are no frames.
	for name, last := range map[string]at{
		"a wait":       {"Run", 3 * frames, 10_000_050, nil},
		"an execution": {"GpuExecutable::ExecuteHelper", 3 * frames, 5, nil},
		"a mark":       {"train", 3 * frames, 5, map[string]any{"step_num": 4}},
	} {
		c, _ := measured(t, newHost().line("allocs", allocations(newPool("GPU_0_bfc", 0))...).line("tracer", dullLine(frames, last)...).space())
		if n := len(c.trace.waits) + len(c.trace.executions) + len(c.trace.marks); n != 1 {
			t.Errorf("%s behind frames: %+v %+v %+v", name, c.trace.waits, c.trace.executions, c.trace.marks)
		}
	}
}

// TestPlainEvent: the quick way to read an event gives what the slow one does, or
// leaves the event to it.
func TestPlainEvent(t *testing.T) {
	random, quick := rand.New(rand.NewPCG(7, 8)), 0
	for range 20_000 {
		var body message
		for num := 1; num <= 3; num++ {
			if random.IntN(8) > 0 {
				body = body.int(num, int64(random.Uint64()>>random.IntN(64)))
			}
		}
		if random.IntN(8) == 0 {
			body = body.bytes(4, message{}.int(1, 1).int(4, 5))
		}
		whole := message{}.bytes(4, body)
		n := len(whole)
		var b [plainBytes]byte
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		copy(b[:], whole)
		id, offset, duration, ok := plainEvent(&b, len(body))
		if !ok {
			continue
		}
		quick++
		var want [4]int64
		s := scan{decoder: &decoder{}}
		if _, _, ok := s.fields(body, &want); !ok || id != want[1] || offset != want[2] || duration != want[3] {
			t.Fatalf("% x: %d, %d, %d; want %d", []byte(whole), id, offset, duration, want[1:])
		}
		if s.dull(&b, n) && duration >= gapLow {
			t.Fatalf("% x: an event of %d ps is too long to be passed over", []byte(whole), duration)
		}
	}
	if quick < 500 {
		t.Errorf("only %d events were read in the quick way", quick)
	}
}

// TestTally compares with a map.
func TestTally(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	var counts tally
	for range 3 {
		counts.clear()
		want := map[int64]int64{}
		for range 20_000 {
			id := int64(random.IntN(3000)) << random.IntN(40)
			if random.IntN(4) == 0 {
				counts.remove(id)
				if want[id] > 0 {
					want[id]--
				}
				continue
			}
			if _, known := want[id]; known || len(want) < maxBetween {
				want[id]++
			}
			counts.add(id)
		}
		for _, i := range counts.used {
			if n := counts.counts[i] - 1; n != want[counts.ids[i]] {
				t.Fatalf("id %d: %d, want %d", counts.ids[i], n, want[counts.ids[i]])
			}
		}
		if len(counts.used) != maxBetween {
			t.Errorf("%d ids are known", len(counts.used))
		}
	}
}
