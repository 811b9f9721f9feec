package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// usualFraction is the share of a device's memory that JAX's allocator takes
// unless it is told otherwise (XLA_PYTHON_CLIENT_MEM_FRACTION, 0.75).
// https://docs.jax.dev/en/latest/gpu_memory_allocation.html
const usualFraction = 0.75

// deviceTimelines gives the timelines of allocators of device memory.
func deviceTimelines(m *measure.Measurement) (out []measure.TimelineFact) {
	for _, t := range m.Facts.Timelines {
		if t.Pool == "device" {
			out = append(out, t)
		}
	}
	return out
}

// ranOn gives the executions of a module.
func (m *module) ranOn() (out []measure.ExecutionFact) {
	for _, e := range m.in.Facts.Executions {
		if m.is(e.Labels["module"], e.Labels["program"]) {
			out = append(out, e)
		}
	}
	return out
}

// is tells whether the module has this name, bare or with its program's number.
func (m *module) is(name, program string) bool {
	mine, number := m.labels["module"], m.labels["program"]
	return name == mine && (program == "" || program == number) || number != "" && name == mine+"("+number+")"
}

// title is the module's name with its program's number.
func (m *module) title() string {
	if n := m.labels["program"]; n != "" {
		return m.labels["module"] + "(" + n + ")"
	}
	return m.labels["module"]
}

// runtimeLimits gives the limits of the allocators that the run recorded, that of
// the module's own where it is known.
func runtimeLimits(in Input, m *module) (out []limit) {
	var own []measure.ExecutionFact
	for _, e := range m.ranOn() {
		if e.Labels["allocator"] != "" {
			own = append(own, e)
		}
	}
	least := limit{}
	for _, t := range deviceTimelines(in.Head) {
		mine := len(own) == 0
		for _, e := range own {
			mine = mine || e.Labels["allocator"] == t.Labels["allocator"]
		}
		if mine && t.LimitBytes > 0 && (least.bytes == 0 || t.LimitBytes < least.bytes) {
			least = limit{bytes: t.LimitBytes, says: "the limit of " + allocator(t), fraction: true}
		}
	}
	if least.bytes > 0 {
		out = append(out, least)
	}
	return out
}

// failed tells whether memory ran out for the module in the capture: an execution
// launched nothing, the allocator gave up, or the log says so. Where none did, what
// it asked for was there, whatever the figures suggest.
func failed(in *measure.Measurement, m *module) bool {
	for _, e := range m.ranOn() {
		if e.NeverLaunched != nil && *e.NeverLaunched > 0 {
			return true
		}
	}
	return slices.ContainsFunc(in.Facts.Waits, func(w measure.WaitFact) bool { return w.GaveUp > 0 }) ||
		slices.ContainsFunc(in.Facts.Logs, func(l measure.LogFact) bool { return l.Kind == measure.LogGPU })
}

// onePerModule keeps of findings that several allocators have in common (a program
// on eight devices) the one with the largest saving, and says how many there are.
func onePerModule(fs []measure.Finding) []measure.Finding {
	var out []measure.Finding
	at, more := map[string]int{}, map[int]int{}
	for _, f := range fs {
		key := f.Labels.Key("allocator", "device")
		if _, ok := f.Labels["allocator"]; !ok {
			key += "\x00" + f.Text
		}
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			out = append(out, f)
			continue
		}
		if more[i]++; f.SavingBytes > out[i].SavingBytes {
			out[i] = f
		}
	}
	for i, n := range more {
		out[i].Text += fmt.Sprintf("; %s the like", plural(int64(n), "more allocator has", "more allocators have"))
	}
	return out
}

func allocator(t measure.TimelineFact) string {
	if a := t.Labels["allocator"]; a != "" {
		return "allocator " + a
	}
	return "the allocator"
}

// event starts a finding about an allocator or an execution.
func event(severity, evidence string, labels measure.Labels, format string, args ...any) measure.Finding {
	return measure.Finding{Severity: severity, Evidence: evidence, Labels: labels, Text: fmt.Sprintf(format, args...)}
}

// Names of rules whose findings have a place of their own.
const (
	growthPerExecution = "growth-per-execution"
	growthPerStep      = "growth-per-step"
	neverLaunched      = "never-launched"
	allocatorRetry     = "allocator-retry"
)

var runRules = slices.Concat(failureRules, growthRules, poolRules)

var failureRules = []Rule{
	{
		Name: neverLaunched, Family: "run",
		Doc: "An execution of the module ended without launching a kernel: it failed, as a rule for want of memory.",
		Find: func(in Input) (out []measure.Finding) {
			for _, e := range in.Head.Facts.Executions {
				if e.NeverLaunched != nil && *e.NeverLaunched > 0 {
					f := event(Error, Measured, e.Labels, "%d of %s launched no kernel: out of memory, as a rule", *e.NeverLaunched, plural(e.Count, "execution", "executions"))
					f.Fix = "compare what was live when it began, and what the module needs, with the limit of the allocator; --log with the run's output tells what was asked for"
					out = append(out, f)
				}
			}
			return out
		},
	},
	{
		Name: allocatorRetry, Family: "run",
		Doc: "The allocator waited for memory to be freed, up to ten seconds before it gives up. It is evidence that memory ran out inside of the capture; the failing request is mostly the temp block of the module or an output.",
		Find: func(in Input) (out []measure.Finding) {
			for _, w := range in.Head.Facts.Waits {
				severity, evidence, how := Warning, Measured, "the allocator waited for memory"
				if w.Kind != "retry" {
					evidence, how = Inferred, "something waited without any allocation, as the allocator does before it fails"
				}
				if w.GaveUp > 0 {
					severity = Error
				}
				f := event(severity, evidence, w.Labels, "%s: %s %s, the longest for %.1f s", how, w.Event, plural(w.Count, "time", "times"), w.LongestSeconds)
				if w.GaveUp > 0 {
					f.Text += fmt.Sprintf("; %d gave up", w.GaveUp)
				}
				f.Fix = "see what does not fit: the failing request is mostly a module's temp block or an output"
				if len(in.modules) == 0 {
					f.Fix = operationFix
				}
				out = append(out, f)
			}
			return out
		},
	},
}

