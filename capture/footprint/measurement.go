package footprint

import (
	"fmt"
	"math"

	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
)

// Measurement gives the rows, series and facts of the run. The caller fills in
// Inputs. A run that failed gives no footprint: what it would have taken is not
// known. One that the kernel killed for memory, or that went over a limit, keeps its
// numbers; its fact says so.
func (c *Capture) Measurement() *measure.Measurement {
	out := measure.New()
	out.Warnings = append(out.Warnings, c.Warnings...)
	fact := c.fact()
	why := ""
	if fact.Outcome == measure.OutcomeFailed || fact.Outcome == measure.OutcomeSignal {
		why = fact.Broken() + ", so this is no whole run"
	}
	if broken := fact.Broken(); broken != "" {
		out.Warnings = append(out.Warnings, broken)
	}
	c.peaks(out, why)
	c.growth(out, why, &c.footprint, "footprint", measure.ByteUnit)
	if c.affon != nil || c.regions.byTime.N > 0 {
		c.growth(out, why, &c.regions, "regions", measure.Count)
	}
	c.rest(out, why)
	out.Facts.Watches = append(out.Facts.Watches, fact)
	if h := c.Header; h != nil {
		environment(out, h)
	}
	return out
}

func environment(out *measure.Measurement, h *Header) {
	for k, v := range map[string]string{"os": h.Host.OS, "arch": h.Host.Arch, "kernel": h.Host.Kernel, "watcher": h.Tool} {
		if v != "" {
			out.Environment[k] = v
		}
	}
	if n := h.Host.MemoryBytes; n > 0 {
		out.Environment["memory"] = measure.Bytes(n).Exact()
	}
}

// fact is what the file tells of the run.
func (c *Capture) fact() measure.WatchFact {
	t := &c.footprint
	f := measure.WatchFact{
		Labels: measure.Labels{}, Watcher: "peakgate", Outcome: measure.OutcomeUnknown,
		Seconds: float64(c.last) / 1000, Samples: c.samples, Footprints: int64(t.byTime.N), Steps: int64(t.byStep.N),
		Gaps: c.gaps, LongestGap: float64(c.longestGap) / 1000,
	}
	if a := c.affon; a != nil {
		bytes, regions := measure.Bytes(a.last.PhysicalFootprintBytes-a.first.PhysicalFootprintBytes), a.last.GraphicsRegions-a.first.GraphicsRegions
		f.Watcher, f.GrowthBytes, f.GrowthRegions = "affon", &bytes, &regions
		f.LimitGrowthBytes, f.LimitRegions = affonGrowth, affonRegions
		f.Seconds = float64(a.last.ElapsedSeconds - a.first.ElapsedSeconds)
		if c.samples > 1 {
			f.IntervalSeconds = f.Seconds / float64(c.samples-1)
		}
		return f
	}
	f.IntervalSeconds = float64(c.Header.IntervalMS) / 1000
	f.StepSource, f.Sources = c.Header.Steps, c.Header.Sources
	if kills, ok := c.oomKills(); ok {
		f.OOMKills = &kills
	}
	s := c.Summary
	if s == nil {
		if c.kills > 0 {
			f.Outcome = measure.OutcomeOOMKilled
		}
		return f
	}
	f.ExitCode, f.Signal, f.Stopped, f.Processes = s.ExitCode, s.Signal, s.Stopped, s.Processes
	// In a control group that others share, a kill counts only where the run did not
	// end well: it may have been theirs.
	mine := f.OOMKills != nil && *f.OOMKills > 0 && (s.Reasons["oom_kills"] == "" || s.ExitCode == nil || *s.ExitCode != 0)
	switch {
	case mine:
		f.Outcome = measure.OutcomeOOMKilled
	case s.Stopped != "":
		f.Outcome = measure.OutcomeStopped
	case s.Signal != "":
		f.Outcome = measure.OutcomeSignal
	case s.ExitCode != nil && *s.ExitCode == 0:
		f.Outcome = measure.OutcomeFinished
	case s.ExitCode != nil:
		f.Outcome = measure.OutcomeFailed
	}
	return f
}

// oomKills is how many processes were killed for memory, where that is known.
func (c *Capture) oomKills() (n int64, ok bool) {
	if c.Summary != nil {
		n, ok = c.Summary.OOMKills.Value()
	}
	return max(n, c.kills), ok || c.kills > 0
}

// peaks gives the maxima, the plateau and the kills.
func (c *Capture) peaks(out *measure.Measurement, why string) {
	none := measure.Labels{}
	absent := func(name, reason string) { out.Rows = append(out.Rows, measure.Absent(name, none, reason)) }
	sampled, process, upper := c.maxima()
	switch {
	case why != "":
		absent("footprint.peak_bytes", why)
	case max(sampled, process) == 0:
		absent("footprint.peak_bytes", c.noFootprint())
	default:
		r := measure.NewRow("footprint.peak_bytes", none, measure.Int(max(sampled, process)))
		if r.Samples = c.footprint.byTime.N; process > sampled {
			r.Kind = measure.HighWater
		}
		out.Rows = append(out.Rows, r)
	}
	if upper > 0 && why == "" {
		upper = max(upper, sampled, process)
		out.Rows = append(out.Rows, measure.NewRow("footprint.peak_upper_bytes", none, measure.Int(upper)))
		c.doubtful(out, max(sampled, process), upper)
	}
	if c.affon != nil {
		return
	}
	n, known := c.oomKills()
	switch {
	case known:
		out.Rows = append(out.Rows, measure.NewRow("oom.kills", none, measure.Int(n)))
	case c.Summary == nil:
		absent("oom.kills", "the file has no summary")
	case c.Summary.Reasons["oom_kills"] != "":
		absent("oom.kills", c.Summary.Reasons["oom_kills"])
	default:
		absent("oom.kills", "the watcher does not tell")
	}
}

