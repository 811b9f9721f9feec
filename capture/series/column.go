package series

import (
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Column is one column of numbers. Its levels are in bytes, or are counts.
type Column struct {
	// Name is that of its series; Header is what the file has.
	Name, Header string
	Unit         measure.Unit
	// Information marks what gets no growth row.
	Information bool

	levels  measure.Levels
	factor  uint64
	last    int64
	fell    bool // some level was below the one before
	places  int  // the most digits behind the point
	inexact bool // some level was no whole number of bytes
	rows    int  // that have a value
}

// units are the endings of column names.
var units = []struct {
	ending string
	factor uint64
}{
	{"bytes", 1}, {"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}, {"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"count", 1},
}

const unitNames = "NAME_bytes, NAME_kib, NAME_mib, NAME_gib, NAME_kb, NAME_mb, NAME_gb or NAME_count"

// columnOf reads the header of a column; it is nil for one without a unit.
func columnOf(header string) *Column {
	at := strings.LastIndexByte(header, '_')
	if at <= 0 {
		return nil
	}
	for _, u := range units {
		if header[at+1:] == u.ending {
			c := &Column{Name: header[:at], Header: header, Unit: measure.ByteUnit, factor: u.factor, Information: header[:at] == need}
			if u.ending == "count" {
				c.Unit = measure.Count
			}
			return c
		}
	}
	return nil
}

// add takes one cell; the text says what is wrong with it.
func (c *Column) add(x float64, cell string) string {
	d, ok := parseDecimal(cell)
	if !ok {
		return notNumber(c.Header, cell)
	}
	n, exact, ok := d.times(c.factor)
	switch {
	case !ok:
		return fmt.Sprintf("%s: %s is beyond 64 bits", c.Header, cell)
	case c.Unit == measure.Count && !exact:
		return fmt.Sprintf("%s: want a whole number, got %s", c.Header, cell)
	}
	c.places, c.inexact = max(c.places, d.places), c.inexact || !exact
	c.fell = c.fell || c.rows > 0 && n < c.last
	c.last = n
	c.rows++
	c.levels.Add(x, n)
	return ""
}

func notNumber(header, cell string) string {
	hint := ""
	switch lower := strings.ToLower(strings.TrimLeft(cell, "+-")); {
	case lower == "nan" || lower == "inf" || lower == "infinity":
		hint = "; leave it out where there is no number"
	case strings.ContainsRune(cell, ','):
		hint = "; write a point for decimals, and nothing between thousands"
	}
	return fmt.Sprintf("%s: want a number, got %.40q%s", header, cell, hint)
}

// highWater tells that the name is that of a maximum and that the levels never fall.
func (c *Column) highWater() bool {
	words := strings.FieldsFunc(strings.ToLower(c.Name), func(r rune) bool { return r == '_' || r == '.' || r == '/' || r == ' ' })
	return !c.fell && slices.ContainsFunc(words, func(w string) bool {
		return w == "peak" || w == "max" || w == "maxrss" || w == "hwm" || w == "highwater"
	})
}

// pageSize is the least that most tools can tell of a process: a coarser number is
// one that was rounded when it was written.
const pageSize = 4096

// resolution tells how much one step of the last digit is, where that is above a
// page and the numbers look rounded: 0.5 MiB is exact, 0.1 MiB is not.
func (c *Column) resolution() (measure.Bytes, bool) {
	step := c.factor
	for range min(c.places, 20) {
		step /= 10
	}
	return measure.Bytes(step), c.Unit == measure.ByteUnit && c.levels.NonZero && !c.Information && (c.inexact || c.places == 0) && step > pageSize
}
