package xla

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// The wire format of protocol buffers, read from a stream.
// https://protobuf.dev/programming-guides/encoding/
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

const (
	// windowBytes is how much of the stream is held at a time.
	windowBytes = 64 << 10
	// maxDepth bounds nesting. The deepest path that is read (space, plane, map
	// entry, event metadata, stat, HloProto, assignment, trace) has 9 levels.
	maxDepth = 16
	// maxTag is the longest encoding of a tag or a varint.
	maxTag = 10
)

// decoder reads one protocol buffer message from a stream, through a window.
// Messages are entered and their fields walked:
//
//	for d.enter("planes"); d.next(); {
//		switch d.num {
//		case 2:
//			name = d.text()
//		}
//	}
//
// A field that nobody consumes is skipped. The first error sticks: next is
// false from then on, and values are zero. Offsets are those of the whole stream.
type decoder struct {
	name string // of the file, for messages

	src    io.Reader
	seeker io.Seeker // nil where the stream cannot seek
	buf    []byte    // the window: buf[r:w] is read and not consumed
	r, w   int
	base   int64 // offset of buf[0] in the stream
	size   int64 // length of the stream, or MaxInt64 where unknown
	eof    bool  // nothing follows the window
	err    error

	// The current field: its number, wire type, place, and its value (varint and
	// fixed types) or the end of its body (wireBytes).
	num     uint32
	wire    uint8
	pending bool // a body that nobody has consumed
	val     uint64
	at, end int64

	depth  int // levels[1:depth+1] are the messages entered, innermost last
	levels [maxDepth + 1]level

	interned map[string]string
}

// level is one message that is being walked.
type level struct {
	what string
	end  int64
}

// newDecoder makes a decoder of a stream of size bytes, -1 if unknown. A stream
// that can seek tells its length itself: the caller's is only believed if smaller.
func newDecoder(r io.Reader, size int64, name string) *decoder {
	d := &decoder{name: name, src: r, size: size, buf: make([]byte, windowBytes), interned: map[string]string{}}
	if size < 0 {
		d.size = math.MaxInt64
	}
	if s, ok := r.(io.Seeker); ok {
		if here, err := s.Seek(0, io.SeekCurrent); err == nil {
			end, err := s.Seek(0, io.SeekEnd)
			if err == nil {
				_, err = s.Seek(here, io.SeekStart)
			}
			if err != nil {
				d.err = fmt.Errorf("%s: %w", name, err)
				return d
			}
			d.seeker, d.size = s, min(d.size, max(end-here, 0))
		}
	}
	return d
}

// pos is the offset of the next byte.
func (d *decoder) pos() int64 { return d.base + int64(d.r) }

// fail records the first error with its place and the path of messages to it.
func (d *decoder) fail(at int64, format string, args ...any) {
	if d.err != nil {
		return
	}
	var path strings.Builder
	for i := 1; i <= d.depth; i++ {
		if what := d.levels[i].what; what != "" {
			path.WriteString(what)
			path.WriteByte('.')
		}
	}
	d.err = &formatError{name: d.name, at: at, path: strings.TrimSuffix(path.String(), "."), text: fmt.Sprintf(format, args...)}
}

// formatError is a fault of the bytes (not of reading them).
type formatError struct {
	name, path, text string
	plane            string // of an XSpace that it is in, empty where unknown
	at               int64
	cut              bool // the file ends too early
}

// maxBelieved is the longest message that may have been there before a file was cut
// off, in bytes: protocol buffers have less than 2 GiB.
const maxBelieved = 2 << 30

// cutOff is how the text begins where the file ends too early.
const cutOff = "unexpected end of file"

func (e *formatError) Error() string {
	text := e.text
	if e.plane != "" {
		text = fmt.Sprintf("plane %.80q: %s", e.plane, text)
	}
	if e.cut || strings.HasPrefix(e.text, cutOff) {
		text += ": the file is cut off"
	}
	if e.path == "" {
		return fmt.Sprintf("%s: offset 0x%x: %s", e.name, e.at, text)
	}
	return fmt.Sprintf("%s: offset 0x%x: %s: %s", e.name, e.at, e.path, text)
}

