package series

import (
	"errors"
	"fmt"
	"io"

	"github.com/peakgate/peakgate/capture/lines"
)

// Read reads a file of series; name is for messages only. On error the table is nil.
func Read(r io.Reader, name string) (*Table, error) {
	l := lines.NewReader(r, name)
	head, err := l.Peek()
	if err != nil {
		return nil, err
	}
	t := &Table{Name: name}
	switch dialectOf(head) {
	case mprof:
		err = t.mprof(l)
	case jsonLines:
		err = t.jsonLines(l)
	case psrecordText:
		header, _, failed := l.Next()
		if failed != nil {
			return nil, failed
		}
		err = t.psrecord(l, string(header))
	case psrecordCSV:
		err = t.from(l, psrecordLayout)
	case prmon:
		err = t.from(l, prmonLayout)
	default:
		err = t.from(l, plainLayout)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// from reads a table whose header is the first line that says something.
func (t *Table) from(l *lines.Reader, form layout) error {
	for {
		line, _, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%s: no header line; want a column step or seconds, and columns %s", t.Name, unitNames)
		case err != nil:
			return err
		case passed(line):
			continue
		}
		return t.table(l, form, separated(separator(line)), line)
	}
}

// psrecord reads the form whose header is a comment and whose cells are padded.
func (t *Table) psrecord(l *lines.Reader, header string) error {
	cells, _ := separated('\t')(nil, wideBlanks(header))
	split := func(into []cell, line string) ([]cell, fault) {
		if into == nil {
			return cells, fault{}
		}
		return blanks(into, line)
	}
	return t.table(l, psrecordLayout, split, []byte(header))
}
