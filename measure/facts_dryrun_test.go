package measure

import (
	"maps"
	"testing"
)

// Of several dry runs the one that can be trusted least is told.
func TestMergeDryrun(t *testing.T) {
	a, b := part("a"), part("b")
	a.Facts.Dryrun, b.Facts.Dryrun = &DryrunFact{Class: DryrunExact}, &DryrunFact{Class: DryrunValueDependent}
	for _, parts := range [][]*Measurement{{a, b}, {b, a}, {a, b, part("c")}} {
		if got := Merge("t", parts).Facts.Dryrun; got == nil || got.Class != DryrunValueDependent {
			t.Errorf("got %+v", got)
		}
	}
	b.Facts.Dryrun = &DryrunFact{Class: "sure"}
	if got := Merge("t", []*Measurement{a, b}).Facts.Dryrun; got.Class != "sure" || got.Judged() {
		t.Errorf("an unknown class counts for %+v", got)
	}
}

func TestDryrunDescribe(t *testing.T) {
	e := Environment{"torch": "2.9"}
	(&DryrunFact{Framework: "torch", Class: DryrunExact, Capability: "9.0", Devices: 2, MemoryBytes: 80_000_000_000}).Describe(e)
	want := Environment{"torch": "2.9", "dryrun.framework": "torch", "dryrun.class": "exact", "dryrun.capability": "9.0", "dryrun.devices": "2", "dryrun.memory": "80,000,000,000 B"}
	if !maps.Equal(e, want) {
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
