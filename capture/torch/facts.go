package torch

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// Limits of what facts list; what is left out is the smallest or the oldest.
const (
	sitesShown   = 100
	stepsShown   = 64
	holdersShown = 10
	linesShown   = 24
)

// teller makes the facts of one device.
type teller struct {
	s     *Snapshot
	d     *Device
	sites *sites
	key   map[site]string
	index map[site]int
	list  []site
	of    []int // by StackID - StackUnknown
	table *stepTable
	class map[shareKey][2]string
}

func newTeller(s *Snapshot, d *Device, t *sites, key map[site]string) *teller {
	w := &teller{s: s, d: d, sites: t, key: key, index: map[site]int{}, class: map[shareKey][2]string{}}
	w.of = make([]int, len(s.Stacks)+int(firstStack-StackUnknown))
	for i := range w.of {
		w.of[i] = -1
	}
	// Stacks get their sites as they occur: most of a file's stacks free only.
	w.table = s.bySteps(d, func(id StackID) int { return w.site(id) })
	return w
}

// site numbers the site of a stack.
func (w *teller) site(id StackID) int {
	at := &w.of[id-StackUnknown]
	if *at < 0 {
		v := w.sites.of(id)
		i, ok := w.index[v]
		if !ok {
			i = len(w.list)
			w.index[v] = i
			w.list = append(w.list, v)
		}
		*at = i
	}
	return *at
}

func (w *teller) growth(i int) growth {
	if i < len(w.table.sites) {
		return w.table.sites[i]
	}
	return growth{}
}

// classOf is the class of the blocks of a stack with one fate and what decided it.
func (w *teller) classOf(id StackID, f fate) (class, evidence string) {
	k := shareKey{id, f}
	if c, ok := w.class[k]; ok {
		return c[0], c[1]
	}
	n := int64(len(w.table.counted))
	class, evidence = w.s.classOf(w.sites, id, f, n > 0 && 2*w.growth(w.site(id)).steps >= n)
	w.class[k] = [2]string{class, evidence}
	return class, evidence
}

// siteClass finds for each site the class with the most bytes of a live set.
func (w *teller) siteClass(live []share) map[int]string {
	type part struct {
		site  int
		class string
	}
	sums, out := map[part]int64{}, map[int]string{}
	for _, h := range live {
		class, _ := w.classOf(h.Stack, h.fate)
		sums[part{w.site(h.Stack), class}] += h.Bytes
	}
	for p, n := range sums {
		best, ok := out[p.site]
		if m := sums[part{p.site, best}]; !ok || n > m || n == m && p.class < best {
			out[p.site] = p.class
		}
	}
	return out
}

func (w *teller) keyOf(at site) string {
	if k := w.key[at]; k != "" {
		return k
	}
	return at.name()
}

func (s site) place() *measure.Source {
	if s.label == "" && s.source && s.user.line > 0 {
		return &measure.Source{File: s.user.file, Line: int(s.user.line)}
	}
	return nil
}

// fact tells all that the rows do not.
func (w *teller) fact(labels measure.Labels, first bool) measure.SnapshotFact {
	s, d := w.s, w.d
	f := measure.SnapshotFact{Labels: labels, PendingBytes: measure.Bytes(d.State.PendingFree), PendingBlocks: d.State.PendingBlocks}
	for _, e := range s.Settings {
		if e.changed() {
			if f.Settings == nil {
				f.Settings = map[string]string{}
			}
			f.Settings[limit(e.Name)] = limit(e.Value)
		}
	}
	if first {
		f.HostBytes, f.HostSegments, f.HostPeakBytes = measure.Bytes(s.HostBytes), int64(s.HostSegments), measure.Bytes(s.HostPeak)
	}
	f.Classes, f.AtPeak = w.classes(), d.Peak != nil
	f.Sites = w.siteFacts()
	f.Steps = w.steps()
	f.Pools = s.pools(d)
	for i := range d.Failures {
		f.OOMs = append(f.OOMs, w.failure(&d.Failures[i]))
	}
	f.Churn = w.churn()
	f.Limits = s.limits(d, f.Steps)
	return f
}

