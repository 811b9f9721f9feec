package measure

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxDocument is the largest measurement file that Decode reads, in bytes. A
// measurement of a thousand modules is about 4 MB.
const MaxDocument = 256 << 20

// Decode reads one measurement from its JSON and validates it. name is for
// messages only.
func Decode(r io.Reader, name string) (*Measurement, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > MaxDocument {
		return nil, fmt.Errorf("%s: measurement of more than %s; want one that `peakgate measure` wrote", name, Bytes(MaxDocument))
	}
	m := New()
	m.Schema = "" // the file must say it
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("%s: %s", name, describeJSON(data, err))
	}
	if m.Schema != Schema {
		return nil, fmt.Errorf("%s: schema %.60q, want %q", name, m.Schema, Schema)
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// describeJSON gives a JSON error its line and column.
func describeJSON(data []byte, err error) string {
	offset := int64(-1)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	if offset < 0 || offset > int64(len(data)) {
		return "measurement: " + err.Error()
	}
	before := string(data[:offset])
	line := 1 + strings.Count(before, "\n")
	column := offset - int64(strings.LastIndexByte(before, '\n'))
	return fmt.Sprintf("line %d, column %d: measurement: %v", line, column, err)
}

// Validate checks what every consumer relies on: rows have either a value or a
// reason, identities are unique, and contributors belong to a row of theirs.
func (m *Measurement) Validate() error {
	seen := map[string]bool{}
	for i, r := range m.Rows {
		place := fmt.Sprintf("metrics[%d] %s", i, r.Name)
		entry, known := Lookup(r.Name)
		switch {
		case r.Name == "":
			return fmt.Errorf("metrics[%d]: no name", i)
		case r.Value == nil && r.NoData == "":
			return fmt.Errorf("%s: neither value nor no_data", place)
		case r.Value != nil && r.NoData != "":
			return fmt.Errorf("%s: both a value and no_data %q", place, r.NoData)
		case r.Value != nil && !r.Value.finite():
			return fmt.Errorf("%s: value is not finite", place)
		case known && r.Unit != entry.Unit:
			return fmt.Errorf("%s: unit %q, want %q", place, r.Unit, entry.Unit)
		}
		if r.Value != nil && r.Unit == ByteUnit {
			n, isInt := r.Value.Int64()
			if !isInt {
				return fmt.Errorf("%s: bytes must be an integer, got %v", place, r.Value.Float64())
			}
			if n < 0 {
				return fmt.Errorf("%s: %d bytes; a size is never negative", place, n)
			}
		}
		key := r.Name + "\x00" + r.Labels.Key()
		if seen[key] {
			return fmt.Errorf("%s: second row with the labels {%s}", place, r.Labels.Key())
		}
		seen[key] = true
	}
	keys := map[string]bool{}
	for i, c := range m.Contributors {
		place := fmt.Sprintf("contributors[%d] %q of %s", i, c.Key, c.Metric)
		row := c.Metric + "\x00" + c.Labels.Key()
		switch {
		case !seen[row]:
			return fmt.Errorf("%s: no row with the labels {%s}", place, c.Labels.Key())
		case keys[row+"\x00"+c.Key]:
			return fmt.Errorf("%s: second contributor with this key", place)
		}
		keys[row+"\x00"+c.Key] = true
	}
	for i, s := range m.Series {
		if err := s.Validate(); err != nil {
			return fmt.Errorf("series[%d] {%s}: %w", i, s.Labels.Key(), err)
		}
		key := "series\x00" + s.key() + "\x00" + s.Labels.Key()
		if seen[key] {
			return fmt.Errorf("series[%d]: second series with the labels {%s}", i, s.Labels.Key())
		}
		seen[key] = true
	}
	return nil
}
