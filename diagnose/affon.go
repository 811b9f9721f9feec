package diagnose

import (
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// affonRules read the facts of Affon's telemetry. What they look for is what Affon's
// own guide (docs/runtime/memory-debugging.md) tells a person to look for.
var affonRules = slices.Concat(affonGrowthRules, affonPoolRules, affonWorkRules, affonPairRules)

var affonPairRules = []Rule{{
	Name: "affon-one-process", Family: "affon", Compares: true,
	Doc: "Base and head are one snapshot each, and no counter fell from one to the other: they may be of one process, before and after some work. With `--leak` they are taken so, and what the work did is counted.",
	Find: func(in Input) []measure.Finding {
		if in.Earlier || len(in.Base.Facts.Affon) != 1 || len(in.Head.Facts.Affon) != 1 {
			return nil
		}
		before, after := in.Base.Facts.Affon[0], in.Head.Facts.Affon[0]
		if before.Snapshots != 1 || after.Snapshots != 1 {
			return nil
		}
		both, ok := join(before, after)
		moved := slices.ContainsFunc(affonCounters, func(name string) bool { return both.Signals[name].Last > both.Signals[name].Warm })
		if !ok || !moved {
			return nil
		}
		return []measure.Finding{{
			Severity: Note, Evidence: Inferred,
			Text: "no counter fell from the one snapshot to the other: if they are of one process, before and after some work, what the work did can be counted",
			Fix:  "peakgate diff --leak BEFORE AFTER, or both in one file",
		}}
	},
}}

// affonRun is the snapshots of one process.
type affonRun struct{ *measure.AffonFact }

// eachAffon makes a rule of a function that looks at one process. Where the base is
// an earlier snapshot of the same process, both are one run.
func eachAffon(find func(affonRun) []measure.Finding) func(Input) []measure.Finding {
	return func(in Input) (out []measure.Finding) {
		runs := in.Head.Facts.Affon
		if in.Earlier && in.Base != nil && len(runs) == 1 && len(in.Base.Facts.Affon) == 1 {
			if both, ok := join(in.Base.Facts.Affon[0], runs[0]); ok {
				runs = []measure.AffonFact{both}
			}
		}
		for i := range runs {
			for _, f := range find(affonRun{&runs[i]}) {
				f.Labels = runs[i].Labels
				out = append(out, f)
			}
		}
		return out
	}
}

// join makes one run of two files of one process; ok is false where a counter fell,
// so that they are of two.
func join(before, after measure.AffonFact) (both measure.AffonFact, ok bool) {
	both = after
	both.Snapshots, both.Warm, both.Dropped = 2, 0, 0
	both.Signals = map[string]measure.AffonSignal{}
	for name, b := range before.Signals {
		a, ok := after.Signals[name]
		if !ok {
			continue
		}
		if slices.Contains(affonCounters, name) && a.Last < b.Last {
			return both, false
		}
		both.Signals[name] = measure.AffonSignal{First: b.First, Warm: b.Last, Early: b.Last, Late: a.Last, Last: a.Last, Max: max(b.Max, a.Max)}
	}
	both.Misses, both.Drops = joinBuckets(before.Misses, after.Misses), joinBuckets(before.Drops, after.Drops)
	trims := both.Signals[measure.AffonPoolTrims]
	both.Trimmed = trims.Last > trims.Warm
	return both, true
}

var affonCounters = []string{measure.AffonPoolHits, measure.AffonPoolMisses, measure.AffonPoolDrops, measure.AffonPoolTrims,
	measure.AffonToHost, measure.AffonFromHost, measure.AffonFixups, measure.AffonFallbacks}

func joinBuckets(before, after []measure.AffonBucket) []measure.AffonBucket {
	out := slices.Clone(after)
	for i := range out {
		out[i].Warm = nil
		for _, b := range before {
			if b.Bytes == out[i].Bytes && b.Count <= out[i].Count {
				out[i].Warm = &b.Count
			}
		}
	}
	return out
}

// several tells that there is more than one snapshot, so that something can have
// changed.
func (r affonRun) several() bool { return r.Snapshots > 1 }

// since is what a counter counted after warm-up, or since the process began where
// there is one snapshot only.
func (r affonRun) since(name string) (n int64, ok bool) {
	s, ok := r.Signals[name]
	if !ok {
		return 0, false
	}
	if r.several() {
		return max(0, s.Last-s.Warm), true
	}
	return s.Last, true
}

// period says over what since counts.
func (r affonRun) period() string {
	if r.several() {
		return "after warm-up"
	}
	return "since the process began"
}

// rise is how much a level rose from the first to the last third after warm-up.
func (r affonRun) rise(name string) (by, from measure.Bytes, ok bool) {
	s, ok := r.Signals[name]
	if !ok || !r.several() {
		return 0, 0, false
	}
	return measure.Bytes(s.Late) - measure.Bytes(s.Early), measure.Bytes(s.Early), true
}

// A level is flat within the plateau's tolerance of the growth rule, and has grown
// beyond the least growth that it counts.
func flat(by, from measure.Bytes) bool  { return by <= max(8<<20, from/50) }
func risen(by, from measure.Bytes) bool { return by > max(16<<20, from/100) }

// grew tells whether a level has grown.
func (r affonRun) grew(name string) (by measure.Bytes, ok bool) {
	by, from, ok := r.rise(name)
	return by, ok && risen(by, from)
}

// stayed tells whether a level is known to have stayed.
func (r affonRun) stayed(name string) bool {
	by, from, ok := r.rise(name)
	return ok && flat(by, from)
}

// level is a signal's value at the end; ok is false where it is not known.
func (r affonRun) level(name string) (measure.Bytes, bool) {
	s, ok := r.Signals[name]
	return measure.Bytes(s.Last), ok
}

// tensors is the name of the live bytes of the device that the run used, and device
// that of the device's own count.
func (r affonRun) tensors() (live, device, called string) {
	cuda, _ := r.level(measure.AffonLiveCUDA)
	metal, _ := r.level(measure.AffonLiveMetal)
	if cuda > metal {
		return measure.AffonLiveCUDA, measure.AffonDeviceCUDA, "CUDA"
	}
	return measure.AffonLiveMetal, measure.AffonDeviceMetal, "Metal"
}

// settings says whose settings are named: Affon documents them for Metal alone.
func (r affonRun) settings() string {
	if _, _, called := r.tensors(); called == "CUDA" {
		return "; Affon documents these settings for Metal: on CUDA see whether they have an effect"
	}
	return ""
}
