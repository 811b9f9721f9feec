package growth

import (
	"math"
	"testing"
)

// line is n levels from start on, each step higher by slope.
func line(n int, start, slope float64) Series {
	s := Series{X: make([]float64, n), Y: make([]float64, n)}
	for i := range n {
		s.X[i], s.Y[i] = float64(i), start+slope*float64(i)
	}
	return s
}

func mustJudge(t *testing.T, s Series, rule Rule) Result {
	t.Helper()
	r, err := Judge(s, rule)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const mib = 1 << 20

func TestJudge(t *testing.T) {
	plateau := line(100, 0, 8*mib)
	for i := range plateau.Y {
		plateau.Y[i] = min(plateau.Y[i], 96*mib)
	}
	for _, c := range []struct {
		name   string
		series Series
		rule   Rule
		want   Verdict
	}{
		{"flat", line(100, 500, 0), Rule{}, Pass},
		{"leak", line(100, 0, mib), Rule{}, Fail},
		{"leak within the budget", line(100, 0, mib), Rule{Budget: mib}, Pass},
		{"leak below the floor", line(100, 0, 1), Rule{}, Inconclusive},
		{"falls", line(100, 0, -mib), Rule{}, Pass},
		{"plateau", plateau, Rule{}, Pass},
		{"high-water mark", Series{X: []float64{1}, Y: []float64{1}, HighWater: true}, Rule{}, Inconclusive},
		{"short", line(33, 0, mib), Rule{}, Inconclusive},
		{"just long enough", line(34, 0, mib), Rule{}, Fail},
		{"nothing", Series{}, Rule{}, Inconclusive},
	} {
		if r := mustJudge(t, c.series, c.rule); r.Verdict != c.want {
			t.Errorf("%s: %s (%s), want %s: %+v", c.name, r.Verdict, r.Reason, c.want, r.Fit)
		}
	}
}

func TestJudgeRefuses(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for i := range 3 {
			s := line(40, 0, 1)
			switch i {
			case 0:
				s.X[7] = bad
			case 1:
				s.Y[7] = bad
			case 2:
				s.Base = bad
			}
			if r, err := Judge(s, Rule{}); err == nil {
				t.Errorf("%v at %d: %+v, want an error", bad, i, r)
			}
		}
		if _, err := Judge(line(40, 0, 1), Rule{Budget: bad}); err == nil {
			t.Errorf("budget %v: want an error", bad)
		}
	}
	if _, err := Judge(Series{X: []float64{1, 2}, Y: []float64{1}}, Rule{}); err == nil {
		t.Error("want an error for levels without steps")
	}
}
