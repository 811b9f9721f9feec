package growth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// A model makes n levels in MiB: 1000, with noise of a standard deviation of 4.
type model func(n int, r *rand.Rand) []float64

const (
	simLevel = 1000.0
	simNoise = 4.0
	simSeeds = 300
)

// remembering is noise whose neighbours correlate by phi: AR(1).
func remembering(phi float64) model {
	return func(n int, r *rand.Rand) []float64 {
		v := make([]float64, n)
		e := r.NormFloat64() * simNoise
		for i := range v {
			v[i] = simLevel + e
			e = phi*e + r.NormFloat64()*simNoise*math.Sqrt(1-phi*phi)
		}
		return v
	}
}

// plus adds what a step number makes of itself.
func (m model) plus(f func(i, n int, r *rand.Rand) float64) model {
	return func(n int, r *rand.Rand) []float64 {
		v := m(n, r)
		for i := range v {
			v[i] += f(i, n, r)
		}
		return v
	}
}

func (m model) leaks(perStep float64) model {
	return m.plus(func(i, _ int, _ *rand.Rand) float64 { return perStep * float64(i) })
}

// jumps moves the level by 4 at one step in 25: to and fro, or anywhere.
func jumps(returns bool) model {
	return func(n int, r *rand.Rand) []float64 {
		v := make([]float64, n)
		at := simLevel
		for i := range v {
			if r.Float64() < 0.04 {
				up := r.IntN(2) == 0
				if returns && at != simLevel {
					up = at < simLevel
				}
				if up {
					at += 4
				} else {
					at -= 4
				}
			}
			v[i] = at
		}
		return v
	}
}

// teeth is a collector's sawtooth of 40 MiB over 17 steps.
func teeth(n int, r *rand.Rand) []float64 {
	start := r.IntN(17)
	return remembering(0.3).plus(func(i, _ int, _ *rand.Rand) float64 { return 40 * float64((i+start)%17) / 17 })(n, r)
}

// stairs is a leak through an allocator that grows by 64 MiB some ten times a run.
func stairs(n int, r *rand.Rand) []float64 {
	at := 0.0
	return remembering(0.5).plus(func(_, n int, r *rand.Rand) float64 {
		if r.Float64() < 10/float64(n) {
			at += 64
		}
		return at
	})(n, r)
}

// warming comes up to its level as 1 - e^(-12 x/n), from 300 MiB below.
var warming = remembering(0.5).plus(func(i, n int, _ *rand.Rand) float64 {
	return -300 * math.Exp(-12*float64(i)/float64(n))
})

var slowing = remembering(0.5).plus(func(i, _ int, _ *rand.Rand) float64 { return 20 * math.Log(1+float64(i)) })

// unstated marks a share that is printed and not judged.
var unstated = math.NaN()

// A cell is a model with the share of its runs that fail, for runs of 60, 120 and
// 300 steps at a budget of 0 and of 0.1 MiB a step, as a study with 1,500 runs of
// each found it for the same rule (with 12 blocks at 60 steps too, where the rule has
// 8). For a leak it is what must be found, for all else what may be.
type cell struct {
	name  string
	model model
	leak  bool
	share [3][2]float64
}

var simSteps = [3]int{60, 120, 300}
var simBudgets = [2]float64{0, 0.1}

var cells = []cell{
	{"iid", remembering(0), false, [3][2]float64{{unstated, 0}, {0.006, 0}, {unstated, 0}}},
	{"AR(1) 0.5", remembering(0.5), false, [3][2]float64{{unstated, 0}, {0.008, 0}, {unstated, 0}}},
	{"AR(1) 0.9", remembering(0.9), false, [3][2]float64{{unstated, 0.017}, {0.035, 0}, {unstated, 0}}},
	{"AR(1) 0.98", remembering(0.98), false, [3][2]float64{{unstated, 0.026}, {0.103, 0.007}, {unstated, 0}}},
	{"jumps to and fro", jumps(true), false, [3][2]float64{{unstated, unstated}, {0.001, 0}, {unstated, 0}}},
	{"jumps anywhere", jumps(false), false, [3][2]float64{{unstated, unstated}, {0.027, 0.013}, {unstated, 0.003}}},
	{"warm-up", warming, false, [3][2]float64{{unstated, 0.009}, {0.013, 0}, {unstated, 0}}},
	{"20 ln(1+x)", slowing, false, [3][2]float64{{unstated, unstated}, {0.469, 0.469}, {unstated, 0.098}}},
	{"sawtooth", teeth, false, [3][2]float64{{unstated, 0}, {0, 0}, {unstated, 0}}},
	{"leak 0.05, AR 0.5", remembering(0.5).leaks(0.05), true, [3][2]float64{{unstated, unstated}, {unstated, unstated}, {unstated, unstated}}},
	{"leak 0.2, AR 0.5", remembering(0.5).leaks(0.2), true, [3][2]float64{{unstated, 0.125}, {0.865, 0.683}, {unstated, 1}}},
	{"leak 1, AR 0.9", remembering(0.9).leaks(1), true, [3][2]float64{{unstated, 0.935}, {0.996, 0.996}, {unstated, 1}}},
	{"leak 0.5, sawtooth", model(teeth).leaks(0.5), true, [3][2]float64{{unstated, unstated}, {0.899, 0.843}, {unstated, unstated}}},
	{"leak in stairs of 64", stairs, true, [3][2]float64{{unstated, unstated}, {0.768, 0.750}, {unstated, 0.690}}},
}

