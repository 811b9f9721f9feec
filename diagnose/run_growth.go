package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

var growthRules = []Rule{
	{
		Name: growthPerExecution, Family: "run",
		Doc: "Live memory grows with each execution of a module. Where it grows by 1.00 times the outputs that have memory of their own, the program keeps every step's outputs: look for the holder among the host events between executions ($<unknown> append is list.append). A larger pool only delays the end.",
		Find: func(in Input) (out []measure.Finding) {
			for _, e := range in.Head.Facts.Executions {
				each, all, over := rate(e.Growth, e.Count)
				if each < smallest {
					continue
				}
				f := event(Warning, Measured, e.Labels, "live memory grows by %s with each execution (%s over %d)", each, all, over)
				f.Fix = "drop the reference, reduce inside of the step (a norm instead of the tree), or jax.device_get what is kept; a larger pool only delays the end"
				f.Cost, f.SavingBytes = "nothing", all
				if k := e.OutputMultiple; k != nil && *k > 0 {
					f.Text += fmt.Sprintf(" = %.2fx its outputs that have memory of their own", *k)
					if math.Abs(*k-math.Round(*k)) < 0.02 && *k > 0.5 {
						f.Text += ": each step's outputs are kept"
					}
				}
				for _, t := range deviceTimelines(in.Head) {
					if s := t.LastStart; s != nil && (e.Labels["allocator"] == "" || e.Labels["allocator"] == t.Labels["allocator"]) {
						if a := appends(s.Between); a != "" {
							f.Text += "; between executions: " + a
						}
						break
					}
				}
				out = append(out, f)
			}
			return out
		},
	},
	{
		Name: growthPerStep, Family: "run",
		Doc: "Live memory grows with each step of a program without executions of XLA modules (TensorFlow), or by more than its executions show: something keeps what each step makes. The finding names the operations that made what is live when the last step begins; the step's own marks (tf.profiler.experimental.Trace, StepTraceAnnotation) separate the steps, else runs of functions.",
		Find: func(in Input) (out []measure.Finding) {
			for _, t := range deviceTimelines(in.Head) {
				each, all, over := rate(t.Growth, t.StepCount)
				told := slices.ContainsFunc(in.Head.Facts.Executions, func(e measure.ExecutionFact) bool {
					by, _, _ := rate(e.Growth, e.Count)
					return by >= smallest && e.Labels["allocator"] == t.Labels["allocator"]
				})
				if each < smallest || told {
					continue
				}
				step := map[string]string{"function_runs": "run of a function", "executions": "execution", "group_ids": "group of events"}[t.Steps]
				f := event(Warning, Measured, t.Labels, "live memory grows by %s with each %s (%s over %d)", each, cmp.Or(step, "step"), all, over)
				if s := t.LastStart; s != nil {
					made := slices.DeleteFunc(slices.Clone(s.Groups), func(g measure.LiveGroup) bool { return strings.Contains(g.Name, "before the capture") })
					f.Text += largestGroups("live when the last step begins", made)
					if len(made) > 0 {
						f.Source = made[0].From
					}
					if a := appends(s.Between); a != "" {
						f.Text += "; between executions: " + a
					}
				}
				f.Fix = "drop the reference: keep float(x) or x.numpy() of what is collected over steps, not the tensor; a larger pool only delays the end"
				f.Cost, f.SavingBytes = "nothing", all
				out = append(out, f)
			}
			return out
		},
	},
}

var livePairRules = []Rule{{
	Name: "live-arrays-grew", Family: "run", Compares: true,
	Doc: "Device memory profiles (jax.profiler.save_device_memory_profile) hold what is alive at one moment: the head has more live arrays than the base. The finding names the line that made most of them; what refers to them is elsewhere, as a rule a list or a dict that is filled step after step.",
	Find: func(in Input) (out []measure.Finding) {
		if len(in.Head.Facts.Snapshots)+len(in.Head.Facts.Timelines) > 0 {
			return nil // rules of their own tell more of these
		}
		for _, r := range in.Head.Rows {
			b, ok := liveRow(in.Base, r.Labels)
			h, ok2 := liveRow(in.Head, r.Labels)
			if r.Name != liveEnd || r.Labels["allocator"] != "" || !ok || !ok2 || !notable(h-b, b) {
				continue
			}
			grew := compare.Contributors(in.Base.ContributorsOf(liveEnd, r.Labels), in.Head.ContributorsOf(liveEnd, r.Labels), b, h)
			var best *compare.Contributor
			for i, c := range grew {
				if c.Key != measure.Other && c.Delta() > 0 && (best == nil || c.Delta() > best.Delta()) {
					best = &grew[i]
				}
			}
			if best == nil {
				continue
			}
			f := event(Warning, Measured, r.Labels, "live arrays grew at %s: by %s, from %d arrays to %d; all live arrays %s", best.Display, best.Delta(), best.BaseCount, best.HeadCount, moved(b, h))
			f.Fix = "look for what keeps them: a list, a dict or a closure that outlives the step; keep float(x) or jax.device_get(x) of what is collected"
			f.Cost, f.SavingBytes, f.Source = "nothing", best.Delta(), best.Source
			out = append(out, f)
		}
		return out
	},
}}

const liveEnd = "live.end_bytes"

// liveRow gives what was live at the end by a device memory profile.
func liveRow(m *measure.Measurement, labels measure.Labels) (measure.Bytes, bool) {
	for _, r := range m.Rows {
		if r.Name == liveEnd && r.Value != nil && r.Labels.Key() == labels.Key() {
			n, exact := r.Value.Int64()
			return measure.Bytes(n), exact
		}
	}
	return 0, false
}

// rate gives what memory grew by with each of so many steps, and over all that are
// no warm-up.
func rate(g *measure.GrowthFact, count int64) (each, all measure.Bytes, over int64) {
	if g == nil || g.Steps < 1 {
		return 0, 0, 0
	}
	each = measure.Bytes(int64(g.ChangeBytes) / g.Steps)
	if over = max(g.Steps, count-1-g.From); over > g.Steps && int64(each) < math.MaxInt64/over {
		return each, each * measure.Bytes(over), over
	}
	return each, g.ChangeBytes, g.Steps
}

// appends names the host events that keep something: list.append and the like. The
// Python tracer knows a method of a built-in type by its name alone.
func appends(events []measure.HostEvent) string {
	var parts []string
	for _, e := range events {
		method, bare := strings.CutPrefix(e.Name, "$<unknown> ")
		for _, word := range []string{"append", "extend", "setitem", "setattr", "insert"} {
			if !strings.Contains(e.Name, word) || len(parts) == 3 {
				continue
			}
			if bare && slices.Contains([]string{"append", "extend", "insert"}, method) {
				e.Name += " = list." + method
			}
			parts = append(parts, e.Name)
			break
		}
	}
	return strings.Join(parts, ", ")
}
