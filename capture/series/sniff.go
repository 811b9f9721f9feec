package series

import (
	"bytes"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/capture/lines"
)

// dialect is how a file is written.
type dialect int

const (
	unknown dialect = iota
	plainTable
	jsonLines
	mprof
	psrecordText
	psrecordCSV
	prmon
)

// Sniff tells from the first bytes of a file (64 KiB are plenty) whether it is a
// file of series: its header has a column of x and one with a unit, or it is one of
// a tool that is known. A table that lacks either is none; [Hint] tells what.
func Sniff(head []byte) (format string, ok bool) {
	if dialectOf(head) == unknown {
		return "", false
	}
	return Format, true
}

// Hint says of a table that Sniff refuses what it lacks, else it is empty.
func Hint(head []byte) string {
	cells := headerOf(head)
	switch {
	case slices.ContainsFunc(cells, func(c cell) bool { return strings.ContainsAny(c.text, "<>{}") }):
		return ""
	case hasX(cells) && !hasUnit(cells):
		return "a table with a column step or seconds and none with a unit; name the columns " + unitNames
	case hasUnit(cells) && !hasX(cells):
		return "a table without a column step or seconds; name the one that counts so, of " + list(cells)
	}
	return ""
}

func dialectOf(head []byte) dialect {
	head = bytes.TrimPrefix(head, []byte("\ufeff"))
	first, _, _ := bytes.Cut(head, []byte("\n"))
	first = bytes.TrimSuffix(first, []byte("\r"))
	switch {
	case bytes.HasPrefix(first, []byte("# Elapsed time")) && bytes.Contains(first, []byte("Real (MB)")):
		return psrecordText
	case bytes.HasPrefix(first, []byte("elapsed_time,")) && bytes.Contains(first, []byte(",mem_real")):
		return psrecordCSV
	case bytes.HasPrefix(first, []byte("Time\t")) && hasWord(first, "wtime") && (hasWord(first, "pss") || hasWord(first, "PSS")):
		return prmon
	case bytes.HasPrefix(first, []byte("CMDLINE ")) || isMEM(first):
		return mprof
	}
	cells := headerOf(head)
	if hasX(cells) && hasUnit(cells) {
		return plainTable
	}
	if objects(head) {
		return jsonLines
	}
	return unknown
}

func hasWord(line []byte, word string) bool {
	return slices.ContainsFunc(bytes.Split(line, []byte("\t")), func(w []byte) bool { return string(w) == word })
}

func isMEM(line []byte) bool {
	cells, _ := blanks(nil, string(line))
	if len(cells) != 3 || cells[0].text != "MEM" {
		return false
	}
	_, memory := parseDecimal(cells[1].text)
	_, time := parseDecimal(cells[2].text)
	return memory && time
}

// headerOf gives the cells of the first line that says something; a line that the
// window cuts off is none.
func headerOf(head []byte) []cell {
	for len(head) > 0 {
		line, rest, whole := bytes.Cut(head, []byte("\n"))
		if !whole && len(head) >= lines.Window {
			return nil
		}
		if head = rest; passed(line) {
			continue
		}
		cells, bad := separated(separator(line))(nil, string(bytes.TrimSuffix(line, []byte("\r"))))
		if bad.text != "" {
			return nil
		}
		return cells
	}
	return nil
}

func hasX(cells []cell) bool {
	return slices.ContainsFunc(cells, func(c cell) bool {
		return slices.ContainsFunc(plainLayout.x, func(x xHeader) bool { return x.name == c.text })
	})
}

func hasUnit(cells []cell) bool {
	return slices.ContainsFunc(cells, func(c cell) bool { return columnOf(c.text) != nil })
}

// objects tells JSON lines: the first lines are whole objects, one of which has an x
// and a key with a unit. One object over several lines is none.
func objects(head []byte) bool {
	found := false
	for looked := 0; len(head) > 0 && looked < 64; looked++ {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		head = rest
		if passed(line) {
			continue
		}
		object, err := decode(line)
		if err != nil {
			return found // cut off by the window, or a fault that Read tells
		}
		if _, ok := object["schema"]; ok {
			return false // a format that has a name, such as a watcher's
		}
		x, unit := false, false
		for key := range object {
			x = x || key == "step" || key == "seconds"
			unit = unit || columnOf(key) != nil
		}
		found = found || x && unit
	}
	return found
}
