package diagnose

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/measure"
)

// TestPoolBucket holds the rounding at each boundary and beside it.
func TestPoolBucket(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for request, want := range map[int64]int64{
		1: 4 * kib, 4*kib - 1: 4 * kib, 4 * kib: 4 * kib, 4*kib + 1: 8 * kib,
		60*kib + 1: 64 * kib, 64*kib - 1: 64 * kib, 64 * kib: 64 * kib, 64*kib + 1: 128 * kib,
		128 * kib: 128 * kib, 128*kib + 1: 192 * kib, mib - 1: mib, mib: mib, mib + 1: 2 * mib,
		2 * mib: 2 * mib, 2*mib + 1: 3 * mib, 16*mib - 1: 16 * mib, 16 * mib: 16 * mib, 16*mib + 1: 32 * mib,
		32 * mib: 32 * mib, 32*mib + 1: 48 * mib,
		// The guide's example: logits of 195.6 MiB.
		4 * 255 * 50257 * 4: 208 * mib,
	} {
		if got := poolBucket(request); got != want {
			t.Errorf("a request of %d rounds to %d, want %d", request, got, want)
		}
	}
	if 4*255*50257*4 != 205_048_560 {
		t.Error("the example of the guide has another size")
	}
	last := int64(0)
	for request := int64(1); request < 40*mib; request += 511 {
		b := poolBucket(request)
		if b < request || b < last || poolBucket(b) != b {
			t.Fatalf("a request of %d rounds to %d after %d", request, b, last)
		}
		last = b
	}
}

// TestRaise holds the lines of the guide.
func TestRaise(t *testing.T) {
	for bucket, want := range map[int64]string{
		4 << 10:   "65536:1024,1048576:512,*:8",
		64 << 10:  "65536:1024,1048576:512,*:8",
		128 << 10: "65536:512,1048576:1024,*:8",
		1 << 20:   "65536:512,1048576:1024,*:8",
		2 << 20:   "65536:512,1048576:512,16777216:32,*:8", // as in the guide
		16 << 20:  "65536:512,1048576:512,16777216:32,*:8",
		32 << 20:  "65536:512,1048576:512,33554432:32,*:8",
		64 << 20:  "65536:512,1048576:512,67108864:16,*:8", // 16 of them are the whole pool
	} {
		if got := policy(raise(defaultClasses(), bucket)); got != "AFFON_METAL_POOL_SIZE_CLASSES='"+want+"'" {
			t.Errorf("%d: %s, want %s", bucket, got, want)
		}
	}
}

// levels are signals that go evenly from one value to another, in MiB or counts.
type levels map[string][2]int64

// affonMade is the telemetry of one process, made for a test.
func affonMade(snapshots int64, l levels, edit ...func(*measure.AffonFact)) Input {
	f := measure.AffonFact{Labels: measure.Labels{}, Names: 2, Snapshots: snapshots, Signals: map[string]measure.AffonSignal{}}
	if snapshots > 2 {
		f.Warm = snapshots / 5
	}
	for name, v := range l {
		unit := int64(1)
		if strings.HasSuffix(name, "_bytes") {
			unit = mi
		}
		a, b := v[0]*unit, v[1]*unit
		f.Signals[name] = measure.AffonSignal{First: a, Warm: a, Early: a, Late: b, Last: b, Max: max(a, b)}
	}
	for _, e := range edit {
		e(&f)
	}
	m := measure.New()
	m.Facts.Affon = []measure.AffonFact{f}
	return Input{Head: m}
}

func dropped(warm int64, buckets ...measure.AffonBucket) func(*measure.AffonFact) {
	return func(f *measure.AffonFact) {
		for _, b := range buckets {
			if warm >= 0 {
				b.Warm = &warm
			}
			f.Drops = append(f.Drops, b)
		}
	}
}

func missedBuckets(buckets ...measure.AffonBucket) func(*measure.AffonFact) {
	return func(f *measure.AffonFact) { f.Misses = buckets }
}

