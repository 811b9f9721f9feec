package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// snap is a measurement of one device made for a test, its values in MiB.
func snap(values rows, s measure.SnapshotFact) *measure.Measurement {
	m := measure.New()
	labels := s.Labels
	if labels == nil {
		labels = measure.Labels{"device": "0"}
	}
	s.Labels = labels
	for name, v := range values {
		m.Rows = append(m.Rows, measure.NewRow(name, labels, measure.Int(v*mi)))
	}
	m.Facts.Snapshots = []measure.SnapshotFact{s}
	m.Facts.Traces = []measure.TraceFact{{Labels: labels, Events: 100, Steps: 10, Sequence: "s", Actions: map[string]int64{}}}
	return m
}

func classes(values rows) (out []measure.ClassFact) {
	for class, v := range values {
		out = append(out, measure.ClassFact{Class: class, Bytes: measure.Bytes(v * mi), Count: v})
	}
	return out
}

func siteFact(line int, class, phase string, change func(*measure.SiteFact)) measure.SiteFact {
	e := measure.SiteFact{Key: fmt.Sprintf("a.py f #%d", line), Display: fmt.Sprintf("a.py:%d f", line), Source: &measure.Source{File: "a.py", Line: line}, Class: class, Phase: phase}
	change(&e)
	return e
}

// grown makes sites that keep a block of 4 MiB in each of 8 steps.
func grown(sites, steps int) measure.SnapshotFact {
	s := measure.SnapshotFact{Classes: classes(rows{"activation": 100}), Steps: &measure.StepsFact{Mark: "train_step", Marks: 10, Counted: 8, GrewSteps: int64(steps), BytesPerStep: float64(max(1, sites)) * 4 * mi, BlocksPerStep: float64(sites)}}
	for i := range sites {
		s.Sites = append(s.Sites, siteFact(i+1, measure.ClassActivation, measure.PhaseForward, func(e *measure.SiteFact) {
			e.GrewBytes, e.GrewBlocks, e.GrewSteps = 32*mi, 8, int64(steps)
		}))
	}
	return s
}

// outOfMemory makes a failed allocation, in MiB.
func outOfMemory(request, left, live, reserved, usable, largest int64, change func(*measure.OOMFact)) measure.SnapshotFact {
	free := measure.Bytes(left * mi)
	o := measure.OOMFact{Event: 7, RequestBytes: measure.Bytes(request * mi), DeviceFreeBytes: &free, LiveBytes: measure.Bytes(live * mi), ReservedBytes: measure.Bytes(reserved * mi), Layout: "exact",
		InactiveBytes: measure.Bytes((reserved - live) * mi), UsableBytes: measure.Bytes(usable * mi), LargestUsableBytes: measure.Bytes(largest * mi), UsableHoles: 5, UsableSegments: 2, Site: "a.py:3 f", Source: &measure.Source{File: "a.py", Line: 3}}
	if change != nil {
		change(&o)
	}
	return measure.SnapshotFact{OOMs: []measure.OOMFact{o}}
}

func ranked(peaks ...int64) *measure.Measurement {
	m := measure.New()
	for i, p := range peaks {
		l := measure.Labels{"device": "0", "rank": fmt.Sprint(i)}
		m.Rows = append(m.Rows, measure.NewRow("live.peak_bytes", l, measure.Int(p*mi)))
		m.Contributors = append(m.Contributors, measure.Contributor{Metric: "live.peak_bytes", Labels: l, Key: "a.py f", Display: "a.py:3 f", Bytes: measure.Bytes(p * mi), Count: 1})
	}
	return m
}

func replicas(ranks int, change func(rank int, s *measure.SnapshotFact)) *measure.Measurement {
	m := measure.New()
	for i := range ranks {
		s := measure.SnapshotFact{Labels: measure.Labels{"device": "0", "rank": fmt.Sprint(i)}, AtPeak: true, Classes: []measure.ClassFact{
			{Class: measure.ClassParameter, Bytes: 100 * mi}, {Class: measure.ClassGradient, Bytes: 100 * mi}, {Class: measure.ClassOptimizer, Bytes: 200 * mi}, {Class: measure.ClassActivation, Bytes: 100 * mi}}}
		change(i, &s)
		m.Facts.Snapshots = append(m.Facts.Snapshots, s)
	}
	return m
}

