package compare

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/measure"
)

// target parses one budget whose entries are the given lines of YAML.
func target(t *testing.T, entries ...string) *budget.Target {
	t.Helper()
	text := "version: 1\ntargets:\n  train:\n    captures: x.pb\n    budgets:\n"
	for _, e := range entries {
		text += "      " + e + "\n"
	}
	f, err := budget.Parse([]byte(text), "peakgate.yml")
	if err != nil {
		t.Fatal(err)
	}
	return f.Targets[0]
}

func measurement(rows ...measure.Row) *measure.Measurement {
	m := measure.New()
	m.Rows = rows
	return m
}

func runs(m *measure.Measurement) []*measure.Measurement {
	if m == nil {
		return nil
	}
	return []*measure.Measurement{m}
}

func peak(n int64, labels measure.Labels) measure.Row {
	return measure.NewRow("live.peak_bytes", labels, measure.Int(n))
}

func TestVerdicts(t *testing.T) {
	dev0, dev1 := measure.Labels{"device": "0"}, measure.Labels{"device": "1"}
	absent := measure.Absent("live.peak_bytes", dev0, "the history was not recorded")
	for _, c := range []struct {
		name       string
		entry      string
		head, base *measure.Measurement
		baseErr    error
		want       string // "verdict: part of the reason", one a check
	}{
		{"at the max", "live.peak_bytes: 1000 B", measurement(peak(1000, dev0)), nil, nil, "pass: max holds"},
		{"a byte over", "live.peak_bytes: 1000 B", measurement(peak(1001, dev0)), nil, nil, "fail: 1001 B is over the max of 1000 B by 1 B"},
		{"warn only", "live.peak_bytes: { max: 1000 B, severity: warn }", measurement(peak(1001, dev0)), nil, nil, "warn: over the max"},
		{"at the growth limit", "live.peak_bytes: { growth: 10% }", measurement(peak(1100, dev0)), measurement(peak(1000, dev0)), nil, "pass: grew by 100 B (+10.0 %)"},
		{"a byte beyond", "live.peak_bytes: { growth: 10% }", measurement(peak(1101, dev0)), measurement(peak(1000, dev0)), nil, "fail: grew by 101 B (+10.1 %); allowed is up to 1.07 KiB (10% more than the base)"},
		{"the floor holds", "live.peak_bytes: { growth: 0%, floor: 101 B }", measurement(peak(1101, dev0)), measurement(peak(1000, dev0)), nil, "pass: grew"},
		{"the floor is passed", "live.peak_bytes: { growth: 0%, floor: 100 B }", measurement(peak(1101, dev0)), measurement(peak(1000, dev0)), nil, "fail: grew"},
		{"not one byte", "live.peak_bytes: { growth: 0% }", measurement(peak(1000, dev0)), measurement(peak(1000, dev0)), nil, "pass: did not change"},
		{"a fall is fine", "live.peak_bytes: { growth: 0% }", measurement(peak(1, dev0)), measurement(peak(1000, dev0)), nil, "pass: fell by 999 B"},
		{"no base", "live.peak_bytes: { growth: 0% }", measurement(peak(1, dev0)), nil, nil, "warn: no base"},
		{"no base, max judged", "live.peak_bytes: { growth: 0%, max: 1 kB }", measurement(peak(1001, dev0)), nil, nil, "fail: over the max"},
		{"a base that cannot be read", "live.peak_bytes: { growth: 0%, max: 1 kB }", measurement(peak(1, dev0)), nil, errors.New("b.pb: no such file"), "no_data: growth was not judged: b.pb"},
		{"a base without the metric", "live.peak_bytes: { growth: 0% }", measurement(peak(1, dev0)), measurement(), nil, "no_data: the base does not give this metric"},
		{"a base without a value", "live.peak_bytes: { growth: 0% }", measurement(peak(1, dev0)), measurement(absent), nil, "no_data: the base has no value"},
		{"a new row", "live.peak_bytes: { growth: 0% }", measurement(peak(1, dev0), peak(1, dev1)), measurement(peak(1, dev0)), nil, "warn: new row|pass: did not"},
		{"a row that vanished", "live.peak_bytes: 1 kB", measurement(peak(1, dev0)), measurement(peak(1, dev0), peak(1, dev1)), nil, "no_data: the base has this row|pass: did not"},
		{"a metric that is not there", "pool.misses: 1", measurement(peak(1, dev0)), nil, nil, "no_data: the captures do not give pool.misses; they give live.peak_bytes"},
		{"a metric without a value", "live.peak_bytes: 1 kB", measurement(absent), nil, nil, "no_data: the history was not recorded"},
		{"no_data outlasts severity", "live.peak_bytes: { max: 1 kB, severity: warn }", measurement(absent), nil, nil, "no_data: the history"},
		{"a selector without a row", "live.peak_bytes: { max: 1 kB, select: { device: \"7\" } }", measurement(peak(1, dev0)), nil, nil, "no_data: no row of live.peak_bytes matches the selectors; there is {device=0}"},
		{"under the min", "pool.hit_ratio: { min: 0.9 }", measurement(measure.NewRow("pool.hit_ratio", dev0, measure.Float(0.89))), nil, nil, "fail: 0.890 is under the min of 0.9 by 0.010"},
		{"a falling ratio", "pool.hit_ratio: { growth: 1% }", measurement(measure.NewRow("pool.hit_ratio", dev0, measure.Float(0.5))), measurement(measure.NewRow("pool.hit_ratio", dev0, measure.Float(0.9))), nil, "fail: fell by 0.400"},
		{"a rising ratio", "pool.hit_ratio: { growth: 1% }", measurement(measure.NewRow("pool.hit_ratio", dev0, measure.Float(0.9))), measurement(measure.NewRow("pool.hit_ratio", dev0, measure.Float(0.5))), nil, "pass: grew by 0.400"},
		{"from nothing to something", "live.peak_bytes: { growth: 50% }", measurement(peak(1, dev0)), measurement(peak(0, dev0)), nil, "fail: grew by 1 B; allowed is up to 0 B (50% more than the base)"},
	} {
		r := Judge(Workload{Target: target(t, c.entry), Config: "peakgate.yml", Head: c.head, Runs: runs(c.base), BaseErr: c.baseErr})
		wants := strings.Split(c.want, "|")
		if len(r.Checks) != len(wants) {
			t.Errorf("%s: %d checks: %+v", c.name, len(r.Checks), r.Checks)
			continue
		}
		for i, want := range wants {
			verdict, reason, _ := strings.Cut(want, ": ")
			if got := r.Checks[i]; string(got.Verdict) != verdict || !strings.Contains(got.Reason, reason) {
				t.Errorf("%s: %s: %s, want %s", c.name, got.Verdict, got.Reason, want)
			}
			if got := r.Checks[i].Limit; got.File != "peakgate.yml" || got.Line != 6 || got.Column != 7 {
				t.Errorf("%s: the limit stands at %s:%d:%d", c.name, got.File, got.Line, got.Column)
			}
		}
	}
}