const (
	foot, liveM, devM, poolL = measure.AffonFootprint, measure.AffonLiveMetal, measure.AffonDeviceMetal, measure.AffonPoolLive
	hitC, missC, dropC       = measure.AffonPoolHits, measure.AffonPoolMisses, measure.AffonPoolDrops
)

// affonCases hold for each rule what it is for, words of the text, fix and cost, the
// saving in MiB, and what it must leave alone.
var affonCases = map[string]struct {
	bad    Input
	words  []string
	saving int64
	good   []Input
}{
	"affon-resource-churn": {
		affonMade(10, levels{foot: {2000, 2300}, liveM: {600, 601}, devM: {900, 900}}),
		[]string{"grew by 300.00 MiB", "device's own count stayed at 900.00 MiB", "tensors on Metal at 601.00 MiB", "no tensor leak"}, 299,
		[]Input{
			affonMade(10, levels{foot: {2000, 2010}, devM: {900, 900}}), affonMade(10, levels{foot: {2000, 2300}}), affonMade(1, levels{foot: {2000, 2300}, devM: {900, 900}}),
			affonMade(10, levels{foot: {2000, 2300}, devM: {900, 1200}}), affonMade(10, levels{foot: {2000, 2300}, measure.AffonHeap: {20, 320}, devM: {900, 900}}),
		},
	},
	"affon-driver-residency": {
		affonMade(10, levels{foot: {2000, 2300}, liveM: {600, 600}}),
		[]string{"grew by 300.00 MiB", "tensors on Metal stayed at 600.00 MiB", "not in the snapshots"}, 300,
		[]Input{affonMade(10, levels{foot: {2000, 2300}, liveM: {600, 900}}), affonMade(10, levels{foot: {2000, 2300}}), affonMade(10, levels{foot: {2000, 2000}, liveM: {600, 600}})},
	},
	"affon-tensor-growth": {
		affonMade(10, levels{liveM: {600, 700}}), []string{"tensors on Metal grew by 100.00 MiB", "from 600.00 MiB to 700.00 MiB"}, 100,
		[]Input{affonMade(10, levels{liveM: {600, 616}}), affonMade(10, levels{liveM: {5000, 5050}}), affonMade(1, levels{liveM: {0, 700}}), affonMade(10, levels{liveM: {700, 600}})},
	},
	"affon-device-growth": {
		affonMade(10, levels{devM: {900, 1000}, liveM: {600, 600}, poolL: {200, 200}}), []string{"own count grew by 100.00 MiB", "(600.00 MiB)", "(200.00 MiB)"}, 100,
		[]Input{affonMade(10, levels{devM: {900, 1000}, liveM: {600, 600}}), affonMade(10, levels{devM: {900, 1000}, liveM: {600, 700}, poolL: {200, 200}}), affonMade(10, levels{devM: {900, 900}, liveM: {600, 600}, poolL: {200, 200}})},
	},
	"affon-warm-limit": {
		affonMade(10, levels{poolL: {10, 29}}), []string{"the pool rose from 10.00 MiB to 29.00 MiB", "twice"}, 0,
		[]Input{affonMade(10, levels{poolL: {10, 28}}), affonMade(8, levels{poolL: {10, 29}})}, // 8 snapshots after warm-up are needed
	},
	"affon-after-trim": {
		affonMade(3, levels{liveM: {600, 602}}, trimmed), []string{"tensors on Metal hold 602.00 MiB, 2.00 MiB more"}, 2,
		[]Input{affonMade(3, levels{liveM: {600, 602}}), affonMade(3, levels{liveM: {600, 601}}, trimmed), affonMade(3, levels{poolL: {200, 100}}, trimmed)},
	},
	"affon-report-grew": {
		affonMade(0, nil, peaked(1000, 1100)), []string{"grew by 100.00 MiB, from 1000.00 MiB to 1.07 GiB"}, 100,
		[]Input{affonMade(0, nil, peaked(1000, 1016)), affonMade(0, nil, peaked(0, 1100)), affonMade(0, nil, peaked(1100, 1000))},
	},
	"affon-unattributed": {
		affonMade(1, levels{foot: {0, 2048}, measure.AffonUnattributed: {0, 1024}}), []string{"1.00 GiB of the footprint of 2.00 GiB (50 %)"}, 0,
		[]Input{affonMade(1, levels{foot: {0, 2050}, measure.AffonUnattributed: {0, 1024}}), affonMade(1, levels{foot: {0, 1500}, measure.AffonUnattributed: {0, 1023}}), affonMade(1, levels{foot: {0, 2048}})},
	},
	"affon-oversize": {
		affonMade(10, levels{measure.AffonPoolPeak: {100, 100}}, dropped(0, measure.AffonBucket{Bytes: 208 * mi, Count: 40})),
		[]string{"rounded to 208.00 MiB × 40", "never held more than 100.00 MiB", "64.00 MiB of older Affon", "AFFON_METAL_POOL_OVERSIZE_THRESHOLD_BYTES=536870912", "up to 1.00 GiB kept"}, 0,
		[]Input{
			affonMade(10, levels{measure.AffonPoolPeak: {300, 300}}, dropped(0, measure.AffonBucket{Bytes: 208 * mi, Count: 40})), affonMade(10, nil, dropped(30, measure.AffonBucket{Bytes: 600 * mi, Count: 40})),
			affonMade(10, levels{measure.AffonPoolPeak: {10, 10}}, dropped(0, measure.AffonBucket{Bytes: 48 * mi, Count: 40})),
		},
	},
	"affon-bucket-cap": {
		affonMade(1, nil, dropped(-1, measure.AffonBucket{Bytes: 4096, Count: 60}, measure.AffonBucket{Bytes: 2 * mi, Count: 900}, measure.AffonBucket{Bytes: 4 * mi, Count: 90})),
		[]string{"since the process began: 2.00 MiB × 900, 4.00 MiB × 90, 4.00 KiB × 60", "AFFON_METAL_POOL_SIZE_CLASSES='65536:1024,1048576:512,16777216:32,*:8'", "2.00 MiB from 8 to 32", "up to 146.00 MiB more"}, 0,
		[]Input{affonMade(1, nil, dropped(-1, measure.AffonBucket{Bytes: 4096, Count: 15})), affonMade(10, nil, dropped(50, measure.AffonBucket{Bytes: 4096, Count: 60})), affonMade(1, nil, dropped(-1, measure.AffonBucket{Bytes: 700 * mi, Count: 60}))},
	},
	"affon-pool-total": {
		affonMade(10, levels{measure.AffonPoolPeak: {1000, 1000}}, dropped(0, measure.AffonBucket{Bytes: 48 * mi, Count: 40})),
		[]string{"48.00 MiB × 40", "it kept 1000.00 MiB at most", "AFFON_METAL_POOL_MAX_TOTAL_BYTES=1174405120"}, 0,
		[]Input{affonMade(10, levels{measure.AffonPoolPeak: {900, 900}}, dropped(0, measure.AffonBucket{Bytes: 48 * mi, Count: 40}))},
	},
	"affon-pool-bypass": {
		affonMade(10, levels{hitC: {1000, 1005}, missC: {50, 150}}, missedBuckets(measure.AffonBucket{Bytes: 2 * mi, Count: 150})),
		[]string{"5 hits and 100 misses after warm-up", "missed most: 2.00 MiB × 150"}, 0,
		[]Input{affonMade(10, levels{hitC: {1000, 1100}, missC: {50, 150}}), affonMade(10, levels{hitC: {1000, 1000}, missC: {50, 60}}), affonMade(10, levels{missC: {50, 150}}), affonMade(1, levels{hitC: {0, 5}, missC: {0, 150}})},
	},
	"affon-new-sizes": {
		affonMade(10, levels{hitC: {1000, 1500}, missC: {50, 150}, dropC: {0, 9}}), []string{"misses 100 times after warm-up and drops 9"}, 0,
		[]Input{affonMade(10, levels{hitC: {1000, 1500}, missC: {50, 150}, dropC: {0, 10}}), affonMade(10, levels{hitC: {1000, 1500}, missC: {50, 60}})},
	},
	"affon-warm-up-misses": {
		affonMade(1, levels{hitC: {0, 1500}, missC: {0, 150}}), []string{"missed 150 times since the process began", "may all be warm-up"}, 0,
		[]Input{affonMade(2, levels{hitC: {0, 1500}, missC: {0, 150}}), affonMade(1, levels{hitC: {0, 1500}, missC: {0, 150}, dropC: {0, 50}})},
	},
	"affon-pool-growth": {
		affonMade(10, levels{poolL: {500, 700}}), []string{"the pool keeps grew by 200.00 MiB", "no plateau"}, 200,
		[]Input{affonMade(10, levels{poolL: {500, 510}}), affonMade(1, levels{poolL: {0, 700}})},
	},
	"affon-scratch-churn": {
		affonMade(10, levels{measure.AffonFixups: {10, 110}, measure.AffonFallbacks: {1, 21}, measure.AffonScratchMetal: {9, 9}}),
		[]string{"contiguity fixups copied 100.00 MiB", "20 regions", "scratch on Metal holds 9.00 MiB"}, 0,
		[]Input{affonMade(10, levels{measure.AffonFixups: {1000, 1010}, measure.AffonFallbacks: {100, 101}})},
	},
	"affon-host-transfer": {
		affonMade(10, levels{measure.AffonToHost: {10, 110}}), []string{"100.00 MiB were copied to the host"}, 0,
		[]Input{affonMade(10, levels{measure.AffonToHost: {1000, 1010}}), affonMade(1, levels{measure.AffonToHost: {0, 110}})},
	},
	"affon-one-process": {
		Input{Base: affonMade(1, levels{hitC: {0, 5}}).Head, Head: affonMade(1, levels{hitC: {0, 9}}).Head}, []string{"no counter fell", "--leak"}, 0,
		[]Input{
			{Base: affonMade(1, levels{hitC: {0, 9}}).Head, Head: affonMade(1, levels{hitC: {0, 5}}).Head}, {Base: affonMade(1, levels{hitC: {0, 5}}).Head, Head: affonMade(2, levels{hitC: {0, 9}}).Head},
			{Base: affonMade(1, levels{hitC: {0, 5}}).Head, Head: affonMade(1, levels{hitC: {0, 9}}).Head, Earlier: true}, {Base: affonMade(1, levels{hitC: {0, 5}}).Head, Head: affonMade(1, levels{hitC: {0, 5}}).Head},
		},
	},
}

