package compare

import (
	"testing"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/measure"
)

// TestEnded: a run that did not end well never passes, whatever its numbers.
func TestEnded(t *testing.T) {
	one := int64(1)
	for _, c := range []struct {
		fact measure.WatchFact
		want Verdict
		text string
	}{
		{measure.WatchFact{Outcome: measure.OutcomeFinished}, Pass, ""},
		{measure.WatchFact{Outcome: measure.OutcomeUnknown}, Pass, ""},
		{measure.WatchFact{Outcome: measure.OutcomeOOMKilled, OOMKills: &one}, Fail, "the kernel killed 1 process of the run for memory"},
		{measure.WatchFact{Outcome: measure.OutcomeStopped, Stopped: "over 1 GiB"}, Fail, "the watcher ended the run: over 1 GiB"},
		{measure.WatchFact{Outcome: measure.OutcomeFailed, ExitCode: &one}, NoData, "the run ended with exit code 1: no whole run was measured"},
		{measure.WatchFact{Outcome: measure.OutcomeSignal, Signal: "SIGSEGV"}, NoData, "the run was ended by SIGSEGV: no whole run was measured"},
		{measure.WatchFact{Outcome: measure.OutcomeSignal, Signal: "SIGKILL"}, Fail, "the run was ended by SIGKILL"},
	} {
		head := measure.New()
		head.Rows = append(head.Rows, measure.NewRow("footprint.peak_bytes", measure.Labels{}, measure.Int(5)))
		head.Facts.Watches = []measure.WatchFact{c.fact}
		limit := measure.Int(10)
		metric, _ := measure.Lookup("footprint.peak_bytes")
		target := &budget.Target{Name: "train", Budgets: []*budget.Entry{{Metric: metric, Max: &budget.Limit{Value: limit}}}}
		got := Judge(Workload{Target: target, Head: head})
		text := ""
		for _, n := range got.Notices {
			text += n.Text
		}
		if got.Verdict != c.want || text != c.text {
			t.Errorf("%s: %s, %q; want %s, %q", c.fact.Outcome, got.Verdict, text, c.want, c.text)
		}
	}
}
