package budget

import (
	"fmt"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// TestValues has the spellings of each unit that mean the same.
func TestValues(t *testing.T) {
	for _, c := range []struct {
		text  string
		unit  measure.Unit
		lower bool
		want  measure.Value
	}{
		{"9.5 GiB", measure.ByteUnit, false, measure.Int(10_200_547_328)},
		{"9.5GiB", measure.ByteUnit, false, measure.Int(10_200_547_328)},
		{"80 GB", measure.ByteUnit, false, measure.Int(80_000_000_000)},
		{"1_000 B", measure.ByteUnit, false, measure.Int(1000)},
		{"0.3 KiB", measure.ByteUnit, false, measure.Int(307)}, // 307.2: the stricter side
		{"0.3 KiB", measure.ByteUnit, true, measure.Int(308)},
		{"+0.3 KiB", measure.ByteUnit, true, measure.Int(308)},
		{"9223372036854775807 B", measure.ByteUnit, false, measure.Int(9223372036854775807)},
		{"4 KiB/step", measure.BytesPerStep, false, measure.Int(4096)},
		{"4 KiB / step", measure.BytesPerStep, false, measure.Int(4096)},
		{"4 KiB", measure.BytesPerStep, false, measure.Int(4096)},
		{"-1 B", measure.BytesPerStep, false, measure.Int(-1)},
		{"1 MiB/h", measure.BytesPerHour, false, measure.Int(1 << 20)},
		{"0.25", measure.CountPerStep, false, measure.Float(0.25)},
		{"3/step", measure.CountPerStep, false, measure.Int(3)},
		{"40", measure.Count, false, measure.Int(40)},
		{"40.0", measure.Count, false, measure.Int(40)},
		{"1_000", measure.Count, false, measure.Int(1000)},
		{"0", measure.Count, false, measure.Int(0)},
		{"0.95", measure.Ratio, true, measure.Float(0.95)},
		{".5", measure.Ratio, true, measure.Float(0.5)},
		{"1", measure.Ratio, true, measure.Int(1)},
		{"10 s", measure.Seconds, false, measure.Int(10)},
		{"10s", measure.Seconds, false, measure.Int(10)},
		{"500 ms", measure.Seconds, false, measure.Float(0.5)},
		{"2 min", measure.Seconds, false, measure.Int(120)},
	} {
		got, bad := parseValue(c.text, c.unit, c.lower)
		if bad != nil || got != c.want {
			t.Errorf("%q in %s, lower %v: %s %v, want %s", c.text, c.unit, c.lower, got.Exact(c.unit), bad, c.want.Exact(c.unit))
		}
	}
}

func TestGrowthSpellings(t *testing.T) {
	for text, want := range map[string]string{"2%": "2", "2 %": "2", "0%": "0", "0 %": "0", "0.1%": "1/10", "\"2%\"": "2", "2.50%": "5/2", "1_000%": "1000", "+2%": "2"} {
		f := mustParse(t, oneEntry+"{ growth: "+text+" }\n")
		if got := f.Targets[0].Budgets[0].Growth.Percent.RatString(); got != want {
			t.Errorf("growth %s is %s, want %s", text, got, want)
		}
	}
}

// TestEveryMetric: each metric that may be judged takes a limit in its own unit
// as measure writes it.
func TestEveryMetric(t *testing.T) {
	for _, m := range measure.Catalogue() {
		text := strings.ReplaceAll(measure.Int(1).Exact(m.Unit), "count", "")
		file := fmt.Sprintf("version: 1\ntargets: { t: { captures: a, budgets: { %s: { max: %s } } } }\n", m.Name, strings.TrimSuffix(text, " "))
		f, err := Parse([]byte(file), "f")
		if m.Name == "footprint.peak_upper_bytes" {
			if err == nil {
				t.Errorf("%s is never judged, and has a budget", m.Name)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if e := f.Targets[0].Budgets[0]; e.Metric.Name != m.Name || e.Max.Value != measure.Int(1) {
			t.Errorf("%s: %+v", m.Name, e)
		}
	}
}

func TestSelector(t *testing.T) {
	labels := measure.Labels{"module": "jit_train(step)[0]", "device": "0", "empty": ""}
	for _, c := range []struct {
		selector Selector
		want     bool
	}{
		{nil, true},
		{Selector{}, true},
		{Selector{"module": "jit_train(step)[0]"}, true}, // brackets stand for themselves
		{Selector{"module": "jit_*"}, true},
		{Selector{"module": "*"}, true},
		{Selector{"module": "*step*"}, true},
		{Selector{"module": "*[0]"}, true},
		{Selector{"module": "jit_train(ste?)*"}, true},
		{Selector{"module": "jit_train"}, false},
		{Selector{"module": "?"}, false},
		{Selector{"module": "JIT_*"}, false},
		{Selector{"module": "jit_*", "device": "0"}, true},
		{Selector{"module": "jit_*", "device": "1"}, false},
		{Selector{"rank": "*"}, false}, // a label that is not there
		{Selector{"empty": "*"}, true},
		{Selector{"empty": "?"}, false},
	} {
		if got := c.selector.Matches(labels); got != c.want {
			t.Errorf("%v: %v", c.selector, got)
		}
	}
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"a/*", "a/b/c", true}, // no path meaning
		{"日?語", "日本語", true},
		{"a*b*c", "aXbXbc", true},
		{"a*b*c", "aXbXb", false},
		{"**", "", true},
		{"", "", true},
		{strings.Repeat("*a", 200), strings.Repeat("a", 199) + "b", false},
	} {
		if got := globMatch(c.pattern, c.text); got != c.want {
			t.Errorf("%.20q on %.20q: %v", c.pattern, c.text, got)
		}
	}
}

// TestMerging: an entry's own labels win over the target's, and neither writes
// into the other.
func TestMerging(t *testing.T) {
	f := mustParse(t, `version: 1
targets:
  t:
    captures: a
    budgets:
      plan.need_bytes: { max: 1 B, select: { module: b, device: 1 } }
      plan.temp_bytes: 1 B
    select: { module: a }
`)
	b := f.Targets[0].Budgets
	for i, want := range []string{"device=1 module=b", "module=a"} {
		if got := measure.Labels(b[i].Select).Key(); got != want {
			t.Errorf("entry %d selects %s, want %s", i, got, want)
		}
	}
	if got := measure.Labels(f.Targets[0].Select).Key(); got != "module=a" {
		t.Errorf("the target selects %s", got)
	}
}
