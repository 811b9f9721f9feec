package growth

import "math"

// toTest is how much longer, in units of X and at the same pace, the run must be so
// that MinPoints are left after its warm-up.
func (s Series) toTest(rule Rule) float64 {
	pace := s.pace()
	share := pace * math.Ceil(MinPoints/(1-rule.warmShare()))
	need := share
	switch {
	case rule.Warmup != nil:
		need = *rule.Warmup + pace*MinPoints
	case rule.Share == nil && !s.Seconds:
		need = max(share, warmSteps+pace*MinPoints)
	}
	return max(0, need-pace*float64(len(s.X)))
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
