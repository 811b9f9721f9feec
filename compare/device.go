package compare

import (
	"fmt"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/measure"
)

// JudgeDevice holds the sum of the targets that share a device against the
// device's limit. measured holds the head of each target that was measured; a
// sum that lacks one is no_data, unless it is over the limit as it is.
func JudgeDevice(d *budget.Device, f *budget.File, measured map[string]*measure.Measurement) TargetResult {
	measured = trusted(measured, d)
	total, missing := d.Total(f, measured)
	head := measure.Int(int64(total))
	c := Check{
		Metric: d.Metric.Name, Labels: measure.Labels{}, Unit: d.Metric.Unit, Kind: d.Metric.Kind, Verdict: Pass, Head: &head, Contributors: []Contributor{},
		Limit: Limit{Max: &d.Max.Value, Text: "max " + d.Max.Text, Severity: string(d.Severity), Why: d.Why, File: d.Pos.File, Line: d.Pos.Line, Column: d.Pos.Column},
	}
	if c.Limit.File == "" {
		c.Limit.File = f.Path
	}
	for _, name := range d.Targets {
		one := &budget.Device{Metric: d.Metric, Select: d.Select, Targets: []budget.Name{name}}
		if part, absent := one.Total(f, measured); len(absent) == 0 {
			c.Contributors = append(c.Contributors, Contributor{Key: name.Text, Display: "target " + name.Text, HeadBytes: part, HeadCount: 1})
		}
	}
	sortContributors(c.Contributors)
	switch over := head.Cmp(d.Max.Value) > 0; {
	case over:
		c.Verdict, c.Failed, c.Excess = Fail, []string{"max"}, excess(head, d.Max.Value)
		c.Reason = fmt.Sprintf("the sum of %d targets, %s, is over the max of %s by %s", len(d.Targets), total, d.Max.Text, head.Sub(d.Max.Value).Format(c.Unit))
		if len(missing) > 0 {
			c.Reason += fmt.Sprintf("; and it lacks %s", abridge(missing, 6))
		}
		if d.Severity == budget.SeverityWarn {
			c.Verdict = Warn
			if len(missing) > 0 {
				c.Verdict = NoData // a severity never softens what was not measured
			}
		}
	case len(missing) > 0:
		c.Verdict, c.Head = NoData, nil
		c.Reason = fmt.Sprintf("the sum lacks %s: %s was not measured", abridge(missing, 6), d.Metric.Name)
	default:
		c.Reason = fmt.Sprintf("the sum of %d targets holds", len(d.Targets))
	}
	return TargetResult{
		Name: "device " + d.Name, Verdict: c.Verdict.whole(), Inputs: []measure.Input{}, BaseInputs: []measure.Input{}, Base: Base{Kind: "none"},
		Environment: Environments{Base: measure.Environment{}, Head: measure.Environment{}}, Likeness: Likeness{Verdict: "unknown", Notes: []string{}},
		Notices: []Notice{}, Checks: []Check{c}, Findings: []measure.Finding{}, Warnings: []string{},
	}
}
