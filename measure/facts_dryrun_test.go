package measure

import (
	"maps"
	"testing"
)

// The facts of several dry runs stay; of their classes the worst is told.
func TestMergeDryrun(t *testing.T) {
	a, b, c := part("a"), part("b"), part("c")
	a.Facts.Dryrun = []DryrunFact{{Class: DryrunExact, Device: "h100"}}
	b.Facts.Dryrun = []DryrunFact{{Class: DryrunDidNotRun, Device: "v5e", Reasons: []DryrunReason{{Text: "no libtpu"}}}}
	got := Merge("t", []*Measurement{a, b, b, c}).Facts.Dryrun
	if len(got) != 2 || DryrunClass(got) != DryrunDidNotRun || DryrunClass(got[:1]) != DryrunExact || DryrunClass(nil) != "" {
		t.Errorf("got %+v", got)
	}
	got[1].Class = "sure"
	if DryrunClass(got) != "sure" || got[1].Judged() {
		t.Error("a class that is not known is trusted")
	}
}

func TestDescribeDryrun(t *testing.T) {
	e := Environment{"torch": "2.9", "dryrun.class": "as the program says", "dryrun.assumed": "0"}
	e.DescribeDryrun([]DryrunFact{{Framework: "torch", Class: DryrunExact, Capability: "9.0", Devices: 2, MemoryBytes: 80_000_000_000}})
	want := Environment{"torch": "2.9", "dryrun.framework": "torch", "dryrun.class": "exact", "dryrun.capability": "9.0", "dryrun.devices": "2", "dryrun.memory": "80,000,000,000 B"}
	if !maps.Equal(e, want) {
		t.Errorf("got %v", e)
	}
	e = Environment{}
	e.DescribeDryrun([]DryrunFact{{Framework: "jax", Class: DryrunAssumption, Device: "h100"}, {Framework: "jax", Class: DryrunExact, Device: "v5e:2x2"}, {Framework: "jax", Device: "h100", Class: DryrunExact}})
	if want := (Environment{"dryrun.framework": "jax", "dryrun.class": "assumption", "dryrun.device": "h100, v5e:2x2"}); !maps.Equal(e, want) {
		t.Errorf("got %v", e)
	}
}

// The plans of two devices are told apart in all that the measurement says of them.
func TestLabel(t *testing.T) {
	row := NewRow("plan.need_bytes", Labels{"module": "m"}, Int(5))
	a, b := part("a", row), part("b", row)
	for i, m := range []*Measurement{a, b} {
		m.Facts.Modules, m.Facts.Plans = []ModuleFact{{Labels: Labels{"module": "m"}, Instructions: int64(i)}}, []PlanFact{{Labels: Labels{"module": "m"}}}
		m.Label("device", []string{"h100", "v5e"}[i])
	}
	m := Merge("t", []*Measurement{a, b})
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, l := range []Labels{m.Rows[0].Labels, m.Facts.Modules[0].Labels, m.Facts.Plans[0].Labels} {
		if l["device"] != "h100" || l["file"] != "" {
			t.Errorf("labels {%s}", l.Key())
		}
	}
	if n := len(m.Facts.Plans); n != 2 {
		t.Errorf("%d plans", n)
	}
}