func peaked(before, now measure.Bytes) func(*measure.AffonFact) {
	return func(f *measure.AffonFact) { f.PreviousBytes, f.PeakBytes = before*mi, now*mi }
}

func trimmed(f *measure.AffonFact) { f.Trimmed = true }

func TestEachAffonRule(t *testing.T) {
	for _, r := range affonRules {
		c, ok := affonCases[r.Name]
		if !ok {
			t.Errorf("%s has no case", r.Name)
			continue
		}
		found := 0
		for _, f := range Run(c.bad) {
			if f.Rule != r.Name {
				continue
			}
			found++
			for _, word := range c.words {
				if !strings.Contains(f.Text+" "+f.Fix+" "+f.Cost, word) {
					t.Errorf("%s: no %q in %+v", r.Name, word, f)
				}
			}
			if f.SavingBytes != measure.Bytes(c.saving*mi) || rank(f.Severity) < 0 || f.Evidence != Measured && f.Evidence != Inferred || f.Fix == "" || strings.Contains(f.Text+f.Fix+f.Cost, "\n") {
				t.Errorf("%s: %+v", r.Name, f)
			}
		}
		if found != 1 {
			t.Errorf("%s: found %d times in what it is for: %v", r.Name, found, rules(Run(c.bad)))
		}
		for i, good := range c.good {
			if fs := Run(good); slices.ContainsFunc(fs, func(f measure.Finding) bool { return f.Rule == r.Name }) {
				t.Errorf("%s: found in case %d of what is fine", r.Name, i)
			}
		}
	}
}

