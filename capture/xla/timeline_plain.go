package xla

import (
	"encoding/binary"
	"math/bits"
)

// plainBytes is the most that is looked at of an event of three numbers and nothing else:
// tag and length, and the numbers with their tags, the last two read as words.
const plainBytes = 2 + 1 + 3 + 2*(1+8)

// eventID decodes the id that an event begins with, and where it ends; 0 for an event
// that begins otherwise or has an id of more than 21 bits.
func eventID(b *[plainBytes]byte) (id int64, end int) {
	switch {
	case b[2] != 1<<3|wireVarint:
	case b[3] < 0x80:
		return int64(b[3]), 4
	case b[4] < 0x80:
		return int64(b[4])<<7 + int64(b[3]&0x7f), 5
	case b[5] < 0x80:
		return int64(b[5])<<14 + int64(b[4]&0x7f)<<7 + int64(b[3]&0x7f), 6
	}
	return 0, 0
}

// plainEvent decodes an event of n bytes that begins b and holds its id, offset and
// duration and nothing else. ok is false for any other, which may be as good.
func plainEvent(b *[plainBytes]byte, n int) (id, offset, duration int64, ok bool) {
	id, i := eventID(b)
	if i == 0 || b[i] != 2<<3|wireVarint {
		return
	}
	v, k := short(binary.LittleEndian.Uint64(b[i+1:]))
	if i += 1 + k; k > 8 || b[i] != 3<<3|wireVarint {
		return
	}
	w, k := short(binary.LittleEndian.Uint64(b[i+1:]))
	return id, int64(v), int64(w), i+1+k == 2+n && k <= 8
}

// idle passes over a line that has nothing to do with memory: all of its events are
// plain, and too short to be waits. It stands where it was if the line is another.
func (s *scan) idle() bool {
	from, depth, end := s.pos(), s.depth, s.end
	for s.enter("lines"); ; {
		if s.pending {
			s.skip()
		}
		s.fill(plainBytes)
		i, last := s.r, end-s.base
		for window := s.buf[:s.w]; i+plainBytes <= len(window) && window[i] == eventTag; {
			n := 2 + int(window[i+1])
			if int64(i+n) > last || !s.dull((*[plainBytes]byte)(window[i:]), n) {
				break
			}
			i += n
		}
		if i > s.r {
			s.r = i // there may be more behind the window
			continue
		}
		if !s.next() {
			return s.err == nil
		}
		if s.num == 4 {
			s.depth = depth
			s.seekTo(from)
			s.num, s.wire, s.end, s.pending = 3, wireBytes, end, true
			return false
		}
	}
}

// dull reports whether an event, of n bytes with its tag, says nothing of memory, of
// executions or of steps.
func (s *scan) dull(b *[plainBytes]byte, n int) bool {
	id, i := eventID(b)
	if i == 0 || s.class(id) > builtin || b[i] != 2<<3|wireVarint {
		return false
	}
	if i += 1 + varintBytes(b[i+1:]); i+9 > plainBytes || b[i] != 3<<3|wireVarint {
		return false
	}
	k := varintBytes(b[i+1:])
	return k < gapLowBytes && i+1+k == n
}

// gapLowBytes is the least that a varint of gapLow takes.
const gapLowBytes = 7

// varintBytes is the length of a varint, above 8 where it is longer than the word that
// begins b.
func varintBytes(b []byte) int {
	return bits.TrailingZeros64(^binary.LittleEndian.Uint64(b)&0x8080808080808080)>>3 + 1
}

// short decodes a varint of up to 8 bytes that are the lowest of x. A length above 8
// means that it is longer. Small enough to be inlined: a profile has tens of millions.
func short(x uint64) (v uint64, length int) {
	length = bits.TrailingZeros64(^x&0x8080808080808080)>>3 + 1
	x &= 1<<(8*uint(length)) - 1
	x = x&0x007f007f007f007f | x>>1&0x3f803f803f803f80
	x = x&0x00003fff00003fff | x>>2&0x0fffc0000fffc000
	return x&0x0fffffff | x>>4&0x00fffffff0000000, length
}

// varint decodes one varint at b[i]. A next of 0 means that there is none.
func varint(b []byte, i int) (v uint64, next int) {
	if i+8 <= len(b) {
		if v, n := short(binary.LittleEndian.Uint64(b[i:])); n <= 8 {
			return v, i + n
		}
	}
	v, n := uvarint(b[i:])
	if n <= 0 {
		return 0, 0
	}
	return v, i + n
}
