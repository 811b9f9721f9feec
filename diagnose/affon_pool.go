package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

var affonPoolRules = []Rule{
	{
		Name: "affon-oversize", Family: "affon", Find: eachAffon(oversizeBypass),
		Doc: "Large buffers bypass the pool and are made and destroyed each time: they are above `AFFON_METAL_POOL_OVERSIZE_THRESHOLD_BYTES` (512 MiB by default, 64 MiB in older Affon, which shows in a pool that never held one of them). " +
			"The usual cause is a loss that materializes `[tokens, vocab]` logits. The finding gives the threshold to set.",
	},
	{
		Name: "affon-bucket-cap", Family: "affon", Find: eachAffon(bucketCap),
		Doc: "The pool gives back buffers of one size again and again (`top_drop`): it may keep too few of that size, so they are made anew. The finding gives the whole line of `AFFON_METAL_POOL_SIZE_CLASSES` to set, from the default one. Inferred, as the policy in force is in no metric.",
	},
	{
		Name: "affon-pool-total", Family: "affon", Find: eachAffon(poolTotal),
		Doc: "The pool gives back large buffers because all that it keeps is at its bound (`AFFON_METAL_POOL_MAX_TOTAL_BYTES`, 1 GiB by default): a higher cap for their size would change nothing.",
	},
	{
		Name: "affon-pool-bypass", Family: "affon", Find: eachAffon(poolBypass),
		Doc: "After warm-up the pool misses more than it hits: buffers bypass it, or have too many sizes to be used again.",
	},
	{
		Name: "affon-new-sizes", Family: "affon", Find: eachAffon(newSizes),
		Doc: "The pool still misses after warm-up, but drops little: the program goes on to ask for sizes that it had not asked for before.",
	},
	{
		Name: "affon-warm-up-misses", Family: "affon", Standing: true, Find: eachAffon(warmUpMisses),
		Doc: "Misses without drops that may all be warm-up: expected. One snapshot cannot tell; a second one can.",
	},
	{
		Name: "affon-pool-growth", Family: "affon", Find: eachAffon(poolGrowth),
		Doc: "What the pool keeps still grows after warm-up, where it should reach a plateau: a cache that has not reached its bound, or ever new sizes.",
	},
}

// Defaults of Affon's pool, from its docs/runtime/configuration.md.
const (
	oversizeDefault  = 512 << 20 // AFFON_METAL_POOL_OVERSIZE_THRESHOLD_BYTES
	oversizeEarlier  = 64 << 20  // the same, in older Affon
	poolTotalDefault = 1 << 30   // AFFON_METAL_POOL_MAX_TOTAL_BYTES
)

// sizeClass is how many buffers the pool keeps of each bucket up to a size; UpTo 0 is
// the class of all the rest.
type sizeClass struct{ upTo, keep int64 }

// defaultClasses is AFFON_METAL_POOL_SIZE_CLASSES where it is not set.
func defaultClasses() []sizeClass {
	return []sizeClass{{64 << 10, 512}, {1 << 20, 512}, {0, 8}}
}

// poolStep is the multiple to which the pool rounds a request, and the size up to which
// it does so, 0 for no bound.
func poolStep(request int64) (step, upTo int64) {
	switch {
	case request <= 64<<10:
		return 4 << 10, 64 << 10
	case request <= 1<<20:
		return 64 << 10, 1 << 20
	case request <= 16<<20:
		return 1 << 20, 16 << 20
	}
	return 16 << 20, 0
}

// poolBucket is the size that the pool rounds a request up to.
func poolBucket(request int64) int64 {
	step, _ := poolStep(request)
	return (request + step - 1) / step * step
}

// sizeClassOf gives the index of the class of a bucket.
func sizeClassOf(classes []sizeClass, bucket int64) int {
	return slices.IndexFunc(classes, func(c sizeClass) bool { return c.upTo == 0 || bucket <= c.upTo })
}

// raise lets the pool keep more buffers of a bucket: a class that has a bound keeps
// twice as many; for the class of all the rest, which may hold very large buffers, a
// class of four times as many is put before it.
func raise(classes []sizeClass, bucket int64) []sizeClass {
	i := sizeClassOf(classes, bucket)
	out := slices.Clone(classes)
	if c := out[i]; c.upTo != 0 {
		out[i].keep *= 2
		return out
	}
	_, upTo := poolStep(bucket)
	if upTo == 0 {
		upTo = bucket
	}
	keep := min(4*out[i].keep, max(out[i].keep+1, poolTotalDefault/bucket))
	return slices.Insert(out, i, sizeClass{upTo, keep})
}

