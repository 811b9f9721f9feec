package xla

// leaf walks the fields of a small message that lies in memory in one piece:
// shapes, operation metadata, buffers and trace events, of which a file holds
// very many. Faults go to the decoder that the bytes came from.
//
// Note: positions rather than slices move on, since a store of a pointer costs a
// write barrier while the garbage collector runs.
type leaf struct {
	d    *decoder
	b    []byte
	base int64 // offset of b[0] in the stream
	what string

	pos int // position of the next byte
	at  int // position of the current field

	// The current field: its number, wire type, and value or body.
	num      uint32
	wire     uint8
	val      uint64
	from, to int
}

// leaf starts walking the body of the decoder's current field.
func (d *decoder) leaf(what string) leaf {
	b := d.bytes()
	return leaf{d: d, b: b, base: d.end - int64(len(b)), what: what}
}

// inner starts walking the body of the leaf's current field.
func (l *leaf) inner(what string) leaf {
	body := l.body()
	return leaf{d: l.d, b: body, base: l.base + int64(l.from), what: what}
}

// body gives the body of the current field, which must be of wire type 2.
func (l *leaf) body() []byte {
	if l.wire != wireBytes {
		l.fail("field %d: want wire type %d, got %d", l.num, wireBytes, l.wire)
		return nil
	}
	return l.b[l.from:l.to]
}

func (l *leaf) fail(format string, args ...any) {
	l.d.fail(l.base+int64(l.at), l.what+": "+format, args...)
	l.pos = len(l.b)
}

// next moves to the next field, and is false at the end or after a fault.
func (l *leaf) next() bool {
	if l.pos >= len(l.b) {
		return false
	}
	l.at = l.pos
	tag, ok := l.varint()
	if !ok {
		return false
	}
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		l.fail("want a field number from 1 to %d, got %d", 1<<29-1, tag>>3)
		return false
	}
	l.num, l.wire = uint32(tag>>3), uint8(tag&7)
	switch l.wire {
	case wireVarint:
		l.val, ok = l.varint()
		return ok
	case wireBytes:
		n, ok := l.varint()
		if !ok {
			return false
		}
		if left := len(l.b) - l.pos; n > uint64(left) {
			l.fail("field %d: length %d exceeds the %d bytes left", l.num, n, left)
			return false
		}
		l.from = l.pos
		l.to = l.from + int(n)
		l.pos = l.to
		return true
	case wireFixed64, wireFixed32:
		n := 8
		if l.wire == wireFixed32 {
			n = 4
		}
		if left := len(l.b) - l.pos; left < n {
			l.fail("field %d: want %d bytes, %d are left", l.num, n, left)
			return false
		}
		l.pos += n
		return true
	}
	l.fail("field %d: wire type %d is not used by this format", l.num, l.wire)
	return false
}

func (l *leaf) varint() (uint64, bool) {
	if l.pos < len(l.b) {
		if c := l.b[l.pos]; c < 0x80 {
			l.pos++
			return uint64(c), true
		}
	}
	v, n := uvarint(l.b[l.pos:])
	if n <= 0 {
		l.fail("a varint runs past the end of its message or 64 bits")
		return 0, false
	}
	l.pos += n
	return v, true
}

// int gives the value of the current field, a varint.
func (l *leaf) int() int64 {
	if l.wire != wireVarint {
		l.fail("field %d: want wire type %d, got %d", l.num, wireVarint, l.wire)
		return 0
	}
	return int64(l.val)
}

// ints appends the values of a repeated integer, packed or not.
func (l *leaf) ints(list []int64) []int64 {
	if l.wire == wireVarint {
		return append(list, int64(l.val))
	}
	list, ok := unpack(list, l.body())
	if !ok {
		l.fail("field %d: a packed number is cut off", l.num)
	}
	return list
}

// text gives the body of the current field as a string, equal ones sharing memory.
func (l *leaf) text() string {
	body := l.body()
	return l.d.intern(body[:min(len(body), maxText)])
}