// TestOversizeThreshold: a buffer above today's default wants a threshold above it, and
// one of half the pool a larger pool.
func TestOversizeThreshold(t *testing.T) {
	fs := Run(affonMade(10, nil, missedBuckets(measure.AffonBucket{Bytes: 640 * mi, Count: 40})))
	want := fmt.Sprintf("AFFON_METAL_POOL_OVERSIZE_THRESHOLD_BYTES=%d AFFON_METAL_POOL_MAX_TOTAL_BYTES=%d", 656*mi, 1664*mi)
	if len(fs) != 1 || fs[0].Rule != "affon-oversize" || !strings.Contains(fs[0].Fix, want) || !strings.Contains(fs[0].Text, "above the default threshold of 512.00 MiB") {
		t.Errorf("%+v\nwant %s", fs, want)
	}
}

// TestCUDA: the settings are named with the warning that they are Metal's.
func TestCUDA(t *testing.T) {
	fs := Run(affonMade(10, levels{measure.AffonLiveCUDA: {600, 600}}, dropped(0, measure.AffonBucket{Bytes: 2 * mi, Count: 90})))
	if len(fs) != 1 || !strings.Contains(fs[0].Fix, "on CUDA see whether they have an effect") {
		t.Errorf("%+v", fs)
	}
}

