package torch

import (
	"errors"
	"fmt"
	"io"
)

const (
	bufferSize = 64 << 10
	// lowWater is how many bytes refill leaves at least before the end of the
	// input: enough for any opcode with its argument but for long strings.
	lowWater = 512
	// maxString is the longest string whose text is kept; longer ones are
	// skipped. The longest that a reader needs are C++ symbols of a few KiB.
	maxString = 1 << 20
)

// input reads ahead into one buffer and knows its place in the file.
type input struct {
	r    io.Reader
	name string
	size int64 // of the whole file; -1 if unknown
	buf  []byte
	pos  int   // next byte in buf
	end  int   // end of the bytes in buf
	base int64 // offset of buf[0] in the file
	eof  bool
	err  error // a read error other than io.EOF
}

func newInput(r io.Reader, size int64, name string) *input {
	n := bufferSize
	if size >= 0 {
		n = int(min(int64(n), size+1)) // one more shows the end without another read
	}
	return &input{r: r, name: name, size: size, buf: make([]byte, max(n, lowWater))}
}

// offset is the place of the next byte in the file.
func (in *input) offset() int64 { return in.base + int64(in.pos) }

// refill makes at least lowWater bytes ready unless the input ends before that.
func (in *input) refill() {
	if in.end-in.pos >= lowWater || in.eof {
		return
	}
	copy(in.buf, in.buf[in.pos:in.end])
	in.base += int64(in.pos)
	in.end -= in.pos
	in.pos = 0
	for empty := 0; in.end < lowWater && !in.eof; {
		n, err := in.r.Read(in.buf[in.end:])
		in.end += n
		if n == 0 && err == nil {
			if empty++; empty > 100 {
				err = io.ErrNoProgress
			}
		}
		if err != nil {
			in.eof = true
			if !errors.Is(err, io.EOF) {
				in.err = err
			}
		}
	}
}

// long reads n bytes that may go beyond the buffer. Memory grows with what was
// read, never with the length that the file claims; the text of a string over
// maxString is skipped and nil is returned.
func (in *input) long(n uint64) (b []byte, err error) {
	if in.size >= 0 && n > uint64(max(in.size-in.offset(), 0)) {
		return nil, fmt.Errorf("length %d exceeds the %d bytes left", n, in.size-in.offset())
	}
	for keep := n <= maxString; n > 0; {
		in.refill()
		k := min(n, uint64(in.end-in.pos))
		if k == 0 {
			return nil, errTruncated
		}
		if keep {
			b = append(b, in.buf[in.pos:in.pos+int(k)]...)
		}
		in.pos += int(k)
		n -= k
	}
	return b, nil
}

// rest counts the bytes up to the end of the input and keeps the first few.
func (in *input) rest() (first []byte, n int64) {
	for {
		in.refill()
		if in.pos == in.end {
			return first, n
		}
		if len(first) < 16 {
			first = append(first, in.buf[in.pos:min(in.end, in.pos+16)]...)
		}
		n += int64(in.end - in.pos)
		in.pos = in.end
	}
}

var errTruncated = errors.New("the file ends in the middle of the snapshot: truncated, the dump was interrupted")

// fail puts file and place before a message. A read error wins over what the
// reader made of the bytes before it.
func (in *input) fail(offset int64, err error) error {
	if in.err != nil {
		return fmt.Errorf("%s: offset %#x: read: %w", in.name, in.base+int64(in.end), in.err)
	}
	return fmt.Errorf("%s: offset %#x: %w", in.name, offset, err)
}
