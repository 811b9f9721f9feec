package growth

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// noisy is a line with noise of half a MiB.
func noisy(n int, slope float64) Series {
	random := rand.New(rand.NewPCG(31, uint64(n)))
	s := line(n, 0, slope)
	for i := range s.Y {
		s.Y[i] += random.NormFloat64() * mib / 2
	}
	return s
}

// shaped makes levels of a function of the step.
func shaped(n int, f func(i int) float64) Series {
	s := line(n, 0, 0)
	for i := range s.Y {
		s.Y[i] = f(i)
	}
	return s
}

// TestEdges is a breaker's list: what series could be that nobody thought of.
func TestEdges(t *testing.T) {
	random := rand.New(rand.NewPCG(33, 34))
	coin := func(int) float64 { return float64(random.IntN(2)) * 64 * mib }
	for _, c := range []struct {
		name   string
		series Series
		rule   Rule
		want   Verdict
	}{
		{"one level", shaped(300, func(int) float64 { return 7 * mib }), Rule{}, Pass},
		{"two levels at random", shaped(300, coin), Rule{Budget: mib}, Pass},
		{"two levels, once up in the middle", shaped(300, func(i int) float64 { return float64(i/150) * 64 * mib }), Rule{}, Inconclusive},
		{"two levels, once up near the end", shaped(300, func(i int) float64 { return float64(i/290) * 64 * mib }), Rule{}, Pass}, // no trend: a max tells
		{"one spike", shaped(300, func(i int) float64 { return float64(i/150*(300-i)/150) * 1e12 }), Rule{}, Pass},
		{"saw of two steps", shaped(300, func(i int) float64 { return float64(i%2) * 64 * mib }), Rule{}, Pass},
		{"saw that leaks", shaped(300, func(i int) float64 { return float64(i%8)*8*mib + float64(i)*mib }), Rule{}, Fail},
		{"pages in heavy ties, rising", shaped(300, func(i int) float64 { return float64(i/40) * 4 * mib }), Rule{}, Fail},
		{"exponential", shaped(300, func(i int) float64 { return mib * math.Exp(float64(i)/10) }), Rule{}, Fail},
		{"a leak that begins at half", shaped(300, func(i int) float64 { return max(0, float64(i)-150) * mib }), Rule{}, Fail},
		{"a leak that ends at half", shaped(300, func(i int) float64 { return min(150, float64(i)) * mib }), Rule{}, Inconclusive},
		{"a leak that ends at two thirds", shaped(300, func(i int) float64 { return min(200, float64(i)) * mib }), Rule{}, Decelerating},
		{"growth, then all is freed", shaped(300, func(i int) float64 { return float64(i%250) * mib }), Rule{}, Inconclusive},
		{"very long", noisy(1_000_000, 1<<10), Rule{Horizon: 1000}, Inconclusive}, // 1 MiB over the horizon: below the floor
		{"very long, leaks", noisy(1_000_000, 20<<10), Rule{}, Fail},
		{"as large as numbers may be", shaped(60, func(i int) float64 { return float64(i) * 1e98 }), Rule{}, Fail},
		{"as small as numbers may be", shaped(60, func(i int) float64 { return float64(i) * 5e-324 }), Rule{Floor: at(0)}, Fail},
	} {
		r := mustJudge(t, c.series, c.rule)
		if r.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s: %+v", c.name, r.Verdict, r.Reason, c.want, r.Fit)
		}
		for _, v := range []float64{r.More, r.Fit.Slope, r.Fit.Lower, r.Fit.Upper, r.Fit.FirstHalf, r.Fit.SecondHalf, r.Fit.Projected, r.Fit.Floor, r.Fit.Smallest, r.Fit.Plateau.Level, r.Fit.Plateau.From} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s: not finite: %+v %+v", c.name, r, r.Fit)
			}
		}
	}
}

