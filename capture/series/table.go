package series

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/capture/lines"
	"github.com/peakgate/peakgate/measure"
)

// layout tells how the columns of a table are named.
type layout struct {
	// x are the headers of columns that can be x, the first that is there is it.
	x []xHeader
	// column gives the column of a header, nil for one that is not read.
	column func(header string) *Column
	// own tells that the columns that are not read are said.
	own bool
}

type xHeader struct {
	name string
	unit measure.XUnit
}

var plainLayout = layout{
	x:      []xHeader{{"step", measure.XStep}, {"seconds", measure.XSeconds}},
	column: columnOf,
	own:    true,
}

var psrecordLayout = layout{
	x: []xHeader{{"elapsed_time", measure.XSeconds}, {"Elapsed time", measure.XSeconds}},
	column: known(map[string]Column{
		"mem_real": {Name: "mem_real", factor: 1 << 20}, "Real (MB)": {Name: "mem_real", factor: 1 << 20},
		"mem_virtual": {Name: "mem_virtual", factor: 1 << 20, Information: true}, "Virtual (MB)": {Name: "mem_virtual", factor: 1 << 20, Information: true},
		"USS (MB)": {Name: "mem_uss", factor: 1 << 20, Information: true},
		"nproc":    {Name: "nproc", factor: 1, Unit: measure.Count, Information: true},
	}),
}

// prmonLayout also fits prmon before 1.1, whose names are in capitals.
var prmonLayout = layout{
	x: []xHeader{{"wtime", measure.XSeconds}},
	column: func(header string) *Column {
		return known(map[string]Column{
			"pss":      {Name: "pss", factor: 1 << 10},
			"rss":      {Name: "rss", factor: 1 << 10, Information: true},
			"swap":     {Name: "swap", factor: 1 << 10, Information: true},
			"vmem":     {Name: "vmem", factor: 1 << 10, Information: true},
			"nprocs":   {Name: "nprocs", factor: 1, Unit: measure.Count, Information: true},
			"nthreads": {Name: "nthreads", factor: 1, Unit: measure.Count, Information: true},
		})(strings.ToLower(header))
	},
}

func known(columns map[string]Column) func(string) *Column {
	return func(header string) *Column {
		c, ok := columns[header]
		if !ok {
			return nil
		}
		c.Header = header
		if c.Unit == "" {
			c.Unit = measure.ByteUnit
		}
		return &c
	}
}

// table reads a header line and rows.
func (t *Table) table(l *lines.Reader, form layout, split splitter, header []byte) error {
	cells, bad := split(nil, string(header))
	if bad.text != "" {
		return l.Fault(bad.column, "%s", bad.text)
	}
	at, err := t.head(l, form, cells)
	if err != nil {
		return err
	}
	width := len(cells)
	for {
		line, whole, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			return t.finish()
		case err != nil:
			return err
		case passed(line):
			continue
		case !whole:
			t.warn("the last line, %d, has no end: it was cut off and is left out", l.N)
			continue
		}
		cells, bad = split(cells[:0], string(line))
		if bad.text != "" {
			return l.Fault(bad.column, "%s", bad.text)
		}
		if len(cells) != width {
			return l.Fault(1, "want %d cells as in the header, got %d", width, len(cells))
		}
		if err := t.row(l, at, cells); err != nil {
			return err
		}
	}
}

// head finds x and the columns; at gives for each cell its column, x for the
// axis, nil for none.
func (t *Table) head(l *lines.Reader, form layout, cells []cell) (at []*Column, err error) {
	at = make([]*Column, len(cells))
	t.xCell = -1
	for _, x := range form.x {
		if i := slices.IndexFunc(cells, func(c cell) bool { return c.text == x.name }); i >= 0 {
			t.xCell, t.header, t.unit = i, x.name, x.unit
			break
		}
	}
	if t.xCell < 0 {
		return nil, l.Fault(1, "want a column step or seconds, got %s", list(cells))
	}
	var ignored []string
	for i, c := range cells {
		if i == t.xCell {
			continue
		}
		if at[i] = form.column(c.text); at[i] == nil {
			if !slices.ContainsFunc(form.x, func(x xHeader) bool { return x.name == c.text }) {
				ignored = append(ignored, c.text)
			}
			continue
		}
		if bad := t.addColumn(at[i]); bad != "" {
			return nil, l.Fault(c.column, "%s", bad)
		}
	}
	if len(t.Columns) == 0 {
		return nil, l.Fault(1, "no column has a unit: want one of %s, got %s", unitNames, list(cells))
	}
	if form.own {
		t.ignored(ignored)
	}
	return at, nil
}

func (t *Table) row(l *lines.Reader, at []*Column, cells []cell) error {
	if cells[t.xCell].text == "" {
		t.blank++
		return nil
	}
	x, bad := t.next(cells[t.xCell].text, l.N)
	if bad != "" {
		return l.Fault(cells[t.xCell].column, "%s", bad)
	}
	for i, c := range at {
		if c == nil || cells[i].text == "" {
			continue
		}
		if bad := c.add(x, cells[i].text); bad != "" {
			return l.Fault(cells[i].column, "%s", bad)
		}
	}
	return nil
}

func list(cells []cell) string {
	names := make([]string, 0, 9)
	for _, c := range cells {
		if len(names) == 8 {
			names = append(names, fmt.Sprintf("and %d more", len(cells)-8))
			break
		}
		names = append(names, fmt.Sprintf("%.40q", c.text))
	}
	return strings.Join(names, ", ")
}
