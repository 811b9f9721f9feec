package budget

import (
	"fmt"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// dump writes all that a File holds, for goldens and to compare two Files.
func dump(f *File) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s version %d\n", f.Path, f.Version)
	at := func(p Position) string {
		if p.File != f.Path && p.Line > 0 {
			return p.File + ":" + p.String()
		}
		return p.String()
	}
	limit := func(name string, l *Limit, unit measure.Unit) {
		if l != nil {
			fmt.Fprintf(&out, " %s=%s (%q at %s)", name, l.Value.Exact(unit), l.Text, at(l.Pos))
		}
	}
	labels := func(name string, s Selector) {
		if len(s) > 0 {
			fmt.Fprintf(&out, " %s[%s]", name, measure.Labels(s).Key())
		}
	}
	for _, s := range f.Policy.settings() {
		if s.setting.Pos.Line > 0 {
			fmt.Fprintf(&out, "policy %s %s at %s\n", s.name, s.setting.Value, at(s.setting.Pos))
		}
	}
	for _, t := range f.Targets {
		fmt.Fprintf(&out, "target %s at %s\n", t.Name, at(t.Pos))
		for _, p := range t.Captures {
			fmt.Fprintf(&out, "  captures %s at %s\n", p.Text, at(p.Pos))
		}
		for _, p := range t.Base {
			fmt.Fprintf(&out, "  base %s at %s\n", p.Text, at(p.Pos))
		}
		if t.BaseRun.Line > 0 {
			fmt.Fprintf(&out, "  base run at %s\n", at(t.BaseRun))
		}
		if t.Run != nil {
			fmt.Fprintf(&out, "  run %q at %s\n", t.Run.Args, at(t.Run.Pos))
		}
		if d := t.Dryrun; d != nil {
			fmt.Fprintf(&out, "  dryrun %s at %s", strings.Join(d.texts(), ", "), at(d.Pos))
			limit("memory", d.Memory, measure.ByteUnit)
			limit("context", d.Context, measure.ByteUnit)
			limit("timeout", d.Timeout, measure.Seconds)
			out.WriteByte('\n')
		}
		if len(t.Select) > 0 {
			fmt.Fprintf(&out, "  select %s\n", measure.Labels(t.Select).Key())
		}
		for _, e := range t.Expect {
			fmt.Fprintf(&out, "  expect %s=%d at %s\n", e.Label, e.Count, at(e.Pos))
		}
		for _, c := range t.OnlyWhen {
			fmt.Fprintf(&out, "  only_when %s=%q at %s\n", c.Name, c.Pattern, at(c.Pos))
		}
		if w := t.Warmup; w != nil {
			fmt.Fprintf(&out, "  warmup at %s", at(w.Pos))
			if w.Steps != nil {
				fmt.Fprintf(&out, " steps=%d at %s", w.Steps.Value, at(w.Steps.Pos))
			}
			limit("time", w.Time, measure.Seconds)
			limit("fraction", w.Fraction, measure.Ratio)
			out.WriteByte('\n')
		}
		if t.Confirm != nil {
			fmt.Fprintf(&out, "  confirm %d at %s\n", t.Confirm.Value, at(t.Confirm.Pos))
		}
		for _, e := range t.Budgets {
			fmt.Fprintf(&out, "  %s at %s: %s", e.Metric.Name, at(e.Pos), e.Severity)
			limit("max", e.Max, e.Metric.Unit)
			limit("min", e.Min, e.Metric.Unit)
			if g := e.Growth; g != nil {
				fmt.Fprintf(&out, " growth=%s fall=%v (%q at %s)", g.Percent.RatString(), g.Fall, g.Text, at(g.Pos))
			}
			limit("floor", e.Floor, floorUnit(e.Metric.Unit))
			limit("up_to", e.UpTo, floorUnit(e.Metric.Unit))
			if e.Horizon != nil {
				fmt.Fprintf(&out, " horizon=%d at %s", e.Horizon.Value, at(e.Horizon.Pos))
			}
			labels("select", e.Select)
			if e.Why != "" {
				fmt.Fprintf(&out, " why=%q", e.Why)
			}
			if e.Default {
				out.WriteString(" (default)")
			}
			out.WriteByte('\n')
		}
	}
	for _, d := range f.Devices {
		fmt.Fprintf(&out, "device %s at %s: %s %s", d.Name, at(d.Pos), d.Severity, d.Metric.Name)
		limit("max", d.Max, measure.ByteUnit)
		for _, n := range d.Targets {
			fmt.Fprintf(&out, " %s at %s", n.Text, at(n.Pos))
		}
		labels("select", d.Select)
		if d.Why != "" {
			fmt.Fprintf(&out, " why=%q", d.Why)
		}
		out.WriteByte('\n')
	}
	for _, w := range f.Waivers {
		fmt.Fprintf(&out, "waiver at %s: %s at %s %s at %s", at(w.Pos), w.Target, at(w.TargetPos), w.Metric, at(w.MetricPos))
		metric, _ := measure.Lookup(w.Metric)
		limit("max", w.Max, metric.Unit)
		limit("min", w.Min, metric.Unit)
		labels("select", w.Select)
		fmt.Fprintf(&out, " until=%s at %s reason=%q owner=%q\n", w.Until, at(w.UntilPos), w.Reason, w.Owner)
	}
	return out.String()
}
