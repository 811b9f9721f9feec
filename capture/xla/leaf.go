package xla

// leaf walks the fields of a small message that lies in memory in one piece:
// shapes, operation metadata, buffers and trace events, of which a file holds
// very many. Faults go to the decoder that the bytes came from.
type leaf struct {
	d    *decoder
	b    []byte
	off  int64 // offset of b[0] in the stream
	what string

	num  uint32
	wire uint8
	val  uint64
	body []byte
	at   int64
}

// leaf starts walking the body of the decoder's current field.
func (d *decoder) leaf(what string) leaf {
	b := d.bytes()
	return leaf{d: d, b: b, off: d.end - int64(len(b)), what: what}
}

// inner starts walking the body of the leaf's current field.
func (l *leaf) inner(what string) leaf {
	if l.wire != wireBytes {
		l.fail("field %d: want wire type %d, got %d", l.num, wireBytes, l.wire)
	}
	return leaf{d: l.d, b: l.body, off: l.off - int64(len(l.body)), what: what}
}

func (l *leaf) fail(format string, args ...any) {
	l.d.fail(l.at, l.what+": "+format, args...)
	l.b, l.body = nil, nil
}

// next moves to the next field, and is false at the end or after a fault.
func (l *leaf) next() bool {
	if len(l.b) == 0 {
		return false
	}
	l.at = l.off
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
		if n > uint64(len(l.b)) {
			l.fail("field %d: length %d exceeds the %d bytes left", l.num, n, len(l.b))
			return false
		}
		l.body = l.b[:n]
		l.advance(int(n))
		return true
	case wireFixed64, wireFixed32:
		n := 8
		if l.wire == wireFixed32 {
			n = 4
		}
		if len(l.b) < n {
			l.fail("field %d: want %d bytes, %d are left", l.num, n, len(l.b))
			return false
		}
		l.advance(n)
		return true
	}
	l.fail("field %d: wire type %d is not used by this format", l.num, l.wire)
	return false
}

func (l *leaf) advance(n int) { l.b, l.off = l.b[n:], l.off+int64(n) }

func (l *leaf) varint() (uint64, bool) {
	if len(l.b) > 0 && l.b[0] < 0x80 {
		v := uint64(l.b[0])
		l.advance(1)
		return v, true
	}
	v, n := uvarint(l.b)
	if n <= 0 {
		l.fail("a varint runs past the end of its message or 64 bits")
		return 0, false
	}
	l.advance(n)
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
	switch l.wire {
	case wireVarint:
		return append(list, int64(l.val))
	case wireBytes:
		return unpack(list, l.body, func() { l.fail("field %d: a packed number is cut off", l.num) })
	}
	l.fail("field %d: want wire type %d, got %d", l.num, wireBytes, l.wire)
	return list
}

// text gives the body of the current field as a string, equal ones sharing memory.
func (l *leaf) text() string {
	if l.wire != wireBytes {
		l.fail("field %d: want wire type %d, got %d", l.num, wireBytes, l.wire)
		return ""
	}
	if len(l.body) > maxText {
		l.fail("field %d: a text of %d bytes; at most %d are read", l.num, len(l.body), maxText)
		return ""
	}
	return l.d.intern(l.body)
}
