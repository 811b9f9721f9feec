package budget

import (
	"math/big"

	"github.com/peakgate/peakgate/measure"
)

// File is a budget file that holds no error.
type File struct {
	Path    string // as given to Parse: for messages and annotations
	Version int
	Targets []*Target // in the order of the file
}

// Position is a place in the budget file. Both count from 1; columns are runes.
type Position struct {
	Line, Column int
}

// Target is one workload: where its captures are, and what they may say.
type Target struct {
	Name     string
	Pos      Position // of the name
	Captures []Pattern
	Base     []Pattern // empty where the file names none
	Select   Selector  // what the file says for the whole target; entries hold it merged
	Budgets  []*Entry  // in the order of the file
}

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
	Severity Severity
	Select   Selector // the target's, with the entry's own on top
	Why      string
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

// Growth is the change from base that an entry allows.
type Growth struct {
	Percent *big.Rat // 2 for "2%"; never negative
	// Fall is set for a metric where higher is better: there the change that is
	// limited is a fall.
	Fall bool
	Text string
	Pos  Position
}

// Selector picks rows by their labels: each label must be there and match its
// glob. An empty selector picks every row.
type Selector map[string]string

// Matches tells whether the labels satisfy every pattern. A row without a label
// is not matched by a pattern for it, not even by "*".
func (s Selector) Matches(labels measure.Labels) bool {
	for name, pattern := range s {
		value, ok := labels[name]
		if !ok || !globMatch(pattern, value) {
			return false
		}
	}
	return true
}

// globMatch matches a whole text: * stands for any run of characters, ? for one
// rune, everything else for itself. It never goes back further than the last *,
// so its cost is at most len(pattern) × len(text).
func globMatch(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	i, j, star, mark := 0, 0, -1, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark, i = i, j, i+1
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i, j = i+1, j+1
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(p) && p[i] == '*' {
		i++
	}
	return i == len(p)
}
