package torch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// opcodes names all opcodes of pickle protocols 0 to 5 (Lib/pickletools.py of
// CPython), for messages.
var opcodes = map[byte]string{
	'(': "MARK", '.': "STOP", '0': "POP", '1': "POP_MARK", '2': "DUP", 'F': "FLOAT", 'I': "INT", 'J': "BININT", 'K': "BININT1",
	'L': "LONG", 'M': "BININT2", 'N': "NONE", 'P': "PERSID", 'Q': "BINPERSID", 'R': "REDUCE", 'S': "STRING", 'T': "BINSTRING",
	'U': "SHORT_BINSTRING", 'V': "UNICODE", 'X': "BINUNICODE", 'a': "APPEND", 'b': "BUILD", 'c': "GLOBAL", 'd': "DICT",
	'}': "EMPTY_DICT", 'e': "APPENDS", 'g': "GET", 'h': "BINGET", 'i': "INST", 'j': "LONG_BINGET", 'l': "LIST", ']': "EMPTY_LIST",
	'o': "OBJ", 'p': "PUT", 'q': "BINPUT", 'r': "LONG_BINPUT", 's': "SETITEM", 't': "TUPLE", ')': "EMPTY_TUPLE", 'u': "SETITEMS",
	'G': "BINFLOAT", 'B': "BINBYTES", 'C': "SHORT_BINBYTES", 0x80: "PROTO", 0x81: "NEWOBJ", 0x82: "EXT1", 0x83: "EXT2",
	0x84: "EXT4", 0x85: "TUPLE1", 0x86: "TUPLE2", 0x87: "TUPLE3", 0x88: "NEWTRUE", 0x89: "NEWFALSE", 0x8a: "LONG1", 0x8b: "LONG4",
	0x8c: "SHORT_BINUNICODE", 0x8d: "BINUNICODE8", 0x8e: "BINBYTES8", 0x8f: "EMPTY_SET", 0x90: "ADDITEMS", 0x91: "FROZENSET",
	0x92: "NEWOBJ_EX", 0x93: "STACK_GLOBAL", 0x94: "MEMOIZE", 0x95: "FRAME", 0x96: "BYTEARRAY8", 0x97: "NEXT_BUFFER",
	0x98: "READONLY_BUFFER",
}

// executes tells the opcodes that import names, call them or hand state to objects.
func executes(op byte) bool {
	switch op {
	case 'c', 'R', 'b', 'i', 'o', 'P', 'Q', 0x81, 0x82, 0x83, 0x84, 0x92, 0x93:
		return true
	}
	return false
}

// pickle runs the opcodes up to STOP. It knows those that build plain data and
// refuses all others by name; nothing of the file is ever executed.
func (m *machine) pickle() error {
	in := m.in
	for {
		if in.end-in.pos < lowWater && !in.eof {
			in.refill()
			// A value and its MEMOIZE take two bytes at least.
			if int64(m.memoNext()) > bufferSize+in.offset()/2 {
				return in.fail(in.offset(), errors.New("more memo entries than bytes"))
			}
		}
		err := m.run()
		at := in.offset()
		switch {
		case err != nil:
			return in.fail(at, err)
		case in.end-in.pos < lowWater && !in.eof:
			continue
		case in.pos == in.end:
			return in.fail(at, errTruncated)
		case in.buf[in.pos] == '.': // STOP
			in.pos++
			return nil
		}
		n, err := m.rare(in.buf[in.pos:in.end])
		if err != nil {
			return in.fail(at, err)
		}
		in.pos += n
	}
}

