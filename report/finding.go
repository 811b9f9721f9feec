package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/measure"
)

// mostFindings is how many findings a report shows for one check.
const mostFindings = 5

// causes gives the findings that may explain a check which does not hold; told
// remembers those that an earlier check has shown.
func causes(c *compare.Check, all []measure.Finding, told map[string]bool) (out []measure.Finding) {
	if c.Verdict != compare.Fail && c.Verdict != compare.Warn && c.Verdict != compare.Waived {
		return nil
	}
	for _, f := range diagnose.Fits(c.Labels, all) {
		key := f.Rule + f.Text
		if f.Severity == diagnose.Note || told[key] || len(out) == mostFindings {
			continue
		}
		told[key] = true
		out = append(out, f)
	}
	return out
}

// unfit gives the findings that may explain why a program does not fit the device that
// it ran for; told is that of causes.
func unfit(facts []measure.DryrunFact, all []measure.Finding, told map[string]bool) (out []measure.Finding) {
	if !slices.ContainsFunc(facts, func(f measure.DryrunFact) bool { return f.Fits == measure.FitsNo }) {
		return nil
	}
	for _, f := range all {
		if f.Severity == diagnose.Error && len(out) < mostFindings {
			told[f.Rule+f.Text] = true
			out = append(out, f)
		}
	}
	return out
}

// doubts gives the findings that question a pass: of a saving that looks like less
// work.
func doubts(all []measure.Finding) (out []measure.Finding) {
	for _, f := range all {
		if f.Rule == diagnose.SuspiciousSaving && len(out) < mostFindings {
			out = append(out, f)
		}
	}
	return out
}

// remedy is the fix of a finding with what it saves and costs; empty without one.
func remedy(f measure.Finding) string {
	if f.Fix == "" {
		return ""
	}
	if more := gain(f); more != "" {
		return f.Fix + " (" + more + ")"
	}
	return f.Fix
}

// gain is what the fix of a finding saves and costs; empty where neither is known.
func gain(f measure.Finding) string {
	var more []string
	if f.SavingBytes > 0 {
		more = append(more, "saves up to "+f.SavingBytes.String())
	}
	if f.Cost != "" {
		more = append(more, "costs "+f.Cost)
	}
	return strings.Join(more, "; ")
}

// textFindings lists findings for a terminal: what, then the fix.
func textFindings(out io.Writer, indent, word string, fs []measure.Finding) {
	for _, f := range fs {
		if word == "" {
			fmt.Fprintf(out, "\n%s%s: %s  (%s)\n", indent, f.Severity, plain(f.Rule), f.Evidence)
			wrapped(out, indent+"  ", indent+"  ", plain(f.Text))
		} else {
			fmt.Fprintf(out, "%s%s: %s\n", indent, word, plain(f.Text))
		}
		for i, line := range strings.Split(remedy(f), "\n") { // code has several lines
			switch {
			case line == "":
			case i == 0 && word == "":
				wrapped(out, indent+"  fix: ", indent+"    ", plain(line))
			case i == 0:
				fmt.Fprintf(out, "%s  fix: %s\n", indent, plain(line))
			default:
				// The bar keeps a line from being a workflow command, which runners
				// obey behind blanks too.
				fmt.Fprintf(out, "%s     | %s\n", indent, plain(line))
			}
		}
	}
}