// kept makes the contributors of one metric: a site for each size in MiB.
func kept(m *measure.Measurement, metric string, sizes ...int64) *measure.Measurement {
	for i, n := range sizes {
		m.Contributors = append(m.Contributors, measure.Contributor{Metric: metric, Labels: measure.Labels{"device": "0"}, Key: fmt.Sprintf("a.py f%d", i), Display: fmt.Sprintf("a.py:%d f%d", i+1, i),
			Bytes: measure.Bytes(n * mi), Count: n, Group: fmt.Sprintf("a.py f%d", i), Source: &measure.Source{File: "a.py", Line: i + 1}})
	}
	return m
}

func events(m *measure.Measurement, n, steps int64) *measure.Measurement {
	m.Facts.Traces[0].Events, m.Facts.Traces[0].Steps = n, steps
	return m
}

func release(m *measure.Measurement, torch string) *measure.Measurement {
	m.Environment["torch"] = torch
	return m
}

func recomputing(m *measure.Measurement) *measure.Measurement {
	m.Facts.Snapshots[0].Sites = []measure.SiteFact{{Key: "k", Display: "k", Phase: measure.PhaseRecompute}}
	return m
}

func alone(s measure.SnapshotFact) Input { return Input{Head: snap(nil, s)} }

func withSettings(s measure.SnapshotFact, settings map[string]string) measure.SnapshotFact {
	s.Settings = settings
	return s
}

