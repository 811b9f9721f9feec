package compare

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/measure"
)

// DryrunText tells the class of a dry run in words, with what keeps it from being exact.
func DryrunText(f measure.DryrunFact) string {
	switch f.Class {
	case measure.DryrunExact:
		return "exact for this configuration"
	case measure.DryrunAssumption:
		return "exact but for what is assumed" + reasons(f)
	case measure.DryrunValueDependent:
		if f.Unrepeatable {
			return "no two runs are alike" + reasons(f)
		}
		return "values that nothing computed steer the memory" + reasons(f) + "; say with assume what the program may read, or keep such values out of what decides sizes"
	case measure.DryrunDidNotRun:
		return "did not run" + reasons(f) + advice(f)
	}
	return fmt.Sprintf("of the class %q, which this version does not know", f.Class)
}

// instead says by the beginning of a call's name how a program does without its library.
var instead = []struct{ library, way string }{
	{"cudnn", "with torch.backends.cudnn.enabled = False PyTorch takes kernels of its own"},
	{"cusolver", "on the CPU the same function runs"},
	{"nccl", "the backend gloo runs"},
}

// advice is the hint that goes with a call which the pretend device does not answer.
func advice(f measure.DryrunFact) string {
	for _, i := range instead {
		if strings.HasPrefix(f.Unsupported, i.library) {
			return "; " + i.way
		}
	}
	return ""
}

// mostReasons is how many of them are told in words.
const mostReasons = 4

// reasons lists why a dry run is not exact, each with the user's line.
func reasons(f measure.DryrunFact) string {
	var out []string
	for _, r := range f.Reasons {
		text := r.Text
		if s := r.Source; s != nil {
			if at := fmt.Sprintf("%s:%d", s.File, s.Line); !strings.Contains(text, at) {
				text += " (" + at + ")"
			}
		}
		out = append(out, text)
	}
	if len(out) == 0 && f.Unsupported != "" {
		out = append(out, "the pretend device does not answer "+f.Unsupported)
	}
	if len(out) == 0 {
		return ""
	}
	if left := len(out) - mostReasons; left > 0 {
		out = append(out[:mostReasons], fmt.Sprintf("%d more", left))
	}
	return ": " + strings.Join(out, "; ")
}

// distrust says why the dry run that a row is from says nothing of it; empty where it
// does, and where the row is of a real run.
func distrust(m *measure.Measurement, metric string, labels measure.Labels) string {
	for _, f := range m.Facts.Dryrun {
		if !f.About(labels, m.Facts.Dryrun) {
			continue
		}
		switch {
		case f.Class == measure.DryrunValueDependent:
			return DryrunText(f)
		case !f.Judged():
			return "the dry run " + DryrunText(f)
		case f.Framework == "torch" && !measure.DryrunTells(f.Framework, metric):
			return metric + " depends on addresses that only a real device gives out: of a dry run of PyTorch only what the program asks for is judged; budget live.peak_bytes"
		}
	}
	return ""
}

// Trusted is an error where a measurement is of a dry run whose numbers no limit may
// be taken from.
func Trusted(m *measure.Measurement) error {
	for _, f := range m.Facts.Dryrun {
		if !f.Judged() {
			return fmt.Errorf("the dry run: %s", DryrunText(f))
		}
	}
	return nil
}

// ran tells whether a measurement is of more than dry runs that did not run at all.
func ran(m *measure.Measurement) bool {
	return len(m.Facts.Dryrun) == 0 || slices.ContainsFunc(m.Facts.Dryrun, func(f measure.DryrunFact) bool { return f.Class != measure.DryrunDidNotRun })
}

// pretended tells of the dry runs of the head what no row tells: that the program does
// not fit the device, or only without the margin that a real one needs, and that it
// did not run for one device of several.
//
// A head that did not run at all is taken away: nothing was measured.
func (w *Workload) pretended() []Notice {
	m := w.Head
	if m == nil {
		return nil
	}
	if !ran(m) {
		w.Head, w.HeadErr = nil, fmt.Errorf("the dry run %s", DryrunText(m.Facts.Dryrun[0]))
	}
	var notices []Notice
	add := func(v Verdict, effect, text string) {
		notices = append(notices, Notice{Verdict: v, Effect: effect, Text: text, File: cmp.Or(w.Target.Pos.File, filepath.ToSlash(w.Config)), Line: w.Target.Pos.Line, Column: w.Target.Pos.Column})
	}
	for _, f := range m.Facts.Dryrun {
		device := cmp.Or(f.Device, "the device")
		switch {
		case f.Fits == measure.FitsNo:
			add(Fail, "fit", fmt.Sprintf("%s does not fit %s: %s%s", w.Target.Name, device, cmp.Or(f.FitsReason, "its memory is not enough"), holder(m, f)))
		case f.Class == measure.DryrunDidNotRun && w.Head != nil: // else each check says it
			add(NoData, "dryrun", device+": "+DryrunText(f))
		case f.Fits == measure.FitsUnsure:
			add(Warn, "fit", fmt.Sprintf("%s may not fit %s: %s", w.Target.Name, device, cmp.Or(f.FitsReason, "less is left than what differs from one real device to another")))
		}
	}
	return notices
}

// holder names who holds most of what does not fit.
func holder(m *measure.Measurement, f measure.DryrunFact) string {
	var most *measure.Row
	for i, r := range m.Rows {
		if (r.Name == "live.peak_bytes" || r.Name == "plan.need_bytes") && r.Value != nil && f.About(r.Labels, m.Facts.Dryrun) && (most == nil || r.Value.Cmp(*most.Value) > 0) {
			most = &m.Rows[i]
		}
	}
	if most == nil {
		return ""
	}
	cs := m.ContributorsOf(most.Name, most.Labels)
	if len(cs) == 0 || cs[0].Key == measure.Other {
		return ""
	}
	return fmt.Sprintf("; the largest part, %s, is allocated at %s", cs[0].Bytes, cs[0].Display)
}

// trusted leaves out of measurements those of dry runs that say nothing of a metric.
func trusted(measured map[string]*measure.Measurement, d *budget.Device) map[string]*measure.Measurement {
	out := map[string]*measure.Measurement{}
	for name, m := range measured {
		if !slices.ContainsFunc(m.Rows, func(r measure.Row) bool {
			return r.Name == d.Metric.Name && distrust(m, r.Name, r.Labels) != ""
		}) {
			out[name] = m
		}
	}
	return out
}
