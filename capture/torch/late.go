package torch

// lateMemo holds the memo entries after the first flatLimit ones. A pickle of
// a million events has several million entries, most of them of events that are
// long folded: four bytes each, in pages, so that nothing is copied as it grows.
type lateMemo struct {
	pages [][]uint32
	n     uint32
	wide  []ref // values that do not fit 28 bits
}

const (
	flatLimit = 1 << 20
	latePage  = 1 << 16
	// lateWide marks an index into wide. tagHeld is never in the memo.
	lateWide = uint32(tagHeld)
	lateBits = 28
)

func (l *lateMemo) pack(v ref) uint32 {
	if low := v & payload; low < 1<<lateBits {
		return uint32(v.tag())<<lateBits | uint32(low)
	}
	l.wide = append(l.wide, v)
	return lateWide<<lateBits | uint32(len(l.wide)-1)&(1<<lateBits-1)
}

func (l *lateMemo) get(i uint32) ref {
	x := l.pages[i/latePage][i%latePage]
	tag, low := x>>lateBits, x&(1<<lateBits-1)
	if tag == lateWide {
		return l.wide[low]
	}
	return ref(tag)<<tagShift | ref(low)
}

func (l *lateMemo) set(i uint32, v ref) { l.pages[i/latePage][i%latePage] = l.pack(v) }

func (l *lateMemo) append(v ref) {
	if l.n%latePage == 0 {
		l.pages = append(l.pages, make([]uint32, latePage))
	}
	l.n++
	l.set(l.n-1, v)
}