func TestNothingMeasuredIsNoData(t *testing.T) {
	r := Judge(Workload{Target: target(t, "live.peak_bytes: 1 kB", "live.end_bytes: 1 kB"), HeadErr: errors.New("x.pb: no such file or directory")})
	if r.Verdict != NoData || len(r.Checks) != 2 {
		t.Fatalf("%+v", r)
	}
	for _, c := range r.Checks {
		if c.Verdict != NoData || c.Head != nil || !strings.Contains(c.Reason, "x.pb: no such file") {
			t.Errorf("%+v", c)
		}
	}
	if got := Whole(nil, nil).Verdict; got != NoData {
		t.Errorf("no target at all is %s", got)
	}
}

func TestVerdictsCombine(t *testing.T) {
	for _, c := range []struct {
		verdicts []Verdict
		want     Verdict
	}{
		{[]Verdict{Pass, Pass}, Pass}, {[]Verdict{Pass, Warn}, Warn}, {[]Verdict{Warn, NoData, Pass}, NoData},
		{[]Verdict{NoData, Fail}, Fail}, {[]Verdict{Inconclusive}, Warn}, {[]Verdict{Decelerating, Pass}, Warn}, {[]Verdict{Waived}, Pass},
	} {
		var targets []TargetResult
		for _, v := range c.verdicts {
			targets = append(targets, TargetResult{Verdict: v})
		}
		if got := Whole(targets, nil).Verdict; got != c.want {
			t.Errorf("%v = %s, want %s", c.verdicts, got, c.want)
		}
	}
	if Verdict("unheard of").Rank() >= Fail.Rank() {
		t.Error("an unknown verdict must not hide behind another")
	}
}

// Several programs of one module name pair by their entry shapes, whatever
// their numbers and order are.
func TestProgramsPairByShape(t *testing.T) {
	program := func(number, shape string, need int64) *measure.Measurement {
		labels := measure.Labels{"module": "jit_f", "program": number, "memory_space": "device"}
		m := measurement(measure.NewRow("plan.need_bytes", labels, measure.Int(need)))
		m.Facts.Modules = []measure.ModuleFact{{Labels: measure.Labels{"module": "jit_f", "program": number}, Parameters: []string{shape}, Fingerprint: shape}}
		return m
	}
	base := measure.Merge("", []*measure.Measurement{program("3", "f32[8]", 100), program("9", "f32[16]", 200)})
	head := measure.Merge("", []*measure.Measurement{program("4", "f32[16]", 200), program("12", "f32[8]", 101)})
	r := Judge(Workload{Target: target(t, "plan.need_bytes: { growth: 0% }"), Head: head, Runs: runs(base)})
	var got []string
	for _, c := range r.Checks {
		base, _ := c.Base.Int64()
		got = append(got, fmt.Sprint(c.Verdict, " ", c.Labels["program"], " ", base))
	}
	if want := "[fail 12 100 pass 4 200]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if r.Likeness.Verdict != "identical" {
		t.Errorf("likeness %+v", r.Likeness)
	}
}

