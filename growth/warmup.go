package growth

// The warm-up that is left out: the larger of 10 steps and a fifth of the points.
//
// Where the level still rises at its end a tenth more of the points is left out, once,
// if at least MinPoints stay and the rest then passes. An extension acquits and never
// convicts: a steady leak rises at the end of its warm-up too and needs its
// points, and a slope that slows down is seen only beside its beginning. In
// simulation (120 steps, 0.1 MiB a step allowed) extending each time would find 49 % of the leaks of
// 0.2 MiB instead of 68 %, and call 4.5 % of warm-ups a leak instead of 1.3 % at a budget of 0.
const (
	warmSteps   = 10
	warmShare   = 0.2
	extendShare = 10   // the part of all points: 1/10
	risesBy     = 0.05 // of the range of the blocks
)

// warm gives how many points the rule leaves out.
func (s Series) warm(rule Rule) int {
	share := int(rule.warmShare() * float64(len(s.X)))
	switch {
	case rule.Warmup != nil:
		return s.within(*rule.Warmup)
	case rule.Share != nil || s.Seconds:
		return share
	}
	return max(share, s.within(warmSteps))
}

// within counts the points at the beginning that span less than x.
func (s Series) within(x float64) int {
	n := 0
	for n < len(s.X) && s.X[n]-s.X[0] < x {
		n++
	}
	return n
}

// rises tells that the first block is lower than the third by more than 5 % of the
// range of all.
func rises(blocks []Block) bool {
	low, high := blocks[0].Level, blocks[0].Level
	for _, b := range blocks {
		low, high = min(low, b.Level), max(high, b.Level)
	}
	return blocks[2].Level-blocks[0].Level > risesBy*(high-low)
}

// warmShare is the part of the points that is left out where no length is given.
func (r Rule) warmShare() float64 {
	if r.Share != nil {
		return *r.Share
	}
	return warmShare
}
