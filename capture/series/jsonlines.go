package series

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/capture/lines"
)

// jsonLines reads one object a line. Keys come and go: a column is made when its key
// first has a value.
func (t *Table) jsonLines(l *lines.Reader) error {
	columns := map[string]*Column{} // nil: a key without a unit
	var ignored []string
	for {
		line, whole, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			slices.Sort(ignored)
			t.ignored(ignored)
			if err := t.finish(); err != nil {
				return err
			}
			if len(t.Columns) == 0 {
				return l.Fault(1, "no key with a unit has a value: want one of %s", unitNames)
			}
			return nil
		case err != nil:
			return err
		case passed(line):
			continue
		}
		object, err := decode(line)
		if err != nil {
			if !whole {
				t.warn("the last line, %d, has no end: it was cut off and is left out", l.N)
				continue
			}
			at, what := jsonColumn(err), err.Error()
			return l.Fault(at, "want one JSON object a line: %s", what)
		}
		x, bad := t.jsonX(object, l.N)
		if bad != "" {
			return l.Fault(keyColumn(line, t.header), "%s", bad)
		}
		if x == nil {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			c, seen := columns[key]
			if !seen {
				c = columnOf(key)
				columns[key] = c
				if c == nil && key != "step" && key != "seconds" && len(ignored) < maxColumns {
					ignored = append(ignored, key)
				} else if len(columns) > 16*maxColumns {
					return l.Fault(1, "more than %d different keys", 16*maxColumns)
				}
			}
			text := string(object[key])
			if c == nil || text == "null" {
				continue
			}
			if c.rows == 0 {
				if bad := t.addColumn(c); bad != "" {
					return l.Fault(keyColumn(line, key), "%s", bad)
				}
			}
			if bad := c.add(*x, text); bad != "" {
				return l.Fault(keyColumn(line, key), "%s", bad)
			}
		}
	}
}

// noNumbers are words that Python writes where JSON has no number.
var noNumbers = []string{"NaN", "Infinity", "-Infinity"}

// decode reads one object. A value may be one of the words: a column that is read
// refuses it, and a loss may be NaN.
func decode(line []byte) (object map[string]json.RawMessage, err error) {
	if err = json.Unmarshal(line, &object); err == nil {
		return object, nil
	}
	quoted := make([]byte, 0, len(line)+64)
	for at, inside := 0, false; at < len(line); at++ {
		switch c := line[at]; {
		case inside && c == '\\' && at+1 < len(line):
			quoted = append(quoted, c)
			at++
		case c == '"':
			inside = !inside
		case !inside:
			word := noNumberAt(line[at:])
			if word != "" {
				quoted = append(quoted, strconv.Quote(word)...)
				at += len(word) - 1
				continue
			}
		}
		quoted = append(quoted, line[at])
	}
	object = nil // what the first attempt left there
	if len(quoted) == len(line) || json.Unmarshal(quoted, &object) != nil {
		return nil, err
	}
	for key, v := range object {
		if word := strings.Trim(string(v), `"`); slices.Contains(noNumbers, word) {
			object[key] = json.RawMessage(word)
		}
	}
	return object, nil
}

func noNumberAt(b []byte) string {
	for _, word := range noNumbers {
		if bytes.HasPrefix(b, []byte(word)) {
			return word
		}
	}
	return ""
}

// jsonX gives the x of an object, nil where it has none. The first object that has
// one decides between steps and seconds.
func (t *Table) jsonX(object map[string]json.RawMessage, line int) (*float64, string) {
	if t.header == "" {
		for _, h := range plainLayout.x {
			if v, ok := object[h.name]; ok && string(v) != "null" {
				t.header, t.unit = h.name, h.unit
				break
			}
		}
	}
	text, ok := object[t.header]
	if t.header == "" || !ok || string(text) == "null" {
		t.blank++
		return nil, ""
	}
	x, bad := t.next(string(text), line)
	return &x, bad
}

// jsonColumn is where in the line the JSON is wrong.
func jsonColumn(err error) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return max(int(syntax.Offset), 1)
	}
	return 1
}

// keyColumn is where in the line a key stands.
func keyColumn(line []byte, key string) int {
	name, err := json.Marshal(key)
	if err != nil {
		return 1
	}
	return max(bytes.Index(line, name), 0) + 1
}
