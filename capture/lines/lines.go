// Package lines gives a text file line by line, for the readers of line formats.
// It holds one line, of at most MaxLine bytes, whatever the file. Its errors name
// file, line and column.
package lines

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line that is read, in bytes.
const MaxLine = 1 << 20

// Window is how much of the file Peek can show, in bytes.
const Window = 64 << 10

// Reader gives lines.
type Reader struct {
	// N is the number of the last line that Next gave, from 1.
	N int

	r    *bufio.Reader
	name string
	long []byte
}

// NewReader reads from r; name is for messages only.
func NewReader(r io.Reader, name string) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, Window), name: name}
}

// Peek shows the first bytes without reading them.
func (l *Reader) Peek() ([]byte, error) {
	head, err := l.r.Peek(Window)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", l.name, err)
	}
	return head, nil
}

// Next gives a line without its end, LF or CRLF, and the first without a byte
// order mark; whole is false for a last one that has no end. The error is io.EOF
// behind the last line. The bytes hold until the next call.
func (l *Reader) Next() (line []byte, whole bool, err error) {
	l.N++
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if l.long = append(l.long, part...); len(l.long) > MaxLine {
				return nil, false, l.Fault(1, "a line of more than %d bytes: want a text of lines", MaxLine)
			}
			continue // a line is longer than the limit by less than a window
		}
		line = part
		if len(l.long) > 0 {
			l.long = append(l.long, part...)
			line = l.long
		}
		switch {
		case err == nil:
			line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
		case !errors.Is(err, io.EOF):
			return nil, false, fmt.Errorf("%s:%d: %w", l.name, l.N, err)
		case len(line) == 0:
			return nil, false, io.EOF
		}
		if l.N == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		return line, err == nil, nil
	}
}

// Fault is an error at a column, from 1, of the last line.
func (l *Reader) Fault(column int, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", l.name, l.N, column, fmt.Sprintf(format, args...))
}
