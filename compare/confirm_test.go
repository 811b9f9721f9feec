package compare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// runOf is one run whose rows have these verdicts, by name: "a=fail b=pass".
func runOf(kind measure.Kind, rows string) TargetResult {
	t := TargetResult{}
	for _, row := range strings.Fields(rows) {
		name, verdict, _ := strings.Cut(row, "=")
		t.Checks = append(t.Checks, Check{Metric: name, Labels: measure.Labels{}, Kind: kind, Verdict: Verdict(verdict), Reason: "r"})
	}
	t.sort()
	t.judge()
	return t
}

func TestConfirm(t *testing.T) {
	for _, c := range []struct {
		n    int
		kind measure.Kind
		runs string // separated by |
		want Verdict
		more bool
	}{
		{1, measure.Sampled, "a=fail", Fail, false},
		{2, measure.Sampled, "a=pass", Pass, false},
		{2, measure.Sampled, "a=no_data", NoData, false},
		{2, measure.Exact, "a=fail", Fail, false},
		{2, measure.Sampled, "a=fail", Fail, true},
		{2, measure.Sampled, "a=fail|a=fail", Fail, false},
		{2, measure.Sampled, "a=fail|a=pass", Fail, true},
		{2, measure.Sampled, "a=fail|a=pass|a=pass", Pass, false},
		{2, measure.Sampled, "a=fail|a=pass|a=fail", Fail, false},
		{2, measure.Sampled, "a=fail|a=warn|a=inconclusive", Warn, false},
		// Each row for itself: three runs that each have another failure have none.
		{2, measure.Sampled, "a=fail b=pass c=pass|a=pass b=fail c=pass", Fail, true},
		{2, measure.Sampled, "a=fail b=pass c=pass|a=pass b=fail c=pass|a=pass b=pass c=fail", Pass, false},
		{2, measure.Sampled, "a=fail b=pass|a=pass b=fail|a=pass b=fail", Fail, false},
		// A run that gives no data refutes nothing.
		{2, measure.Sampled, "a=fail|a=no_data|a=no_data", Fail, false},
		{2, measure.Sampled, "a=fail|a=pass|a=no_data", Fail, false},
		{3, measure.Observed, "a=fail|a=fail", Fail, true},
		{3, measure.Observed, "a=fail|a=pass|a=fail|a=pass|a=pass", Pass, false},
	} {
		var runs []TargetResult
		for _, r := range strings.Split(c.runs, "|") {
			runs = append(runs, runOf(c.kind, r))
		}
		got, more := Confirm(runs, c.n)
		if got.Verdict != c.want || more != c.more {
			t.Errorf("%d of %q: %s, more %v; want %s, %v", c.n, c.runs, got.Verdict, more, c.want, c.more)
		}
		if len(got.Checks) != len(runs[0].Checks) {
			t.Errorf("%q: %d checks, want %d", c.runs, len(got.Checks), len(runs[0].Checks))
		}
	}
}

// TestConfirmEnds: however the runs come out, 2n-1 decide, and a row is red if and
// only if n of them say so.
func TestConfirmEnds(t *testing.T) {
	const n = 3
	for bits := range 1 << (2*n - 1) {
		var runs []TargetResult
		failures, more := 0, true
		var got TargetResult
		for i := 0; more; i++ {
			if i == 2*n-1 {
				t.Fatalf("%05b: more than %d runs", bits, i)
			}
			verdict := Pass
			if bits>>i&1 == 1 {
				verdict, failures = Fail, failures+1
			}
			runs = append(runs, runOf(measure.Sampled, fmt.Sprintf("a=%s", verdict)))
			got, more = Confirm(runs, n)
		}
		if (got.Verdict == Fail) != (failures >= n) {
			t.Errorf("%05b: %s after %d failures of %d", bits, got.Verdict, failures, len(runs))
		}
	}
}

// TestConfirmKeepsAKill: a later run that was killed for memory is told, whatever the rows say.
func TestConfirmKeepsAKill(t *testing.T) {
	runs := []TargetResult{runOf(measure.Sampled, "a=fail"), runOf(measure.Sampled, "a=pass"), runOf(measure.Sampled, "a=pass")}
	runs[2].Notices = []Notice{{Verdict: Fail, Effect: "incomplete", Text: "killed"}}
	if got, _ := Confirm(runs, 2); got.Verdict != Fail {
		t.Errorf("%s, want fail", got.Verdict)
	}
}
