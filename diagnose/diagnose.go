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
	// Head holds the facts of a log as well, if one was given: Facts.Logs.
	Head *measure.Measurement
	// Base is the other side of a comparison; nil where one capture is explained.
	Base *measure.Measurement
	// Earlier tells that Base is an earlier dump of the head's own process;
	// Steps is how many steps lie between, 0 where nobody said.
	Earlier bool
	Steps   int64
	// DeviceMemory is what the device has, where the caller knows it, in bytes: no
	// snapshot says so.
	DeviceMemory measure.Bytes

	modules []module     // of Head
	pairs   []modulePair // of Base and Head
}

// Rule is one line of the rule book.
type Rule struct {
	Name string // stable, kebab-case: findings carry it, and the docs are made from it
	// Family is "xla", "torch", "affon" or "run".
	Family string
	// Compares tells that the rule needs a base.
	Compares bool
	// Standing tells that the rule describes how a program is made, not what went
	// wrong or changed: no news in a comparison.
	Standing bool
	Doc      string // what is seen, and what it means
	// Find gives the rule's findings; Run fills in their rule's name.
	Find func(Input) []measure.Finding
}

// Rules is the rule book, in the order of the documentation.
func Rules() []Rule {
	return slices.Concat(fitRules, logRules, runRules, donationRules, peakRules, xlaPairRules, sizeRules, spaceRules, livePairRules, torchRules, affonRules)
}

// place orders findings of one severity: what changed, what grows without an end,
// what else there is, by its saving, and last the traces that running out of memory
// left.
func (r Rule) place() int {
	switch {
	case r.Compares:
		return 0
	case r.Name == growthPerExecution || r.Name == growthPerStep:
		return 1
	case r.Name == neverLaunched || r.Name == allocatorRetry:
		return 3
	}
	return 2
}

// blameGrowth makes growth an error where memory ran out, unless one execution alone
// is too large.
func blameGrowth(fs []measure.Finding) {
	out := false
	for _, f := range fs {
		if f.Rule == "does-not-fit" {
			return
		}
		out = out || f.Severity == Error
	}
	for i, f := range fs {
		if out && (f.Rule == growthPerExecution || f.Rule == growthPerStep) {
			fs[i].Severity = Error
		}
	}
}

// Run applies every rule that has what it needs. The findings are sorted by
// severity, what changed first and causes before their traces, then by saving, and are
// the same for the same input.
func Run(in Input) []measure.Finding {
	out := []measure.Finding{}
	if in.Head == nil {
		return out
	}
	in.modules, in.pairs = modules(in.Head), nil
	if in.Base != nil {
		in.pairs = pairModules(modules(in.Base), in.modules)
	}
	place := map[string]int{}
	for _, r := range Rules() {
		place[r.Name] = r.place()
		if r.Compares && in.Base == nil {
			continue
		}
		found := r.Find(in)
		if r.Family == "run" {
			found = onePerModule(found)
		}
		for _, f := range found {
			f.Rule, f.SavingBytes = r.Name, max(0, f.SavingBytes)
			out = append(out, f)
		}
	}
	blameGrowth(out)
	slices.SortStableFunc(out, func(a, b measure.Finding) int {
		return cmp.Or(cmp.Compare(rank(a.Severity), rank(b.Severity)), cmp.Compare(place[a.Rule], place[b.Rule]), cmp.Compare(b.SavingBytes, a.SavingBytes))
	})
	return out
}

// Changed gives the findings that are news in a comparison: those of rules that
// compare, and of the others what the base does not have as well. Without a base it
// is Run.
func Changed(in Input) []measure.Finding {
	if in.Base == nil {
		return Run(in)
	}
	// A module or device of the base may have another name or number, so the rule
	// alone stands for the finding.
	had, saved := map[string]bool{}, map[string]measure.Bytes{}
	for _, f := range Run(Input{Head: in.Base, DeviceMemory: in.DeviceMemory}) {
		had[f.Rule], saved[f.Rule] = true, max(saved[f.Rule], f.SavingBytes)
	}
	news, grows := map[string]bool{}, map[string]bool{}
	for _, r := range Rules() {
		// Two snapshots of one process of Affon are one run: what they show together
		// need not be in the earlier one.
		whole := r.Family == "affon" && in.Earlier
		news[r.Name] = r.Compares || whole || !r.Standing && !had[r.Name]
		grows[r.Name] = (r.Family == "torch" || r.Family == "affon") && !r.Standing
	}
	return slices.DeleteFunc(Run(in), func(f measure.Finding) bool {
		// A leak that got worse by a quarter is news as well.
		worse := grows[f.Rule] && f.Severity != Note && f.SavingBytes > saved[f.Rule]+saved[f.Rule]/4
		return !news[f.Rule] && !worse
	})
}

func rank(severity string) int { return slices.Index([]string{Error, Warning, Note}, severity) }
