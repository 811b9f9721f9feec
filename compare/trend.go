package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
)

// Trend is how the growth of a sampled series was judged: the rule and what came of
// it. Together with the check's series it gives the verdict again.
type Trend struct {
	Rule growth.Rule `json:"rule"`
	growth.Result
	// Grown is by how much the level rose in all after the warm-up: from the median of
	// the first fifth of the points that count to that of the last.
	Grown *measure.Value `json:"grown,omitempty"`
}

// trend is the judgement of one row; err says why there is none.
type trend struct {
	Trend
	series *measure.Series
	err    error
}

// isTrend tells whether a row is an estimate of growth, which the rule of package
// growth judges. An exact growth is decided as any other exact number is.
func isTrend(r measure.Row) bool {
	return strings.Contains(string(r.Unit), "/") && (r.Kind == measure.Sampled || r.Kind == measure.HighWater)
}

// judgeTrends judges each sampled growth that an entry limits; all of them together
// raise a false alarm as rarely as one of them alone would (growth.Holm). It warns of
// a warm-up that does not fit a series.
func (w Workload) judgeTrends() (trends map[string]*trend, warnings []string) {
	trends = map[string]*trend{}
	if w.Head == nil {
		return trends, nil
	}
	var results []*growth.Result
	for _, e := range w.Target.Budgets {
		for _, r := range matching(w.Head, e) {
			if e.Max == nil || !isTrend(r.Row) || r.Value == nil {
				continue
			}
			t := &trend{series: w.Head.SeriesOf(r.Name, r.own)}
			trends[r.Name+"\x00"+r.own.Key()] = t
			if t.series == nil {
				t.err = fmt.Errorf("the measurement has no series for this growth: a slope alone has no error to judge it by")
				continue
			}
			var unfit string
			t.Rule, unfit = w.rule(e, t.series)
			if unfit != "" {
				warnings = append(warnings, unfit)
			}
			s := growth.FromMeasure(*t.series)
			if t.Result, t.err = growth.Judge(s, t.Rule); t.err == nil {
				t.Grown = grown(t.series, t.Trimmed)
				results = append(results, &t.Result)
			}
		}
	}
	growth.Holm(results, growth.DefaultAlpha)
	return trends, warnings
}

// rule is what an entry says for a series; unfit tells of a warm-up that counts what
// the series does not have.
func (w Workload) rule(e *budget.Entry, s *measure.Series) (r growth.Rule, unfit string) {
	number := func(l *budget.Limit) *float64 {
		if l == nil {
			return nil
		}
		f := l.Value.Float64()
		return &f
	}
	r = growth.Rule{
		Budget: e.Max.Value.Float64(), Floor: number(e.Floor), UpTo: number(e.UpTo),
		Alpha: growth.DefaultAlpha,
	}
	if e.Horizon != nil {
		r.Horizon = float64(e.Horizon.Value)
	}
	switch u := w.Target.Warmup; {
	case u == nil:
	case u.Fraction != nil:
		r.Share = number(u.Fraction)
	case u.Steps != nil && s.XUnit == measure.XStep:
		steps := float64(u.Steps.Value)
		r.Warmup = &steps
	case u.Time != nil && s.XUnit == measure.XSeconds:
		r.Warmup = number(u.Time)
	case u.Steps != nil:
		unfit = fmt.Sprintf("the series {%s} has no steps: its warm-up is the default and not %d steps; write time or fraction", s.Labels.Key(), u.Steps.Value)
	default:
		unfit = fmt.Sprintf("the series {%s} counts steps: its warm-up is the default and not %s; write steps or fraction", s.Labels.Key(), u.Time.Text)
	}
	return r, unfit
}

// grown is the rise in all after the first points; nil where there are no two.
func grown(s *measure.Series, trimmed int) *measure.Value {
	points := s.Points[min(trimmed, len(s.Points)):]
	if len(points) < 2 {
		return nil
	}
	fifth := max(1, len(points)/5)
	middle := func(points []measure.Value) measure.Value {
		sorted := slices.SortedFunc(slices.Values(points), measure.Value.Cmp)
		return sorted[(len(sorted)-1)/2]
	}
	d := middle(points[len(points)-fifth:]).Sub(middle(points[:fifth]))
	return &d
}

