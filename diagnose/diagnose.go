package diagnose

import (
	"cmp"
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// Severities of a finding; the names are those of SARIF 2.1.0 (3.27.10).
const (
	Error   = "error"   // the program does not run, or will not
	Warning = "warning" // memory is taken that need not be
	Note    = "note"    // evidence, or what to know before acting
)

// Evidence says what a finding rests on.
const (
	Measured = "measured" // read from the capture as it is
	Inferred = "inferred" // follows from what was read by a stated assumption
)

// Input is what the rules look at.
type Input struct {
	Head *measure.Measurement
	// Base is the other side of a comparison; nil where one capture is explained.
	Base *measure.Measurement
	// Log holds what a compiler or runtime printed, if a log was given.
	Log []LogFact
}

// Rule is one line of the rule book.
type Rule struct {
	Name string // stable, kebab-case: findings carry it, and the docs are made from it
	// Family is "xla", "torch" or "run".
	Family string
	// Compares tells that the rule needs a base.
	Compares bool
	Doc      string // what is seen, and what it means
	// Find gives the rule's findings; Run fills in their rule's name.
	Find func(Input) []measure.Finding
}

// Rules is the rule book, in the order of the documentation.
func Rules() []Rule {
	return slices.Concat(xlaRules, logRules, runRules, xlaPairRules, torchRules)
}

// Run applies every rule that has what it needs. The findings are sorted by
// severity, then by saving, and are the same for the same input.
func Run(in Input) []measure.Finding {
	out := []measure.Finding{}
	if in.Head == nil {
		return out
	}
	for _, r := range Rules() {
		if r.Compares && in.Base == nil {
			continue
		}
		for _, f := range r.Find(in) {
			f.Rule = r.Name
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b measure.Finding) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), cmp.Compare(b.SavingBytes, a.SavingBytes))
	})
	return out
}

func rank(severity string) int { return slices.Index([]string{Error, Warning, Note}, severity) }