// largestSet is the live set at the peak or, where that is not known, the end.
func (d *Device) largestSet() []share {
	if d.Peak != nil {
		return d.peakShares
	}
	return d.endShares
}

func (w *teller) classes() []measure.ClassFact {
	sums := map[string]measure.ClassFact{}
	for _, h := range w.d.largestSet() {
		class, _ := w.classOf(h.Stack, h.fate)
		c := sums[class]
		c.Class, c.Bytes, c.Count = class, c.Bytes+measure.Bytes(h.Bytes), c.Count+h.Count
		sums[class] = c
	}
	var out []measure.ClassFact
	for _, c := range sums {
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b measure.ClassFact) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// bySite adds up a live set by site.
func (w *teller) bySite(live []share) map[int]Holding {
	out := map[int]Holding{}
	for _, h := range live {
		i := w.site(h.Stack)
		v := out[i]
		out[i] = Holding{Bytes: v.Bytes + h.Bytes, Count: v.Count + h.Count}
	}
	return out
}

// weighed is what decides the class of a site with several stacks: the one with
// the most bytes at the peak, else at the end, else allocated.
type weighed struct {
	fact                 measure.SiteFact
	weight               [3]int64
	class, evidence, via string
}

func (w *teller) siteFacts() []measure.SiteFact {
	found := map[int]*weighed{}
	at := func(id StackID, f fate, weight [3]int64) *measure.SiteFact {
		i := w.site(id)
		v := found[i]
		if v == nil {
			v = &weighed{}
			found[i] = v
		}
		if slices.Compare(weight[:], v.weight[:]) > 0 || v.class == "" {
			v.weight = weight
			v.class, v.evidence = w.classOf(id, f)
			v.via = phaseNames[w.s.phase(id)]
		}
		return &v.fact
	}
	for _, h := range w.d.peakShares {
		f := at(h.Stack, h.fate, [3]int64{h.Bytes})
		f.PeakBytes, f.PeakBlocks = f.PeakBytes+measure.Bytes(h.Bytes), f.PeakBlocks+h.Count
	}
	for _, h := range w.d.endShares {
		f := at(h.Stack, h.fate, [3]int64{0, h.Bytes})
		f.EndBytes, f.EndBlocks = f.EndBytes+measure.Bytes(h.Bytes), f.EndBlocks+h.Count
	}
	for k, i := range w.of {
		if i >= 0 {
			id := StackID(k) + StackUnknown
			u := use{}
			if id >= 0 && int(id) < len(w.s.uses) {
				u = w.s.uses[id]
			}
			f, most := freedSame, u.same
			if u.backward > most {
				f, most = freedBackward, u.backward
			}
			if u.later > most {
				f = freedLater
			}
			fact := at(id, f, [3]int64{0, 0, u.allocated})
			fact.Recomputed = fact.Recomputed || w.s.phase(id) == recomputePhase
		}
	}
	n := max(1, int64(len(w.table.counted)))
	var out []measure.SiteFact
	for i, v := range found {
		s, g := w.list[i], w.growth(i)
		f := v.fact
		f.Key, f.Display, f.Source = w.keyOf(s), s.display(), s.place()
		f.Class, f.Evidence, f.Phase = v.class, v.evidence, v.via
		f.GrewBytes, f.GrewBlocks, f.GrewSteps = measure.Bytes(g.bytes), g.blocks, g.steps
		f.StepBytes, f.StepFreedBytes, f.BackwardFreedBytes = measure.Bytes(g.allocated/n), measure.Bytes(g.freed/n), measure.Bytes(g.backward/n)
		f.FirstStepBytes, f.RoseParts = measure.Bytes(g.first), g.parts
		out = append(out, f)
	}
	most := func(f measure.SiteFact) measure.Bytes {
		return max(f.PeakBytes, f.EndBytes, f.GrewBytes, f.StepBytes)
	}
	slices.SortFunc(out, func(a, b measure.SiteFact) int {
		return cmp.Or(cmp.Compare(most(b), most(a)), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Display, b.Display))
	})
	return out[:min(len(out), sitesShown)]
}