// TestLengths: at each boundary and beside it: the points that count, and the blocks.
func TestLengths(t *testing.T) {
	for _, c := range []struct{ n, points, blocks int }{
		{0, 0, 0}, {1, 0, 0}, {9, 0, 0}, {33, 23, 0}, {34, 24, 8}, {35, 25, 8}, {49, 39, 8}, {50, 40, 8}, {51, 41, 8}, {55, 44, 8},
		{73, 59, 8}, {74, 60, 12}, {75, 60, 12}, {300, 240, 12},
	} {
		r := mustJudge(t, line(c.n, 0, mib), Rule{})
		if r.Points != c.points || r.Points+r.Trimmed != c.n {
			t.Errorf("%d: %d points and %d trimmed, want %d", c.n, r.Points, r.Trimmed, c.points)
		}
		if (r.Fit != nil) != (c.blocks > 0) || r.Fit != nil && len(r.Fit.Blocks) != c.blocks {
			t.Errorf("%d: %+v, want %d blocks", c.n, r.Fit, c.blocks)
		}
		if r.Fit == nil {
			// As many steps more, and there are 24.
			longer := mustJudge(t, line(c.n+int(math.Ceil(r.More)), 0, mib), Rule{})
			if shorter := mustJudge(t, line(c.n+int(math.Ceil(r.More))-1, 0, mib), Rule{}); longer.Verdict != Fail || shorter.Fit != nil {
				t.Errorf("%d: with %v more %d points, one fewer %d", c.n, r.More, longer.Points, shorter.Points)
			}
		}
	}
}

func TestOrderOfX(t *testing.T) {
	want := mustJudge(t, line(120, 0, mib), Rule{})
	for name, change := range map[string]func(s *Series){
		"a counter that begins again each 30 steps": func(s *Series) {
			for i := range s.X {
				s.X[i] = float64(i % 30)
			}
		},
		"each step twice, the second higher": func(s *Series) {
			x, y := s.X, s.Y
			s.X, s.Y = nil, nil
			for i := range x {
				s.X, s.Y = append(s.X, x[i], x[i]), append(s.Y, y[i], y[i]+100*mib)
			}
		},
		"steps that start at a million": func(s *Series) { s.X = mapped(s.X, func(x float64) float64 { return x + 1e6 }) },
	} {
		s := line(120, 0, mib)
		change(&s)
		before := slices.Clone(s.X)
		r := mustJudge(t, s, Rule{})
		if r.Verdict != want.Verdict || r.Fit.Slope != want.Fit.Slope || r.Points != want.Points {
			t.Errorf("%s: %+v %+v", name, r, r.Fit)
		}
		if !slices.Equal(s.X, before) {
			t.Errorf("%s: the caller's X was changed", name)
		}
	}

	each10 := line(120, 0, 10*mib)
	each10.X = mapped(each10.X, func(x float64) float64 { return 10 * x })
	if r := mustJudge(t, each10, Rule{}); r.Fit.Slope != mib || r.Trimmed != 24 {
		t.Errorf("each tenth step: %+v %+v", r, r.Fit)
	}
	gap := line(120, 0, mib)
	for i := 60; i < 120; i++ {
		gap.X[i] += 1e6
		gap.Y[i] += 1e6 * mib
	}
	if r := mustJudge(t, gap, Rule{Floor: at(0)}); r.Verdict != Fail || r.Fit.Slope != mib {
		t.Errorf("a gap: %s %+v", r.Verdict, r.Fit)
	}
	same := line(120, 0, mib)
	same.X = make([]float64, 120)
	if r := mustJudge(t, same, Rule{}); r.Verdict != Inconclusive || r.Merged != 119 {
		t.Errorf("one step only: %+v", r)
	}

	random := rand.New(rand.NewPCG(1, 2))
	shuffled := line(120, 0, mib)
	random.Shuffle(120, func(i, j int) { shuffled.X[i], shuffled.X[j] = shuffled.X[j], shuffled.X[i] })
	if _, err := Judge(shuffled, Rule{}); err == nil || !strings.Contains(err.Error(), "no order") {
		t.Errorf("shuffled steps: %v", err)
	}
	back := line(120, 0, mib)
	back.Seconds = true
	back.X[60] = 3
	if _, err := Judge(back, Rule{}); err == nil || !strings.Contains(err.Error(), "seconds fall") {
		t.Errorf("seconds that fall: %v", err)
	}
	close := line(120, 0, 1e99)
	close.X = mapped(close.X, func(x float64) float64 { return x * 5e-324 })
	if r, err := Judge(close, Rule{}); err == nil {
		t.Errorf("steps too close for a slope: %+v", r)
	}
	twins := line(120, 0, mib)
	twins.X = mapped(twins.X, func(x float64) float64 { return 1e16 + x })
	if r, err := Judge(twins, Rule{}); err == nil && r.Verdict == Pass {
		t.Errorf("steps beyond a float64: %+v", r)
	}
}