// Nothing that a run of the base has shown is a regression.
func TestBaseOfSeveralRuns(t *testing.T) {
	labels := measure.Labels{"device": "0"}
	base := []*measure.Measurement{measurement(peak(1000, labels)), measurement(peak(1200, labels)), measurement(peak(900, labels))}
	for _, c := range []struct {
		head int64
		want Verdict
	}{{900, Pass}, {1100, Pass}, {1200, Pass}, {1201, Fail}} {
		r := Judge(Workload{Target: target(t, "live.peak_bytes: { growth: 0% }"), Head: measurement(peak(c.head, labels)), Runs: base})
		check := r.Checks[0]
		if check.Verdict != c.want || len(r.Checks) != 1 {
			t.Errorf("%d is %s: %s", c.head, check.Verdict, check.Reason)
		}
		if s := check.BaseSpread; s == nil || s.Runs != 3 || s.Min != measure.Int(900) || s.Max != measure.Int(1200) || *check.Base != measure.Int(1200) {
			t.Errorf("spread %+v, base %v", s, check.Base)
		}
	}
	// Where higher is better, the lowest that was shown counts.
	ratio := func(f float64) *measure.Measurement {
		return measurement(measure.NewRow("pool.hit_ratio", labels, measure.Float(f)))
	}
	r := Judge(Workload{Target: target(t, "pool.hit_ratio: { growth: 0% }"), Head: ratio(0.8), Runs: []*measure.Measurement{ratio(0.9), ratio(0.8), ratio(0.95)}})
	if r.Verdict != Pass {
		t.Errorf("a ratio that the base has shown is %s: %s", r.Verdict, r.Checks[0].Reason)
	}
}

// A notice has its say in the verdict, and never makes it better.
func TestNotices(t *testing.T) {
	labels := measure.Labels{"device": "0"}
	for _, c := range []struct {
		notice, want Verdict
		head         int64
	}{{Warn, Warn, 1}, {Fail, Fail, 1}, {Pass, Pass, 1}, {Warn, Fail, 2000}, {Pass, Fail, 2000}} {
		r := Judge(Workload{Target: target(t, "live.peak_bytes: 1 kB"), Head: measurement(peak(c.head, labels)), Notices: []Notice{{Verdict: c.notice}}})
		if r.Verdict != c.want {
			t.Errorf("notice %s on %d: %s, want %s", c.notice, c.head, r.Verdict, c.want)
		}
		if w := Whole([]TargetResult{{Verdict: r.Verdict}}, []Notice{{Verdict: c.notice}}).Verdict; w != c.want {
			t.Errorf("whole: notice %s: %s, want %s", c.notice, w, c.want)
		}
	}
}

// Equal files are one row; where the other side differs, they are compared file
// by file.
func TestFilesUnfold(t *testing.T) {
	file := func(name string, n int64) *measure.Measurement {
		m := measurement(peak(n, measure.Labels{"device": "0"}))
		m.Inputs = []measure.Input{{Path: "ranks/" + name}}
		return m
	}
	side := func(values ...int64) *measure.Measurement {
		var parts []*measure.Measurement
		for i, n := range values {
			parts = append(parts, file(fmt.Sprintf("rank%d.pickle", i), n))
		}
		return measure.Merge("", parts)
	}
	for _, c := range []struct {
		name       string
		base, head *measure.Measurement
		want       string
	}{
		{"one rank grew", side(100, 100, 100, 100), side(100, 100, 130, 100), "fail rank2.pickle, pass rank0.pickle, pass rank1.pickle, pass rank3.pickle"},
		{"one rank shrank to the others", side(100, 100, 130, 100), side(100, 100, 100, 100), "pass rank0.pickle, pass rank1.pickle, pass rank2.pickle, pass rank3.pickle"},
		{"all grew to the largest", side(100, 130), side(130, 130), "fail rank0.pickle, pass rank1.pickle"},
		{"a rank is missing", side(100, 100, 130, 100), side(100, 100, 100), "no_data rank3.pickle, pass rank0.pickle, pass rank1.pickle, pass rank2.pickle"},
	} {
		r := Judge(Workload{Target: target(t, "live.peak_bytes: { growth: 5% }"), Head: c.head, Runs: runs(c.base)})
		var got []string
		for _, check := range r.Checks {
			got = append(got, string(check.Verdict)+" "+check.Labels["file"])
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v, want %s", c.name, got, c.want)
		}
	}
}

// A peak of a history whose beginning was dropped is never a silent pass.
func TestCutHistory(t *testing.T) {
	m := measurement(peak(1, measure.Labels{"device": "0"}))
	m.Facts.Traces = []measure.TraceFact{{Labels: measure.Labels{"device": "0"}, Events: 500, History: "truncated"}}
	if r := Judge(Workload{Target: target(t, "live.peak_bytes: 1 kB"), Head: m}); r.Verdict != Warn || len(r.Notices) != 1 {
		t.Errorf("%s, %+v", r.Verdict, r.Notices)
	}
	m.Facts.Traces[0].History = "starts_mid_run"
	if r := Judge(Workload{Target: target(t, "live.peak_bytes: 1 kB"), Head: m}); r.Verdict != Pass {
		t.Errorf("%s, %+v", r.Verdict, r.Notices)
	}
}
