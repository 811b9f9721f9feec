package diagnose

import (
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// several is a measurement of three modules; the largest did not run.
func several() *measure.Measurement {
	m := measure.New()
	for name, need := range map[string]int64{"jit_big": 900, "jit_step": 500, "jit_eval": 100} {
		labels := measure.Labels{"module": name, "program": "3"}
		m.Facts.Modules = append(m.Facts.Modules, measure.ModuleFact{Labels: labels})
		m.Rows = append(m.Rows, measure.NewRow("plan.need_bytes", labels.With("memory_space", device), measure.Int(need)))
	}
	return m
}

func TestChoose(t *testing.T) {
	executed := func(name string, failed int64) measure.ExecutionFact {
		return measure.ExecutionFact{Labels: measure.Labels{"module": name, "program": "3"}, Count: 2, NeverLaunched: &failed}
	}
	for _, c := range []struct {
		name, want, title, why string
		change                 func(*measure.Measurement)
	}{
		{"nothing ran", "", "jit_big(3)", "the largest; the capture does not tell which ran", func(*measure.Measurement) {}},
		{"asked for", "jit_eval", "jit_eval(3)", "as asked for", func(*measure.Measurement) {}},
		{"asked for by title", "jit_eval(3)", "jit_eval(3)", "as asked for", func(*measure.Measurement) {}},
		{"ran", "", "jit_step(3)", "the largest that ran", func(m *measure.Measurement) {
			m.Facts.Executions = []measure.ExecutionFact{executed("jit_eval", 0), executed("jit_step", 0)}
		}},
		{"failed", "", "jit_eval(3)", "an execution of it never launched a kernel", func(m *measure.Measurement) {
			m.Facts.Executions = []measure.ExecutionFact{executed("jit_eval", 1), executed("jit_step", 0)}
		}},
		{"failed last", "", "jit_eval(3)", "its last execution never launched a kernel", func(m *measure.Measurement) {
			m.Facts.Executions = []measure.ExecutionFact{executed("jit_eval", 1), executed("jit_step", 1)}
			m.Facts.Timelines = []measure.TimelineFact{{LastStart: &measure.LiveFact{Module: "jit_eval(3)"}}}
		}},
	} {
		m := several()
		c.change(m)
		s, err := Choose(m, c.want)
		if err != nil || s.Title != c.title || s.Why != c.why || s.Others != 2 {
			t.Errorf("%s: %+v, %v; want %s: %s", c.name, s, err, c.title, c.why)
		}
	}
	if s, err := Choose(measure.New(), ""); s != nil || err != nil {
		t.Errorf("no module: %+v, %v", s, err)
	}
	for m, want := range map[*measure.Measurement]string{measure.New(): "hold no XLA plan", several(): "there are jit_big(3), jit_step(3), jit_eval(3)"} {
		if _, err := Choose(m, "jit_x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestAboutAndFits(t *testing.T) {
	fs := []measure.Finding{
		{Rule: "a", Labels: measure.Labels{"module": "jit_step", "program": "3"}},
		{Rule: "b", Labels: measure.Labels{"module": "jit_step(3)", "allocator": "x"}},
		{Rule: "c", Labels: measure.Labels{"module": "jit_eval"}},
		{Rule: "d", Labels: measure.Labels{"device": "0"}},
		{Rule: "e"},
	}
	if got := rules(About(measure.Labels{"module": "jit_step", "program": "3"}, fs)); got != "a b d e" {
		t.Errorf("about jit_step(3): %s", got)
	}
	if got := rules(Fits(measure.Labels{"module": "jit_step", "program": "3", "memory_space": "device"}, fs)); got != "a e" {
		t.Errorf("fits jit_step(3): %s", got)
	}
	if got := rules(Fits(measure.Labels{"device": "0"}, fs)); got != "d e" {
		t.Errorf("fits device 0: %s", got)
	}
}