func (w *teller) steps() *measure.StepsFact {
	t := w.table
	if t.name == "" || len(t.steps) == 0 {
		return nil
	}
	f := &measure.StepsFact{Mark: limit(t.name), Marks: t.marks, Counted: int64(len(t.counted)), Alike: true,
		BytesPerStep: t.slope(step.netOfBytes), BlocksPerStep: t.slope(step.netOfBlocks)}
	for _, st := range t.counted {
		if st.net > 0 && st.netBlocks > 0 {
			f.GrewSteps++
		}
		f.Alike = f.Alike && st.events == t.counted[0].events
	}
	f.GrewUnder, f.GrewUnderAt = w.under()
	for i, st := range t.steps {
		if i > 0 && i < len(t.steps)-stepsShown+1 {
			continue
		}
		f.Steps = append(f.Steps, measure.StepFact{Number: st.number, Events: st.events, StartBytes: measure.Bytes(st.start),
			AllocatedBytes: measure.Bytes(st.allocated), FreedBytes: measure.Bytes(st.freed), NetBytes: measure.Bytes(st.net),
			NetBlocks: st.netBlocks, PeakBytes: measure.Bytes(st.peak), SegmentAllocs: st.segmentAllocs, SegmentFrees: st.segmentFrees,
			Whole: st.whole, Counted: st.counted})
	}
	return f
}

// growthRows are the rows that the counted steps give, with the sites that grew.
func (w *teller) growthRows(labels measure.Labels) (rows []measure.Row, cs []measure.Contributor) {
	t := w.table
	if len(t.counted) == 0 {
		return nil, nil
	}
	labels = labels.With("series", "live")
	if t.name == measure.DumpMark { // of another length than a step of the program
		labels = labels.With("step", "dump")
	}
	row := func(name string, slope float64) measure.Row {
		v := measure.Float(slope)
		if slope == math.Trunc(slope) && math.Abs(slope) < 1<<53 {
			v = measure.Int(int64(slope))
		}
		r := measure.NewRow(name, labels, v)
		r.Kind, r.Samples = measure.Exact, len(t.counted)
		return r
	}
	bytes := t.slope(step.netOfBytes)
	rows = []measure.Row{row("growth.bytes_per_step", bytes), row("growth.blocks_per_step", t.slope(step.netOfBlocks))}
	if bytes < 1 {
		return rows, nil
	}
	n := int64(len(t.counted))
	for i, g := range t.sites {
		if g.bytes/n == 0 {
			continue
		}
		cs = append(cs, w.contributor("growth.bytes_per_step", labels, w.list[i], g.bytes/n, g.blocks/n))
	}
	return rows, measure.KeepLargest("growth.bytes_per_step", labels, measure.Bytes(math.Round(bytes)), cs)
}

func (w *teller) churn() *measure.ChurnFact {
	h, t := &w.d.History, w.d.trace
	if h.Events <= 1 {
		return nil
	}
	c := &measure.ChurnFact{Allocations: h.Counts[Alloc], Misses: h.Misses, WarmAllocations: w.table.warmAllocs, WarmMisses: w.table.warmMisses,
		SegmentFrees: h.Counts[SegmentFree] + h.Counts[SegmentUnmap], StepSegmentFrees: w.table.stepFrees, EmptyCacheFrees: t.emptied.count,
		Retries: t.retries, RetriedBytes: measure.Bytes(t.retriedBytes), CycleFrees: t.cycleFrees, CycleBytes: measure.Bytes(t.cycleBytes)}
	if t.emptied.count > 0 {
		c.EmptyCacheAt = w.sites.of(t.emptied.stack).place()
	}
	return c
}

