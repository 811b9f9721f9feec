package watch

import "time"

// bucket rations a costly read: tokens are time, and come at a small share of the
// time that passes.
type bucket struct {
	rate   float64 // tokens a second of time, in seconds
	burst  time.Duration
	tokens time.Duration
	last   time.Duration
}

// newBucket is full.
func newBucket(rate float64, burst time.Duration) *bucket {
	return &bucket{rate: rate, burst: burst, tokens: burst}
}

// admit tells whether a read of this estimated cost may be done now. The test is
// capped below the burst: else one read that costs more than the bucket can hold
// would never be admitted again. What it costs above is paid back by waiting.
// reserve is what is left for reads that matter more.
func (b *bucket) admit(now, estimate, reserve time.Duration) bool {
	b.tokens = min(b.burst, b.tokens+time.Duration(float64(now-b.last)*b.rate))
	b.last = now
	return b.tokens >= min(reserve+estimate, b.burst*9/10)
}

// spend takes what a read cost.
func (b *bucket) spend(cost time.Duration) { b.tokens -= cost }
