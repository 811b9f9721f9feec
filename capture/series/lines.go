package series

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read, in bytes.
const maxLine = 1 << 20

// lines gives a file line by line.
type lines struct {
	r    *bufio.Reader
	name string
	n    int // number of the line, from 1
	long []byte
}

// next gives a line without its end; whole is false for a last one that has none.
// The error is io.EOF behind the last line. The bytes hold until the next call.
func (l *lines) next() (line []byte, whole bool, err error) {
	l.n++
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			if l.long = append(l.long, part...); len(l.long) > maxLine {
				return nil, false, l.fault(1, "line of more than %d bytes; want a table or one JSON object a line", maxLine)
			}
			continue // a buffer more than the limit at most
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
			return nil, false, fmt.Errorf("%s:%d: %w", l.name, l.n, err)
		case len(line) == 0:
			return nil, false, io.EOF
		}
		if l.n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		return line, err == nil, nil
	}
}

// fault is an error at a column of the line.
func (l *lines) fault(column int, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", l.name, l.n, column, fmt.Sprintf(format, args...))
}

// passed tells lines that say nothing: empty ones and comments.
func passed(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r")
	return len(line) == 0 || line[0] == '#'
}
