package compare

import (
	"fmt"

	"github.com/peakgate/peakgate/measure"
)

// Confirm joins the judgements of several runs of one target, of which a failure
// needs n before it is one: the first run's, with what the others say of each of its
// rows. A wrong failure of one run in a hundred is then, with n = 2, one in 3,300
// (3p² - 2p³). An exact row is the same in every run, and fails at once.
//
// more tells that another run is needed: some row has failed, not n times, and could
// still do so within 2n - 1 runs.
func Confirm(runs []TargetResult, n int) (result TargetResult, more bool) {
	result = runs[0]
	result.Checks = append([]Check{}, runs[0].Checks...)
	result.Notices = append([]Notice{}, runs[0].Notices...)
	for i, c := range result.Checks {
		failed, held := []Check{}, []Check{}
		for _, r := range runs {
			switch found := find(r.Checks, c, i); {
			case found == nil || found.Verdict == NoData:
			case found.Counts() == Fail:
				failed = append(failed, *found)
			default:
				held = append(held, *found)
			}
		}
		switch {
		case len(failed) == 0:
		case failed[0].Kind == measure.Exact || n <= 1:
			return runs[0], false
		case len(failed) >= n:
			result.Checks[i] = failed[0]
			result.Checks[i].Reason += fmt.Sprintf("; confirmed: so in %d of %d runs", len(failed), len(runs))
		case len(held) >= n:
			result.Checks[i] = held[0]
			result.Notices = append(result.Notices, Notice{Verdict: Pass, Effect: "unconfirmed", File: c.Limit.File, Line: c.Limit.Line, Column: c.Limit.Column,
				Text: fmt.Sprintf("%s failed in %d of %d runs, and %d must agree: %s", c.Metric, len(failed), len(runs), n, failed[0].Reason)})
		default:
			more = more || len(runs) < 2*n-1
			result.Checks[i] = failed[0]
			if len(runs) >= 2*n-1 {
				result.Checks[i].Reason += fmt.Sprintf("; not refuted: so in %d of %d runs, and the others gave no data", len(failed), len(runs))
			}
		}
	}
	for _, r := range runs[1:] {
		for _, notice := range r.Notices { // a run that was killed for memory
			if notice.Effect == "incomplete" && notice.Verdict == Fail {
				result.Notices = append(result.Notices, notice)
			}
		}
	}
	result.sort()
	result.judge()
	return result, more
}

// find gives the same row's check in another run; i is where it stood.
func find(checks []Check, c Check, i int) *Check {
	same := func(o Check) bool {
		return o.Metric == c.Metric && o.Labels.Key() == c.Labels.Key() && o.Limit.File == c.Limit.File && o.Limit.Line == c.Limit.Line && o.Limit.Column == c.Limit.Column
	}
	if i < len(checks) && same(checks[i]) {
		return &checks[i]
	}
	for j := range checks {
		if same(checks[j]) {
			return &checks[j]
		}
	}
	return nil
}