// fill makes at least n bytes available in the window, fewer at the end of the
// stream; n is at most windowBytes. It reports whether there are n.
func (d *decoder) fill(n int) bool {
	if d.w-d.r >= n {
		return true
	}
	if d.err != nil {
		return false
	}
	copy(d.buf, d.buf[d.r:d.w])
	d.base, d.w, d.r = d.base+int64(d.r), d.w-d.r, 0
	for empty := 0; d.w < n && !d.eof; {
		limit := len(d.buf)
		if left := d.size - d.base; left < int64(limit) {
			limit = int(left)
		}
		if d.w >= limit {
			d.eof = true
			break
		}
		k, err := d.src.Read(d.buf[d.w:limit])
		d.w += max(k, 0)
		switch {
		case errors.Is(err, io.EOF):
			d.eof = true
		case err != nil:
			d.err = fmt.Errorf("%s: offset 0x%x: %w", d.name, d.base+int64(d.w), err)
			return false
		case k > 0:
			empty = 0
		default:
			if empty++; empty == 100 {
				d.err = fmt.Errorf("%s: offset 0x%x: %w", d.name, d.pos(), io.ErrNoProgress)
				return false
			}
		}
	}
	return d.w-d.r >= n
}

// enter starts walking the message that is the body of the current field; on the
// outermost call, the whole stream. what names it in messages.
func (d *decoder) enter(what string) {
	end := d.size
	if d.depth > 0 {
		if !d.body() {
			return
		}
		end = d.end
	}
	if d.depth == maxDepth {
		d.fail(d.at, "messages nest deeper than %d", maxDepth)
		return
	}
	d.depth++
	d.levels[d.depth] = level{what, end}
}

// next moves to the next field of the message entered last. At its end it
// returns false and the walk of the outer message goes on.
func (d *decoder) next() bool {
	if d.pending {
		d.skip()
	}
	if d.err != nil {
		return false
	}
	limit := d.levels[d.depth].end
	d.at = d.pos()
	if d.at >= limit || limit == math.MaxInt64 && !d.fill(1) && d.err == nil {
		d.depth--
		return false
	}
	tag, ok := d.varint(limit)
	if !ok {
		return false
	}
	if tag>>3 == 0 || tag>>3 > 1<<29-1 {
		d.fail(d.at, "want a field number from 1 to %d, got %d", 1<<29-1, tag>>3)
		return false
	}
	d.num, d.wire = uint32(tag>>3), uint8(tag&7)
	switch d.wire {
	case wireVarint:
		d.val, ok = d.varint(limit)
		return ok
	case wireBytes:
		n, ok := d.varint(limit)
		if !ok {
			return false
		}
		if left := limit - d.pos(); n > uint64(left) {
			d.fail(d.at, "field %d: length %d exceeds the %d bytes left", d.num, n, left)
			if f, ok := d.err.(*formatError); ok && limit == d.size && n < maxBelieved {
				f.cut = true
			}
			return false
		}
		d.end, d.pending = d.pos()+int64(n), true
		return true
	case wireFixed64:
		d.val, ok = d.fixed(8, limit)
		return ok
	case wireFixed32:
		d.val, ok = d.fixed(4, limit)
		return ok
	}
	d.fail(d.at, "field %d: wire type %d is not used by this format", d.num, d.wire)
	return false
}

// varint reads one varint that ends before limit.
func (d *decoder) varint(limit int64) (uint64, bool) {
	if d.w-d.r < maxTag {
		d.fill(maxTag)
	}
	b := d.buf[d.r:d.w]
	if len(b) > 0 && b[0] < 0x80 && d.pos() < limit {
		d.r++
		return uint64(b[0]), true
	}
	v, n := uvarint(b)
	switch {
	case n > 0 && d.pos()+int64(n) <= limit:
		d.r += n
		return v, true
	case n < 0:
		d.fail(d.pos(), "varint longer than 64 bits")
	case n > 0 || d.pos()+int64(len(b)) >= limit && limit < d.size:
		d.fail(d.pos(), "a varint runs past the end of its message at 0x%x", limit)
	default:
		d.fail(d.base+int64(d.w), "unexpected end of file in a varint")
	}
	return 0, false
}