// policy writes classes as Affon reads them.
func policy(classes []sizeClass) string {
	var parts []string
	for _, c := range classes {
		upTo := "*"
		if c.upTo > 0 {
			upTo = fmt.Sprint(c.upTo)
		}
		parts = append(parts, fmt.Sprintf("%s:%d", upTo, c.keep))
	}
	return "AFFON_METAL_POOL_SIZE_CLASSES='" + strings.Join(parts, ",") + "'"
}

// repeated is how often a bucket must be missed or dropped to be worth a finding.
const repeated = 16

// hot gives the buckets of a table that were counted often after warm-up, with that
// count, the most frequent first.
func (r affonRun) hot(table []measure.AffonBucket) (out []measure.AffonBucket) {
	for _, b := range table {
		if r.several() && b.Warm != nil {
			b.Count = max(0, b.Count-*b.Warm)
		}
		if b.Count >= repeated && b.Bytes > 0 && b.Bytes <= 1<<50 {
			out = append(out, b)
		}
	}
	slices.SortStableFunc(out, func(a, b measure.AffonBucket) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

// drops parts the buckets that are dropped often by why: too large for the pool, the
// pool's bound, or the cap of their size.
func (r affonRun) drops() (large, total, capped []measure.AffonBucket) {
	peak, known := r.level(measure.AffonPoolPeak)
	for _, b := range r.hot(r.Drops) {
		switch {
		case b.Bytes >= oversizeDefault, b.Bytes >= oversizeEarlier && known && peak < b.Bytes:
			large = append(large, b)
		case b.Bytes > poolTotalDefault/8, known && peak+b.Bytes > poolTotalDefault:
			total = append(total, b)
		default:
			capped = append(capped, b)
		}
	}
	return large, total, capped
}

// bucketList names buckets with their counts, as Affon's own log does.
func bucketList(bs []measure.AffonBucket) string {
	var parts []string
	for i, b := range bs {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d more sizes", len(bs)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s × %d", b.Bytes, b.Count))
	}
	return strings.Join(parts, ", ")
}

func oversizeBypass(r affonRun) []measure.Finding {
	large, _, _ := r.drops()
	for _, b := range r.hot(r.Misses) {
		if b.Bytes >= oversizeDefault && !slices.ContainsFunc(large, func(o measure.AffonBucket) bool { return o.Bytes == b.Bytes }) {
			large = append(large, b)
		}
	}
	if len(large) == 0 {
		return nil
	}
	largest := slices.MaxFunc(large, func(a, b measure.AffonBucket) int { return cmp.Compare(a.Bytes, b.Bytes) }).Bytes
	f := measure.Finding{Severity: Warning, Evidence: Inferred}
	f.Text = fmt.Sprintf("buffers too large for the pool are made and destroyed each time, %s: rounded to %s", r.period(), bucketList(large))
	// Older Affon takes a buffer of the threshold's own size for too large as well.
	threshold, total := int64(oversizeDefault), int64(poolTotalDefault)
	if largest >= oversizeDefault {
		threshold = poolBucket(int64(largest)) + 16<<20
		f.Text += fmt.Sprintf("; above the default threshold of %s", measure.Bytes(oversizeDefault))
	} else {
		peak, _ := r.level(measure.AffonPoolPeak)
		f.Text += fmt.Sprintf("; the pool never held more than %s, so its threshold is below that size, as the %s of older Affon", peak, measure.Bytes(oversizeEarlier))
	}
	f.Fix = fmt.Sprintf("avoid the buffer (a fused loss that never holds the [tokens, vocab] logits), or, where the machine has the memory, AFFON_METAL_POOL_OVERSIZE_THRESHOLD_BYTES=%d", threshold)
	if largest > poolTotalDefault/2 {
		total += int64(largest)
		f.Fix += fmt.Sprintf(" AFFON_METAL_POOL_MAX_TOTAL_BYTES=%d", total)
	}
	f.Fix += r.settings()
	kept := min(measure.Bytes(total), 8*largest)
	f.Cost = fmt.Sprintf("up to %s kept by the pool", kept)
	return []measure.Finding{f}
}

func bucketCap(r affonRun) []measure.Finding {
	_, _, capped := r.drops()
	if len(capped) == 0 {
		return nil
	}
	before, more := defaultClasses(), measure.Bytes(0)
	after, raised := before, []string{}
	bySize := slices.Clone(capped)
	slices.SortFunc(bySize, func(a, b measure.AffonBucket) int { return cmp.Compare(a.Bytes, b.Bytes) })
	for _, b := range bySize {
		bucket := poolBucket(int64(b.Bytes))
		was := before[sizeClassOf(before, bucket)].keep
		if after[sizeClassOf(after, bucket)].keep == was {
			after = raise(after, bucket)
		}
		is := after[sizeClassOf(after, bucket)].keep
		more += measure.Bytes(is-was) * b.Bytes
		raised = append(raised, fmt.Sprintf("%s from %d to %d", b.Bytes, was, is))
	}
	f := measure.Finding{Severity: Warning, Evidence: Inferred}
	f.Text = fmt.Sprintf("the pool drops buffers of the same size again and again, %s: %s; it keeps too few of them, so they are destroyed and made anew", r.period(), bucketList(capped))
	f.Fix = fmt.Sprintf("%s, from the default policy: keeps more of %s%s", policy(after), strings.Join(raised[:min(3, len(raised))], ", "), r.settings())
	f.Cost = fmt.Sprintf("up to %s more kept by the pool, within AFFON_METAL_POOL_MAX_TOTAL_BYTES", min(more, poolTotalDefault))
	return []measure.Finding{f}
}