// torchCases holds for each rule an input that it finds something in, a part of
// the text, the saving in MiB, and one that it finds nothing in.
var torchCases = map[string]struct {
	bad    Input
	text   string
	saving int64
	good   Input
}{
	"torch-oom-fragmentation": {
		alone(outOfMemory(1024, 600, 900, 3200, 2300, 200, nil)),
		"an allocation of 1.00 GiB failed at a.py:3 f: live 900.00 MiB, reserved 3.12 GiB, left on the device 600.00 MiB; 2.25 GiB that it could use are free, in 5 pieces of 2 segments, and the largest is 200.00 MiB: fragmentation", 2300,
		alone(outOfMemory(1024, 20, 3100, 3200, 100, 50, nil)),
	},
	"torch-oom-pressure": {
		alone(outOfMemory(1024, 20, 3100, 3200, 100, 50, func(o *measure.OOMFact) {
			o.Holders = []measure.HolderFact{{Display: "a.py:3 f", Class: measure.ClassActivation, Bytes: 2000 * mi}, {Display: "a.py:9 g", Class: measure.ClassParameter, Bytes: 1000 * mi}}
		})),
		"only 100.00 MiB of what is reserved is free, live tensors are 96 % of the 3.14 GiB that this process can have: memory pressure, allocator tuning will not help; this request alone lacks 974.00 MiB, and what comes after it needs more; activations and temporaries hold 1.95 GiB, the most that a smaller batch or checkpointing can free", 2000,
		alone(outOfMemory(1024, 600, 900, 3200, 2300, 200, nil)),
	},
	"torch-oom-stranded": {
		alone(outOfMemory(500, 100, 1000, 2000, 200, 100, func(o *measure.OOMFact) { o.PrivateBytes = 700 * mi })),
		"700.00 MiB are in private pools, 100.00 MiB belong to another stream or to the pool of small blocks", 800,
		alone(outOfMemory(500, 100, 1000, 2000, 900, 100, nil)),
	},
	"torch-oom-limit": {
		alone(outOfMemory(500, 700, 1000, 1200, 100, 100, nil)), "a limit of the process made it fail", 0,
		alone(outOfMemory(500, 400, 1000, 1200, 100, 100, nil)),
	},
	"torch-oom-foreign": {
		alone(twice(outOfMemory(500, 900, 1000, 1200, 100, 100, nil), outOfMemory(500, 100, 1000, 1200, 100, 100, nil))),
		"fell from 2.05 GiB to 1.27 GiB: 800.00 MiB went to something outside PyTorch's allocator", 800,
		alone(twice(outOfMemory(500, 100, 1000, 1200, 100, 100, nil), outOfMemory(500, 900, 1000, 1200, 100, 100, nil))),
	},
	"torch-alloc-retries": {
		alone(measure.SnapshotFact{Churn: &measure.ChurnFact{Retries: 2, RetriedBytes: 64 * mi}}), "the device was full 2 times", 0,
		alone(measure.SnapshotFact{Churn: &measure.ChurnFact{SegmentFrees: 2}}),
	},
	"torch-retained-graph": {
		alone(grown(5, 8)), "live memory grows by 20.00 MiB (20,971,520 B) a step over 8 whole steps (marks: train_step); 5 sites keep blocks at each step, allocated at a.py:1 f (4.00 MiB), a.py:2 f (4.00 MiB), a.py:3 f (4.00 MiB) and 2 more", 160,
		alone(grown(2, 8)),
	},
	"torch-growing-container": {
		alone(grown(1, 8)), "1 site keeps blocks at each step, allocated at a.py:1 f (4.00 MiB); the first keeps 8 blocks of 4.00 MiB: a container or cache that grows", 32,
		// A scalar a step, as from a list of losses.
		alone(func() measure.SnapshotFact { s := grown(1, 8); s.Steps.BytesPerStep = 4; return s }()),
	},
	"torch-growth": {
		alone(grown(0, 8)), "no site of its own explains it", 0,
		alone(grown(0, 2)),
	},
	"torch-optimizer-state": {
		alone(measure.SnapshotFact{Classes: classes(rows{"optimizer_state": 40}), Steps: &measure.StepsFact{Counted: 3}, Sites: []measure.SiteFact{siteFact(9, measure.ClassOptimizer, measure.PhaseOptimizer, func(e *measure.SiteFact) {
			e.EndBytes, e.EndBlocks, e.FirstStepBytes = 40*mi, 8, 40*mi
		})}}), "it appeared in the first step and has not grown since: expected, not a leak", 30,
		alone(measure.SnapshotFact{Classes: classes(rows{"optimizer_state": 40}), Steps: &measure.StepsFact{Counted: 3}, Sites: []measure.SiteFact{siteFact(9, measure.ClassOptimizer, measure.PhaseOptimizer, func(e *measure.SiteFact) {
			e.EndBytes, e.EndBlocks, e.GrewSteps = 40*mi, 8, 3
		})}}),
	},
	"torch-reference-cycles": {
		alone(measure.SnapshotFact{Classes: classes(rows{"activation": 100}), Steps: &measure.StepsFact{Counted: 9, Steps: saw(8, 8, 8, -24, 8, 8, 8, -24, 8)}}),
		"rises by up to 24.00 MiB over several steps and then falls back at once, 2 times", 24,
		// Falls in each second step: a buffer that is used every other time.
		alone(measure.SnapshotFact{Classes: classes(rows{"activation": 100}), Steps: &measure.StepsFact{Counted: 8, Steps: saw(8, -8, 8, -8, 8, -8, 8, -8)}}),
	},
	"torch-activation-pressure": {
		alone(layers(measure.PhaseForward)), "activations that the backward pass frees are 80 % of the peak (80.00 MiB of 100.00 MiB); at the end of steps 20.00 MiB are live; most is allocated at a.py:5 f (80.00 MiB)", 60,
		alone(layers(measure.PhaseRecompute)),
	},
	"torch-replication": {
		Input{Head: replicas(4, func(int, *measure.SnapshotFact) {})}, "each of 4 ranks holds 100.00 MiB of parameters, 100.00 MiB of gradients, 200.00 MiB of optimizer state and 0 B of communication buffers, 80 % of its live memory", 300,
		// Sharded: each rank holds another part.
		Input{Head: replicas(4, func(i int, s *measure.SnapshotFact) { s.Classes[0].Bytes += measure.Bytes(i) })},
	},
	"torch-workspaces": {
		alone(measure.SnapshotFact{AtPeak: true, Classes: classes(rows{"workspace": 64, "activation": 100})}), "workspaces of cuBLAS hold 64.00 MiB at the peak, in 64 blocks", 64,
		alone(measure.SnapshotFact{AtPeak: true, Classes: classes(rows{"workspace": 1, "activation": 100})}),
	},
	"torch-host-memory": {
		alone(measure.SnapshotFact{HostBytes: 128 * mi, HostSegments: 2}), "128.00 MiB of pinned host memory in 2 segments", 0,
		alone(measure.SnapshotFact{HostBytes: 1 * mi, HostSegments: 2}),
	},
	"torch-fragmentation": {
		Input{Head: snap(rows{"reserved.peak_bytes": 2000, "live.rounded_peak_bytes": 1000}, measure.SnapshotFact{Pools: []measure.PoolFact{{Pool: "(0,0)", Class: "large", Segments: 4, ReservedBytes: 2000 * mi, InactiveBytes: 1500 * mi, EmptyBytes: 300 * mi, Holes: 9, LargestBytes: 200 * mi}, {Pool: "(0,0)", Class: "large", Stream: 1, InactiveBytes: 100 * mi, Holes: 1}}})},
		"mostly hard fragmentation (holes of segments in use): hard 1.17 GiB, soft 300.00 MiB, stream 100.00 MiB, in 10 free ranges, the largest 200.00 MiB", 1000,
		Input{Head: snap(rows{"reserved.peak_bytes": 2000, "live.rounded_peak_bytes": 1900}, measure.SnapshotFact{})},
	},
	"torch-rounding": {
		Input{Head: snap(rows{"live.end_bytes": 900}, measure.SnapshotFact{Pools: []measure.PoolFact{{Pool: "(0,0)", LiveBytes: 1100 * mi}}})},
		"the live blocks at the dump hold 1.07 GiB for requests of 900.00 MiB: rounding takes 200.00 MiB (18 %)", 200,
		Input{Head: snap(rows{"live.end_bytes": 1090}, measure.SnapshotFact{Pools: []measure.PoolFact{{Pool: "(0,0)", LiveBytes: 1100 * mi}}})},
	},
	"torch-pending-free": {
		alone(measure.SnapshotFact{PendingBytes: 32 * mi, PendingBlocks: 2}), "32.00 MiB (33,554,432 B) in 2 blocks are freed by the program and wait for another stream at the dump: pending, not a leak", 32,
		alone(measure.SnapshotFact{PendingBytes: 1 * mi, PendingBlocks: 2}),
	},
	"torch-private-pools": {
		alone(measure.SnapshotFact{Pools: []measure.PoolFact{{Pool: "(1,0)", Private: true, ReservedBytes: 100 * mi, InactiveBytes: 60 * mi, EmptyBytes: 20 * mi}, {Pool: "(0,0)", ReservedBytes: 100 * mi}}}),
		"private pools (1,0) hold 100.00 MiB, of which 60.00 MiB (62,914,560 B) are free and stranded", 60,
		alone(measure.SnapshotFact{Pools: []measure.PoolFact{{Pool: "(0,0)", ReservedBytes: 100 * mi, InactiveBytes: 60 * mi}}}),
	},
	"torch-thrash": {
		alone(measure.SnapshotFact{Churn: &measure.ChurnFact{SegmentFrees: 40, StepSegmentFrees: 30, EmptyCacheFrees: 40, EmptyCacheAt: &measure.Source{File: "a.py", Line: 8}, WarmAllocations: 1000, WarmMisses: 100}}),
		"the pool thrashes: 30 returns of segments inside whole steps, 100 of 1000 warm allocations needed a new segment (hit ratio 0.900); empty_cache() returned 40 segments at a.py:8; that costs time, not memory", 0,
		// A pool that only grows.
		alone(measure.SnapshotFact{Churn: &measure.ChurnFact{WarmAllocations: 1000, WarmMisses: 100}}),
	},
	"torch-settings-conflict": {
		alone(measure.SnapshotFact{Settings: map[string]string{"expandable_segments": "True", "max_split_size": "33554432"}}), "are set together", 0,
		alone(measure.SnapshotFact{Settings: map[string]string{"max_split_size": "33554432"}}),
	},
	"torch-leak": {
		Input{Base: kept(snap(rows{"live.end_bytes": 40}, measure.SnapshotFact{}), "live.end_bytes", 10, 30), Head: kept(snap(rows{"live.end_bytes": 60}, measure.SnapshotFact{}), "live.end_bytes", 30, 30), Earlier: true, Steps: 4},
		"between the two dumps 20.00 MiB in 20 blocks came to stay, 5.00 MiB (5,242,880 B) a step over 4 steps, allocated at a.py:1 f0 (+20.00 MiB, +20 blocks: 5.00 MiB and 5 blocks a step)", 20,
		// Two runs, nobody said that it is one process.
		Input{Base: kept(snap(rows{"live.end_bytes": 40}, measure.SnapshotFact{}), "live.end_bytes", 10, 30), Head: kept(snap(rows{"live.end_bytes": 60}, measure.SnapshotFact{}), "live.end_bytes", 30, 30)},
	},
	"torch-checkpointing-removed": {
		Input{Base: recomputing(kept(snap(rows{"live.peak_bytes": 40}, measure.SnapshotFact{}), "live.peak_bytes", 40)), Head: kept(snap(rows{"live.peak_bytes": 90}, measure.SnapshotFact{}), "live.peak_bytes", 90)},
		"the base recomputes activations (activation checkpointing), the head does not: the peak rose by 50.00 MiB from 40.00 MiB to 90.00 MiB; more is allocated at a.py:1 f0 (+50.00 MiB, +50 blocks)", 50,
		Input{Base: recomputing(snap(rows{"live.peak_bytes": 40}, measure.SnapshotFact{})), Head: recomputing(snap(rows{"live.peak_bytes": 90}, measure.SnapshotFact{}))},
	},
	"peak-moved": {
		Input{Base: kept(snap(rows{"live.peak_bytes": 40, "live.end_bytes": 9}, measure.SnapshotFact{}), "live.peak_bytes", 40), Head: kept(snap(rows{"live.peak_bytes": 90, "live.end_bytes": 9}, measure.SnapshotFact{}), "live.peak_bytes", 90)},
		"the peak rose by 50.00 MiB (52,428,800 B), most of it allocated at a.py:1 f0 (+50.00 MiB, +50 blocks); live at the end changed by 0 B: activations or temporaries of a step, not a leak", 0,
		Input{Base: snap(rows{"live.peak_bytes": 90}, measure.SnapshotFact{}), Head: snap(rows{"live.peak_bytes": 40}, measure.SnapshotFact{})},
	},
	"torch-reserved-moved": {
		Input{Base: snap(rows{"live.peak_bytes": 500, "reserved.peak_bytes": 600}, measure.SnapshotFact{}), Head: snap(rows{"live.peak_bytes": 501, "reserved.peak_bytes": 800}, measure.SnapshotFact{})},
		"the reserved peak rose by 200.00 MiB (from 600.00 MiB to 800.00 MiB) while the live peak changed by +1.00 MiB", 200,
		Input{Base: snap(rows{"live.peak_bytes": 500, "reserved.peak_bytes": 600}, measure.SnapshotFact{}), Head: snap(rows{"live.peak_bytes": 700, "reserved.peak_bytes": 800}, measure.SnapshotFact{})},
	},
	"torch-suspicious-saving": {
		Input{Base: events(snap(rows{"live.peak_bytes": 90}, measure.SnapshotFact{}), 1000, 10), Head: events(snap(rows{"live.peak_bytes": 40}, measure.SnapshotFact{}), 300, 3)},
		"the peak fell by 50.00 MiB (56 %), but the head did less work: 300 allocator events, 1000 in the base, 3 steps, 10 in the base", 0,
		Input{Base: events(snap(rows{"live.peak_bytes": 90}, measure.SnapshotFact{}), 1000, 10), Head: events(snap(rows{"live.peak_bytes": 40}, measure.SnapshotFact{}), 1200, 10)},
	},
	"torch-release-changed": {
		Input{Base: release(snap(rows{"live.peak_bytes": 90}, measure.SnapshotFact{Classes: classes(rows{"workspace": 32})}), "2.14"), Head: release(snap(rows{"live.peak_bytes": 40}, measure.SnapshotFact{}), "2.15")},
		"torch is 2.15, 2.14 in the base; the peak went from 90.00 MiB to 40.00 MiB, workspaces in it from 32.00 MiB to 0 B", 0,
		Input{Base: release(snap(rows{"live.peak_bytes": 90}, measure.SnapshotFact{}), "2.14"), Head: release(snap(rows{"live.peak_bytes": 90}, measure.SnapshotFact{}), "2.15")},
	},
	"torch-rank-outlier": {
		Input{Head: ranked(100, 101, 160, 100)}, "rank 2 peaks at 160.00 MiB, 60.00 MiB (60 %) above the median of 4 ranks (100.00 MiB); more is allocated at a.py:3 f (+60.00 MiB)", 60,
		Input{Head: ranked(100, 105, 108, 100)},
	},
}

