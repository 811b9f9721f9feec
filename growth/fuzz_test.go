package growth

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"
)

// FuzzJudge: whatever bits the numbers have, there is an error or a result that is
// finite, holds together, and is the same again.
func FuzzJudge(f *testing.F) {
	pack := func(s Series) (out []byte) {
		for i, x := range s.X {
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(x))
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(s.Y[i]))
		}
		return out
	}
	f.Add(pack(line(100, 0, mib)), 0.0, 0.0, 0.0, 0.0, 0.01, uint8(0))
	f.Add(pack(line(40, 1e30, -1e90)), 1e99, 1.0, 1e100, 1e9, 0.0001, uint8(3))
	f.Add(pack(noisy(80, 1e5)), 1e5, 2e7, 1e9, 1000.0, 0.1, uint8(12))
	f.Add(pack(shaped(60, func(i int) float64 { return float64(i/30) * 1e7 })), -5.0, 0.0, 0.0, 1e-300, 0.05, uint8(9))
	restarts := line(90, 0, mib)
	for i := range restarts.X {
		restarts.X[i] = float64(i % 30)
	}
	f.Add(pack(restarts), 0.0, 0.0, 0.0, 50.0, 0.01, uint8(16))
	f.Fuzz(func(t *testing.T, data []byte, budget, floor, upTo, horizon, alpha float64, flags uint8) {
		var s Series
		for ; len(data) >= 16; data = data[16:] {
			s.X = append(s.X, math.Float64frombits(binary.LittleEndian.Uint64(data)))
			s.Y = append(s.Y, math.Float64frombits(binary.LittleEndian.Uint64(data[8:])))
		}
		rule := Rule{Budget: budget, Horizon: horizon, Alpha: alpha}
		s.Seconds, s.Counts, s.HighWater = flags&1 != 0, flags&2 != 0, flags&32 != 0
		if flags&4 != 0 {
			rule.Floor = &floor
		}
		if flags&8 != 0 {
			rule.UpTo = &upTo
		}
		if flags&16 != 0 {
			s.Need = s.Y
		}
		r, err := Judge(s, rule)
		if err != nil {
			return
		}
		switch r.Verdict {
		case Pass, Fail, Inconclusive, Decelerating:
		default:
			t.Fatalf("verdict %q", r.Verdict)
		}
		first, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("%v: %+v %+v", err, r, r.Fit) // NaN and Inf have no JSON
		}
		again, _ := Judge(s, rule)
		if second, _ := json.Marshal(again); string(first) != string(second) {
			t.Fatalf("%s\n%s", first, second)
		}
		if r.More < 0 || r.Points < 0 || r.Trimmed < 0 || r.Reason == "" {
			t.Fatalf("%+v", r)
		}
		if (r.Verdict != Inconclusive) && r.Fit == nil {
			t.Fatalf("a verdict on nothing: %+v", r)
		}
		if fit := r.Fit; fit != nil {
			if !(fit.Lower <= fit.Slope && fit.Slope <= fit.Upper) || red(r.Verdict) && !(fit.Lower > budget) || r.Points < MinPoints {
				t.Fatalf("%+v %+v", r, fit)
			}
		}
	})
}
