package xla

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// keptLine is how much of the beginning of a line, and as much of its end, is
// kept. Names and sizes stand at the beginning, marks at the end; what lies
// between in a longer line are the members of a tuple's shape.
const keptLine = 32 << 10

// lines reads text line by line, lines of any length in bounded memory.
type lines struct {
	name string // of the file, for messages
	src  io.Reader
	buf  []byte
	r, w int
	err  error // of reading; sticky

	number int64  // of the current line, from 1
	line   []byte // the current line without its end: valid until next
	ended  bool   // the current line ends in a line break
	at     int    // position in line of what is parsed next
}

func newLines(r io.Reader, name string) *lines {
	return &lines{name: name, src: r, buf: make([]byte, windowBytes), line: make([]byte, 0, 2*keptLine)}
}

// next moves to the next line; it is false at the end of the file or on an error.
func (l *lines) next() bool {
	l.line, l.at, l.ended = l.line[:0], 0, false
	l.number++
	for empty := 0; l.err == nil; {
		if i := bytes.IndexByte(l.buf[l.r:l.w], '\n'); i >= 0 {
			l.keep(l.buf[l.r : l.r+i])
			l.r += i + 1
			l.ended = true
			l.line = bytes.TrimSuffix(l.line, []byte("\r"))
			return true
		}
		l.keep(l.buf[l.r:l.w])
		l.r = 0
		n, err := l.src.Read(l.buf)
		l.w = max(n, 0)
		switch {
		case errors.Is(err, io.EOF) && n <= 0:
			return len(l.line) > 0
		case err != nil && !errors.Is(err, io.EOF):
			l.err = fmt.Errorf("%s:%d: %w", l.name, l.number, err)
		case n > 0:
			empty = 0
		default:
			if empty++; empty == 100 {
				l.err = fmt.Errorf("%s:%d: %w", l.name, l.number, io.ErrNoProgress)
			}
		}
	}
	return false
}

// keep adds to the current line, and drops its middle where it is too long.
func (l *lines) keep(part []byte) {
	l.line = append(l.line, part...)
	if extra := len(l.line) - 2*keptLine; extra > 0 {
		l.line = append(l.line[:keptLine], l.line[len(l.line)-keptLine:]...)
	}
}

// drain reads the rest, so that a damaged end is seen.
func (l *lines) drain() error {
	if l.err == nil {
		if _, err := io.Copy(io.Discard, l.src); err != nil {
			l.err = fmt.Errorf("%s: after line %d: %w", l.name, l.number, err)
		}
	}
	return l.err
}

// fail makes an error of the place that is parsed.
func (l *lines) fail(format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %s", l.name, l.number, l.at+1, fmt.Sprintf(format, args...))
}

// found is the text at the place that is parsed, for messages.
func (l *lines) found() string {
	if l.at >= len(l.line) {
		return "the end of the line"
	}
	return strconv.Quote(clip(string(l.line[l.at:min(len(l.line), l.at+24)]), 24))
}

// eat passes over a text if it comes next.
func (l *lines) eat(text string) bool {
	if len(l.line)-l.at < len(text) || string(l.line[l.at:l.at+len(text)]) != text {
		return false
	}
	l.at += len(text)
	return true
}

// want passes over a text that must come next.
func (l *lines) want(text string) error {
	if !l.eat(text) {
		return l.fail("want %q, found %s", text, l.found())
	}
	return nil
}

// integer reads a number from 0 to most.
func (l *lines) integer(what string, most int64) (int64, error) {
	n, start := int64(0), l.at
	for ; l.at < len(l.line) && l.line[l.at] >= '0' && l.line[l.at] <= '9'; l.at++ {
		digit := int64(l.line[l.at] - '0')
		if n > (math.MaxInt64-digit)/10 || n*10+digit > most {
			l.at = start
			return 0, l.fail("%s: want a number from 0 to %d, found %s", what, most, l.found())
		}
		n = n*10 + digit
	}
	if l.at == start {
		return 0, l.fail("%s: want a number, found %s", what, l.found())
	}
	return n, nil
}
