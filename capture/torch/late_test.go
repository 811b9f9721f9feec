package torch

import (
	"math/rand/v2"
	"testing"
)

// TestLateMemo compares packed pages with a plain list: pages of few values, of
// many and of one more than a packed page holds, and entries that are set late.
func TestLateMemo(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var l lateMemo
	var want []ref
	for page := range 40 {
		values := []int{1, 7, lateValues, lateValues + 1, 4 * latePageSize}[page%5]
		for i := range latePageSize {
			v := intRef(int64(i % values))
			if page%5 == 1 && i%1000 == 0 {
				v = intRef(1 << 40) // too wide for an entry
			}
			l.append(v)
			want = append(want, v)
		}
		// Containers that were open for long, and the newest ones.
		for _, i := range [...]int{rng.IntN(2 * latePageSize), len(want) - 1 - rng.IntN(latePageSize)} {
			if i < len(want) {
				l.set(uint32(i), used)
				want[i] = used
			}
		}
	}
	packed := 0
	for _, p := range l.pages {
		if p.codes != nil {
			packed++
		}
	}
	if packed < 12 || packed > 24 { // two or three of five, but for those that changed late
		t.Errorf("%d of %d pages are packed", packed, len(l.pages))
	}
	for i, v := range want {
		if got := l.get(uint32(i)); got != v {
			t.Fatalf("entry %d: %#x, want %#x", i, got, v)
		}
	}
}

// TestFreedSums frees all blocks of a peak: what is kept of them does not grow with
// their number, and the live set at the peak is whole.
func TestFreedSums(t *testing.T) {
	m, tr := newMachine(newInput(nil, 0, "x")), newTrace()
	const blocks = 5*freedLimit + 7
	for _, a := range [...]Action{Alloc, FreeCompleted} {
		for i := range uint64(blocks) {
			if err := tr.fold(m, &entry{action: a, addr: i << 9, size: 512, stack: StackID(i % 2)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if cap(tr.freed) > 2*freedLimit {
		t.Errorf("%d freed blocks are kept", cap(tr.freed))
	}
	s := &Snapshot{hasSegments: true}
	d := &Device{}
	m.replayed(s, d, tr)
	sum := int64(0)
	for _, h := range d.Peak {
		sum += h.Count
	}
	if sum != blocks || d.History.Peak != 512*blocks {
		t.Errorf("the peak has %d blocks and %d bytes, want %d and %d: %s", sum, d.History.Peak, blocks, 512*blocks, d.History.NoPeak)
	}
}