// uvarint decodes a varint: its value and length; length 0 means that b is too
// short, -1 that the value has more than 64 bits.
func uvarint(b []byte) (uint64, int) {
	var v uint64
	for i, c := range b {
		if i == 9 && c > 1 {
			return 0, -1
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// fixed reads a little-endian number of n bytes.
func (d *decoder) fixed(n int, limit int64) (uint64, bool) {
	if limit-d.pos() < int64(n) {
		d.fail(d.at, "field %d: want %d bytes, %d are left", d.num, n, limit-d.pos())
		return 0, false
	}
	if !d.fill(n) {
		d.fail(d.base+int64(d.w), "unexpected end of file in field %d", d.num)
		return 0, false
	}
	var v uint64
	for i := range n {
		v |= uint64(d.buf[d.r+i]) << (8 * i)
	}
	d.r += n
	return v, true
}

// skip passes over the body of the current field, by seeking where it can.
func (d *decoder) skip() {
	d.pending = false
	if n := d.end - d.pos(); n <= int64(d.w-d.r) {
		d.r += int(n)
		return
	}
	if d.seeker != nil {
		// The end is within the stream: lengths are checked against what is left.
		ahead := d.end - (d.base + int64(d.w))
		if _, err := d.seeker.Seek(ahead, io.SeekCurrent); err != nil {
			d.err = fmt.Errorf("%s: offset 0x%x: %w", d.name, d.pos(), err)
			return
		}
		d.base, d.r, d.w = d.end, 0, 0
		return
	}
	for d.pos() < d.end {
		if !d.fill(1) {
			d.fail(d.pos(), "unexpected end of file: field %d wants %d more bytes", d.num, d.end-d.pos())
			return
		}
		d.r += int(min(d.end-d.pos(), int64(d.w-d.r)))
	}
}

// body claims the body of the current field, which must be of wire type 2.
func (d *decoder) body() bool {
	if d.err != nil {
		return false
	}
	if d.wire != wireBytes {
		d.fail(d.at, "field %d: want wire type %d, got %d", d.num, wireBytes, d.wire)
		return false
	}
	d.pending = false
	return true
}

// bytes gives the body of the current field. It is a part of the window where
// it fits: valid until the next call of any other method. A larger body is
// copied piece by piece, so that no length is believed before its bytes came.
func (d *decoder) bytes() []byte {
	if !d.body() {
		return nil
	}
	n := d.end - d.pos()
	if n <= windowBytes {
		if !d.fill(int(n)) {
			d.fail(d.base+int64(d.w), "unexpected end of file: field %d wants %d more bytes", d.num, n-int64(d.w-d.r))
			return nil
		}
		b := d.buf[d.r : d.r+int(n)]
		d.r += int(n)
		return b
	}
	var whole []byte
	for d.pos() < d.end {
		if !d.fill(1) {
			d.fail(d.pos(), "unexpected end of file: field %d wants %d more bytes", d.num, d.end-d.pos())
			return nil
		}
		k := int(min(d.end-d.pos(), int64(d.w-d.r)))
		whole = append(whole, d.buf[d.r:d.r+k]...)
		d.r += k
	}
	return whole
}

// maxText is how much of a name or a message is read; the rest is cut off. The
// longest real ones (operation names of deep models) have a few hundred bytes.
const maxText = 4 << 10

// text gives the body of the current field as a string, equal ones sharing memory.
func (d *decoder) text() string { return d.intern(d.textBytes()) }

// textBytes gives the body of the current field, cut to maxText bytes.
func (d *decoder) textBytes() []byte {
	end, long := d.end, d.wire == wireBytes && d.end-d.pos() > maxText
	if long {
		d.end = d.pos() + maxText
	}
	b := d.bytes()
	if long {
		d.end, d.pending = end, true
	}
	return b
}

func (d *decoder) intern(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := d.interned[string(b)]; ok {
		return s
	}
	s := string(b)
	d.interned[s] = strings.ToValidUTF8(s, "\ufffd")
	return d.interned[s]
}

// int gives the value of the current field, a varint.
func (d *decoder) int() int64 {
	if d.wire != wireVarint {
		d.fail(d.at, "field %d: want wire type %d, got %d", d.num, wireVarint, d.wire)
		return 0
	}
	return int64(d.val)
}

// ints appends the values of a repeated integer, packed or not.
func (d *decoder) ints(list []int64) []int64 {
	if d.wire == wireVarint {
		return append(list, int64(d.val))
	}
	at := d.at
	list, ok := unpack(list, d.bytes())
	if !ok {
		d.fail(at, "field %d: a packed number is cut off", d.num)
	}
	return list
}

// unpack appends the varints of b; ok is false where the last one is cut off.
func unpack(list []int64, b []byte) (_ []int64, ok bool) {
	for i := 0; i < len(b); {
		if b[i] < 0x80 {
			list = append(list, int64(b[i]))
			i++
			continue
		}
		v, n := uvarint(b[i:])
		if n <= 0 {
			return list, false
		}
		list = append(list, int64(v))
		i += n
	}
	return list, true
}