func twice(a, b measure.SnapshotFact) measure.SnapshotFact {
	a.OOMs = append(a.OOMs, b.OOMs...)
	return a
}

// saw makes counted steps that leave so many MiB each.
func saw(net ...int64) (out []measure.StepFact) {
	for i, n := range net {
		out = append(out, measure.StepFact{Number: int64(i), NetBytes: measure.Bytes(n * mi), Whole: true, Counted: true})
	}
	return out
}

// layers is a model of four modules whose activations the backward pass frees.
func layers(phase string) measure.SnapshotFact {
	return measure.SnapshotFact{AtPeak: true, Classes: classes(rows{"activation": 80, "parameter": 20}), Steps: &measure.StepsFact{Counted: 1, Steps: []measure.StepFact{{StartBytes: 20 * mi, Whole: true, Counted: true}}},
		Sites: []measure.SiteFact{siteFact(5, measure.ClassActivation, phase, func(e *measure.SiteFact) {
			e.PeakBytes, e.PeakBlocks, e.BackwardFreedBytes, e.Evidence = 80*mi, 4, 80*mi, "forward_to_backward"
		})}}
}

// TestEachTorchRule holds every rule over snapshots against its two inputs.
func TestEachTorchRule(t *testing.T) {
	for _, l := range snapshotLimits {
		c := torchCases[l.name]
		c.bad, c.text = alone(measure.SnapshotFact{Limits: []measure.LimitFact{{Code: l.code, Text: "12 MiB are not known"}}}), "12 MiB are not known"
		c.good = alone(measure.SnapshotFact{Limits: []measure.LimitFact{{Code: "another", Text: "x"}}})
		torchCases[l.name] = c
	}
	for _, r := range torchRules {
		c, ok := torchCases[r.Name]
		if !ok {
			t.Errorf("%s has no case", r.Name)
			continue
		}
		found := 0
		for _, f := range Run(c.bad) {
			if f.Rule != r.Name {
				continue
			}
			if found++; !strings.Contains(f.Text, c.text) || f.SavingBytes != measure.Bytes(c.saving*mi) || rank(f.Severity) < 0 || f.Evidence != Measured && f.Evidence != Inferred || strings.Contains(f.Text, "leaked by") {
				t.Errorf("%s: %+v\nwant %q and %d MiB", r.Name, f, c.text, c.saving)
			}
		}
		if found != 1 {
			t.Errorf("%s: found %d times in what it is for", r.Name, found)
		}
		for _, f := range Run(c.good) {
			if f.Rule == r.Name {
				t.Errorf("%s: found in what is fine: %s", r.Name, f.Text)
			}
		}
	}
	// Limits come with the lines that make the next capture answer.
	for _, l := range snapshotLimits {
		for _, f := range Run(torchCases[l.name].bad) {
			if l.code != measure.LimitCapped && len(strings.Split(f.Fix, "\n")) != 2 {
				t.Errorf("%s: fix %q, want two lines", l.name, f.Fix)
			}
		}
	}
}

