package compare

import (
	"strings"
	"testing"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/measure"
)

// dry is a measurement of PyTorch with one fact, and a peak.
func dry(f measure.DryrunFact, peak int64) *measure.Measurement {
	m := measure.New()
	f.Framework = "torch"
	labels := measure.Labels{"device": "0"}
	m.Rows = []measure.Row{measure.NewRow("live.peak_bytes", labels, measure.Int(peak)), measure.NewRow("reserved.peak_bytes", labels, measure.Int(peak)),
		measure.NewRow("pool.misses", labels, measure.Int(1)), measure.NewRow("oom.events", labels, measure.Int(0))}
	m.Facts.Dryrun = []measure.DryrunFact{f}
	m.Environment.DescribeDryrun(m.Facts.Dryrun)
	return m
}

const dryBudget = "live.peak_bytes: { max: 10 B, growth: 0% }"

// A number that a dry run cannot be trusted with is never a pass, on either side.
func TestDryrunClasses(t *testing.T) {
	mask := []measure.DryrunReason{{Text: "the runs part", Source: &measure.Source{File: "a.py", Line: 7}}}
	for _, c := range []struct {
		name       string
		head, base measure.DryrunFact
		peak       int64
		want       Verdict
		reason     string
	}{
		{"exact", measure.DryrunFact{Class: measure.DryrunExact}, measure.DryrunFact{Class: measure.DryrunExact}, 5, Pass, "did not change"},
		{"exact and over", measure.DryrunFact{Class: measure.DryrunExact}, measure.DryrunFact{Class: measure.DryrunExact}, 11, Fail, "over the max"},
		{"assumed", measure.DryrunFact{Class: measure.DryrunAssumption, Reasons: mask}, measure.DryrunFact{Class: measure.DryrunExact}, 5, Pass, ""},
		{"values", measure.DryrunFact{Class: measure.DryrunValueDependent, Reasons: mask}, measure.DryrunFact{Class: measure.DryrunExact}, 5, NoData, "the runs part (a.py:7); say with assume"},
		{"values and over", measure.DryrunFact{Class: measure.DryrunValueDependent, Reasons: mask}, measure.DryrunFact{Class: measure.DryrunExact}, 11, NoData, "the runs part (a.py:7)"},
		{"did not run", measure.DryrunFact{Class: measure.DryrunDidNotRun, Unsupported: "cusolverDnXgeqrf"}, measure.DryrunFact{Class: measure.DryrunExact}, 5, NoData, "the pretend device does not answer cusolverDnXgeqrf"},
		{"of a later version", measure.DryrunFact{Class: "sure"}, measure.DryrunFact{Class: measure.DryrunExact}, 5, NoData, `of the class "sure", which this version does not know`},
		{"values in the base", measure.DryrunFact{Class: measure.DryrunExact}, measure.DryrunFact{Class: measure.DryrunValueDependent, Reasons: mask}, 5, NoData, "the base has no value: values that nothing computed steer the memory: the runs part (a.py:7)"},
		{"the base did not run", measure.DryrunFact{Class: measure.DryrunExact}, measure.DryrunFact{Class: measure.DryrunDidNotRun, Unsupported: "cusolverDnXgeqrf"}, 5, NoData, "the base has no value: the dry run did not run: the pretend device does not answer cusolverDnXgeqrf"},
		{"the base did not run and it is over", measure.DryrunFact{Class: measure.DryrunExact}, measure.DryrunFact{Class: measure.DryrunDidNotRun}, 11, Fail, "over the max"},
	} {
		base := dry(c.base, 5)
		if c.base.Class == measure.DryrunDidNotRun {
			base.Rows = nil
		}
		got := Judge(Workload{Target: target(t, dryBudget), Head: dry(c.head, c.peak), Runs: []*measure.Measurement{base}})
		if got.Verdict != c.want || len(got.Checks) != 1 || !strings.Contains(got.Checks[0].Reason, c.reason) {
			t.Errorf("%s: %s: %+v", c.name, got.Verdict, got.Checks)
		}
		if got.Environment.Head["dryrun.class"] != c.head.Class || len(got.Dryrun) != 1 {
			t.Errorf("%s: the result does not tell the class: %v", c.name, got.Environment.Head)
		}
	}
}

