package series

import (
	"errors"
	"io"
	"strings"

	"github.com/peakgate/peakgate/capture/lines"
	"github.com/peakgate/peakgate/measure"
)

// mprof reads the lines of mprof run. Each MEM line is a sample of the program, and
// the CHLD lines behind it (mprof run --multiprocess) are those of its children.
func (t *Table) mprof(l *lines.Reader) error {
	t.header, t.unit = "time", measure.XSeconds
	mem := &Column{Name: "mem", Header: "MEM", Unit: measure.ByteUnit, factor: 1 << 20}
	children := &Column{Name: "children", Header: "CHLD", Unit: measure.ByteUnit, factor: 1 << 20, Information: true}
	t.Columns = []*Column{mem}
	var x, start float64
	var sum int64
	counted := 0
	flush := func() {
		if counted > 0 {
			children.levels.Add(x, sum)
			children.rows++
		}
		sum, counted = 0, 0
	}
	commands := 0
	for {
		line, whole, err := l.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if !whole {
			t.warn("the last line, %d, has no end: it was cut off and is left out", l.N)
			break
		}
		cells, _ := blanks(nil, string(line))
		if len(cells) == 0 {
			continue
		}
		switch kind := cells[0].text; {
		case kind == "CMDLINE":
			if commands++; commands > 1 {
				return l.Fault(1, "a second CMDLINE line: two runs were written into one file; keep each in its own")
			}
		case kind == "MEM" && len(cells) == 3:
			flush()
			at, bad := t.next(cells[2].text, l.N)
			if bad != "" {
				return l.Fault(cells[2].column, "%s", bad)
			}
			if t.rows == 1 {
				start = at
			}
			x = at - start
			if bad := mem.add(x, cells[1].text); bad != "" {
				return l.Fault(cells[1].column, "%s", bad)
			}
		case kind == "CHLD" && len(cells) == 4:
			d, ok := parseDecimal(cells[2].text)
			n, _, fits := d.times(1 << 20)
			if !ok || !fits || n < 0 || sum+n < sum {
				return l.Fault(cells[2].column, "%s", notNumber("CHLD", cells[2].text))
			}
			sum += n
			counted++
		case kind == "MEM" || kind == "CHLD":
			return l.Fault(1, "want %s", map[string]string{"MEM": "MEM MIB SECONDS", "CHLD": "CHLD PID MIB SECONDS"}[kind])
		case kind == "FUNC":
		default:
			return l.Fault(1, "want a line MEM, CHLD, FUNC or CMDLINE of mprof, got %.40q", strings.TrimSpace(string(line)))
		}
	}
	flush()
	if children.rows > 0 {
		t.Columns = append(t.Columns, children)
		t.warn("the series children is a sum over processes: memory that they share is counted several times")
	}
	return t.finish()
}