// The verdicts on a failed allocation exclude each other, and the texts show the
// numbers that decide.
func TestOOMVerdicts(t *testing.T) {
	for _, c := range []struct {
		name string
		s    measure.SnapshotFact
		want string
	}{
		{"request above all that is free", outOfMemory(1000, 100, 500, 1000, 500, 300, nil), "torch-oom-pressure"},
		{"one byte short", outOfMemory(600, 100, 500, 1000, 500, 300, func(o *measure.OOMFact) { o.RequestBytes++ }), "torch-oom-pressure"},
		{"just enough in pieces", outOfMemory(600, 100, 500, 1000, 500, 300, nil), "torch-oom-fragmentation"},
		{"enough, but live is 95 %", outOfMemory(60, 0, 950, 1000, 60, 20, func(o *measure.OOMFact) { o.InactiveBytes = 60 * mi }), "torch-oom-pressure"},
		{"layout not known", outOfMemory(300, 10, 500, 1000, 0, 0, func(o *measure.OOMFact) { o.Layout = "" }), "torch-oom-fragmentation"},
		{"layout not known, nothing free", outOfMemory(300, 10, 900, 1000, 0, 0, func(o *measure.OOMFact) { o.Layout = "" }), "torch-oom-pressure"},
		{"no number of the device", outOfMemory(300, 10, 500, 1000, 400, 100, func(o *measure.OOMFact) { o.DeviceFreeBytes = nil }), "torch-oom-fragmentation"},
		{"other stream", outOfMemory(300, 10, 500, 1000, 100, 100, nil), "torch-oom-stranded"},
		{"the device had more", outOfMemory(300, 400, 500, 1000, 100, 100, nil), "torch-oom-limit"},
	} {
		fs := Run(alone(c.s))
		if got := rules(fs); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		exact := c.s.OOMs[0].Layout == "exact" && c.s.OOMs[0].DeviceFreeBytes != nil
		if want := map[bool]string{true: Measured, false: Inferred}[exact]; len(fs) > 0 && (fs[0].Evidence != want || fs[0].Severity != Error) {
			t.Errorf("%s: %+v, want evidence %s", c.name, fs[0], want)
		}
	}
}

