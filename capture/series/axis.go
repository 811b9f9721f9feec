package series

import (
	"fmt"

	"github.com/peakgate/peakgate/measure"
)

// axis takes the x of each row in turn.
type axis struct {
	header string
	unit   measure.XUnit

	rows     int
	raw, gap float64 // the x before as written, and the last rise
	shift    float64
	x        float64
	restarts int
	first    int // line of the first restart
}

// next gives the x of a row. The text says what is wrong with it.
func (a *axis) next(cell string, line int) (x float64, bad string) {
	d, ok := parseDecimal(cell)
	if !ok {
		return 0, notNumber(a.header, cell)
	}
	raw, ok := d.float(cell)
	if !ok {
		return 0, fmt.Sprintf("%s: %s is too large", a.header, cell)
	}
	a.rows++
	switch {
	case a.rows == 1:
		a.gap = 1
	case raw < a.raw && a.unit == measure.XSeconds:
		return 0, fmt.Sprintf("%s: want at least %s as in the row before, got %s: time went back; write each run into a file of its own",
			a.header, short(a.raw), cell)
	case raw < a.raw:
		if a.restarts++; a.restarts == 1 {
			a.first = line
		}
		a.shift = a.x + a.gap - raw
	case raw > a.raw:
		a.gap = raw - a.raw
	}
	a.raw = raw
	if next := raw + a.shift; next > a.x || a.rows == 1 {
		a.x = next
	}
	return a.x, ""
}

func short(x float64) string { return fmt.Sprintf("%g", x) }
