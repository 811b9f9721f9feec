package affon

import (
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
)

// Measurement gives the rows, series and facts of a capture. The caller fills in
// Inputs.
func (c *Capture) Measurement() *measure.Measurement {
	out := measure.New()
	out.Warnings = append(out.Warnings, c.Warnings...)
	b := &builder{Measurement: out, c: c, run: newRun(c.Snapshots)}
	if r := c.Report; r != nil && r.Status != 0 {
		// A run that failed says nothing of a whole one.
		why := fmt.Sprintf("the program ended with status %d, so this is no whole run", r.Status)
		out.Rows = append(out.Rows, measure.Absent(footprintPeakMetric, measure.Labels{}, why))
		return out
	}
	last := b.run.last()
	if last == nil && c.Report != nil {
		last = c.Report.Maxima
	}
	b.footprints(last)
	if last != nil {
		out.Environment["affon metric names"] = generations[last.names()]
		b.peaks(last)
		b.pool(last)
	}
	if b.run.last() != nil {
		b.ends(last)
		b.growth()
	}
	if last != nil {
		out.Facts.Affon = append(out.Facts.Affon, b.fact(last))
	}
	return out
}

// generations describes the naming generations.
var generations = [...]string{"allocator.events (the oldest)", "metal_pool_hits (the second)", "metal_pool_hit_count (the third)", "device_pool_hit_count (the newest)"}

const footprintPeakMetric = "footprint.peak_bytes"

// builder makes the measurement of a capture.
type builder struct {
	*measure.Measurement
	c   *Capture
	run run
}

// row adds a row of what a run was seen to hold.
func (b *builder) row(metric string, labels measure.Labels, kind measure.Kind, n int64) {
	r := measure.NewRow(metric, labels, measure.Int(n))
	r.Kind = kind
	b.Rows = append(b.Rows, r)
}

// absent adds a row without a value.
func (b *builder) absent(metric string, labels measure.Labels, kind measure.Kind, why string) {
	r := measure.Absent(metric, labels, why)
	r.Kind = kind
	b.Rows = append(b.Rows, r)
}

// allocators are those whose live bytes are told, with their peak.
var allocators = []struct {
	name       string
	live, peak signal
}{{"metal", liveMetal, peakMetal}, {"cuda", liveCUDA, peakCUDA}, {"cpu", liveCPU, peakCPU}, {"hao", allocatorActive, allocatorPeak}}

var devices = []struct {
	name   string
	signal signal
}{{"metal", deviceMetal}, {"cuda", deviceCUDA}}

var regions = []struct {
	allocator, pool string
	signal          signal
}{
	{"host", "owned", regionHostOwned}, {"host", "scratch", regionHostScratch}, {"cpu", "owned", regionCPUOwned},
	{"cpu", "scratch", regionCPUScratch}, {"metal", "pool", regionPool}, {"metal", "scratch", regionScratch},
}

var poolLabels = measure.Labels{"pool": "device"}

// peaks gives what the process had live at most: its own high-water marks.
func (b *builder) peaks(last *Snapshot) {
	for _, a := range allocators {
		n, ok := last.get(a.peak)
		if !ok && b.c.Report != nil && last == b.c.Report.Maxima {
			n, ok = last.get(a.live)
		}
		if ok {
			b.row("live.peak_bytes", measure.Labels{"allocator": a.name}, measure.Observed, n)
		}
	}
	if n, ok := last.get(poolPeak); ok {
		b.row("pool.live_peak_bytes", poolLabels, measure.Observed, n)
	} else if last.names() == 0 {
		b.absent("pool.live_peak_bytes", poolLabels, measure.Observed, "the oldest names say one thing of storage and of the pool, and not which")
	}
}

// ends gives what there is at the last snapshot.
func (b *builder) ends(last *Snapshot) {
	for _, a := range allocators {
		if n, ok := last.get(a.live); ok {
			b.row("live.end_bytes", measure.Labels{"allocator": a.name}, measure.Observed, n)
		}
	}
	if n, ok := last.get(qjsHeap); ok {
		b.row("live.end_bytes", measure.Labels{"allocator": "quickjs"}, measure.Observed, n)
	}
	if n, ok := last.get(poolLive); ok {
		b.row("pool.live_end_bytes", poolLabels, measure.Observed, n)
	}
	for _, d := range devices {
		if n, ok := last.get(d.signal); ok {
			b.row("reserved.end_bytes", measure.Labels{"allocator": d.name}, measure.Observed, n)
		}
	}
	for _, r := range regions {
		if n, ok := last.get(r.signal); ok {
			b.row("region.end_bytes", measure.Labels{"allocator": r.allocator, "pool": r.pool}, measure.Observed, n)
		}
	}
}

