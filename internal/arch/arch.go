// Package arch keeps the direction in which peakgate's packages import each
// other. It holds the table of rooms and a function that finds imports that the
// table lacks; its test asks the go command what is really imported.
package arch

import (
	"slices"
	"strings"
)

const module = "github.com/peakgate/peakgate"

// all in a room's imports stands for every room.
const all = "*"

// readers are the rooms that each read one family of formats.
var readers = []string{"capture/xla", "capture/torch", "capture/affon", "capture/footprint", "capture/series", "capture/pprof"}

// rooms gives for each room what it may import of ours. A room is a folder with
// all below it that is no room itself; packages of one room may import each
// other. Data moves one way, from captures to posts, so no arrow points back up.
// Rooms that are planned are listed too.
var rooms = map[string][]string{
	"":             {"internal/cli"},
	"measure":      {},
	"capture":      append([]string{"measure"}, readers...),
	"growth":       {"measure"},
	"budget":       {"measure"},
	"base":         {"measure", "capture"},
	"compare":      {"measure", "budget", "growth"},
	"diagnose":     {"measure", "compare"},
	"page":         append([]string{"measure", "growth"}, readers...), // growth is drawn over the series that it was found in
	"report":       {"measure", "compare", "diagnose", "page"},
	"post":         {},
	"watch":        {"capture/footprint", "watch/hook"},
	"watch/hook":   {},                                                    // what a Python program writes for us, watched or dry
	"dryrun":       {"measure", "capture", "capture/torch", "watch/hook"}, // the events of two runs are held against each other
	"internal/cli": {all},

	"capture/xla":       {"measure", "growth"}, // growth of an exact series is a fact of the capture
	"capture/torch":     {"measure"},
	"capture/affon":     {"measure", "growth"}, // likewise, and the row of a sampled series
	"capture/footprint": {"measure", "growth", "capture/lines"},
	"capture/series":    {"measure", "growth", "capture/lines"},
	"capture/pprof":     {"measure"},
	"capture/lines":     {}, // a file line by line: what the readers of line formats share

	// Tests of the whole: nothing imports them, and they import nothing.
	"internal/arch": {},
	"e2e":           {},

	// A code host for tests: nothing but tests imports it.
	"internal/codehost": {},
}

// edge is one import of a package of ours by another, as import paths.
type edge struct{ from, to string }

// roomOf gives the room of a package of ours: the longest that holds it.
func roomOf(path string) (string, bool) {
	rel := strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
	for {
		if _, ok := rooms[rel]; ok && (rel != "" || path == module) {
			return rel, true
		}
		i := strings.LastIndexByte(rel, '/')
		if i < 0 {
			return "", false
		}
		rel = rel[:i]
	}
}

// forbidden says what is wrong with the imports: those that the table lacks, and
// packages that are in no room.
func forbidden(edges []edge) (faults []string) {
	for _, e := range edges {
		from, ok := roomOf(e.from)
		to, ok2 := roomOf(e.to)
		switch may := rooms[from]; {
		case !ok:
			faults = append(faults, e.from+": in no room; add one to the table, with its reason")
		case !ok2:
			faults = append(faults, e.to+": in no room; add one to the table, with its reason")
		case from != to && !slices.Contains(may, to) && !slices.Contains(may, all):
			faults = append(faults, e.from+" imports "+e.to+": "+name(from)+" may import "+allowed(may))
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

func name(room string) string {
	if room == "" {
		return "main"
	}
	return room
}

func allowed(may []string) string {
	if len(may) == 0 {
		return "nothing of ours"
	}
	return strings.Join(may, ", ")
}