// TestAffonStories reads the fixtures as a user would.
func TestAffonStories(t *testing.T) {
	open := func(name string) *measure.Measurement {
		m, err := capture.Open(filepath.Join("../fixtures/affon", name), capture.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const churn = "affon-resource-churn affon-bucket-cap affon-scratch-churn"
	for name, want := range map[string]string{
		"monitor_churn.json.gz": churn, "report.json.gz": churn, "pair.json": churn, "monitor_steady.json.gz": "",
		"poll.jsonl.gz": "affon-tensor-growth", "after.json": "affon-bucket-cap affon-scratch-churn",
		"history.json": "affon-report-grew", "report-comparison.json": "affon-report-grew", "oldest_names.json": "", "second_names.json": "",
	} {
		if got := rules(Run(Input{Head: open(name)})); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// Two files of one process are one run, and mean what both in one file do.
	before, after := open("before.json"), open("after.json")
	both := Changed(Input{Base: before, Head: after, Earlier: true})
	if got := rules(both); got != churn {
		t.Errorf("--leak: %s, want %s", got, churn)
	}
	for i, f := range Run(Input{Head: open("pair.json")}) {
		if f.Text != both[i].Text || f.Fix != both[i].Fix {
			t.Errorf("in two files:\n%s\nin one:\n%s", both[i].Text, f.Text)
		}
	}
	// A run that began to churn, against one that did not.
	if got := rules(Changed(Input{Base: open("monitor_steady.json.gz"), Head: open("monitor_churn.json.gz")})); got != churn {
		t.Errorf("against the steady run: %s, want %s", got, churn)
	}
}

// TestAffonHostile: facts that anybody may have written make no rule fail.
func TestAffonHostile(t *testing.T) {
	const huge = 1<<63 - 1
	for _, v := range []int64{-huge - 1, -1, 0, 1, huge} {
		for _, w := range []int64{-huge - 1, -1, 0, huge} {
			in := affonMade(10, nil, dropped(v, measure.AffonBucket{Bytes: measure.Bytes(w), Count: huge}), missedBuckets(measure.AffonBucket{Bytes: measure.Bytes(v), Count: w}), trimmed)
			f := &in.Head.Facts.Affon[0]
			for _, name := range append(slices.Clone(affonCounters), foot, liveM, devM, poolL, measure.AffonLiveCUDA, measure.AffonLiveCPU, measure.AffonHeap, measure.AffonUnattributed, measure.AffonPoolPeak) {
				f.Signals[name] = measure.AffonSignal{First: v, Warm: w, Early: v, Late: w, Last: v, Max: w}
			}
			data, err := json.Marshal(in.Head)
			if err != nil || len(data) == 0 {
				t.Fatal(err)
			}
			for _, fs := range [][]measure.Finding{Run(in), Run(Input{Head: in.Head, Base: in.Head, Earlier: true})} {
				for _, f := range fs {
					if f.SavingBytes < 0 || f.Text == "" {
						t.Errorf("%d, %d: %+v", v, w, f)
					}
				}
			}
		}
	}
}
