package compare

import (
	"cmp"
	"path/filepath"

	"github.com/peakgate/peakgate/measure"
)

// ended tells of watched runs of the head that are no whole ones. One that the
// kernel killed for memory, or that was ended over a limit, fails: its numbers say
// how far it got. So does one that was ended by SIGKILL: where no control group
// counts, that is all that is seen of a kill for memory. Another one that failed
// gives no data.
func (w Workload) ended() []Notice {
	if w.Head == nil {
		return nil
	}
	var notices []Notice
	for _, f := range w.Head.Facts.Watches {
		broken := f.Broken()
		if broken == "" {
			continue
		}
		n := Notice{Verdict: NoData, Effect: "incomplete", Text: broken + ": no whole run was measured",
			File: cmp.Or(w.Target.Pos.File, filepath.ToSlash(w.Config)), Line: w.Target.Pos.Line, Column: w.Target.Pos.Column}
		killed := f.Outcome == measure.OutcomeSignal && f.Signal == "SIGKILL" // nothing else does that unasked
		if f.Outcome == measure.OutcomeOOMKilled || f.Outcome == measure.OutcomeStopped || killed {
			n.Verdict, n.Text = Fail, broken
		}
		notices = append(notices, n)
	}
	return notices
}
