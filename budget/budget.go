package budget

import (
	"math/big"
	"path"

	"github.com/peakgate/peakgate/measure"
)

// File is a budget, with all that it includes, that holds no error.
type File struct {
	Path     string   // as given to Parse or Load: for messages and annotations
	Files    []string // every file that was read: this one, then what it includes
	Version  int
	Policy   Policy
	Defaults []*Entry  // what defaults.budgets gives to each target that has no entry of its own
	Targets  []*Target // in the order of the files
	Devices  []*Device
	Waivers  []*Waiver

	byName map[string]*Target
}

// Target finds a target by its name; nil where there is none.
func (f *File) Target(name string) *Target { return f.byName[name] }

// Position is a place in a budget file. Both numbers count from 1; columns are
// runes. What the file leaves to a default has no place: Line is 0.
type Position struct {
	Line, Column int
	File         string
}

// Target is one workload: where its captures are, and what they may say.
type Target struct {
	Name     string
	Pos      Position // of the name
	Captures []Pattern
	Base     []Pattern // empty where the file names none
	BaseRun  Position  // of the word run in "base: run"
	Run      *Command  // makes the captures, under the watcher
	Dryrun   *Dryrun
	Select   Selector // what the file says for the whole target; entries hold it merged
	Expect   []Expect
	OnlyWhen []Condition
	Warmup   *Warmup
	Confirm  *Number  // runs that must agree before a verdict is red
	Budgets  []*Entry // in the order of the file, then those of defaults
}

// Dir is the folder, in slashes, that the target's paths are relative to: that of
// the file which defines it.
func (t *Target) Dir() string { return path.Dir(t.Pos.File) }

// Pattern is a path, relative to the budget file, that may hold globs: * and ?
// within one element, [a-z] classes, and ** for any number of elements.
type Pattern struct {
	Text string
	Pos  Position
}

// Entry is the budget of one metric. At least one of Max, Min and Growth is set.
type Entry struct {
	Metric   measure.Metric
	Pos      Position // of the metric's name
	Max      *Limit   // largest value that passes
	Min      *Limit   // smallest value that passes
	Growth   *Growth  // allowed change from base
	Floor    *Limit   // a change up to and including this much never fails
	UpTo     *Limit   // growth in all that is allowed
	Horizon  *Number  // steps over which a growth is projected
	Severity Severity
	// SeverityPos is the place of the severity; it has none where the file gives none.
	SeverityPos Position
	Select      Selector // the target's, with the entry's own on top
	Why         string
	Default     bool // defaults.budgets gives it, not the target
}

// Severity says what an entry that is not kept does to the verdict.
type Severity string

// The severities.
const (
	SeverityFail Severity = "fail"
	SeverityWarn Severity = "warn"
)

// Limit is one number of the file. Value is in the metric's unit, but for the
// floor of a growth per step or per hour: that is the total growth, in bytes.
type Limit struct {
	Value measure.Value
	Text  string // as the file writes it
	Pos   Position
}

// Number is a whole number of the file.
type Number struct {
	Value int64
	Pos   Position
}

// Growth is the change from base that an entry allows.
type Growth struct {
	Percent *big.Rat // 2 for "2%"; never negative
	// Fall is set for a metric where higher is better: there the change that is
	// limited is a fall.
	Fall bool
	Text string
	Pos  Position
}