// What depends on a real device's addresses is not judged of a dry run of PyTorch.
func TestDryrunJudgesWhatIsAskedFor(t *testing.T) {
	for metric, want := range map[string]Verdict{"live.peak_bytes": Pass, "reserved.peak_bytes": NoData, "pool.misses": NoData, "oom.events": Pass} {
		limit := "10"
		if strings.HasSuffix(metric, "bytes") {
			limit += " B"
		}
		text := metric + ": " + limit
		if got := Judge(Workload{Target: target(t, text), Head: dry(measure.DryrunFact{Class: measure.DryrunExact}, 5)}); got.Verdict != want {
			t.Errorf("%s: %s, want %s: %+v", metric, got.Verdict, want, got.Checks)
		}
		real := dry(measure.DryrunFact{}, 5)
		real.Facts.Dryrun = nil
		if got := Judge(Workload{Target: target(t, text), Head: real}); got.Verdict != Pass {
			t.Errorf("%s of a real device: %s", metric, got.Verdict)
		}
	}
}

// The answer to whether it fits has a say of its own; that of the base has none.
func TestDryrunFits(t *testing.T) {
	for fits, want := range map[string]Verdict{measure.FitsYes: Pass, measure.FitsNo: Fail, measure.FitsUnsure: Warn, "": Pass} {
		head, base := dry(measure.DryrunFact{Class: measure.DryrunExact, Fits: fits, FitsReason: "because"}, 5), dry(measure.DryrunFact{Class: measure.DryrunExact, Fits: measure.FitsNo}, 5)
		got := Judge(Workload{Target: target(t, dryBudget), Head: head, Runs: []*measure.Measurement{base}})
		if got.Verdict != want || (len(got.Notices) > 0) != (want != Pass) {
			t.Errorf("%q: %s, %+v", fits, got.Verdict, got.Notices)
		}
		if len(got.Warnings) != 1 || !strings.HasPrefix(got.Warnings[0], "base: it does not fit the device") {
			t.Errorf("%q: the base's own is not told: %q", fits, got.Warnings)
		}
	}
}

// Of several devices each is judged by its own run; one that did not run is no data.
func TestDryrunOfSeveralDevices(t *testing.T) {
	plan := func(v5e string) *measure.Measurement {
		m := measure.New()
		for i, device := range []string{"h100", "v5e"} {
			class := []string{measure.DryrunExact, v5e}[i]
			m.Facts.Dryrun = append(m.Facts.Dryrun, measure.DryrunFact{Framework: "jax", Device: device, Class: class})
			if class != measure.DryrunDidNotRun {
				m.Rows = append(m.Rows, measure.NewRow("plan.need_bytes", measure.Labels{"device": device, "module": "m"}, measure.Int(5)))
			}
		}
		return m
	}
	text := "plan.need_bytes: { growth: 0% }"
	for _, c := range []struct {
		head, base string
		verdicts   string // of the checks
		want       Verdict
	}{
		{measure.DryrunExact, measure.DryrunExact, "pass pass", Pass},
		{measure.DryrunAssumption, measure.DryrunExact, "pass pass", Pass},
		{measure.DryrunDidNotRun, measure.DryrunDidNotRun, "pass", NoData},
		{measure.DryrunDidNotRun, measure.DryrunExact, "no_data pass", NoData}, // the base's row is gone
		{measure.DryrunExact, measure.DryrunDidNotRun, "no_data pass", NoData},
	} {
		got := Judge(Workload{Target: target(t, text), Head: plan(c.head), Runs: []*measure.Measurement{plan(c.base)}})
		var verdicts []string
		for _, check := range got.Checks {
			verdicts = append(verdicts, string(check.Verdict))
		}
		if v := strings.Join(verdicts, " "); v != c.verdicts || got.Verdict != c.want {
			t.Errorf("%s against %s: %s (%s), want %s (%s): %+v", c.head, c.base, got.Verdict, v, c.want, c.verdicts, got.Notices)
		}
	}
}

// A sum over targets that share a device counts no number that cannot be trusted.
func TestDryrunInSum(t *testing.T) {
	text := "version: 1\ntargets:\n  t: { captures: a, budgets: { live.peak_bytes: 9 B } }\ndevices: { d: { max: 10 B, targets: t, metric: live.peak_bytes } }\n"
	f, err := budget.Parse([]byte(text), "peakgate.yml")
	if err != nil {
		t.Fatal(err)
	}
	for class, want := range map[string]Verdict{measure.DryrunExact: Pass, measure.DryrunAssumption: Pass, measure.DryrunValueDependent: NoData, measure.DryrunDidNotRun: NoData} {
		measured := map[string]*measure.Measurement{"t": dry(measure.DryrunFact{Class: class}, 5)}
		if got := JudgeDevice(f.Devices[0], f, measured); got.Verdict != want {
			t.Errorf("%s: %s, want %s: %+v", class, got.Verdict, want, got.Checks)
		}
	}
}