// doubtful warns of a peak that was hardly looked for: processes share memory, and
// most samples are without a footprint.
func (c *Capture) doubtful(out *measure.Measurement, lower, upper int64) {
	if n := c.footprint.byTime.N; 2*int64(n) < c.samples && lower > 0 && upper-lower > max(16<<20, lower/8) {
		out.Warnings = append(out.Warnings, fmt.Sprintf(
			"%d of %d samples have a footprint: its peak lies between %s and %s; peakgate watch --pss always reads it at each, and so does a control group of the run's own",
			n, c.samples, measure.Bytes(lower), measure.Bytes(upper)))
	}
}

// maxima gives the largest footprint of all samples, the kernel's largest maximum of
// one process, and the largest sum of such maxima; 0 for what the file does not tell.
func (c *Capture) maxima() (sampled, process, upper int64) {
	sampled, process, upper = max(c.footprint.byTime.Max, 0), c.process, c.highWater
	if c.affon != nil {
		return sampled, c.affon.peak, 0
	}
	if s := c.Summary; s != nil {
		n, _ := s.FootprintPeak.Value()
		sampled = max(sampled, n)
		n, _ = s.ProcessPeak.Value()
		process = max(process, n)
		if n, ok := s.UpperPeak.Value(); ok {
			upper = n // the watcher knows more than the marks in the file
		}
	}
	return sampled, process, upper
}

func (c *Capture) noFootprint() string {
	if c.reason != "" {
		return "no footprint was read: " + c.reason
	}
	if c.Summary != nil && c.Header != nil && c.Summary.TMS < c.Header.IntervalMS {
		return fmt.Sprintf("no sample has a footprint: the run was over after %d ms, too short to be sampled; watch a longer one", c.Summary.TMS)
	}
	return "no sample has a footprint"
}

// growth gives the series of one number, its growth and, of the footprint, where it
// comes to rest: by step where steps are marked, else by time.
func (c *Capture) growth(out *measure.Measurement, why string, t *track, name string, unit measure.Unit) {
	labels := measure.Labels{"series": name}
	levels, x := t.axis(c.stepped())
	if h := c.Header; x == measure.XSeconds && name == "footprint" && h != nil && (h.Steps == StepsChannel || h.Steps == StepsSignal) {
		out.Warnings = append(out.Warnings, "the run was to mark its steps by a "+h.Steps+", and fewer than two came: growth is given per hour")
	}
	s := levels.Series(labels, unit, x)
	row, _ := growth.Row(s)
	reason := why
	switch {
	case reason != "":
	case levels.N == 0 && name == "footprint":
		reason = c.noFootprint()
	case !levels.NonZero:
		reason = "it is 0 in all samples"
	}
	if reason != "" {
		row = measure.Absent(row.Name, labels, reason)
	}
	out.Rows = append(out.Rows, row)
	if levels.NonZero {
		out.Series = append(out.Series, s)
	}
	if name == "footprint" {
		out.Rows = append(out.Rows, plateau(s, reason))
	}
}

// stepped tells that steps are marked, and not merely guessed.
func (c *Capture) stepped() bool {
	return c.Header != nil && c.Header.Steps != "" && c.Header.Steps != StepsEstimated
}

// axis gives the levels by step where there are some, else by time.
func (t *track) axis(stepped bool) (*measure.Levels, measure.XUnit) {
	if stepped && t.byStep.N > 1 {
		return &t.byStep, measure.XStep
	}
	return &t.byTime, measure.XSeconds
}

// plateau is the level of the last third of the run.
func plateau(s measure.Series, reason string) measure.Row {
	const metric = "footprint.plateau_bytes"
	if reason != "" {
		return measure.Absent(metric, measure.Labels{}, reason)
	}
	r, err := growth.Judge(growth.FromMeasure(s), growth.Rule{})
	switch {
	case err != nil:
		return measure.Absent(metric, measure.Labels{}, err.Error())
	case r.Fit == nil:
		return measure.Absent(metric, measure.Labels{}, fmt.Sprintf("%d points after warm-up: a plateau needs %d", r.Points, growth.MinPoints))
	}
	row := measure.NewRow(metric, measure.Labels{}, measure.Int(int64(math.Round(r.Fit.Plateau.Level))))
	row.Samples = r.Points
	return row
}

// rest gives what is information: counts, and series that are judged where a budget
// selects them, so that no run gives them which gives no footprint.
func (c *Capture) rest(out *measure.Measurement, why string) {
	count := func(name string, l *measure.Levels) {
		if l.N > 0 {
			r := measure.NewRow(name, measure.Labels{}, measure.Int(l.Max))
			r.Samples = l.N
			out.Rows = append(out.Rows, r)
		}
	}
	count("process.count", &c.processes)
	count("descriptor.count", &c.descriptors)
	if why != "" {
		return
	}
	for _, o := range c.others {
		if o.byTime.NonZero {
			// A number that is read at few marks (of a GPU) is better seen over time.
			levels, x := o.axis(c.stepped() && 2*o.byStep.N >= c.footprint.byStep.N)
			out.Series = append(out.Series, levels.Series(measure.Labels{"series": o.name}, measure.ByteUnit, x))
		}
	}
	if c.affon != nil && c.affon.graphics.NonZero {
		out.Series = append(out.Series, c.affon.graphics.Series(measure.Labels{"series": "graphics_resident"}, measure.ByteUnit, measure.XSeconds))
	}
}
