package growth

// The warm-up that is left out: the larger of 10 steps and a fifth of the points;
// once a tenth more where the level still rises at its end.
const (
	warmSteps   = 10
	warmShare   = 0.2
	extendShare = 10   // the part of all points by which a warm-up is extended: 1/10
	risesBy     = 0.05 // of the range of the blocks
)

// warm gives how many points the rule leaves out.
func (s Series) warm(rule Rule) (points int, explicit bool) {
	before := func(x float64) int {
		n := 0
		for n < len(s.X) && s.X[n]-s.X[0] < x {
			n++
		}
		return n
	}
	switch {
	case rule.Warmup != nil:
		return before(*rule.Warmup), true
	case rule.Share != nil:
		return int(*rule.Share * float64(len(s.X))), true
	}
	points = len(s.X) / 5
	if !s.Seconds {
		points = max(points, before(warmSteps))
	}
	return points, false
}

// trim leaves out the warm-up. It is extended, once, where the first block after it
// is lower than the third by more than 5 % of the range of the blocks, unless fewer
// than MinPoints would be left: the check fires on every steady leak as well.
func (r *Result) trim(s Series, rule Rule) {
	r.Trimmed, _ = s.warm(rule)
	r.Points = len(s.X) - r.Trimmed
	more := len(s.X) / extendShare
	if r.Points-more < MinPoints || more == 0 {
		return
	}
	blocks := cut(s.from(r.Trimmed))
	low, high := blocks[0].Level, blocks[0].Level
	for _, b := range blocks {
		low, high = min(low, b.Level), max(high, b.Level)
	}
	if blocks[2].Level-blocks[0].Level > risesBy*(high-low) {
		r.Extended = more
		r.Trimmed += more
		r.Points -= more
	}
}