func TestUpTo(t *testing.T) {
	cache := shaped(300, func(i int) float64 { return float64(i) * mib })
	for _, c := range []struct {
		name   string
		series Series
		upTo   float64
		want   Verdict
	}{
		{"over the horizon it stays below", cache, 1001 * mib, Pass},
		{"over the horizon it goes beyond", cache, 999 * mib, Fail},
		{"a long run went beyond", line(3000, 0, mib), 2998 * mib, Fail},
		{"a long run stayed below", line(3000, 0, mib), 3000 * mib, Pass},
		{"too noisy to say", noisy(60, mib), 1010 * mib, Inconclusive},
	} {
		if r := mustJudge(t, c.series, Rule{UpTo: &c.upTo}); r.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s: %+v", c.name, r.Verdict, r.Reason, c.want, r.Fit)
		}
	}
}

func TestPlateau(t *testing.T) {
	fills := shaped(200, func(i int) float64 { return min(float64(i), 100) * 8 * mib })
	fills.Base = 1 << 30
	p := mustJudge(t, fills, Rule{}).Fit.Plateau
	if p.Level != 1<<30+800*mib || !p.Flat || p.From < 90 || p.From > 115 {
		t.Errorf("a cache that fills up to step 100: %+v", p)
	}
	if p := mustJudge(t, line(200, 0, mib), Rule{}).Fit.Plateau; p.Flat {
		t.Errorf("a leak: %+v", p)
	}
	if p := mustJudge(t, shaped(200, func(i int) float64 { return float64(i%9) * 8 * mib }), Rule{}).Fit.Plateau; p.Flat {
		t.Errorf("a sawtooth: %+v", p)
	}
	counts := shaped(200, func(i int) float64 { return float64(i / 50) })
	counts.Counts = true
	if f := mustJudge(t, counts, Rule{}).Fit; f.Plateau.Tolerance != 1 || f.Floor != 1 {
		t.Errorf("counts: %+v", f)
	}
}

func TestExtendedWarmup(t *testing.T) {
	// The warm-up ends at step 48 of 200, where the rule leaves out 40.
	late := shaped(200, func(i int) float64 { return min(float64(i), 48) * mib })
	r := mustJudge(t, late, Rule{})
	if r.Verdict != Pass {
		t.Fatalf("%s: %+v", r.Verdict, r.Fit)
	}
	wobbles := shaped(200, func(i int) float64 { return min(float64(i), 66)*10*mib + float64(i*7919%13)*mib })
	r = mustJudge(t, wobbles, Rule{Budget: mib / 8})
	if r.Verdict != Pass || !r.Rising || r.Extended != 20 || r.Trimmed != 60 {
		t.Errorf("%s: %+v %+v", r.Verdict, r, r.Fit)
	}
	if r := mustJudge(t, line(200, 0, mib), Rule{}); r.Verdict != Fail || !r.Rising || r.Extended != 0 || r.Points != 160 {
		t.Errorf("a leak: %+v", r)
	}
	share, steps := 0.5, 150.0
	if r := mustJudge(t, late, Rule{Share: &share}); r.Trimmed != 100 {
		t.Errorf("half: %+v", r)
	}
	if r := mustJudge(t, late, Rule{Warmup: &steps}); r.Trimmed != 150 || r.From != 150 {
		t.Errorf("150 steps: %+v", r)
	}
}