// run executes the opcodes that snapshots consist of, from what is buffered. It
// returns at an error, at an opcode for rare, and where the buffer runs low;
// the position is then that of the opcode that was not executed.
func (m *machine) run() error {
	in := m.in
	buf, pos := in.buf[:in.end], in.pos
	// Plain values are pushed here, with the stack's height in a register; all
	// else is done by the machine's methods.
	stack, sp, memo := &m.stack, m.sp, m.memo
	// The last opcodes of the buffer are left to rare, which looks at the end.
	for last := len(buf) - 10; pos <= last; {
		n, v := 1, ref(0)
		op := buf[pos]
		switch op {
		case 'h': // BINGET
			n = 2
			if i := int(buf[pos+1]); i < len(memo) {
				v = memo[i]
			}
		case 'j': // LONG_BINGET
			n = 5
			if i := binary.LittleEndian.Uint32(buf[pos+1:]); i < uint32(len(memo)) {
				v = memo[i]
			}
		case 0x8a: // LONG1
			size := int(buf[pos+1])
			if size <= 8 { // the eight bytes after the length are buffered
				shift := 64 - 8*size
				if i := int64(binary.LittleEndian.Uint64(buf[pos+2:])<<shift) >> shift; i<<4>>4 == i {
					n, v = 2+size, intRef(i)
				}
			}
		case 'K': // BININT1
			n = 2
			v = tagInt<<tagShift | ref(buf[pos+1])
		case 'M': // BININT2
			n = 3
			v = tagInt<<tagShift | ref(binary.LittleEndian.Uint16(buf[pos+1:]))
		case 'J': // BININT
			n = 5
			v = intRef(int64(int32(binary.LittleEndian.Uint32(buf[pos+1:]))))
		}
		if v-1 < tagOpen<<tagShift-1 && sp < stackLimit { // neither none nor a container
			stack[sp] = v
			sp++
			pos += n
			continue
		}
		m.sp = sp
		var err error
		switch op {
		case 'h', 'j': // what is not in the first part of the memo, or a container
			i := uint32(buf[pos+1])
			if op == 'j' {
				i = binary.LittleEndian.Uint32(buf[pos+1:])
			}
			err = m.recall(i)
		case 0x94: // MEMOIZE
			err = m.memoize(m.memoNext())
			memo = m.memo
		case '(':
			err = m.pushMark()
		case '}':
			if n, err = m.quickEntry(buf[pos:]); n > 0 {
				memo = m.memo
			} else if err == nil {
				n, err = 1, m.pushContainer(true)
			}
		case ']':
			err = m.pushContainer(false)
		case 'u':
			err = m.setBatch()
		case 'e':
			err = m.appendBatch()
		case 's':
			err = m.setOne()
		case 'a':
			err = m.appendOne()
		case 0x8c: // SHORT_BINUNICODE
			n = 2 + int(buf[pos+1])
			if pos+n > len(buf) {
				in.pos = pos
				return nil
			}
			err = m.pushText(buf[pos+2 : pos+n])
		case 0x86:
			err = m.tuple(2)
		default:
			in.pos = pos
			return nil
		}
		if err != nil {
			in.pos = pos
			return err
		}
		sp = m.sp
		pos += n
	}
	in.pos, m.sp = pos, sp
	return nil
}