// judge gives the check the verdict of its trend, and says why.
func (t *trend) judge(c *Check, e *budget.Entry) (reasons []string) {
	c.Series, c.Trend = t.series, &t.Trend
	if t.Fit != nil {
		slope := measure.Float(t.Fit.Slope)
		c.Head = &slope
	}
	total := measure.Unit(strings.Split(string(c.Unit), "/")[0])
	if e.UpTo != nil && t.Grown != nil && t.Grown.Cmp(e.UpTo.Value) > 0 {
		c.Failed, c.Excess = append(c.Failed, "up_to"), excess(*t.Grown, e.UpTo.Value)
		reasons = append(reasons, fmt.Sprintf("grew by %s in all, over up_to %s", t.Grown.Format(total), e.UpTo.Text))
	}
	switch t.Verdict {
	case growth.Fail:
		c.Failed = append(c.Failed, "max")
		c.Excess = max(c.Excess, excess(*c.Head, e.Max.Value))
	case growth.Pass:
	default:
		c.Verdict = Verdict(t.Verdict)
	}
	return append(reasons, t.story(c, e, total))
}

// story tells a trend in one sentence.
func (t *trend) story(c *Check, e *budget.Entry, total measure.Unit) string {
	if t.Fit == nil {
		return t.Reason + t.more()
	}
	f := t.Fit
	slope := func(v float64) string { return measure.Float(v).Format(c.Unit) }
	out := c.slopeStory(f)
	projected := fmt.Sprintf("%s in %s", whole(f.Projected).Format(total), t.horizon())
	switch t.Verdict {
	case growth.Fail:
		out += fmt.Sprintf(": over the max of %s to the end of the run, which makes %s; %s", e.Max.Text, projected, t.cause())
	case growth.Decelerating:
		out += fmt.Sprintf(": over the max of %s, which makes %s, but it slows down: %s in the first half, %s in the second, most likely a cache that fills", e.Max.Text, projected, slope(f.FirstHalf), slope(f.SecondHalf))
	case growth.Pass:
		out += ": max holds"
		if e.UpTo != nil && f.Upper > t.Rule.Budget {
			out = fmt.Sprintf("%s: at most %s in %s, below up_to %s; a leak, or a cache that has not reached its cap", c.slopeStory(f), whole(f.Upper*f.Horizon).Format(total), t.horizon(), e.UpTo.Text)
		}
	default:
		out += ": " + t.Reason
		if f.Projected <= f.Floor && f.Lower > t.Rule.Budget {
			out = fmt.Sprintf("%s (%s, floor %s)", out, projected, whole(f.Floor).Format(total))
		}
	}
	return out + t.more()
}

// cause says what a growth that does not end can be.
func (t *trend) cause() string {
	if t.Fit.OnlyMaxima {
		return "it rises only in steps that need more than any step before: a pool that keeps the largest, and no leak per step"
	}
	if t.Rule.UpTo != nil {
		return "a leak, or a cache that goes beyond its up_to"
	}
	return "a leak, or a cache that has not reached its cap (up_to allows one)"
}

// slopeStory tells the slope with its bounds: "grows by 1.00 MiB/step (0.98 MiB to
// 1.02 MiB with 99 % confidence)".
func (c *Check) slopeStory(f *growth.Fit) string {
	base, per, _ := strings.Cut(string(c.Unit), "/")
	amount := func(v float64) string {
		if base == string(measure.ByteUnit) {
			return measure.Float(v).Format(measure.ByteUnit)
		}
		return strings.TrimSuffix(measure.Float(v).Format(c.Unit), "/"+per)
	}
	verb, size := "grows", f.Slope
	if f.Slope < 0 {
		verb, size = "falls", -f.Slope
	}
	return fmt.Sprintf("%s by %s/%s (%s to %s with 99 %% confidence)", verb, amount(size), per, amount(f.Lower), amount(f.Upper))
}

// more says how much longer a run would tell.
func (t *trend) more() string {
	if t.More <= 0 {
		return ""
	}
	verb := "would decide"
	if t.Verdict == growth.Decelerating {
		verb = "would show whether it ends"
	}
	if t.series.XUnit == measure.XSeconds {
		return fmt.Sprintf("; about %s more %s", duration(t.More), verb)
	}
	return fmt.Sprintf("; about %s more steps %s", measure.Int(int64(math.Ceil(min(t.More, 1e15)))).Format(measure.Count), verb)
}

func (t *trend) horizon() string {
	if t.series.XUnit == measure.XSeconds {
		return fmt.Sprintf("%s hours", whole(t.Fit.Horizon).Format(measure.Count))
	}
	return whole(t.Fit.Horizon).Format(measure.Count) + " steps"
}

func whole(f float64) measure.Value {
	if math.Abs(f) < 1<<62 {
		return measure.Int(int64(math.Round(f)))
	}
	return measure.Float(f)
}

// duration tells seconds in the largest unit that leaves a number above 1.
func duration(seconds float64) string {
	switch {
	case seconds >= 2*3600:
		return fmt.Sprintf("%.0f hours", math.Ceil(seconds/3600))
	case seconds >= 120:
		return fmt.Sprintf("%.0f minutes", math.Ceil(seconds/60))
	}
	return fmt.Sprintf("%.0f seconds", math.Ceil(seconds))
}
