package budget

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func percent(s string, fall bool) *Growth {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic("internal error: bad percentage in a test")
	}
	return &Growth{Percent: r, Fall: fall, Text: s + "%"}
}

func floorOfBytes(n int64) *Limit { return &Limit{Value: measure.Int(n)} }

// TestGrowthBoundary has for each limit the last value that passes.
func TestGrowthBoundary(t *testing.T) {
	for _, c := range []struct {
		name    string
		percent string
		fall    bool
		base    int64
		floor   *Limit
		last    int64 // the last head that passes
	}{
		{"not one byte more", "0", false, 1000, nil, 1000},
		{"two percent", "2", false, 1000, nil, 1020},
		{"rounded down", "2", false, 1049, nil, 1069}, // 1069.98
		{"an inexact binary fraction", "0.1", false, 1_000_000_000_000, nil, 1_001_000_000_000},
		{"a third digit", "0.001", false, 100_000, nil, 100_001},
		{"floor above percent", "2", false, 1000, floorOfBytes(100), 1100},
		{"floor under percent", "2", false, 1000, floorOfBytes(10), 1020},
		{"floor alone", "0", false, 1000, floorOfBytes(1), 1001},
		{"base 0", "50", false, 0, nil, 0},
		{"base 0 with floor", "50", false, 0, floorOfBytes(7), 7},
		{"more than double", "150", false, 10, nil, 25},
		{"beyond 2^53", "0", false, 1<<53 + 1, nil, 1<<53 + 1},
		{"near the end", "0", false, math.MaxInt64 - 1, nil, math.MaxInt64 - 1},
		{"floor near the end", "0", false, math.MaxInt64 - 5, floorOfBytes(4), math.MaxInt64 - 1},
		{"a rise of a slope under zero", "10", false, -100, nil, -100},
		{"fall of nothing", "0", true, 1000, nil, 1000},
		{"fall of two percent", "2", true, 1000, nil, 980},
		{"fall rounded up", "2", true, 1049, nil, 1029}, // 1028.02
		{"fall with floor", "2", true, 1000, floorOfBytes(100), 900},
		{"fall from 0", "2", true, 0, nil, 0},
		{"fall near the end", "0", true, math.MaxInt64, nil, math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, base := percent(c.percent, c.fall), measure.Int(c.base)
			next := c.last + 1
			if c.fall {
				next = c.last - 1
			}
			if g.Exceeded(base, measure.Int(c.last), c.floor) {
				t.Errorf("%d fails against %d", c.last, c.base)
			}
			if !g.Exceeded(base, measure.Int(next), c.floor) {
				t.Errorf("%d passes against %d", next, c.base)
			}
			if got := g.Allowed(base, c.floor); got != measure.Int(c.last) {
				t.Errorf("allowed is %s, want %d", got.Exact(measure.Count), c.last)
			}
			better := int64(math.MinInt64)
			if c.fall {
				better = math.MaxInt64
			}
			if g.Exceeded(base, measure.Int(better), c.floor) {
				t.Error("the best value there is fails")
			}
		})
	}
}

// TestGrowthProperty compares with the formula of the design in big integers.
func TestGrowthProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	near := func(n int64) int64 { return n + r.Int64N(7) - 3 }
	for range 20_000 {
		hundredths := r.Int64N(20_000) // of a percent
		if r.IntN(4) == 0 {
			hundredths = 0
		}
		g := &Growth{Percent: big.NewRat(hundredths, 100), Fall: r.IntN(2) == 0 && hundredths < 10_000}
		base := r.Int64N(1 << (1 + r.IntN(62)))
		floor := &Limit{Value: measure.Int(r.Int64N(1 << (1 + r.IntN(30))))}
		allowed, _ := g.Allowed(measure.Int(base), floor).Int64()
		for _, head := range []int64{near(max(min(allowed, math.MaxInt64-4), 4)), r.Int64(), base, 0} {
			// head × 10000 against base × (10000 ± hundredths), and head − base against floor.
			ten := big.NewInt(10_000)
			lhs := new(big.Int).Mul(big.NewInt(head), ten)
			change := new(big.Int).Sub(big.NewInt(head), big.NewInt(base))
			factor := big.NewInt(10_000 + hundredths)
			sign := 1
			if g.Fall {
				factor, sign = big.NewInt(10_000-hundredths), -1
				change.Neg(change)
			}
			f, _ := floor.Value.Int64()
			want := lhs.Cmp(factor.Mul(factor, big.NewInt(base))) == sign && change.Cmp(big.NewInt(f)) > 0
			if got := g.Exceeded(measure.Int(base), measure.Int(head), floor); got != want {
				t.Fatalf("base %d head %d growth %s%% fall %v floor %d: exceeded is %v", base, head, g.Percent.FloatString(2), g.Fall, f, got)
			}
			if beyond := head > allowed && !g.Fall || head < allowed && g.Fall; beyond != want {
				t.Fatalf("base %d head %d growth %s%% fall %v floor %d: allowed is %d, exceeded is %v", base, head, g.Percent.FloatString(2), g.Fall, f, allowed, want)
			}
		}
	}
}

func TestGrowthOfQuotients(t *testing.T) {
	hit := percent("5", true)
	if hit.Exceeded(measure.Float(0.96), measure.Float(0.92), nil) || !hit.Exceeded(measure.Float(0.96), measure.Float(0.91), nil) {
		t.Error("a fall of 5 % of 0.96 ends at 0.912")
	}
	if !hit.Exceeded(measure.Float(0.96), measure.Float(math.NaN()), nil) || !hit.Exceeded(measure.Float(math.Inf(1)), measure.Float(1), nil) {
		t.Error("what is not finite passes")
	}
	for _, g := range []*Growth{percent("3.3", false), percent("3.3", true), percent("0", false)} {
		for _, base := range []float64{0, 0.1, 0.3, 1e-300, 12345.678, math.MaxFloat64} {
			limit := g.Limit(measure.Float(base))
			if g.Exceeded(measure.Float(base), limit, nil) {
				t.Errorf("%s%% of %g: the limit %g itself fails", g.Text, base, limit.Float64())
			}
			beyond := math.Nextafter(limit.Float64(), math.Inf(1))
			if g.Fall {
				beyond = math.Nextafter(limit.Float64(), math.Inf(-1))
			}
			if !math.IsInf(beyond, 0) && !g.Exceeded(measure.Float(base), measure.Float(beyond), nil) {
				t.Errorf("%s%% of %g: %g, one beyond the limit, passes", g.Text, base, beyond)
			}
		}
	}
	if got := percent("100", false).Limit(measure.Int(math.MaxInt64)); got != measure.Int(math.MaxInt64) {
		t.Errorf("a limit beyond int64 is %s", got.Exact(measure.Count))
	}
	if got := percent("10", true).Limit(measure.Int(15)); got != measure.Int(14) {
		t.Errorf("10 %% less than 15 is at least %s", got.Exact(measure.Count))
	}
}