// rare executes one opcode, any opcode, near the end of the buffer too. It
// gives how far the position has to move.
func (m *machine) rare(b []byte) (int, error) {
	op, size := b[0], argument(b[0])
	if len(b) < 1+size {
		return 0, errTruncated
	}
	n := 1 + size
	switch op {
	case 'h': // BINGET
		return n, m.recall(uint32(b[1]))
	case 'j': // LONG_BINGET
		return n, m.recall(binary.LittleEndian.Uint32(b[1:]))
	case 'q': // BINPUT
		return n, m.memoize(uint32(b[1]))
	case 'r': // LONG_BINPUT
		return n, m.memoize(binary.LittleEndian.Uint32(b[1:]))
	case 0x94: // MEMOIZE
		return n, m.memoize(m.memoNext())
	case '(':
		return n, m.pushMark()
	case '}':
		return n, m.pushContainer(true)
	case ']':
		return n, m.pushContainer(false)
	case 'u':
		return n, m.setBatch()
	case 'e':
		return n, m.appendBatch()
	case 's':
		return n, m.setOne()
	case 'a':
		return n, m.appendOne()
	case 'd':
		return n, m.collect(true)
	case 'l':
		return n, m.collect(false)
	case 't':
		return n, m.tupleBatch()
	case ')':
		return n, m.push(other)
	case 0x85, 0x86, 0x87: // TUPLE1 to TUPLE3
		return n, m.tuple(int(op - 0x84))
	case 'K': // BININT1
		return n, m.pushInt(int64(b[1]))
	case 'M': // BININT2
		return n, m.pushInt(int64(binary.LittleEndian.Uint16(b[1:])))
	case 'J': // BININT
		return n, m.pushInt(int64(int32(binary.LittleEndian.Uint32(b[1:]))))
	case 'G': // BINFLOAT
		return n, m.pushFloat(math.Float64frombits(binary.BigEndian.Uint64(b[1:])))
	case 'N':
		return n, m.push(constNone)
	case 0x88:
		return n, m.push(constTrue)
	case 0x89:
		return n, m.push(constFalse)
	case 0x8a: // LONG1
		n += int(b[1])
		if len(b) < n {
			return 0, errTruncated
		}
		return n, m.long(b[2:n])
	case 0x8b: // LONG4
		return m.long4(binary.LittleEndian.Uint32(b[1:]))
	case 0x8c, 'U': // SHORT_BINUNICODE, SHORT_BINSTRING
		return m.longText(n, uint64(b[1]))
	case 'X', 'T': // BINUNICODE, BINSTRING
		return m.longText(n, uint64(binary.LittleEndian.Uint32(b[1:])))
	case 0x8d: // BINUNICODE8
		return m.longText(n, binary.LittleEndian.Uint64(b[1:]))
	case 'C': // SHORT_BINBYTES
		return 0, m.skipBytes(n, uint64(b[1]))
	case 'B': // BINBYTES
		return 0, m.skipBytes(n, uint64(binary.LittleEndian.Uint32(b[1:])))
	case 0x8e: // BINBYTES8
		return 0, m.skipBytes(n, binary.LittleEndian.Uint64(b[1:]))
	case 'I', 'L', 'F', 'V', 'p', 'g':
		return m.textOpcode(op, b)
	case 0x80: // PROTO
		switch {
		case m.in.offset() != 0:
			return 0, errors.New("opcode PROTO in the middle of a pickle")
		case b[1] > 5:
			return 0, fmt.Errorf("pickle protocol %d: this reader knows 0 to 5", b[1])
		}
		return n, nil
	case 0x95: // FRAME
		// Frames only help readers that fetch ahead: their contents are read as
		// they come. A length beyond the file tells early that it was cut.
		in := m.in
		left := max(in.size-in.offset()-9, 0)
		if v := binary.LittleEndian.Uint64(b[1:]); in.size >= 0 && v > uint64(left) {
			return 0, fmt.Errorf("a frame of %d bytes, and %d bytes are left: the file is truncated, the dump was interrupted", v, left)
		}
		return n, nil
	}
	name, known := opcodes[op]
	switch {
	case executes(op):
		return 0, fmt.Errorf("opcode %s would execute code: not written by torch.cuda.memory._dump_snapshot", name)
	case known:
		return 0, fmt.Errorf("opcode %s has no place in a snapshot: not written by torch.cuda.memory._dump_snapshot", name)
	}
	return 0, fmt.Errorf("byte %#02x is no pickle opcode", op)
}

// argument is the length of an opcode's argument, or of the length before it.
func argument(op byte) int {
	switch op {
	case 'h', 'q', 'K', 'U', 'C', 0x80, 0x8a, 0x8c:
		return 1
	case 'M':
		return 2
	case 'j', 'r', 'J', 'X', 'T', 'B', 0x8b:
		return 4
	case 'G', 0x8d, 0x8e, 0x95:
		return 8
	}
	return 0
}

// long pushes a little-endian integer in two's complement.
func (m *machine) long(b []byte) error {
	if len(b) > 8 {
		// Python writes an unsigned number from 2^63 on with a ninth byte of 0.
		if len(b) == 9 && b[8] == 0 {
			return m.pushUint(binary.LittleEndian.Uint64(b))
		}
		return m.push(beyond)
	}
	var u uint64
	for i, c := range b {
		u |= uint64(c) << (8 * i)
	}
	shift := 64 - 8*len(b)
	return m.pushInt(int64(u<<shift) >> shift)
}

// longText pushes a string of n bytes after an opcode of head bytes. The result
// is how far the position has to move.
func (m *machine) longText(head int, n uint64) (int, error) {
	in := m.in
	if left := uint64(in.end - in.pos - head); in.end-in.pos >= head && n <= min(left, maxString) {
		at := in.pos + head
		return head + int(n), m.pushText(in.buf[at : at+int(n)])
	}
	in.pos += head
	b, err := in.long(n)
	switch {
	case err != nil:
		return 0, err
	case n > maxString:
		return 0, m.push(tagText<<tagShift | wordUnkept)
	}
	return 0, m.pushText(b)
}