// pool gives the pool's work after warm-up; over the process's life where there is
// one snapshot only.
func (b *builder) pool(last *Snapshot) {
	var warm *Snapshot
	if b.run.whole > 1 {
		warm = b.run.snapshots[b.run.warm]
	}
	since := func(s signal) (int64, bool) {
		n, ok := last.get(s)
		if warm == nil || !ok {
			return n, ok
		}
		w, ok := warm.get(s)
		return n - w, ok
	}
	hits, ok := since(poolHits)
	misses, ok2 := since(poolMisses)
	if ok && ok2 {
		if hits+misses > 0 {
			r := measure.NewRow("pool.hit_ratio", poolLabels, measure.Float(float64(hits)/float64(hits+misses)))
			r.Kind = measure.Observed
			b.Rows = append(b.Rows, r)
		} else {
			b.absent("pool.hit_ratio", poolLabels, measure.Observed, "nothing was asked of the pool between the snapshots")
		}
		if warm == nil {
			b.Warnings = append(b.Warnings, "one snapshot: the pool's hits, misses and drops are those of the whole life of the process, warm-up included; take one snapshot before the work and one behind it")
		}
	}
	if ok2 {
		b.row("pool.misses", poolLabels, measure.Observed, misses)
	}
	if drops, ok := since(poolDrops); ok {
		b.row("pool.drops", poolLabels, measure.Observed, drops)
	}
}

// footprints gives what the system counts for the process.
func (b *builder) footprints(last *Snapshot) {
	peak, sampled, none := int64(0), 0, false
	for _, s := range b.run.all {
		if n, ok := s.get(footprint); ok {
			peak, sampled = max(peak, n), sampled+1
		}
		// A maximum over the times that Affon looked, no kernel's.
		if n, ok := s.get(footprintPeak); ok {
			peak = max(peak, n)
		}
		none = none || s.noFootprint
	}
	switch r := b.c.Report; {
	case r != nil && r.peak() > 0:
		b.row(footprintPeakMetric, measure.Labels{}, measure.HighWater, r.peak())
	case peak > 0:
		b.row(footprintPeakMetric, measure.Labels{}, measure.Sampled, peak)
		b.Rows[len(b.Rows)-1].Samples = sampled
	case none:
		b.absent(footprintPeakMetric, measure.Labels{}, measure.Sampled, "Affon gives 0: it measures the footprint on macOS only; run it under peakgate watch")
	}
	if last == nil || b.run.last() == nil {
		return
	}
	n, ok := last.get(footprint)
	if !ok {
		return
	}
	b.row("footprint.end_bytes", measure.Labels{}, measure.Sampled, n)
	rest, missing := last.unattributed()
	if len(missing) > 0 {
		b.absent("footprint.unattributed_bytes", measure.Labels{}, measure.Sampled, "the snapshot lacks "+strings.Join(missing, ", "))
		return
	}
	b.row("footprint.unattributed_bytes", measure.Labels{}, measure.Sampled, rest)
	if rest > 0 { // else the parts are more than the whole
		b.holders(last, n, rest)
	}
}

// parts of the footprint that Affon accounts for.
var parts = []struct {
	signal       signal
	key, display string
}{
	{liveMetal, "metal", "tensors on Metal"}, {poolLive, "pool", "kept by the buffer pool"},
	{liveCPU, "cpu", "tensors on the CPU"}, {qjsHeap, "quickjs", "QuickJS heap"},
}

// unattributed gives the part of the footprint that Affon does not account for, and
// the metrics that are missing to tell.
func (s *Snapshot) unattributed() (rest int64, missing []string) {
	n, ok := s.get(footprint)
	if !ok {
		return 0, []string{canon[footprint]}
	}
	for _, p := range parts {
		part, ok := s.get(p.signal)
		if !ok {
			missing = append(missing, canon[p.signal])
		}
		n -= part
	}
	return max(0, n), missing
}

// holders gives who holds the footprint.
func (b *builder) holders(last *Snapshot, whole, rest int64) {
	const metric = "footprint.end_bytes"
	list := []measure.Contributor{{Metric: metric, Labels: measure.Labels{}, Key: "unattributed",
		Display: "unattributed (driver, code, other libraries)", Bytes: measure.Bytes(rest), Count: 1}}
	for _, p := range parts {
		n, _ := last.get(p.signal)
		list = append(list, measure.Contributor{Metric: metric, Labels: measure.Labels{}, Key: p.key, Display: p.display, Bytes: measure.Bytes(n), Count: 1})
	}
	b.Contributors = append(b.Contributors, measure.KeepLargest(metric, measure.Labels{}, measure.Bytes(whole), list)...)
}

// levels are what series are made of, by the name in their label.
var levels = []struct {
	name   string
	signal signal
}{
	{"live_metal", liveMetal}, {"live_cuda", liveCUDA}, {"live_cpu", liveCPU}, {"quickjs_heap", qjsHeap}, {"pool_live", poolLive},
	{"device_metal", deviceMetal}, {"device_cuda", deviceCUDA}, {"footprint", footprint}, {"unattributed", signals}, {"resident", resident},
}

// leastPoints is how many points a series has at least: two tell no growth.
const leastPoints = 3

// growth gives the series over the steps, and the growth of each.
func (b *builder) growth() {
	for _, l := range levels {
		x, points := b.run.series(l.signal)
		if len(points) < leastPoints || !slices.ContainsFunc(points, func(n int64) bool { return n != 0 }) {
			continue
		}
		var kept measure.Levels
		for i, n := range points {
			kept.Add(x[i], n)
		}
		s := kept.Series(measure.Labels{"series": l.name}, measure.ByteUnit, measure.XStep)
		if s.Samples > 0 {
			b.Warnings = append(b.Warnings, fmt.Sprintf("series %s: %d of %d points are kept, the lowest of each stretch", l.name, len(s.Points), len(points)))
		}
		b.Series = append(b.Series, s)
		if row, ok := growth.Row(s); ok {
			b.Rows = append(b.Rows, row)
		}
	}
}