// TestOnlyMaxima: a pool that keeps the most that any step needed, and a leak beside it.
func TestOnlyMaxima(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 5))
	n := 400
	pool, leak := line(n, 0, 0), line(n, 0, 0)
	pool.Need = make([]float64, n)
	most := 0.0
	for i := range n {
		pool.Need[i] = float64(i)*mib + random.ExpFloat64()*1000*mib
		most = max(most, pool.Need[i])
		pool.Y[i] = most
		leak.Y[i] = most + float64(i)*4*mib
	}
	leak.Need = pool.Need
	if r := mustJudge(t, pool, Rule{}); !r.Fit.OnlyMaxima {
		t.Errorf("a pool: %+v", r.Fit)
	}
	if r := mustJudge(t, leak, Rule{}); r.Fit.OnlyMaxima {
		t.Errorf("a leak: %+v", r.Fit)
	}
	flat := line(n, 0, 0)
	flat.Need = pool.Need
	if r := mustJudge(t, flat, Rule{}); r.Fit.OnlyMaxima {
		t.Errorf("no growth: %+v", r.Fit)
	}
}

// TestMore: a run that is as much longer as is said comes to a verdict.
func TestMore(t *testing.T) {
	for _, c := range []struct {
		slope, budget float64
		want          Verdict
	}{{0.2 * mib, 0.1 * mib, Fail}, {0, 0.1 * mib, Pass}, {0.05 * mib, 0.1 * mib, Pass}} {
		decided, runs := 0, 0
		for seed := range uint64(200) {
			make := func(n int) Series {
				random := rand.New(rand.NewPCG(seed, 7))
				s := line(n, 0, c.slope)
				for i := range s.Y {
					s.Y[i] += random.NormFloat64() * 8 * mib
				}
				return s
			}
			r := mustJudge(t, make(100), Rule{Budget: c.budget})
			if r.Verdict != Inconclusive || r.More == 0 || r.More > 5000 {
				continue
			}
			runs++
			if mustJudge(t, make(100+int(math.Ceil(r.More))), Rule{Budget: c.budget}).Verdict != Inconclusive {
				decided++
			}
		}
		t.Logf("growth %v, budget %v: %d of %d", c.slope/mib, c.budget/mib, decided, runs)
		if runs < 50 || 10*decided < 5*runs {
			t.Errorf("growth %v, budget %v: %d of %d come to a verdict", c.slope/mib, c.budget/mib, decided, runs)
		}
	}
}

func TestHolm(t *testing.T) {
	of := func(v Verdict, p float64) *Result { return &Result{Verdict: v, Reason: "growth", Fit: &Fit{POver: p}} }
	results := []*Result{of(Fail, 0.0026), of(Pass, 0.9), of(Fail, 0.0024), {Verdict: Inconclusive}, of(Fail, 0.004), of(Decelerating, 0.009)}
	// Five are fitted: 0.0024 is above 0.01/5.
	Holm(results, 0)
	for i, r := range results {
		if red(r.Verdict) {
			t.Errorf("%d: %+v", i, r)
		}
	}
	results = []*Result{of(Fail, 0.0026), of(Pass, 0.9), of(Fail, 0.0019), of(Fail, 0.004), of(Decelerating, 0.006)}
	// 0.0019 <= 0.01/5, 0.0026 > 0.01/4: the rest falls with it.
	Holm(results, 0)
	if results[2].Verdict != Fail || red(results[0].Verdict) || red(results[3].Verdict) || red(results[4].Verdict) || results[1].Verdict != Pass {
		t.Errorf("%+v %+v", results[0], results[2])
	}
	alone := []*Result{of(Fail, 0.0099)}
	if Holm(alone, 0); alone[0].Verdict != Fail {
		t.Errorf("%+v", alone[0])
	}
	Holm(nil, 0)
}

func TestRuleRefuses(t *testing.T) {
	for name, rule := range map[string]Rule{
		"alpha": {Alpha: 0.5}, "small alpha": {Alpha: 1e-9}, "negative horizon": {Horizon: -1}, "negative floor": {Floor: at(-1)},
		"up_to": {UpTo: at(math.NaN())}, "warm-up": {Warmup: at(-3)}, "share": {Share: at(1)},
	} {
		if r, err := Judge(line(60, 0, 1), rule); err == nil {
			t.Errorf("%s: %+v, want an error", name, r)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	random := rand.New(rand.NewPCG(41, 42))
	all := make([]Series, 100)
	for i := range all {
		all[i] = line(4096, 0, float64(i)*mib/100)
		for j := range all[i].Y {
			all[i].Y[j] += random.NormFloat64() * 4 * mib
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range 10_000 {
			if _, err := Judge(all[i%len(all)], Rule{}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
