package torch

// lateMemo holds the memo entries after the first flatLimit ones. A pickle of
// a million events has several million entries, most of them of events that are
// long folded and of a few stacks and texts. So entries come in pages; all but
// the newest two pages, in which containers may still be under construction,
// are packed to a byte an entry where they hold few values.
type lateMemo struct {
	pages []latePage
	n     uint32
	wide  []ref      // values that do not fit 28 bits
	spare [][]uint32 // entries of pages that were packed, for new ones
}

// latePage is a part of the memo: entries, or codes of the values there are.
type latePage struct {
	entries []uint32
	codes   []uint8
	values  []uint32
}

const (
	flatLimit    = 1 << 20
	latePageSize = 1 << 12
	lateValues   = 256 // of a packed page
	// lateWide marks an index into wide. tagHeld is never in the memo.
	lateWide = uint32(tagHeld)
	lateBits = 28
)

func (l *lateMemo) shorten(v ref) uint32 {
	if low := v & payload; low < 1<<lateBits {
		return uint32(v.tag())<<lateBits | uint32(low)
	}
	if n := len(l.wide); n == 0 || l.wide[n-1] != v {
		l.wide = append(l.wide, v)
	}
	return lateWide<<lateBits | uint32(len(l.wide)-1)&(1<<lateBits-1)
}

func (l *lateMemo) get(i uint32) ref {
	p := &l.pages[i/latePageSize]
	var x uint32
	if p.codes != nil {
		x = p.values[p.codes[i%latePageSize]]
	} else {
		x = p.entries[i%latePageSize]
	}
	tag, low := x>>lateBits, x&(1<<lateBits-1)
	if tag == lateWide {
		return l.wide[low]
	}
	return ref(tag)<<tagShift | ref(low)
}

func (l *lateMemo) set(i uint32, v ref) {
	p := &l.pages[i/latePageSize]
	if p.codes != nil {
		l.unpack(p)
	}
	p.entries[i%latePageSize] = l.shorten(v)
}

func (l *lateMemo) append(v ref) {
	if l.n%latePageSize == 0 {
		l.turn()
	}
	l.n++
	l.pages[len(l.pages)-1].entries[(l.n-1)%latePageSize] = l.shorten(v)
}

// turn begins a page and packs the last but one.
func (l *lateMemo) turn() {
	if n := len(l.pages); n > 1 {
		l.pack(&l.pages[n-2])
	}
	var entries []uint32
	if n := len(l.spare); n > 0 {
		entries, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		entries = make([]uint32, latePageSize)
	}
	l.pages = append(l.pages, latePage{entries: entries})
}

// pack turns a page into codes, if it holds few values.
func (l *lateMemo) pack(p *latePage) {
	var table [2 * lateValues]struct {
		value uint32
		code  uint16 // of the value + 1
	}
	if p.entries == nil {
		return
	}
	values := make([]uint32, 0, 16)
	codes := make([]uint8, latePageSize)
	for k, x := range p.entries {
		i := x * 0x9e3779b1 >> 23 // the 9 bits that number the table
		for table[i].code != 0 && table[i].value != x {
			i = (i + 1) % uint32(len(table))
		}
		if table[i].code == 0 {
			if len(values) == lateValues {
				return
			}
			values = append(values, x)
			table[i].value, table[i].code = x, uint16(len(values))
		}
		codes[k] = uint8(table[i].code - 1)
	}
	l.spare = append(l.spare, p.entries)
	p.entries, p.codes, p.values = nil, codes, values
}

// unpack makes a packed page one of entries again: a container that was open
// while two pages were filled, such as the list of all events, is finished.
func (l *lateMemo) unpack(p *latePage) {
	entries := make([]uint32, latePageSize)
	for k, c := range p.codes {
		entries[k] = p.values[c]
	}
	p.entries, p.codes, p.values = entries, nil, nil
}
