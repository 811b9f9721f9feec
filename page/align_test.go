package page

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func rises(t *testing.T, anchors [][2]int) {
	t.Helper()
	for i := 1; i < len(anchors); i++ {
		if anchors[i][0] <= anchors[i-1][0] || anchors[i][1] <= anchors[i-1][1] {
			t.Fatalf("anchors do not rise: %v then %v", anchors[i-1], anchors[i])
		}
	}
}

// TestAnchors: what is put into a program moves all that comes after it, and is itself
// aligned with nothing.
func TestAnchors(t *testing.T) {
	base := make([]happening, 300)
	for i := range base {
		base[i] = happening{at: i + 1, key: uint64(i % 100)} // each thing three times
	}
	var head []happening
	for _, h := range base {
		if h.at == 151 {
			for i := range 40 {
				head = append(head, happening{at: len(head) + 1, key: uint64(1000 + i)})
			}
		}
		head = append(head, happening{at: len(head) + 1, key: h.key})
	}
	got := anchors(head, base)
	rises(t, got)
	if len(got) != len(base) {
		t.Fatalf("%d anchors, want %d", len(got), len(base))
	}
	for _, a := range got {
		want := a[0]
		if want > 150 {
			want += 40
		}
		if a[1] != want {
			t.Errorf("position %d of the base is at %d of the head, want %d", a[0], a[1], want)
		}
	}
	if got := anchors(nil, base); len(got) != 0 {
		t.Errorf("anchors without a head: %v", got)
	}
}

// TestAnchorsRise: so do those of any two programs, and they are bounded.
func TestAnchorsRise(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	program := func(n int) (out []happening) {
		for range n {
			out = append(out, happening{at: 1 + random.IntN(n), key: random.Uint64N(50)})
		}
		slices.SortFunc(out, func(a, b happening) int { return a.at - b.at })
		return out
	}
	for range 50 {
		rises(t, anchors(program(400), program(300)))
	}
	long := make([]happening, 10*maxAnchors)
	for i := range long {
		long[i] = happening{at: i + 1, key: uint64(i)}
	}
	got := anchors(long, long)
	rises(t, got)
	if len(got) != maxAnchors || got[0] != [2]int{1, 1} || got[maxAnchors-1] != [2]int{len(long), len(long)} {
		t.Errorf("%d anchors from %v to %v", len(got), got[0], got[len(got)-1])
	}
}

// TestAlignSame: a capture beside itself has each buffer and each position where it is.
func TestAlignSame(t *testing.T) {
	for _, name := range []string{"regression/xla/head.hlo.pb", "regression/torch/head.pickle", "footprint/leak.jsonl"} {
		s := load(t, fixture(name))
		p := New(s, s)
		for i, v := range p.Head.Views {
			if v.Base != i+1 {
				t.Errorf("%s %s: laid beside view %d, want %d", name, v.Module, v.Base, i+1)
			}
			for j, b := range v.Buffers {
				if was := s.Views[i].Buffers[b.Pair-1]; b.Pair == 0 || was.Bytes != b.Bytes || was.Source != b.Source || was.Pair != 0 {
					t.Errorf("%s: buffer %d has the counterpart %d", name, j, b.Pair)
				}
			}
			rises(t, v.Anchors)
			if len(v.Anchors) < 10 {
				t.Errorf("%s %s: %d anchors", name, v.Module, len(v.Anchors))
			}
			for _, a := range v.Anchors {
				if a[0] != a[1] {
					t.Errorf("%s: position %d is laid at %d", name, a[0], a[1])
				}
			}
		}
	}
}

// TestAlign: of the real regression, all of what grew at the peak is told by single
// buffers, and the curve of the base is laid by what the two programs share.
func TestAlign(t *testing.T) {
	for _, kind := range []string{"xla/%.hlo.pb", "torch/%.pickle"} {
		file := func(which string) string { return fixture("regression/" + strings.Replace(kind, "%", which, 1)) }
		p := New(load(t, file("head")), load(t, file("base")))
		v := &p.Head.Views[0]
		was := &p.Base.Views[v.Base-1]
		seen, pairs := map[int]bool{}, 0
		for _, b := range v.Buffers {
			if b.Pair == 0 {
				continue
			}
			old := was.Buffers[b.Pair-1]
			if seen[b.Pair] || functionOf(old.Source) != functionOf(b.Source) || old.Op != b.Op || old.Kind != b.Kind {
				t.Errorf("%s: %+v is laid beside %+v", kind, b, old)
			}
			seen[b.Pair] = true
			pairs++

		}
		if most := min(len(v.Buffers), len(was.Buffers)); 2*pairs < most {
			t.Errorf("%s: %d pairs of %d buffers", kind, pairs, most)
		}
		rises(t, v.Anchors)
		if n := len(v.Anchors); n < 50 || v.Anchors[0] != [2]int{0, 0} || v.Anchors[n-1] != [2]int{was.Steps + 1, v.Steps + 1} {
			t.Errorf("%s: %d anchors of %d and %d steps", kind, n, was.Steps, v.Steps)
		}
	}
}
