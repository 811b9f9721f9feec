package affon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// errTorn tells that the text ends inside of a value.
var errTorn = errors.New("the file is cut off here")

// fault is an error at a place.
type fault struct {
	at   int
	what string
}

func (f *fault) Error() string { return fmt.Sprintf("offset %d: %s", f.at, f.what) }

// cursor walks over JSON text. It keeps to the structure that the reader asks for, so
// it recurses no deeper than that; values nobody asks for are skipped without
// recursion.
type cursor struct {
	text []byte
	at   int
}

func (c *cursor) fail(at int, format string, args ...any) error {
	return &fault{at, fmt.Sprintf(format, args...)}
}

// peek gives the next byte that is no white space; it is an error at the end.
func (c *cursor) peek() (byte, error) {
	for c.at < len(c.text) {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return b, nil
		}
	}
	return 0, errTorn
}

// each walks over the elements of a container. It calls item where each begins, and
// item takes it.
func (c *cursor) each(open, shut byte, item func() error) error {
	b, err := c.peek()
	if err != nil {
		return err
	}
	if b != open {
		return c.want(string(open))
	}
	c.at++
	for n := 0; ; n++ {
		if b, err = c.peek(); err != nil {
			return err
		}
		if b == shut {
			c.at++
			return nil
		}
		if n > 0 {
			if b != ',' {
				return c.want(fmt.Sprintf(`"," or %q`, string(shut)))
			}
			c.at++
		}
		if err := item(); err != nil {
			return err
		}
	}
}

// array calls item at each element.
func (c *cursor) array(item func() error) error { return c.each('[', ']', item) }

// object calls value at the value of each key, which is valid up to the next one.
func (c *cursor) object(value func(key []byte) error) error {
	return c.each('{', '}', func() error {
		key, err := c.string()
		if err != nil {
			return err
		}
		b, err := c.peek()
		if err != nil {
			return err
		}
		if b != ':' {
			return c.want(`":" after a key`)
		}
		c.at++
		return value(key)
	})
}

// want is the error of a value that is another than it should be.
func (c *cursor) want(what string) error {
	b, err := c.peek()
	if err != nil {
		return err
	}
	found := strconv.QuoteToASCII(string(rune(b)))
	switch {
	case b == '{':
		found = "an object"
	case b == '[':
		found = "an array"
	case b == '"':
		found = "a string"
	case b == '-' || b >= '0' && b <= '9':
		found = "a number"
	}
	return c.fail(c.at, "want %s, found %s", what, found)
}

// maxText is the longest string that is looked at, in bytes; a longer one is none
// that is known.
const maxText = 4 << 10

// string takes a string. The result may lie in the text, and need not be UTF-8.
func (c *cursor) string() ([]byte, error) {
	b, err := c.peek()
	if err != nil {
		return nil, err
	}
	if b != '"' {
		return nil, c.want("a string")
	}
	from := c.at
	plain := true
	for i := from + 1; i < len(c.text); i++ {
		switch c.text[i] {
		case '\\':
			i++
			plain = false
		case '"':
			c.at = i + 1
			raw := c.text[from:c.at]
			if len(raw) > maxText {
				return nil, nil
			}
			if plain {
				return raw[1 : len(raw)-1], nil
			}
			var s string
			if err := json.Unmarshal(raw, &s); err != nil {
				return nil, c.fail(from, "want a string, found one with a wrong escape")
			}
			return []byte(s), nil
		}
	}
	c.at = len(c.text)
	return nil, errTorn
}

// scalar takes a number, true, false or null as it is written.
func (c *cursor) scalar() ([]byte, error) {
	if _, err := c.peek(); err != nil {
		return nil, err
	}
	from := c.at
	for c.at < len(c.text) {
		b := c.text[c.at]
		if b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '-' || b == '+' || b == '.' {
			c.at++
			continue
		}
		break
	}
	word := c.text[from:c.at]
	switch {
	case len(word) == 0:
		return nil, c.want("a value")
	case string(word) == "true" || string(word) == "false" || string(word) == "null" || isNumber(word):
		return word, nil
	}
	c.at = from
	return nil, c.fail(from, "want a value, found %.40q", word)
}

// isNumber tells what JSON calls a number (and one with zeros before it): no NaN, no
// Infinity, no hexadecimals.
func isNumber(word []byte) bool {
	word = bytes.TrimPrefix(word, []byte("-"))
	rest := digits(word)
	if len(rest) == len(word) {
		return false
	}
	if len(rest) > 1 && rest[0] == '.' {
		fraction := rest[1:]
		if rest = digits(fraction); len(rest) == len(fraction) {
			return false
		}
	}
	if len(rest) > 1 && rest[0]|0x20 == 'e' {
		power := rest[1:]
		if power[0] == '+' || power[0] == '-' {
			power = power[1:]
		}
		if rest = digits(power); len(rest) == len(power) {
			return false
		}
	}
	return len(rest) == 0
}

// digits gives what comes behind the digits that a text begins with.
func digits(text []byte) []byte {
	for len(text) > 0 && text[0] >= '0' && text[0] <= '9' {
		text = text[1:]
	}
	return text
}

// number takes a number, or null, for which known is false. What is no whole number
// from 0 to maxValue is odd, and n is then 0.
func (c *cursor) number() (n int64, known, odd bool, err error) {
	b, err := c.peek()
	if err != nil {
		return 0, false, false, err
	}
	if b != '-' && b != 'n' && (b < '0' || b > '9') {
		return 0, false, false, c.want("a number")
	}
	word, err := c.scalar()
	if err != nil || string(word) == "null" {
		return 0, false, false, err
	}
	n, err = strconv.ParseInt(string(word), 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(string(word), 64)
		if n = int64(min(f, 2*maxValue)); err != nil || f < 0 || float64(n) != f {
			return 0, true, true, nil
		}
	}
	if n < 0 || n > maxValue {
		return 0, true, true, nil
	}
	return n, true, false, nil
}

// maxValue bounds bytes and counts: more than any machine has, and so small that many
// of them can be added.
const maxValue = 1 << 56

// skip passes over one value of any kind.
func (c *cursor) skip() error {
	var open []byte // what closes the containers that are open
	for {
		b, err := c.peek()
		if err != nil {
			return err
		}
		switch {
		case b == '{':
			open = append(open, '}')
			c.at++
		case b == '[':
			open = append(open, ']')
			c.at++
		case len(open) > 0 && b == open[len(open)-1]:
			open = open[:len(open)-1]
			c.at++
		case len(open) > 0 && (b == ',' || b == ':'):
			c.at++
			continue
		case b == '"':
			if _, err := c.string(); err != nil {
				return err
			}
		default:
			if _, err := c.scalar(); err != nil {
				return err
			}
		}
		if len(open) == 0 {
			return nil
		}
	}
}
