package xla

import (
	"bytes"
	"fmt"
	"io"
	"math"

	"github.com/peakgate/peakgate/measure"
)

// SpaceTotal is the sum of all allocations of one memory space, thread-local ones
// included, as a memory usage report of XLA tells it.
type SpaceTotal struct {
	Space MemorySpace
	// All is set where the report (before jaxlib 0.9) does not tell memory spaces
	// apart: it is the sum of all.
	All   bool
	Bytes int64
}

// Lines of *-memory-usage-report.txt. Before jaxlib 0.9 it began with the total of
// all memory spaces; since then each space has a title, its total and one table an
// allocation, whose numbers are rounded for people.
const (
	oldReportTitle = "Total bytes used: "
	oldReportList  = "Allocations sorted by size:"
	oldReportLast  = "Allocations sorted by size with their values:"
	reportTitle    = "Memory Space: "
	reportTotal    = "Total bytes: "
	reportTable    = "  cumulative_size;"
)

// textReport reads a *-memory-usage-report.txt.
func textReport(r io.Reader, name string) ([]SpaceTotal, error) {
	l := newLines(r, name)
	var totals []SpaceTotal
	var blank int // empty lines at the end of what was read
	ended, last, old := false, false, false
	for l.next() {
		var err error
		ended = l.ended
		if len(l.line) == 0 {
			blank++
			continue
		}
		blank = 0
		switch {
		case l.number == 1 && l.eat(oldReportTitle):
			old = true
			var n int64
			if n, err = l.integer("total", maxSize); err == nil {
				totals, err = append(totals, SpaceTotal{All: true, Bytes: n}), l.want(" (")
			}
		case old:
			last = last || string(l.line) == oldReportLast
		case l.eat(reportTitle):
			var t SpaceTotal
			if t, err = spaceTotal(l); err == nil {
				for _, other := range totals {
					if other.Space == t.Space {
						err = l.fail("memory space %d occurs twice", t.Space)
					}
				}
				totals = append(totals, t)
			}
		case len(totals) > 0 && bytes.HasPrefix(l.line, []byte("  ")):
		default:
			err = l.fail("want %q, found %s", reportTitle, l.found())
		}
		if err != nil {
			return nil, err
		}
		if len(totals) > maxSpaces {
			return nil, l.fail("more than %d memory spaces", maxSpaces)
		}
	}
	switch {
	case l.err != nil:
		return nil, l.err
	case !ended || old && !last || !old && blank < 2: // every space ends in two empty lines
		return nil, fmt.Errorf("%s:%d: the file ends within its tables: it is cut off", name, l.number)
	}
	return totals, nil
}

// spaceTotal reads "default (color=0)" and the line below it.
func spaceTotal(l *lines) (t SpaceTotal, err error) {
	const color = " (color="
	i := bytes.LastIndex(l.line, []byte(color))
	if i < l.at {
		return t, l.fail("want a name and (color=…), found %s", l.found())
	}
	l.at = i + len(color)
	n, err := l.integer("color", math.MaxInt32)
	if err != nil {
		return t, err
	}
	t.Space = MemorySpace(n)
	if err := l.want(")"); err != nil {
		return t, err
	}
	if !l.next() {
		return t, l.fail("the file ends before the total of memory space %d: it is cut off", t.Space)
	}
	if err := l.want(reportTotal); err != nil {
		return t, err
	}
	if t.Bytes, err = l.integer("total", maxSize); err != nil {
		return t, err
	}
	return t, l.want(" (")
}

// protoReport reads a *-memory-usage-report.pb (jaxlib 0.9.2 and later): for each
// memory space {1: total, 2: color, 3: repeated allocation {1: index, 2: size, …}}. XLA
// leaves small allocations out of the list, so its sum is a lower bound.
func (p *parser) protoReport() []SpaceTotal {
	var totals []SpaceTotal
	for p.enter(""); p.next(); {
		if p.num != 1 {
			continue
		}
		var t SpaceTotal
		var listed int64
		at := p.at
		for p.enter("memory_spaces"); p.next(); {
			switch p.num {
			case 1:
				if t.Bytes = p.int(); !sane(t.Bytes) {
					p.fail(p.at, insane, t.Bytes, int64(maxSize))
				}
			case 2:
				t.Space = MemorySpace(p.int())
			case 3:
				for l := p.leaf("allocations"); l.next(); {
					if l.num == 2 {
						listed += min(l.size(), math.MaxInt64-listed)
					}
				}
			}
		}
		if listed > t.Bytes {
			p.fail(at, "memory space %s: its allocations have %d bytes, more than its total of %d", t.Space, listed, t.Bytes)
		}
		for _, other := range totals {
			if other.Space == t.Space {
				p.fail(at, "memory space %s occurs twice", t.Space)
			}
		}
		if totals = append(totals, t); len(totals) > maxSpaces {
			p.fail(at, "more than %d memory spaces", maxSpaces)
		}
	}
	return totals
}

// Label values of source: numbers that are no plan's, though they look like one's.
const (
	sourceReport = "usage_report"
	sourceStats  = "memory_analysis"
)

// reportRows gives what a memory usage report tells. The label source keeps its
// numbers apart from those of a plan, which leave thread-local memory out.
func (c *Capture) reportRows(out *measure.Measurement) {
	for _, t := range c.Totals {
		labels := measure.Labels{"source": sourceReport}
		if !t.All {
			labels["memory_space"] = t.Space.String()
		}
		out.Rows = append(out.Rows,
			measure.NewRow("plan.total_bytes", labels, measure.Int(t.Bytes)),
			measure.Absent("plan.need_bytes", labels, "XLA's memory usage report tells totals alone; dump protos (XLA_FLAGS=--xla_dump_hlo_as_proto)"))
	}
	if len(c.Totals) > 0 {
		out.Warnings = append(out.Warnings, "totals of XLA's memory usage report (source=usage_report) include thread-local memory, which plan.total_bytes of a plan leaves out")
	}
}

// Doubtful reports whether the capture holds a plan whose completeness it cannot
// show by itself: its rows have no values until Confirm.
func (c *Capture) Doubtful() bool {
	for _, m := range c.Modules {
		if m.doubt != "" {
			return true
		}
	}
	return false
}

// Confirm compares a doubtful plan with the memory usage report of the same
// module: they agree to the byte, or one of them is damaged.
func (c *Capture) Confirm(report *Capture) error {
	if len(report.Totals) == 0 {
		return fmt.Errorf("%s: want the memory usage report of %s, found none of its totals", report.Name, c.Name)
	}
	for _, m := range c.Modules {
		sums := map[MemorySpace]int64{}
		var all int64
		for i := range m.Assignment.Allocations {
			al := &m.Assignment.Allocations[i]
			sums[al.Space] += al.SizeBytes
			all += al.SizeBytes
		}
		for _, t := range report.Totals {
			sum := sums[t.Space]
			if t.All {
				sum, sums = all, nil
			}
			if sum != t.Bytes {
				return fmt.Errorf("%s: its allocations have %d bytes, %s says %d: one of the two is cut off or stale", c.Name, sum, report.Name, t.Bytes)
			}
			delete(sums, t.Space)
		}
		for space, sum := range sums {
			if sum != 0 {
				return fmt.Errorf("%s: %d bytes are in memory space %s, of which %s says nothing: one of the two is cut off or stale", c.Name, sum, space, report.Name)
			}
		}
		m.doubt = ""
	}
	return nil
}
