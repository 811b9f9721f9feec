package pprof

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Wire types of protocol buffers: https://protobuf.dev/programming-guides/encoding
const (
	varint  = 0
	fixed64 = 1
	delim   = 2
	fixed32 = 5
)

// maxField bounds the body of one field: the largest real ones, samples, have under
// 10 KB.
const maxField = 16 << 20

// stream reads the fields of the outermost message, one at a time.
type stream struct {
	name string
	r    *bufio.Reader
	at   int64 // offset of what is read next
	from int64 // offset of the current field
	num  uint64
	wire uint64
	val  uint64
	body []byte // valid until next
	err  error
}

func newStream(r io.Reader, name string) *stream {
	return &stream{name: name, r: bufio.NewReaderSize(r, 64<<10)}
}

// fail records the first fault, with its place.
func (s *stream) fail(at int64, format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("%s: offset 0x%x: %s", s.name, at, fmt.Sprintf(format, args...))
	}
}

// next moves to the next field; it is false at the end or after a fault.
func (s *stream) next() bool {
	if s.err != nil {
		return false
	}
	s.from = s.at
	tag, ok := s.varint(true)
	if !ok {
		return false
	}
	s.num, s.wire, s.val, s.body = tag>>3, tag&7, 0, s.body[:0]
	if s.num == 0 || s.num > 1<<29-1 {
		s.fail(s.from, "want a field number from 1 to %d, got %d", 1<<29-1, s.num)
		return false
	}
	switch s.wire {
	case varint:
		s.val, ok = s.varint(false)
		return ok
	case fixed64:
		return s.take(8)
	case fixed32:
		return s.take(4)
	case delim:
		n, ok := s.varint(false)
		if ok && n > maxField {
			s.fail(s.from, "field %d: want at most %d bytes, got %d", s.num, maxField, n)
			return false
		}
		return ok && s.take(int(n))
	}
	s.fail(s.from, "field %d: wire type %d is not used by this format", s.num, s.wire)
	return false
}

// take reads a body piece by piece, so that no length is believed before its
// bytes came.
func (s *stream) take(n int) bool {
	for left := n; left > 0; {
		k := min(left, 64<<10)
		start := len(s.body)
		s.body = append(s.body, make([]byte, k)...)
		got, err := io.ReadFull(s.r, s.body[start:])
		s.at += int64(got)
		if err != nil {
			s.broken(err, "field %d wants %d more bytes", s.num, left-got)
			return false
		}
		left -= k
	}
	return true
}

// broken tells why bytes are missing.
func (s *stream) broken(err error, format string, args ...any) {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.fail(s.at, "unexpected end of file: "+format, args...)
	} else if s.err == nil {
		s.err = fmt.Errorf("%s: offset 0x%x: %w", s.name, s.at, err)
	}
}

// varint reads one number; the end of the file is no fault where first is set.
func (s *stream) varint(first bool) (v uint64, ok bool) {
	for i := 0; ; i++ {
		c, err := s.r.ReadByte()
		if err != nil {
			if !first || i > 0 || !errors.Is(err, io.EOF) {
				s.broken(err, "a varint is cut off")
			}
			return 0, false
		}
		s.at++
		if i == 9 && c > 1 {
			s.fail(s.from, "varint longer than 64 bits")
			return 0, false
		}
		if v |= uint64(c&0x7f) << (7 * i); c < 0x80 {
			return v, true
		}
	}
}

// message walks the fields of a message that lies in memory.
type message struct {
	b    []byte
	num  uint64
	wire uint64
	val  uint64
	body []byte
	bad  string // what is wrong with it
}

// next moves to the next field; it is false at the end or after a fault.
func (m *message) next() bool {
	if len(m.b) == 0 || m.bad != "" {
		return false
	}
	tag, n := uvarint(m.b)
	if n == 0 || tag>>3 == 0 {
		m.bad = "a field without a number"
		return false
	}
	m.b, m.num, m.wire, m.val, m.body = m.b[n:], tag>>3, tag&7, 0, nil
	size := uint64(0)
	switch m.wire {
	case varint, delim:
		v, n := uvarint(m.b)
		if n == 0 {
			m.bad = fmt.Sprintf("field %d: a varint is cut off or longer than 64 bits", m.num)
			return false
		}
		m.b = m.b[n:]
		if m.wire == varint {
			m.val = v
			return true
		}
		size = v
	case fixed64:
		size = 8
	case fixed32:
		size = 4
	default:
		m.bad = fmt.Sprintf("field %d: wire type %d is not used by this format", m.num, m.wire)
		return false
	}
	if size > uint64(len(m.b)) {
		m.bad = fmt.Sprintf("field %d: length %d exceeds the %d bytes left", m.num, size, len(m.b))
		return false
	}
	m.body, m.b = m.b[:size], m.b[size:]
	return true
}

// int gives the value of the current field, which must be a number.
func (m *message) int() uint64 {
	if m.wire != varint && m.bad == "" {
		m.bad = fmt.Sprintf("field %d: want wire type %d, got %d", m.num, varint, m.wire)
	}
	return m.val
}

// bytes gives the body of the current field, which must be a message or a text.
func (m *message) bytes() []byte {
	if m.wire != delim && m.bad == "" {
		m.bad = fmt.Sprintf("field %d: want wire type %d, got %d", m.num, delim, m.wire)
	}
	return m.body
}

// ints appends the values of a repeated number, packed or not.
func (m *message) ints(list []uint64) []uint64 {
	if m.wire == varint {
		return append(list, m.val)
	}
	for b := m.bytes(); len(b) > 0 && m.bad == ""; {
		v, n := uvarint(b)
		if n == 0 {
			m.bad = fmt.Sprintf("field %d: a packed number is cut off", m.num)
			break
		}
		list, b = append(list, v), b[n:]
	}
	return list
}

// uvarint decodes a varint and gives its length, 0 where it is cut off or too long.
func uvarint(b []byte) (v uint64, n int) {
	for i, c := range b {
		if i == 9 && c > 1 {
			return 0, 0
		}
		if v |= uint64(c&0x7f) << (7 * i); c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}
