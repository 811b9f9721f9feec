package affon

import (
	"cmp"
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// run is the snapshots of one process in their order.
type run struct {
	all []*Snapshot
	// snapshots are those that are compared with each other: of a monitor file those
	// of batches, as those at the end of an epoch are taken at another place.
	snapshots []*Snapshot
	x         []float64 // the step of each
	warm      int       // index of the first that is no warm-up
	whole     int       // how many there are
}

func newRun(all []*Snapshot) run {
	r := run{all: all, snapshots: all}
	if batches := slices.DeleteFunc(slices.Clone(all), func(s *Snapshot) bool { return s.Phase == "epoch" }); len(batches) > 1 {
		r.snapshots = batches
	}
	r.whole = len(r.snapshots)
	if r.whole > 2 {
		r.warm = max(1, (r.whole+4)/5)
	}
	steps := !slices.ContainsFunc(r.snapshots, func(s *Snapshot) bool { return s.Step < 0 })
	for i, s := range r.snapshots {
		if x := float64(i + 1); !steps {
			r.x = append(r.x, x)
		} else {
			r.x = append(r.x, float64(s.Step))
		}
	}
	return r
}

// last is the last snapshot of all; nil without one.
func (r run) last() *Snapshot {
	if len(r.all) == 0 {
		return nil
	}
	return r.all[len(r.all)-1]
}

// series gives the values of a signal where it is known; signals stands for what is
// unattributed.
func (r run) series(s signal) (x []float64, points []int64) {
	for i, shot := range r.snapshots {
		n, ok := int64(0), false
		if s < signals {
			n, ok = shot.get(s)
		} else if rest, missing := shot.unattributed(); len(missing) == 0 {
			n, ok = rest, true
		}
		if ok {
			x, points = append(x, r.x[i]), append(points, n)
		}
	}
	return x, points
}

// thirds gives the medians of the first and the last third of the points after
// warm-up: they tell growth from noise.
func thirds(points []int64, warm int) (early, late int64) {
	n := max(1, (len(points)-warm)/3)
	return median(points[warm : warm+n]), median(points[len(points)-n:])
}

func median(points []int64) int64 {
	sorted := slices.Sorted(slices.Values(points))
	return sorted[(len(sorted)-1)/2]
}

// fact gives what rules look at.
func (b *builder) fact(last *Snapshot) measure.AffonFact {
	f := measure.AffonFact{Labels: measure.Labels{}, Names: last.names(), Snapshots: int64(b.run.whole), Warm: int64(b.run.warm), Dropped: b.c.Dropped, Signals: map[string]measure.AffonSignal{}}
	for s := range signals + 1 {
		name := measure.AffonUnattributed
		if s < signals {
			name = canon[s]
		}
		_, points := b.run.series(s)
		if len(points) == 0 {
			continue
		}
		// A signal that some snapshots lack has its own warm-up, of the same share.
		warm := b.run.warm * len(points) / b.run.whole
		early, late := thirds(points, warm)
		sig := measure.AffonSignal{First: points[0], Warm: points[warm], Early: early, Late: late, Last: points[len(points)-1], Max: slices.Max(points[warm:])}
		f.Signals[name] = sig
	}
	var warm *Snapshot
	if b.run.whole > 1 {
		warm = b.run.snapshots[b.run.warm]
	}
	if r := b.c.Report; r != nil {
		f.PeakBytes = measure.Bytes(r.peak())
		if r.Previous != nil {
			f.PreviousBytes = measure.Bytes(r.Previous.peak())
		}
	}
	if b.run.whole > 0 { // the largest of each number of a table are no table
		f.Misses, f.Drops = bucketFacts(last, warm, false), bucketFacts(last, warm, true)
	}
	if n := len(b.run.all); n > 1 {
		was, ok := b.run.all[n-2].get(poolTrims)
		is, ok2 := last.get(poolTrims)
		f.Trimmed = ok && ok2 && is > was
	}
	return f
}

// bucketFacts gives a table of buckets, the most frequent first.
func bucketFacts(last, warm *Snapshot, drops bool) []measure.AffonBucket {
	table := func(s *Snapshot) []measure.AffonBucket {
		if drops {
			return buckets(s.drops)
		}
		return buckets(s.misses)
	}
	out := table(last)
	if warm != nil {
		for _, w := range table(warm) {
			for i := range out {
				if out[i].Bytes == w.Bytes {
					out[i].Warm = &w.Count
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b measure.AffonBucket) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Bytes, a.Bytes))
	})
	return out
}
