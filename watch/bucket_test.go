package watch

import (
	"testing"
	"time"
)

// TestBucketHoldsItsShare: whatever the reads cost, they take no more than their
// share of the time and what the bucket held.
func TestBucketHoldsItsShare(t *testing.T) {
	for _, cost := range []time.Duration{50 * time.Microsecond, 5 * time.Millisecond, 200 * time.Millisecond} {
		b := newBucket(0.002, 20*time.Millisecond)
		var spent time.Duration
		reads := 0
		const hour = time.Hour
		for now := time.Duration(0); now < hour; now += 250 * time.Millisecond {
			if b.admit(now, cost, 0) {
				b.spend(cost)
				spent += cost
				reads++
			}
		}
		if limit := hour/500 + 20*time.Millisecond + cost; spent > limit {
			t.Errorf("reads of %s took %s of an hour, want at most %s", cost, spent, limit)
		}
		// Nor is a costly read starved: the share is used.
		if reads == 0 || cost > time.Millisecond && spent < hour/500*8/10 {
			t.Errorf("reads of %s: %d in an hour, %s", cost, reads, spent)
		}
	}
}
