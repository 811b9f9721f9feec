package torch

import (
	"encoding/binary"
	"fmt"
)

// entryReader reads trace entries as CPython writes them: a dict in one batch whose
// keys are in the memo, and whose values are plain or lists of known frames. Most
// of a file is such entries.
type entryReader struct {
	*machine
	buf   []byte
	low   *[256]ref // the memo's first entries
	added []ref     // what the entry puts into the memo, in order
	ids   []uint32  // the frames of its stack
}

// most is what an opcode takes at most, but for the text of a string, with the
// MEMOIZE after it.
const most = 11

// quickEntry takes a whole trace entry from EMPTY_DICT to SETITEMS where the
// innermost list holds trace entries already. It gives the bytes it took; 0 if
// the entry has anything but the usual or is cut by the end of the buffer: its
// opcodes are then executed one by one.
func (m *machine) quickEntry(b []byte) (int, error) {
	if m.base == 0 || len(m.memo) < 256 || len(b) < most {
		return 0, nil
	}
	l := m.stack[m.base-1]
	if l.tag() != tagOpen {
		return 0, nil
	}
	s := &m.slots[l.low()]
	if s.holds != holdsEvents || s.state != slotOpen {
		return 0, nil
	}
	r := &m.entry
	r.machine, r.buf, r.low, r.added = m, b, (*[256]ref)(m.memo), r.added[:0]
	p := r.memoize(1, used)
	if b[p] != '(' {
		return 0, nil
	}
	if err := m.flush(); err != nil { // entries before it that wait for the end of their batch
		return 0, err
	}
	keys, p := r.fields(p + 1)
	// What follows must leave the dict alone: the next entry, or the end of the batch.
	if p == 0 || keys.shape() != shapeEvent || b[p] != '}' && b[p] != 'e' {
		return 0, nil
	}
	m.seen[shapeEvent] |= keys
	if err := m.event(s.trace, keys); err != nil {
		return 0, fmt.Errorf("%s %d: %w", noun[shapeEvent], s.n, err)
	}
	s.n++
	m.marks[len(m.marks)-1].flushed = true
	for _, v := range r.added {
		m.addMemo(v)
	}
	return p, nil
}

// memoize takes the MEMOIZE after a value, if there is one.
func (r *entryReader) memoize(p int, v ref) int {
	if r.buf[p] != 0x94 {
		return p
	}
	r.added = append(r.added, v)
	return p + 1
}

// recall gives the value of BINGET or LONG_BINGET and the place after it; none for
// any other opcode, and for a container that is not finished.
func (r *entryReader) recall(p int) (ref, int) {
	var v ref
	switch r.buf[p] {
	case 'h':
		v = r.low[r.buf[p+1]]
		p += 2
	case 'j':
		v = r.getMemo(binary.LittleEndian.Uint32(r.buf[p+1:]))
		p += 5
	}
	if v.tag() >= tagOpen {
		return 0, p
	}
	return v, p
}

// fields reads keys and values up to SETITEMS, spreads them over field, and gives
// the place after them; 0 if something is unusual.
func (r *entryReader) fields(p int) (keys keySet, end int) {
	b, low := r.buf, r.low
	for last := len(b) - most; p <= last; {
		var k, v ref
		switch b[p] {
		case 'h':
			k = low[b[p+1]]
			p += 2
		case 'u':
			return keys, p + 1
		default:
			k, p = r.recall(p)
		}
		if k.tag() != tagText || p > last {
			return 0, 0
		}
		switch b[p] {
		case 'h':
			v = low[b[p+1]]
			p += 2
		case 0x8a: // LONG1
			size := int(b[p+1])
			if size > 8 {
				return 0, 0
			}
			shift := 64 - 8*size
			i := int64(binary.LittleEndian.Uint64(b[p+2:])<<shift) >> shift
			if i<<4>>4 != i {
				return 0, 0
			}
			v = intRef(i)
			p += 2 + size
		default:
			v, p = r.value(p, k)
		}
		if v-1 >= tagOpen<<tagShift-1 { // none or a container
			return 0, 0
		}
		if key := k.low(); key < numKeys {
			if keys.has(int(key)) {
				return 0, 0
			}
			keys |= 1 << key
			r.field[key] = v
		}
	}
	return 0, 0
}

// value reads the value of a key; none if it is an unusual one.
func (r *entryReader) value(p int, key ref) (v ref, end int) {
	b := r.buf
	switch b[p] {
	case 'j':
		return r.recall(p)
	case 'K':
		if b[p+2] == 'K' && b[p+4] == 0x86 { // a pool: two integers in a tuple
			v = pair(int64(b[p+1]), int64(b[p+3]))
			return v, r.memoize(p+5, v)
		}
		return tagInt<<tagShift | ref(b[p+1]), p + 2
	case 'M':
		return tagInt<<tagShift | ref(binary.LittleEndian.Uint16(b[p+1:])), p + 3
	case 'J':
		return intRef(int64(int32(binary.LittleEndian.Uint32(b[p+1:])))), p + 5
	case 0x8c: // SHORT_BINUNICODE
		end = p + 2 + int(b[p+1])
		if end >= len(b) {
			return 0, p
		}
		v = r.textOf(key, b[p+2:end])
		return v, r.memoize(end, v)
	case ']':
		return r.frameList(p + 1)
	}
	return 0, p
}

// frameList reads a list of frames that are in the memo.
func (r *entryReader) frameList(p int) (v ref, end int) {
	b, memo, at := r.buf, r.memo, len(r.added)
	p = r.memoize(p, empty)
	if b[p] != '(' {
		// Nothing in it; or one frame, by APPEND.
		f, next := r.recall(p)
		if f.tag() != tagFrame {
			return empty, p
		}
		if b[next] != 'a' {
			return 0, p
		}
		r.ids = append(r.ids[:0], f.low())
		p = next
	} else {
		ids := r.ids[:0]
		for p++; p <= len(b)-most; {
			var i uint32
			switch b[p] {
			case 'h':
				i, p = uint32(b[p+1]), p+2
			case 'j':
				i, p = binary.LittleEndian.Uint32(b[p+1:]), p+5
			case 'e':
				r.ids = ids
				return r.stackOf(p+1, at)
			default:
				return 0, p
			}
			if i >= uint32(len(memo)) || memo[i].tag() != tagFrame {
				return 0, p
			}
			ids = append(ids, memo[i].low())
		}
		return 0, p
	}
	return r.stackOf(p+1, at)
}

// stackOf makes a stack of the frames; its place in the memo is the one after at.
func (r *entryReader) stackOf(p, at int) (v ref, end int) {
	if len(r.ids) == 0 {
		return empty, p
	}
	v = tagStack<<tagShift | ref(r.stacks.id(r.ids))
	if len(r.added) > at {
		r.added[at] = v
	}
	return v, p
}
