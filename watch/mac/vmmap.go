package mac

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// Row is one kind of region of a process.
type Row struct {
	Virtual, Resident, Dirty, Swapped int64
	Count                             int64
}

// Summary is what vmmap -summary tells.
type Summary struct {
	// Footprint and Peak are rounded as the text is; nil where it has no such line.
	Footprint, Peak *int64
	// Rows are the kinds of regions. A kind without a row has no region.
	Rows map[string]Row
}

// Names of the rows of graphics.
const (
	IOAccelerator = "IOAccelerator"
	Graphics      = "IOAccelerator (graphics)"
)

var (
	rowPattern   = regexp.MustCompile(`^(.+?)\s+((?:[\d.]+[KMGT]?\s+){7})(\d+)(?:\s+[^\d\s].*)?$`)
	crashPattern = regexp.MustCompile(`^REGION TYPE\s+(SIZE\s+COUNT|VIRTUAL\s+REGION)`)
	pagePattern  = regexp.MustCompile(`^VM page size:\s+(\d+) bytes`)
)

// ParseVmmap reads the text of vmmap -summary, with or without -pages. A text
// without the table of regions, or with a shortened one, is an error: no row would
// read as no region.
func ParseVmmap(text string) (*Summary, error) {
	s := &Summary{Rows: map[string]Row{}}
	page, inTable, header := 1.0, false, false
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, " \r\n")
		if m := pagePattern.FindStringSubmatch(line); m != nil {
			page, _ = strconv.ParseFloat(m[1], 64)
			continue
		}
		if key, value, ok := strings.Cut(line, ":"); ok && !inTable {
			var into **int64
			switch key {
			case "Physical footprint":
				into = &s.Footprint
			case "Physical footprint (peak)":
				into = &s.Peak
			}
			if into != nil {
				n, err := size(strings.TrimSpace(value), 1)
				if err != nil {
					return nil, fmt.Errorf("line %d: %s: %w", number, key, err)
				}
				*into = &n
				continue
			}
		}
		switch {
		case crashPattern.MatchString(line):
			return nil, fmt.Errorf("line %d: this is the table of a crash report; want that of vmmap -summary", number)
		case strings.HasPrefix(line, "REGION TYPE"):
			if !strings.Contains(line, "COUNT") {
				return nil, fmt.Errorf("line %d: the table has no column of region counts; want the whole output of vmmap -summary", number)
			}
			inTable, header = true, true
			if !strings.Contains(line, "PAGES") {
				page = 1
			}
			continue
		case !inTable || strings.HasPrefix(line, "==="):
			continue
		case line == "" || strings.HasPrefix(line, "TOTAL"):
			inTable = false
			continue
		}
		name, row, err := parseRow(line, page)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		s.Rows[name] = row
	}
	if !header {
		return nil, errors.New("want a table that begins with REGION TYPE; vmmap may have been refused")
	}
	return s, nil
}

func parseRow(line string, page float64) (string, Row, error) {
	m := rowPattern.FindStringSubmatch(line)
	if m == nil {
		return "", Row{}, fmt.Errorf("want a name, seven sizes and a count, got %.80q", line)
	}
	var sizes [7]int64
	for i, word := range strings.Fields(m[2]) {
		var err error
		if sizes[i], err = size(word, page); err != nil {
			return "", Row{}, err
		}
	}
	count, err := strconv.ParseInt(m[3], 10, 64)
	return m[1], Row{sizes[0], sizes[1], sizes[2], sizes[3], count}, err
}

// size reads 5008K, 8.9G or, with no letter, a number of the unit.
func size(s string, unit float64) (int64, error) {
	number := strings.TrimRight(s, "KMGTB ")
	switch suffix := strings.TrimSpace(strings.TrimSuffix(s[len(number):], "B")); suffix {
	case "":
	case "K":
		unit = 1 << 10
	case "M":
		unit = 1 << 20
	case "G":
		unit = 1 << 30
	case "T":
		unit = 1 << 40
	default:
		return 0, fmt.Errorf("want a size like 8.9G, got %.40q", s)
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || n*unit > 1<<50 {
		return 0, fmt.Errorf("want a size like 8.9G, got %.40q", s)
	}
	return int64(math.Round(n * unit)), nil
}
