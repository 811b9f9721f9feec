package growth

import "fmt"

// Verdict is what the growth of a series is.
type Verdict string

// The verdicts.
const (
	Pass         Verdict = "pass"         // no more than the budget, with the confidence of the bounds
	Fail         Verdict = "fail"         // more than the budget, to the end of the run
	Inconclusive Verdict = "inconclusive" // too short, or too noisy, to say either
	Decelerating Verdict = "decelerating" // more than the budget, and slowing down
)

// Defaults of a Rule, and what Judge holds to.
const (
	DefaultAlpha   = 0.01
	DefaultHorizon = 1000 // steps
	DefaultHours   = 24   // horizon of a series without steps
	MinPoints      = 24   // after warm-up; with fewer there is no trend test
	persist        = 0.5  // the least of the first half's slope that the second keeps
)

// Rule is what a series is judged by. Only Budget has no default.
type Rule struct {
	// Budget is the largest growth that passes: for each step, or for each hour of
	// a series in seconds.
	Budget float64 `json:"budget"`
	// Floor is the growth over Horizon up to which nothing fails. Default: the
	// larger of 16 MiB (of counts, 1) and 1 % of the plateau.
	Floor *float64 `json:"floor,omitempty"`
	// UpTo is the size that a bounded cache may reach: growth that stays below it
	// over Horizon, or over the run where that is longer, does not fail.
	UpTo *float64 `json:"up_to,omitempty"`
	// Horizon is how far growth is projected. Default: 1000 steps, or 24 hours of a
	// series in seconds; the run's own length where that is longer, since growth that
	// was measured needs no projection.
	Horizon float64 `json:"horizon,omitempty"`
	// Warmup is the beginning that does not count, in units of X; Share is it as a
	// part of the points. Default: 10 steps or 20 % of the points, whichever is more.
	Warmup *float64 `json:"warmup,omitempty"`
	Share  *float64 `json:"warmup_share,omitempty"`
	// Alpha is the chance of a false alarm: from 0.0001 to 0.1. Default: 0.01.
	Alpha float64 `json:"alpha,omitempty"`

	reach float64 // how far growth is projected towards UpTo
}

// Result is a verdict, and what it is made of.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Reason says in one clause why; it holds no amounts in bytes.
	Reason string `json:"reason"`
	// Points is how many count; Trimmed how many before them are warm-up. Rising
	// tells that the level still rose where the warm-up ended; Extended is how many
	// of the trimmed points were added for that reason.
	Points   int  `json:"points"`
	Trimmed  int  `json:"trimmed"`
	Rising   bool `json:"rising,omitempty"`
	Extended int  `json:"extended,omitempty"`
	// From is the X of the first point that counts.
	From float64 `json:"from"`
	// Merged is how many points shared their X with another, and Restarts how often
	// the steps began again.
	Merged   int `json:"merged,omitempty"`
	Restarts int `json:"restarts,omitempty"`
	// More is how much longer the run must be for a verdict, in units of X, at the
	// same noise and pace; 0 where there is a verdict, or where no length would do.
	More float64 `json:"more,omitempty"`
	// Fit is absent where there are too few points or no test is allowed.
	Fit *Fit `json:"fit,omitempty"`
}

// withDefaults checks the rule and sets Alpha and Horizon, for a series that is long
// steps or hours long.
func (r Rule) withDefaults(seconds bool, long float64) (Rule, error) {
	if r.Alpha == 0 {
		r.Alpha = DefaultAlpha
	}
	switch {
	case r.Horizon == 0 && seconds:
		r.Horizon = max(DefaultHours, long)
	case r.Horizon == 0:
		r.Horizon = max(DefaultHorizon, long)
	}
	r.reach = max(r.Horizon, long)
	switch {
	case !(r.Alpha >= 0.0001 && r.Alpha <= 0.1):
		return r, fmt.Errorf("rule: want an alpha from 0.0001 to 0.1, got %v", r.Alpha)
	case !usable(r.Budget):
		return r, fmt.Errorf("rule: want a finite budget, got %v", r.Budget)
	case !(r.Horizon >= 1/maxMagnitude && usable(r.Horizon)):
		return r, fmt.Errorf("rule: want a horizon above 0, got %v", r.Horizon)
	}
	if r.Share != nil && !(*r.Share >= 0 && *r.Share < 1) {
		return r, fmt.Errorf("rule: want a warm-up share from 0 to below 1, got %v", *r.Share)
	}
	for _, v := range []*float64{r.Floor, r.UpTo, r.Warmup} {
		if v != nil && !(*v >= 0 && usable(*v)) {
			return r, fmt.Errorf("rule: want a floor, up_to and warm-up of 0 or more, got %v", *v)
		}
	}
	return r, nil
}

