package growth

import "math"

// pointsFor gives how many points a run needs, at an even pace, so that as many are
// left after its warm-up.
func (s Series) pointsFor(left int, rule Rule) int {
	if rule.Warmup != nil {
		return left + s.warm(rule)
	}
	share := int(math.Ceil(float64(left) / (1 - rule.warmShare())))
	if s.Seconds || rule.Share != nil {
		return share
	}
	steps := warmSteps
	if pace := s.pace(); pace > 1 {
		steps = int(math.Ceil(warmSteps / pace))
	}
	return max(share, left+steps)
}

// longer is how much longer the run must be, in units of X, for the bound that
// matters to come to the budget's side of it. The noise of a slope falls with the
// points to the power of 1.5, at an even pace.
func (r *Result) longer(s Series, rule Rule) float64 {
	f := r.Fit
	limit := rule.Budget
	if rule.UpTo != nil {
		limit = max(limit, *rule.UpTo/rule.reach)
	}
	width, distance := f.Upper-f.Slope, limit-f.Slope
	if distance < 0 {
		width, distance = f.Slope-f.Lower, -distance
	}
	if !(distance > 0 && width > 0) {
		return 0
	}
	factor := math.Pow(width/distance, 2.0/3)
	more := (factor - 1) * float64(r.Points) / (1 - rule.warmShare()) * s.pace()
	if !(more > 0) {
		// Enough noise-wise; the halves disagree: as long again tells.
		more = float64(r.Points) * s.pace()
	}
	if more > maxMagnitude {
		return 0
	}
	return more
}

// flattens is how much longer a run that slows down takes until its growth is no
// longer above what the budget (or, if more, the floor over the horizon) allows: each half
// of the points has r times the slope of the half before it, so slope(x) falls by r
// with each half; at least as long as the second half was.
func (r *Result) flattens(s Series, rule Rule) float64 {
	f := r.Fit
	half := float64(r.Points) / 2 * s.pace()
	target := max(rule.Budget, f.Floor/rule.Horizon)
	if f.SecondHalf <= target || target <= 0 || f.FirstHalf <= 0 {
		return half
	}
	halves := math.Log(f.SecondHalf/target) / math.Log(f.FirstHalf/f.SecondHalf)
	return half * max(1, halves)
}
