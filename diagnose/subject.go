package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Subject is the XLA module that an explanation is about.
type Subject struct {
	Title  string         // "jit_step(12)"
	Labels measure.Labels // of its rows, without the memory space
	Why    string         // it and no other
	Others int            // how many more there are
}

// Choose picks the module to explain: the one asked for by its name or title; else
// one whose execution never launched a kernel (that of the last execution first);
// else the largest that ran; else the largest. It is nil where the measurement has
// no module, and an error where it lacks the one asked for.
func Choose(m *measure.Measurement, want string) (*Subject, error) {
	ms := modules(m)
	if len(ms) == 0 {
		if want != "" {
			return nil, fmt.Errorf("there is no module %.80q: the captures hold no XLA plan", want)
		}
		return nil, nil
	}
	slices.SortStableFunc(ms, func(a, b module) int {
		return int(min(1, max(-1, b.space(device).size("plan.need_bytes")-a.space(device).size("plan.need_bytes"))))
	})
	best, why := &ms[0], "the largest; the capture does not tell which ran"
	var ran, failed *module
	for i := range ms {
		for _, e := range ms[i].ranOn() {
			if ran == nil && e.Count > 0 {
				ran = &ms[i]
			}
			if e.NeverLaunched != nil && *e.NeverLaunched > 0 && (failed == nil || ms[i].isLast() && !failed.isLast()) {
				failed = &ms[i]
			}
		}
	}
	switch {
	case want != "":
		i := slices.IndexFunc(ms, func(m module) bool { return m.title() == want })
		if i < 0 {
			i = slices.IndexFunc(ms, func(m module) bool { return m.labels["module"] == want })
		}
		if i < 0 {
			var titles []string
			for i := range ms {
				titles = append(titles, ms[i].title())
			}
			return nil, fmt.Errorf("there is no module %.80q; there are %s", want, strings.Join(titles[:min(len(titles), 12)], ", "))
		}
		best, why = &ms[i], "as asked for"
	case failed != nil:
		best, why = failed, "an execution of it never launched a kernel"
		if failed.isLast() {
			why = "its last execution never launched a kernel"
		}
	case ran != nil:
		best, why = ran, "the largest that ran"
	}
	return &Subject{Title: best.title(), Labels: best.labels, Why: why, Others: len(ms) - 1}, nil
}

// isLast tells whether the last execution on some allocator was of this module.
func (m *module) isLast() bool {
	for _, t := range m.in.Facts.Timelines {
		if t.LastStart != nil && m.is(t.LastStart.Module, "") {
			return true
		}
	}
	return false
}

// About keeps the findings that tell of a module: those about it, and those that
// name none.
func About(labels measure.Labels, fs []measure.Finding) []measure.Finding {
	return slices.DeleteFunc(slices.Clone(fs), func(f measure.Finding) bool {
		name, program := f.Labels["module"], f.Labels["program"]
		m := module{labels: labels}
		return name != "" && !m.is(name, program)
	})
}

// Fits keeps the findings that may explain a row with these labels: each label that
// both have is equal, and they have one in common.
func Fits(labels measure.Labels, fs []measure.Finding) []measure.Finding {
	return slices.DeleteFunc(slices.Clone(fs), func(f measure.Finding) bool {
		common := len(f.Labels) == 0
		for k, v := range f.Labels {
			switch have, ok := labels[k]; {
			case ok && have != v:
				return true
			case ok:
				common = true
			}
		}
		return !common
	})
}
