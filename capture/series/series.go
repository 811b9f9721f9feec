package series

import (
	"fmt"
	"strings"
)

// Format is the name of this format in a measurement, whichever tool wrote it.
const Format = "series.csv"

// Table is a file of series.
type Table struct {
	// Name is the file's, for messages.
	Name string
	// Columns are in the order of the header.
	Columns []*Column
	// Warnings tell what was passed over.
	Warnings []string

	axis
	xCell int // which cell of a row is x
	blank int // rows without x
}

// maxColumns bounds the columns of one file.
const maxColumns = 256

// addColumn appends a column; the text says what is wrong with it.
func (t *Table) addColumn(c *Column) string {
	for _, have := range t.Columns {
		if have.Name == c.Name && have.Unit == c.Unit {
			return fmt.Sprintf("%s: a second column for the series %.60q, which %s gives already", clip(c.Header), c.Name, clip(have.Header))
		}
	}
	if t.Columns = append(t.Columns, c); len(t.Columns) > maxColumns {
		return fmt.Sprintf("more than %d columns of series", maxColumns)
	}
	return ""
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:57] + "..."
	}
	return s
}

// finish checks the whole, once all rows are read.
func (t *Table) finish() error {
	switch {
	case t.rows == 0:
		return fmt.Errorf("%s: no row with a %s: the writer was interrupted or has not run", t.Name, t.header)
	case 4*t.restarts > t.rows:
		return fmt.Errorf("%s: %s falls %d times in %d rows; want rows in the order of time, and each process in a file of its own",
			t.Name, t.header, t.restarts, t.rows)
	}
	if t.restarts > 0 {
		t.warn("%s falls %s, first on line %d (a new epoch, or a resumed run): it is counted on from there", t.header, times(t.restarts), t.first)
	}
	if t.blank > 0 {
		t.warn("rows without a %s are left out: %d of %d", t.header, t.blank, t.blank+t.rows)
	}
	for _, c := range t.Columns {
		if step, coarse := c.resolution(); coarse {
			decimals := "decimals"
			if c.places == 1 {
				decimals = "decimal"
			}
			t.warn("%s has %d %s: its levels are known to %s", clip(c.Header), c.places, decimals, step)
		}
	}
	return nil
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func (t *Table) warn(format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

// ignored tells which columns have no unit.
func (t *Table) ignored(headers []string) {
	if len(headers) == 0 {
		return
	}
	shown := headers[:min(len(headers), 8)]
	more := ""
	if n := len(headers) - len(shown); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	for i := range shown {
		shown[i] = fmt.Sprintf("%.40q", shown[i])
	}
	t.warn("columns without a unit are not read: %s%s", strings.Join(shown, ", "), more)
}