// few is the share that stands for one of 0 in 1,500 runs: with 0.002, that is seen in
// 1 study of 20.
const few = 0.002

// most is the largest count among simSeeds runs that a share explains: a larger one
// has a chance of 1 in 1,000 at most.
func most(share float64) int {
	share = max(share, few)
	if share > 1-few {
		share = 1 - few
	}
	chance, total := math.Pow(1-share, simSeeds), 0.0
	for k := range simSeeds {
		if total += chance; total >= 0.999 {
			return k
		}
		chance *= float64(simSeeds-k) / float64(k+1) * share / (1 - share)
	}
	return simSeeds
}

// least is the smallest count that a share explains.
func least(share float64) int { return simSeeds - most(1-share) }

func series(levels []float64) Series {
	s := line(len(levels), 0, 0)
	for i, v := range levels {
		s.Y[i] = v * mib
	}
	return s
}

// TestRates: 300 runs of each cell with fixed seeds; -v prints the table.
func TestRates(t *testing.T) {
	var table [len(simSteps)][]string
	for i := range table {
		table[i] = make([]string, len(cells))
	}
	t.Run("cells", func(t *testing.T) {
		for i, c := range cells {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				for j, n := range simSteps {
					table[j][i] = c.simulate(t, n, c.share[j])
				}
			})
		}
	})
	for j, n := range simSteps {
		t.Logf("%d steps, %d runs: share that fails, decelerates, passes, is inconclusive", n, simSeeds)
		t.Logf("%-22s %-28s %s", "", " budget 0", "budget 0.1 MiB/step")
		for _, row := range table[j] {
			t.Log(row)
		}
	}
}

func (c cell) simulate(t *testing.T, n int, share [2]float64) string {
	row := fmt.Sprintf("%-22s", c.name)
	for b, budget := range simBudgets {
		random := rand.New(rand.NewPCG(7, uint64(n)))
		count := map[Verdict]int{}
		for range simSeeds {
			count[mustJudge(t, series(c.model(n, random)), Rule{Budget: budget * mib}).Verdict]++
		}
		for _, v := range []Verdict{Fail, Decelerating, Pass, Inconclusive} {
			row += fmt.Sprintf(" %.3f", float64(count[v])/simSeeds)
		}
		row += "     "
		switch fails := count[Fail]; {
		case math.IsNaN(share[b]):
		case c.leak && fails < least(share[b]):
			t.Errorf("%d steps, budget %v: %d of %d found, stated is %v, which allows %d", n, budget, fails, simSeeds, share[b], least(share[b]))
		case !c.leak && fails > most(share[b]):
			t.Errorf("%d steps, budget %v: %d of %d false alarms, stated is %v, which allows %d", n, budget, fails, simSeeds, share[b], most(share[b]))
		}
	}
	return row
}

// TestSmallest: the growth that a run says it would have shown is found in 8 of 10
// other runs, where noise is forgotten within a block.
func TestSmallest(t *testing.T) {
	for _, c := range []cell{{name: "iid", model: remembering(0)}, {name: "AR(1) 0.5", model: remembering(0.5)}, {name: "sawtooth", model: teeth}} {
		for _, n := range []int{60, 120, 300, 1000} {
			t.Run(fmt.Sprint(c.name, n), func(t *testing.T) {
				t.Parallel()
				random := rand.New(rand.NewPCG(11, uint64(n)))
				for _, budget := range simBudgets {
					rule := Rule{Budget: budget * mib}
					found := 0
					for range simSeeds {
						smallest := mustJudge(t, series(c.model(n, random)), rule).Fit.Smallest / mib
						if mustJudge(t, series(c.model.leaks(smallest)(n, random)), rule).Verdict == Fail {
							found++
						}
					}
					t.Logf("budget %v: %d of %d", budget, found, simSeeds)
					if found < least(0.8) {
						t.Errorf("budget %v: %d of %d found, want 8 of 10", budget, found, simSeeds)
					}
				}
			})
		}
	}
}

// TestTeethOfAnyPeriod: a sawtooth without noise drifts through the blocks where its
// period is close to their length, or to a whole part of it. Among all periods that is rare.
func TestTeethOfAnyPeriod(t *testing.T) {
	for _, n := range simSteps {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			fails, runs := 0, 0
			for period := 2.0; period < float64(n)/2; period *= 1.01 {
				for phase := range 10 {
					s := shaped(n, func(i int) float64 {
						_, part := math.Modf(float64(i)/period + float64(phase)/10)
						return 40 * mib * part
					})
					runs++
					if mustJudge(t, s, Rule{}).Verdict == Fail {
						fails++
					}
				}
			}
			t.Logf("%d of %d", fails, runs)
			if fails*50 > runs {
				t.Errorf("%d of %d sawtooths fail, want at most 1 of 50", fails, runs)
			}
		})
	}
}