// Memory outside of the allocator, beside a device whose size is known.
func TestForeign(t *testing.T) {
	for _, c := range []struct {
		name   string
		device int64 // MiB
		saving int64 // of the finding; 0: none
		s      measure.SnapshotFact
	}{
		{"another process has 3.4 of 4 GiB", 4096, 4096 - 596, outOfMemory(34, 20, 570, 576, 10, 5, nil)},
		{"a context alone", 1536, 0, outOfMemory(34, 20, 1230, 1250, 10, 5, nil)},
		{"the rest would not do", 4096, 0, outOfMemory(3000, 20, 570, 576, 10, 5, nil)},
		{"size not known", 0, 0, outOfMemory(34, 20, 570, 576, 10, 5, nil)},
		{"left is not known", 4096, 0, outOfMemory(34, 20, 570, 576, 10, 5, func(o *measure.OOMFact) { o.DeviceFreeBytes = nil })},
	} {
		in := alone(c.s)
		in.DeviceMemory = measure.Bytes(c.device * mi)
		var saving measure.Bytes
		for _, f := range Run(in) {
			if f.Rule == "torch-oom-foreign" {
				saving = f.SavingBytes
			}
		}
		if saving != measure.Bytes(c.saving*mi) {
			t.Errorf("%s: %s outside, want %d MiB", c.name, saving, c.saving)
		}
	}
}

