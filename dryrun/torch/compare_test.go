package torch

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/peakgate/peakgate/capture/torch"
)

func parsed(t *testing.T, events []event) *torch.Snapshot {
	t.Helper()
	s, err := torch.Read(bytes.NewReader(history(0, events...)), -1, "x.json", torch.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPart holds the comparison of two runs to what it promises, on random histories: a
// run is like itself and like one whose frees between two allocations have another
// order; it is unlike one in which a size differs, or an allocation or a free comes
// earlier or is left out, and the place is found.
func TestPart(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var events []event
		var live []int
		allocs := 0
		for n := range 2 + random.IntN(30) {
			if len(live) > 0 && random.IntN(2) == 0 {
				i := random.IntN(len(live))
				events = append(events, event{-live[i], 5})
				live = slices.Delete(live, i, i+1)
				continue
			}
			size := 512 * (1 + n) // each its own
			events, live = append(events, event{size, 3}), append(live, size)
			allocs++
		}
		same := parsed(t, events)
		if p := part(same, parsed(t, events)); p != nil {
			t.Fatalf("%v: parts from itself: %+v", events, p)
		}
		shuffled := slices.Clone(events)
		for i := 0; i < len(shuffled); i++ {
			j := i
			for j < len(shuffled) && shuffled[j].size < 0 {
				j++
			}
			random.Shuffle(j-i, func(a, b int) { shuffled[i+a], shuffled[i+b] = shuffled[i+b], shuffled[i+a] })
			i = j
		}
		if p := part(same, parsed(t, shuffled)); p != nil {
			t.Fatalf("%v and %v: part: %+v", events, shuffled, p)
		}
		// Another size, at one allocation.
		at := random.IntN(allocs)
		other, n := slices.Clone(events), 0
		for i, e := range other {
			if e.size > 0 {
				if n == at {
					for j := range other {
						if other[j].size == -e.size {
							other[j].size = -1
						}
					}
					other[i].size = 1
				}
				n++
			}
		}
		for _, pair := range [][2]*torch.Snapshot{{same, parsed(t, other)}, {parsed(t, other), same}} {
			p := part(pair[0], pair[1])
			if p == nil {
				t.Fatalf("%v and %v: alike", events, other)
			}
			if sizes := []int64{p.sides[0].size, p.sides[1].size}; p.number != at || !slices.Contains(sizes, 1) || p.source() == nil || p.source().Line != 3 {
				t.Fatalf("%v and %v: part at allocation %d with %v, want %d", events, other, p.number, sizes, at)
			}
		}
		// A free that comes after the next allocation.
		for i := range len(events) - 1 {
			if events[i].size < 0 && events[i+1].size > 0 {
				later := slices.Clone(events)
				later[i], later[i+1] = later[i+1], later[i]
				if part(same, parsed(t, later)) == nil {
					t.Fatalf("%v and %v: alike", events, later)
				}
			}
		}
		// The last allocation is missing.
		if i := slices.IndexFunc(events, func(e event) bool { return e.size == live0(events) }); i >= 0 {
			if part(same, parsed(t, slices.Delete(slices.Clone(events), i, i+1))) == nil {
				t.Fatalf("%v without its event %d: alike", events, i)
			}
		}
	}
}

// live0 is the last size that is allocated and not freed by the events; 0 where there is none.
func live0(events []event) (size int) {
	for _, e := range events {
		if e.size > 0 && !slices.ContainsFunc(events, func(f event) bool { return f.size == -e.size }) {
			size = e.size
		}
	}
	return size
}
