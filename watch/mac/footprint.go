package mac

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Footprint is what the tool footprint tells of one process.
type Footprint struct {
	Name string
	PID  int // 0 where the text has none
	// Bytes is the physical footprint; Reclaimable is the part that the system may
	// take back at any time, which the footprint still counts.
	Bytes, Reclaimable int64
	Regions            map[string]int64 // by category
}

var (
	titlePattern    = regexp.MustCompile(`^(.*?)\s*\[(\d+)\]:.*\bFootprint: (\d+(?:\.\d+)? [KMGT]?B)\b`)
	categoryPattern = regexp.MustCompile(`^\s*(\d+(?:\.\d+)? [KMGT]?B)\s+(\d+(?:\.\d+)? [KMGT]?B)\s+(\d+(?:\.\d+)? [KMGT]?B)\s+(\d+)\s+(\S.*)$`)
)

// ParseFootprint reads the text of footprint -p PID. With -f bytes its numbers are
// exact, else they are rounded as the text is.
func ParseFootprint(text string) (*Footprint, error) {
	var f *Footprint
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, " \r\n")
		if m := titlePattern.FindStringSubmatch(line); m != nil {
			if f != nil {
				return nil, fmt.Errorf("line %d: a second process; want one", number)
			}
			pid, err := strconv.Atoi(m[2])
			if err != nil {
				return nil, fmt.Errorf("line %d: want a process id, got %.40q", number, m[2])
			}
			n, err := size(m[3], 1)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number, err)
			}
			f = &Footprint{Name: m[1], PID: pid, Bytes: n, Regions: map[string]int64{}}
			continue
		}
		m := categoryPattern.FindStringSubmatch(line)
		if m == nil || f == nil {
			continue
		}
		n, err := size(m[3], 1)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		count, err := strconv.ParseInt(m[4], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: want a count of regions, got %.40q", number, m[4])
		}
		if m[5] == "TOTAL" {
			break // the sums, which the rows above make up
		}
		f.Reclaimable += n
		f.Regions[m[5]] += count
	}
	if f == nil {
		return nil, fmt.Errorf("want a line NAME [PID]: … Footprint: SIZE, got %.80q", text)
	}
	return f, nil
}