// What the base has too is no news, unless it got worse.
func TestChangedGrowth(t *testing.T) {
	leak := func(scale int64) *measure.Measurement {
		s := grown(1, 8)
		s.Sites[0].GrewBytes *= measure.Bytes(scale)
		s.Steps.BytesPerStep *= float64(scale)
		return snap(nil, s)
	}
	for _, c := range []struct {
		base, head int64
		want       string
	}{{1, 1, ""}, {4, 1, ""}, {1, 4, "torch-growing-container"}} {
		if got := rules(Changed(Input{Base: leak(c.base), Head: leak(c.head)})); got != c.want {
			t.Errorf("from %d to %d: %q, want %q", c.base, c.head, got, c.want)
		}
	}
}

// TestFragmentationAdvice: in its order, never what is set already, never both
// settings, never expandable segments beside private pools.
func TestFragmentationAdvice(t *testing.T) {
	frag := func() measure.SnapshotFact { return outOfMemory(1024, 600, 900, 3200, 2300, 200, nil) }
	pools := []measure.PoolFact{{Pool: "(1,0)", Private: true, ReservedBytes: mi}}
	large := []measure.PoolFact{{Pool: "(0,0)", Class: "large", Segments: 4, Holes: 9, ReservedBytes: 3200 * mi}}
	for _, c := range []struct {
		name  string
		s     measure.SnapshotFact
		torch string
		want  []string // the lines, by their beginnings
	}{
		{"nothing set", frag(), "2.15 or newer", []string{"1. PYTORCH_ALLOC_CONF=expandable_segments:True", "2. if that is not possible, PYTORCH_ALLOC_CONF=max_split_size_mb:1024 (never both)", "3. let sizes vary less"}},
		{"old torch", frag(), "2.3 to 2.4", []string{"1. PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "2. if that is not possible, PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:1024", "3. let"}},
		{"segments below the request", func() measure.SnapshotFact { s := frag(); s.Pools = large; return s }(), "", []string{"1. PYTORCH_ALLOC_CONF=exp", "2. if that is not possible, PYTORCH_ALLOC_CONF=max_split_size_mb:800", "3. let"}},
		{"expandable is on", withSettings(frag(), map[string]string{"expandable_segments": "True"}), "", []string{"1. expandable_segments is on already; do not add max_split_size_mb to it", "2. let"}},
		{"split limit is set", withSettings(frag(), map[string]string{"max_split_size": "33554432"}), "", []string{"1. PYTORCH_ALLOC_CONF=expandable_segments:True instead of max_split_size_mb (never both)", "2. let"}},
		{"both are set", withSettings(frag(), map[string]string{"max_split_size": "33554432", "expandable_segments": "True"}), "", []string{"1. take max_split_size_mb out of PYTORCH_ALLOC_CONF", "2. let"}},
		{"private pools", func() measure.SnapshotFact { s := frag(); s.Pools = pools; return s }(), "", []string{"1. PYTORCH_ALLOC_CONF=max_split_size_mb:1024 (not expandable_segments: private pools are in use)", "2. let"}},
		{"private pools, split limit set", func() measure.SnapshotFact {
			s := withSettings(frag(), map[string]string{"max_split_size": "33554432"})
			s.Pools = pools
			return s
		}(), "", []string{"1. let"}},
		{"a small request", outOfMemory(5, 2, 900, 3200, 2300, 4, nil), "", []string{"1. PYTORCH_ALLOC_CONF=exp", "2. if that is not possible, PYTORCH_ALLOC_CONF=max_split_size_mb:21", "3. let"}},
	} {
		in := alone(c.s)
		in.Head.Environment["torch"] = c.torch
		found := false
		for _, f := range Run(in) {
			if f.Rule != "torch-oom-fragmentation" {
				continue
			}
			found = true
			lines := strings.Split(f.Fix, "\n")
			ok := len(lines) == len(c.want)
			for i := range min(len(lines), len(c.want)) {
				ok = ok && strings.HasPrefix(lines[i], c.want[i])
			}
			if !ok {
				t.Errorf("%s:\n%s\nwant\n%s", c.name, f.Fix, strings.Join(c.want, "\n"))
			}
			if strings.Contains(f.Fix, "=max_split") != strings.Contains(f.Cost, "max_split_size_mb") || strings.Contains(f.Fix, "=expandable") != strings.Contains(f.Cost, "expandable_segments") {
				t.Errorf("%s: cost %q of\n%s", c.name, f.Cost, f.Fix)
			}
		}
		if !found {
			t.Errorf("%s: no fragmentation", c.name)
		}
	}
}

// What several ranks have alike is told once.
func TestFoldRanks(t *testing.T) {
	m := measure.New()
	for _, r := range []string{"0", "1", "2"} {
		s := measure.SnapshotFact{Labels: measure.Labels{"device": "0", "rank": r}, PendingBytes: 32 * mi, PendingBlocks: 2}
		if r == "2" {
			s.PendingBytes *= 2
		}
		m.Facts.Snapshots = append(m.Facts.Snapshots, s)
	}
	fs := Run(Input{Head: m})
	if len(fs) != 2 || fs[0].Labels["rank"] != "2" || fs[1].Labels.Key() != "device=0" || !strings.HasSuffix(fs[1].Text, "(on each of the ranks 0, 1)") {
		t.Errorf("%+v", fs)
	}
}

// TestSoftFragmentation: segments that are wholly free need no other settings, and one
// free range is not several.
func TestSoftFragmentation(t *testing.T) {
	pool := measure.PoolFact{Pool: "(0,0)", Class: "large", Segments: 4, ReservedBytes: 2000 * mi, InactiveBytes: 900 * mi, EmptyBytes: 900 * mi, EmptySegments: 1, Holes: 1, LargestBytes: 900 * mi}
	s := measure.SnapshotFact{Pools: []measure.PoolFact{pool}}
	fs := Run(Input{Head: snap(rows{"reserved.peak_bytes": 2000, "live.rounded_peak_bytes": 1000}, s)})
	if len(fs) != 1 || fs[0].Rule != "torch-fragmentation" || fs[0].SavingBytes != 900*mi {
		t.Fatalf("%+v", fs)
	}
	f := fs[0]
	if !strings.Contains(f.Fix, "torch.cuda.empty_cache()") || !strings.Contains(f.Cost, "allocated anew") || strings.Contains(f.Fix, "ALLOC_CONF") {
		t.Errorf("fix %q, cost %q", f.Fix, f.Cost)
	}
	if !strings.Contains(f.Text, "in 1 free range; ") || strings.Contains(f.Text, "piece") || strings.Contains(f.Text, "largest") {
		t.Errorf("text %q", f.Text)
	}
	s.Limits = []measure.LimitFact{{Code: measure.LimitCppStacks, Text: "C++ alone"}}
	for _, f := range Run(Input{Head: snap(rows{"reserved.peak_bytes": 2000, "live.rounded_peak_bytes": 1000}, s)}) {
		if f.Rule == "torch-fragmentation" && !strings.Contains(f.Fix, "c10::cuda::CUDACachingAllocator::emptyCache()") {
			t.Errorf("a C++ program: %q", f.Fix)
		}
	}
}

// TestNative: a program without Python gets no advice in Python.
func TestNative(t *testing.T) {
	for _, n := range []int{1, graphSites} {
		s := grown(n, 8)
		for i := range s.Sites {
			s.Sites[i].Source = nil
		}
		s.Limits = []measure.LimitFact{{Code: measure.LimitCppStacks, Text: "C++ alone"}, {Code: measure.LimitTruncated, Text: "cut"}}
		for _, f := range Run(Input{Head: snap(nil, s)}) {
			if f.Rule != "torch-cpp-stacks" && (strings.Contains(f.Fix, "torch.") || strings.Contains(f.Fix, "deque")) {
				t.Errorf("%d sites: %s: %s", n, f.Rule, f.Fix)
			}
		}
	}
}