var poolRules = []Rule{
	{
		Name: "other-live-arrays", Family: "run",
		Doc: "When the last execution began, arrays other than its arguments held much of the memory: a data set, an evaluation copy, prefetched batches, outputs of other programs. What was allocated before the capture has no name: profile from earlier on.",
		Find: func(in Input) (out []measure.Finding) {
			for _, t := range deviceTimelines(in.Head) {
				s := t.LastStart
				if s == nil || t.LimitBytes == 0 {
					continue
				}
				for _, m := range in.modules {
					if !m.is(s.Module, "") {
						continue
					}
					p := m.space(device)
					others := s.InUse - p.size("plan.argument_bytes")
					over := p.size("plan.need_bytes") + others - t.LimitBytes
					if others < 1<<20 || over <= 0 && 4*others < t.LimitBytes || p.size("plan.need_bytes") > t.LimitBytes {
						break
					}
					f := event(Warning, Inferred, m.labels.With("allocator", t.Labels["allocator"]), "other live arrays take %s of the %s of %s when the last execution begins", others, t.LimitBytes, allocator(t))
					if over > 0 {
						if failed(in.Head, &m) {
							f.Severity = Error
						}
						f.Text += fmt.Sprintf("; with them the execution, which needs %s, is %s too much", p.size("plan.need_bytes"), over)
					}
					f.Text += largestGroups("live then", s.Groups)
					f.Fix = "keep them on the host and stream, free them (del, or leave the scope), or give them a smaller dtype"
					if len(s.Groups) > 0 && strings.Contains(s.Groups[0].Name, "before the capture") {
						f.Fix += "; begin the profile earlier to name them"
					}
					f.Cost, f.SavingBytes = "transfers from the host", others
					out = append(out, f)
					break
				}
			}
			return out
		},
	},
	{
		Name: "temp-is-one-block", Family: "run",
		Doc: "The temp block of a module is one piece of memory. An execution failed though enough was free in all: the largest free piece was too small.",
		Find: func(in Input) (out []measure.Finding) {
			for _, t := range deviceTimelines(in.Head) {
				s := t.LastStart
				if s == nil || t.LimitBytes == 0 {
					continue
				}
				for _, m := range in.modules {
					p := m.space(device)
					block, free := p.fact.BlockBytes, t.LimitBytes-s.InUse
					if !m.is(s.Module, "") || block == 0 || block > free || t.LargestFreeBytes == nil || block <= *t.LargestFreeBytes || !failed(in.Head, &m) {
						continue
					}
					f := event(Error, Inferred, m.labels.With("allocator", t.Labels["allocator"]), "the temp block of %s is one piece: %s is free, but the largest free piece is %s", block, free, *t.LargestFreeBytes)
					f.Fix, f.Cost = "allocate long-lived arrays first and keep sizes steady (pad batches), or lower the temp block under the largest free piece", "nothing"
					f.SavingBytes = block - *t.LargestFreeBytes
					out = append(out, f)
				}
			}
			return out
		},
	},
	{
		Name: "capacity-below-device", Family: "run",
		Doc: "The allocator may take much less than the device has: XLA_PYTHON_CLIENT_MEM_FRACTION is likely set. The capture holds no environment variables.",
		Find: func(in Input) (out []measure.Finding) {
			for _, t := range deviceTimelines(in.Head) {
				if t.LimitBytes <= 0 || float64(t.LimitBytes) >= (usualFraction-0.02)*float64(t.DeviceMemoryBytes) {
					continue
				}
				f := event(Note, Inferred, t.Labels, "the limit of %s is %s, %.0f %% of the device's %s: XLA_PYTHON_CLIENT_MEM_FRACTION is likely set", allocator(t), t.LimitBytes, share(t.LimitBytes, t.DeviceMemoryBytes), t.DeviceMemoryBytes)
				f.Fix, f.Cost = "raise the fraction, if nothing else uses the device", "less for other processes and libraries"
				f.SavingBytes = measure.Bytes(usualFraction*float64(t.DeviceMemoryBytes)) - t.LimitBytes
				out = append(out, f)
			}
			return out
		},
	},
	{
		Name: "peak-before-capture", Family: "run",
		Doc: "The allocator's lifetime peak is above that of the capture: the true peak was before it, in compilation and autotuning as a rule. A gate on this capture does not see it.",
		Find: func(in Input) (out []measure.Finding) {
			for _, t := range deviceTimelines(in.Head) {
				if before := t.LifetimePeakBytes - t.PeakBytes; before > 0 {
					f := event(Note, Measured, t.Labels, "the peak of %s was before the capture: %s, %s in it", allocator(t), t.LifetimePeakBytes, t.PeakBytes)
					f.Fix = "begin the profile earlier to see it; before the first execution it is compilation and autotuning"
					out = append(out, f)
				}
			}
			return out
		},
	},
}

// largestGroups names the largest groups of live memory.
func largestGroups(when string, groups []measure.LiveGroup) string {
	var parts []string
	for i, g := range groups {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d more groups", len(groups)-3))
			break
		}
		parts = append(parts, fmt.Sprintf("%s: %s", g.Name, g.Bytes))
		if g.Count > 1 {
			parts[i] += fmt.Sprintf(" in %d", g.Count)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + when + ", the largest first: " + strings.Join(parts, ", ")
}