func (w *teller) failure(f *Failure) measure.OOMFact {
	at := w.sites.of(f.Stack)
	o := measure.OOMFact{Event: f.Event, RequestBytes: measure.Bytes(f.Request), LiveBytes: measure.Bytes(f.Live), PendingBytes: measure.Bytes(f.Pending),
		ReservedBytes: measure.Bytes(f.Reserved), Layout: f.Layout, InactiveBytes: measure.Bytes(f.free.total), LargestBytes: measure.Bytes(f.free.largest),
		UsableBytes: measure.Bytes(f.free.usable), UsableHoles: f.free.holes, UsableSegments: f.free.segments,
		LargestUsableBytes: measure.Bytes(f.free.largestUsable), PrivateBytes: measure.Bytes(f.free.private),
		Site: at.display(), Source: at.place()}
	if f.DeviceFree >= 0 {
		free := measure.Bytes(f.DeviceFree)
		o.DeviceFreeBytes = &free
	}
	if f.Stack >= firstStack {
		for i, fr := range w.s.Stacks[f.Stack-firstStack] {
			if i == linesShown {
				break
			}
			p := w.sites.place(fr)
			o.Stack = append(o.Stack, p.show(w.sites.owners[fr] != native))
		}
	}
	bySite, class := w.bySite(f.shares), w.siteClass(f.shares)
	for i, v := range bySite {
		s := w.list[i]
		o.Holders = append(o.Holders, measure.HolderFact{Key: w.keyOf(s), Display: s.display(), Class: class[i], Source: s.place(),
			Bytes: measure.Bytes(v.Bytes), Count: v.Count})
	}
	slices.SortFunc(o.Holders, func(a, b measure.HolderFact) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Display, b.Display))
	})
	o.Holders = o.Holders[:min(len(o.Holders), holdersShown)]
	return o
}

// pools sums up the segments by pool, stream, size class and whether they
// expand. Streams are numbered as they come, by address of their segments.
func (s *Snapshot) pools(d *Device) []measure.PoolFact {
	index := map[poolPlace]int{}
	streams := map[uint64]int64{0: 0}
	var out []measure.PoolFact
	for i := range d.Segments {
		g := &d.Segments[i]
		if _, ok := streams[g.Stream]; !ok {
			streams[g.Stream] = int64(len(streams))
		}
		k, ok := index[g.place()]
		if !ok {
			k = len(out)
			index[g.place()] = k
			class := "large"
			if g.Small {
				class = "small"
			}
			out = append(out, measure.PoolFact{Pool: fmt.Sprintf("(%d,%d)", g.Pool[0], g.Pool[1]), Private: g.Pool != PoolID{},
				Stream: streams[g.Stream], Class: class, Expandable: g.Expandable})
		}
		p := &out[k]
		p.Segments++
		p.ReservedBytes += measure.Bytes(g.TotalSize)
		idle := true
		for _, b := range g.Blocks {
			size := measure.Bytes(b.Size)
			idle = idle && b.State == Inactive
			switch b.State {
			case Inactive:
				p.InactiveBytes += size
				p.Holes++
				p.LargestBytes = max(p.LargestBytes, size)
			case PendingFree:
				p.PendingBytes += size
			case Allocated:
				p.LiveBytes += size
			}
		}
		if idle && len(g.Blocks) > 0 {
			p.EmptySegments++
			p.EmptyBytes += measure.Bytes(g.TotalSize)
		}
	}
	slices.SortStableFunc(out, func(a, b measure.PoolFact) int { return cmp.Compare(b.ReservedBytes, a.ReservedBytes) })
	return out[:min(len(out), sitesShown)]
}