// Judge gives the verdict on the growth of a series. An error tells of numbers that
// are no numbers, and of an X in no order; what is merely short or noisy is
// inconclusive.
func Judge(s Series, rule Rule) (Result, error) {
	s, merged, restarts, err := s.prepare()
	if err != nil {
		return Result{}, err
	}
	rule, err = rule.withDefaults(s.Seconds, s.length())
	if err != nil {
		return Result{}, err
	}
	r := Result{Verdict: Inconclusive, Points: len(s.X), Merged: merged, Restarts: restarts}
	if s.HighWater {
		r.Reason = "a high-water mark can only rise: only limits on its value are judged"
		return r, nil
	}
	r.Trimmed = s.warm(rule)
	if r.Points -= r.Trimmed; r.Points < MinPoints {
		r.Reason = fmt.Sprintf("%s after warm-up, a trend needs %d: only limits on values are judged", points(r.Points), MinPoints)
		r.More = s.toTest(rule)
		return r, nil
	}
	if err := r.decide(s, rule); err != nil {
		return Result{}, err
	}
	more := len(s.X) / extendShare
	r.Rising = rises(r.Fit.Blocks)
	if r.Verdict == Pass || !r.Rising || r.Points-more < MinPoints {
		return r, nil
	}
	longer := r
	longer.Trimmed, longer.Points, longer.Extended = r.Trimmed+more, r.Points-more, more
	if err := longer.decide(s, rule); err == nil && longer.Verdict == Pass {
		return longer, nil
	}
	return r, nil
}

// per is how many units of X growth is counted over.
func (s Series) per() float64 {
	if s.Seconds {
		return 3600
	}
	return 1
}

// length is how many steps or hours the series spans.
func (s Series) length() float64 {
	if len(s.X) == 0 {
		return 0
	}
	return (s.X[len(s.X)-1] - s.X[0]) / s.per()
}

// from leaves out the first points.
func (s Series) from(first int) Series {
	s.X, s.Y = s.X[first:], s.Y[first:]
	if s.Need != nil {
		s.Need = s.Need[first:]
	}
	return s
}

func points(n int) string {
	if n == 1 {
		return "1 point"
	}
	return fmt.Sprintf("%d points", n)
}

// pace is the mean distance of two points in X.
func (s Series) pace() float64 {
	if n := len(s.X); n > 1 {
		return (s.X[n-1] - s.X[0]) / float64(n-1)
	}
	return 1
}

// decide fits what is left of the series after the trimmed points, and gives the
// verdict as the package's documentation says.
func (r *Result) decide(s Series, rule Rule) error {
	s = s.from(r.Trimmed)
	f, err := fit(s, rule)
	if err != nil {
		return err
	}
	r.Fit, r.From = f, s.X[0]
	r.Verdict, r.More = Inconclusive, 0
	over := f.P <= rule.Alpha && f.Lower > rule.Budget
	capped := rule.UpTo != nil && f.Slope*rule.reach <= *rule.UpTo
	switch {
	case f.Upper <= rule.Budget:
		r.Verdict, r.Reason = Pass, "growth is within the budget"
	case rule.UpTo != nil && f.Upper*rule.reach <= *rule.UpTo:
		r.Verdict, r.Reason = Pass, "growth stays below up_to"
	case !over:
		r.Reason = "growth may be above the budget: too short or too noisy to say"
		r.More = r.longer(s, rule)
	case f.Projected <= f.Floor:
		r.Reason = "growth is above the budget, and below the floor over the horizon"
	case capped:
		r.Reason = "growth may go beyond up_to: too short or too noisy to say"
		r.More = r.longer(s, rule)
	case f.SecondHalf < persist*f.FirstHalf:
		r.Verdict, r.Reason = Decelerating, "growth is above the budget, and slows down: less than half as fast in the second half"
		r.More = r.flattens(s, rule)
	case f.SecondHalf <= rule.Budget:
		r.Reason = "growth is above the budget over the run, and not in its second half"
		r.More = r.longer(s, rule)
	default:
		r.Verdict, r.Reason = Fail, "growth is above the budget, to the end of the run"
	}
	return nil
}