func poolTotal(r affonRun) []measure.Finding {
	_, total, _ := r.drops()
	if len(total) == 0 {
		return nil
	}
	more := measure.Bytes(0)
	for _, b := range total {
		more = max(more, b.Bytes)
	}
	more *= 2
	f := measure.Finding{Severity: Warning, Evidence: Inferred}
	f.Text = fmt.Sprintf("the pool drops large buffers because all that it keeps is bounded, %s: %s", r.period(), bucketList(total))
	if peak, ok := r.level(measure.AffonPoolPeak); ok {
		f.Text += fmt.Sprintf("; it kept %s at most, of %s by default", peak, measure.Bytes(poolTotalDefault))
	}
	f.Fix = fmt.Sprintf("fewer or smaller buffers of that size, or AFFON_METAL_POOL_MAX_TOTAL_BYTES=%d (from the default)%s", poolTotalDefault+int64(more), r.settings())
	f.Cost = fmt.Sprintf("up to %s more kept by the pool", more)
	return []measure.Finding{f}
}

// missed gives what the pool did after warm-up; ok is false where that is not known, or
// it missed too little to matter.
func (r affonRun) missed() (hits, misses, drops int64, ok bool) {
	hits, ok = r.since(measure.AffonPoolHits)
	misses, ok2 := r.since(measure.AffonPoolMisses)
	drops, _ = r.since(measure.AffonPoolDrops)
	return hits, misses, drops, ok && ok2 && misses >= repeated
}

func poolBypass(r affonRun) []measure.Finding {
	hits, misses, _, ok := r.missed()
	if !ok || !r.several() || hits >= misses {
		return nil
	}
	f := measure.Finding{Severity: Warning, Evidence: Inferred}
	f.Text = fmt.Sprintf("the pool serves little: %d hits and %d misses %s; buffers bypass it, or have too many sizes", hits, misses, r.period())
	if hot := r.hot(r.Misses); len(hot) > 0 {
		f.Text += "; missed most: " + bucketList(hot)
	}
	f.Fix = "pad shapes to a few sizes; give temporaries that live for one step the pooled policy instead of scratch; see affon-oversize and affon-bucket-cap"
	return []measure.Finding{f}
}

func newSizes(r affonRun) []measure.Finding {
	hits, misses, drops, ok := r.missed()
	if !ok || !r.several() || hits < misses || 10*drops >= misses {
		return nil
	}
	f := measure.Finding{Severity: Note, Evidence: Inferred}
	f.Text = fmt.Sprintf("the pool misses %d times after warm-up and drops %d buffers: the program asks for sizes that it had not asked for before", misses, drops)
	if hot := r.hot(r.Misses); len(hot) > 0 {
		f.Text += "; missed most: " + bucketList(hot)
	}
	f.Fix = "pad shapes (sequence lengths above all) to a few sizes"
	return []measure.Finding{f}
}

func warmUpMisses(r affonRun) []measure.Finding {
	hits, misses, drops, ok := r.missed()
	if !ok || r.several() || hits < misses || 10*drops >= misses {
		return nil
	}
	return []measure.Finding{{
		Severity: Note, Evidence: Inferred,
		Text: fmt.Sprintf("the pool missed %d times since the process began and dropped %d buffers: that may all be warm-up", misses, drops),
		Fix:  "take a second snapshot after some steps: misses should not have risen",
	}}
}

func poolGrowth(r affonRun) []measure.Finding {
	by, ok := r.grew(measure.AffonPoolLive)
	if !ok {
		return nil
	}
	s := r.Signals[measure.AffonPoolLive]
	return []measure.Finding{{
		Severity: Warning, Evidence: Measured, SavingBytes: by,
		Text: fmt.Sprintf("what the pool keeps grew by %s after warm-up, from %s to %s, and has reached no plateau: a cache below its bound (%s by default), or ever new sizes",
			by, measure.Bytes(s.Early), measure.Bytes(s.Late), measure.Bytes(poolTotalDefault)),
		Fix:  "pad shapes to a few sizes; a lower AFFON_METAL_POOL_MAX_TOTAL_BYTES bounds it" + r.settings(),
		Cost: "more buffers made anew",
	}}
}
