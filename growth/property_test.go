package growth

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// anySeries makes a series of whole numbers of bytes: noise, ties, steps, trends,
// gaps in X; often one that is near a verdict.
func anySeries(r *rand.Rand) Series {
	n := []int{24, 33, 34, 40, 59, 60, 61, 74, 75, 76, 100, 257}[r.IntN(12)]
	s := line(n, 0, 0)
	slope := math.Floor(r.NormFloat64() * 1e5)
	noise := math.Exp2(float64(r.IntN(24)))
	grain := math.Exp2(float64(r.IntN(25)))
	bend := r.IntN(n)
	x := 0.0
	for i := range n {
		s.X[i] = x
		x++
		if r.IntN(20) == 0 {
			x += float64(r.IntN(30))
		}
		s.Y[i] = math.Floor(slope*s.X[min(i, bend)]+noise*r.NormFloat64()) * 1
		s.Y[i] = math.Floor(s.Y[i]/grain) * grain
	}
	return s
}

func mapped(v []float64, f func(float64) float64) []float64 {
	out := slices.Clone(v)
	for i := range out {
		out[i] = f(out[i])
	}
	return out
}

func at(v float64) *float64 { return &v }

// red tells whether a verdict says that growth is above the budget.
func red(v Verdict) bool { return v == Fail || v == Decelerating }

func TestProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	seen := map[Verdict]int{}
	for range 4000 {
		s := anySeries(random)
		rule := Rule{Budget: math.Floor(math.Abs(random.NormFloat64()) * 2e4), Floor: at(1 << 20)}
		if random.IntN(4) == 0 {
			rule.Budget = 0
		}
		r := mustJudge(t, s, rule)
		seen[r.Verdict]++
		if r.Fit == nil {
			continue
		}
		f := r.Fit
		if !(f.Lower <= f.Slope && f.Slope <= f.Upper) || f.P < 0 || f.P > 1 || f.POver > 1 || f.Smallest < rule.Budget || r.More < 0 {
			t.Fatalf("%+v %+v", r, f)
		}
		// Growth surely above a budget of 0 or more is a trend: p needs no test of its own.
		if f.Lower > rule.Budget != (f.POver <= DefaultAlpha) || f.Lower > rule.Budget && f.P > f.POver {
			t.Fatalf("lower %v, budget %v, p %v, over %v", f.Lower, rule.Budget, f.P, f.POver)
		}
		if (r.Verdict == Pass) != (f.Upper <= rule.Budget) || red(r.Verdict) && f.Lower <= rule.Budget {
			t.Fatalf("%s: %+v", r.Verdict, f)
		}

		same := func(what string, other Series, rule Rule, want Verdict) {
			t.Helper()
			if got := mustJudge(t, other, rule); got.Verdict != want {
				t.Fatalf("%s: %s (%s), want %s: %+v, was %+v", what, got.Verdict, got.Reason, want, got.Fit, f)
			}
		}
		shifted := s
		shifted.Y = mapped(s.Y, func(y float64) float64 { return y + 1<<40 })
		same("a constant more", shifted, rule, r.Verdict)
		shifted = s
		shifted.X = mapped(s.X, func(x float64) float64 { return x + 12345 })
		same("later steps", shifted, rule, r.Verdict)
		scaled := s
		scaled.Y = mapped(s.Y, func(y float64) float64 { return y * 8 })
		same("eight times", scaled, Rule{Budget: rule.Budget * 8, Floor: at(8 << 20)}, r.Verdict)
		hours := s
		hours.Seconds = true
		hours.X = mapped(s.X, func(x float64) float64 { return x * 3600 })
		same("a step an hour", hours, Rule{Budget: rule.Budget, Floor: at(1 << 20), Horizon: 1000, Warmup: at(3600 * (s.X[r.Trimmed-r.Extended] - s.X[0]))}, r.Verdict)

		larger := mustJudge(t, s, Rule{Budget: rule.Budget + math.Exp2(float64(random.IntN(20))), Floor: rule.Floor})
		if r.Verdict == Pass && larger.Verdict != Pass || red(larger.Verdict) && !red(r.Verdict) {
			t.Fatalf("a larger budget turns %s into %s: %+v", r.Verdict, larger.Verdict, f)
		}
		if red(r.Verdict) {
			falling := s
			falling.Y = mapped(s.Y, func(y float64) float64 { return -y })
			same("turned over", falling, rule, Pass)
		}
		again := mustJudge(t, s, rule)
		if !slices.Equal(again.Fit.Blocks, f.Blocks) || again.Reason != r.Reason {
			t.Fatal("equal input, other output")
		}
	}
	for _, v := range []Verdict{Pass, Fail, Inconclusive, Decelerating} {
		if seen[v] < 100 {
			t.Errorf("%d of the series are %s: the properties were hardly tried", seen[v], v)
		}
	}
}

// TestMedian: quickselect agrees with sorting, also where pivots are bad.
func TestMedian(t *testing.T) {
	random := rand.New(rand.NewPCG(23, 24))
	for range 3000 {
		v := make([]float64, 1+random.IntN(60))
		for i := range v {
			v[i] = float64(random.IntN(1 + random.IntN(40)))
			if i > 0 && random.IntN(3) == 0 {
				v[i] = v[i-1] + 1
			}
		}
		sorted := slices.Clone(v)
		slices.Sort(sorted)
		if got := median(v); got != middle(sorted) {
			t.Fatalf("%v: %v, want %v", sorted, got, middle(sorted))
		}
	}
}

// TestByteOfManyGigabytes: one byte a step is seen exactly at levels whose float64
// has no room for it.
func TestByteOfManyGigabytes(t *testing.T) {
	for _, level := range []int64{100e9, 1 << 62} {
		s := measure.Series{Labels: measure.Labels{"series": "rss"}, Unit: measure.ByteUnit, XUnit: measure.XStep}
		for i := range int64(100) {
			s.X, s.Points = append(s.X, float64(i)), append(s.Points, measure.Int(level+i))
		}
		r := mustJudge(t, FromMeasure(s), Rule{Floor: at(0)})
		if r.Verdict != Fail || r.Fit.Slope != 1 || r.Fit.Lower != 1 || r.Fit.Upper != 1 {
			t.Errorf("%d: %s: %+v", level, r.Verdict, r.Fit)
		}
		if r := mustJudge(t, FromMeasure(s), Rule{}); r.Verdict != Inconclusive || r.Fit.Floor < 0.0099*float64(level) {
			t.Errorf("%d: %s, floor %v: want 1 %% of the level", level, r.Verdict, r.Fit.Floor)
		}
	}
}