// skipBytes reads over a bytes object: no snapshot has one that matters.
func (m *machine) skipBytes(head int, n uint64) error {
	m.in.pos += head
	if _, err := m.in.long(n); err != nil {
		return err
	}
	return m.push(other)
}

// long4 reads an integer with a length of four bytes: writers use it from 256
// bytes on, so no snapshot has one that matters.
func (m *machine) long4(n uint32) (int, error) {
	if n > math.MaxInt32 {
		return 0, fmt.Errorf("opcode LONG4 with the negative length %d", int32(n))
	}
	m.in.pos += 5
	b, err := m.in.long(uint64(n))
	switch {
	case err != nil:
		return 0, err
	case n > maxString:
		return 0, m.push(beyond)
	}
	return 0, m.long(b)
}

// textOpcode handles the opcodes of protocol 0, whose argument is a line.
func (m *machine) textOpcode(op byte, b []byte) (int, error) {
	end := bytes.IndexByte(b[1:], '\n')
	if end < 0 {
		// A line that does not fit what is buffered: fetch more of it.
		var err error
		if b, err = m.longLine(); err != nil {
			return 0, err
		}
		end = len(b) - 1
	}
	line, n := b[1:1+end], 2+end
	if len(b) == 1+end {
		n = 0 // longLine has moved the position itself
	}
	switch op {
	case 'V':
		return n, m.pushText(rawUnicode(line))
	case 'p', 'g':
		i, err := strconv.ParseUint(string(line), 10, 32)
		if err != nil {
			return 0, fmt.Errorf("opcode %s: want a memo number, got %.40q", opcodes[op], line)
		}
		if op == 'p' {
			return n, m.memoize(uint32(i))
		}
		return n, m.recall(uint32(i))
	case 'F':
		f, err := strconv.ParseFloat(string(line), 64)
		if err != nil {
			return 0, fmt.Errorf("opcode FLOAT: want a number, got %.40q", line)
		}
		return n, m.pushFloat(f)
	}
	switch string(line) {
	case "00":
		return n, m.push(constFalse)
	case "01":
		return n, m.push(constTrue)
	}
	line = bytes.TrimSuffix(line, []byte("L"))
	return n, m.decimal(line)
}

// decimal pushes an integer in decimal digits.
func (m *machine) decimal(digits []byte) error {
	if v, err := strconv.ParseInt(string(digits), 10, 64); err == nil {
		return m.pushInt(v)
	}
	u, err := strconv.ParseUint(string(digits), 10, 64)
	switch {
	case err == nil:
		return m.pushUint(u)
	case errors.Is(err, strconv.ErrRange), len(digits) > 1 && digits[0] == '-' && isDigits(digits[1:]):
		return m.push(beyond)
	}
	return fmt.Errorf("want an integer, got %.40q", digits)
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// longLine reads from the opcode to the end of its line, the line feed left
// out, and moves the position behind it.
func (m *machine) longLine() ([]byte, error) {
	var b []byte
	in := m.in
	for {
		in.refill()
		have := in.buf[in.pos:in.end]
		if len(have) == 0 {
			return nil, errTruncated
		}
		end := bytes.IndexByte(have, '\n')
		if end >= 0 {
			have = have[:end]
		}
		b = append(b, have...)
		in.pos += len(have)
		if len(b) > maxString {
			return nil, fmt.Errorf("a line of more than %d bytes", maxString)
		}
		if end >= 0 {
			in.pos++
			return b, nil
		}
	}
}

// rawUnicode decodes Python's raw-unicode-escape: Latin-1 but for \uXXXX and
// \UXXXXXXXX.
func rawUnicode(line []byte) []byte {
	plain := true
	for _, c := range line {
		if c >= utf8.RuneSelf || c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return line
	}
	var out []byte
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c == '\\' && i+1 < len(line) && (line[i+1] == 'u' || line[i+1] == 'U') {
			digits := 4
			if line[i+1] == 'U' {
				digits = 8
			}
			if i+2+digits <= len(line) {
				if v, err := strconv.ParseUint(string(line[i+2:i+2+digits]), 16, 32); err == nil {
					out = utf8.AppendRune(out, rune(v))
					i += 1 + digits
					continue
				}
			}
		}
		out = utf8.AppendRune(out, rune(c))
	}
	return out
}
