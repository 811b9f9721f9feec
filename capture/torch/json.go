package torch

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader turns JSON tokens into the machine's verbs: the same schema with
// the sharing lost, so the same interning brings it back.
type jsonReader struct {
	m     *machine
	in    *input
	text  []byte
	stack []bool // open containers; true for an object
}

// peek gives the next byte; ok is false at the end.
func (j *jsonReader) peek() (c byte, ok bool) {
	if j.in.pos == j.in.end {
		j.in.refill()
		if j.in.pos == j.in.end {
			return 0, false
		}
	}
	return j.in.buf[j.in.pos], true
}

func (j *jsonReader) space() (c byte, ok bool) {
	for {
		c, ok = j.peek()
		if !ok || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return c, ok
		}
		j.in.pos++
	}
}

// json reads one JSON value. Containers are tracked on a stack of their own:
// nothing recurses.
func (m *machine) json() error {
	j := &jsonReader{m: m, in: m.in}
	if err := j.run(); err != nil {
		return m.in.fail(m.in.offset(), err)
	}
	return nil
}

func (j *jsonReader) run() error {
	for {
		// A value.
		c, ok := j.space()
		if !ok {
			return errTruncated
		}
		opened := false
		switch {
		case c == '{' || c == '[':
			j.in.pos++
			if err := j.m.pushContainer(c == '{'); err != nil {
				return err
			}
			if err := j.m.pushMark(); err != nil {
				return err
			}
			j.stack = append(j.stack, c == '{')
			opened = true
		case c == '"':
			b, err := j.string()
			if err != nil {
				return err
			}
			if err := j.m.pushText(b); err != nil {
				return err
			}
		default:
			if err := j.scalar(c); err != nil {
				return err
			}
		}
		// What follows a value: the end of its containers, a comma, a key.
		for {
			if len(j.stack) == 0 {
				return nil
			}
			object := j.stack[len(j.stack)-1]
			c, ok := j.space()
			if !ok {
				return errTruncated
			}
			if object && c == '}' || !object && c == ']' {
				j.in.pos++
				j.stack = j.stack[:len(j.stack)-1]
				err := error(nil)
				if object {
					err = j.m.setBatch()
				} else {
					err = j.m.appendBatch()
				}
				if err != nil {
					return err
				}
				opened = false
				continue
			}
			if !opened {
				if c != ',' {
					return fmt.Errorf("want a comma or the end of the %s, got %q", containerNoun(object), c)
				}
				j.in.pos++
				if c, ok = j.space(); !ok {
					return errTruncated
				}
			}
			if !object {
				break
			}
			if c != '"' {
				return fmt.Errorf("want a key, got %q", c)
			}
			b, err := j.string()
			if err != nil {
				return err
			}
			if err := j.m.pushText(b); err != nil {
				return err
			}
			if c, ok = j.space(); !ok {
				return errTruncated
			}
			if c != ':' {
				return fmt.Errorf("want a colon after a key, got %q", c)
			}
			j.in.pos++
			break
		}
	}
}

// scalar reads a number, true, false or null.
func (j *jsonReader) scalar(c byte) error {
	j.text = j.text[:0]
	whole := true
	for {
		c, ok := j.peek()
		if !ok {
			return errTruncated // a snapshot does not end with a scalar
		}
		if !(c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			break
		}
		if !(c >= '0' && c <= '9' || c == '-') {
			whole = false
		}
		if len(j.text) == 512 {
			return errors.New("a number of more than 512 digits")
		}
		j.text = append(j.text, c)
		j.in.pos++
	}
	if len(j.text) == 0 {
		return fmt.Errorf("want a value, got %q", c)
	}
	if whole {
		return j.m.decimal(j.text)
	}
	switch string(j.text) {
	case "true":
		return j.m.push(constTrue)
	case "false":
		return j.m.push(constFalse)
	case "null":
		return j.m.push(constNone)
	}
	f, err := strconv.ParseFloat(string(j.text), 64)
	if err != nil || c != '-' && (c < '0' || c > '9') {
		return fmt.Errorf("want a value, got %.40q", j.text)
	}
	return j.m.pushFloat(f)
}

// string reads a string that begins at the position. The result is valid up to
// the next call.
func (j *jsonReader) string() ([]byte, error) {
	in := j.in
	in.pos++
	// Most strings lie in the buffer and hold no escape.
	for i, c := range in.buf[in.pos:in.end] {
		if c == '"' {
			b := in.buf[in.pos : in.pos+i]
			in.pos += i + 1
			return b, nil
		}
		if c == '\\' || c < ' ' {
			break
		}
	}
	j.text = j.text[:0]
	tooLong := false
	for {
		c, ok := j.peek()
		switch {
		case !ok:
			return nil, errTruncated
		case c == '"':
			in.pos++
			if tooLong {
				return []byte(unkeptText), nil
			}
			return j.text, nil
		case c < ' ':
			return nil, fmt.Errorf("control character %#02x in a string", c)
		case c == '\\':
			in.pos++
			if err := j.escape(); err != nil {
				return nil, err
			}
		default:
			in.pos++
			j.text = append(j.text, c)
		}
		if len(j.text) > maxString {
			tooLong, j.text = true, j.text[:0]
		}
	}
}

func (j *jsonReader) escape() error {
	c, ok := j.peek()
	if !ok {
		return errTruncated
	}
	j.in.pos++
	switch c {
	case '"', '\\', '/':
		j.text = append(j.text, c)
	case 'b':
		j.text = append(j.text, '\b')
	case 'f':
		j.text = append(j.text, '\f')
	case 'n':
		j.text = append(j.text, '\n')
	case 'r':
		j.text = append(j.text, '\r')
	case 't':
		j.text = append(j.text, '\t')
	case 'u':
		r, err := j.hex4()
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) {
			// The other half follows as an escape of its own, or it is alone.
			j.in.refill()
			if j.in.end-j.in.pos >= 6 && j.in.buf[j.in.pos] == '\\' && j.in.buf[j.in.pos+1] == 'u' {
				mark := j.in.pos
				j.in.pos += 2
				low, err := j.hex4()
				if err != nil {
					return err
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					j.in.pos = mark
				}
			} else {
				r = utf8.RuneError
			}
		}
		j.text = utf8.AppendRune(j.text, r)
	default:
		return fmt.Errorf("unknown escape \\%c in a string", c)
	}
	return nil
}

func (j *jsonReader) hex4() (rune, error) {
	j.in.refill()
	if j.in.end-j.in.pos < 4 {
		return 0, errTruncated
	}
	digits := j.in.buf[j.in.pos : j.in.pos+4]
	v, err := strconv.ParseUint(string(digits), 16, 32)
	if err != nil {
		return 0, fmt.Errorf("want four hexadecimal digits after \\u, got %q", digits)
	}
	j.in.pos += 4
	return rune(v), nil
}
