package series

import (
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestTimes(t *testing.T) {
	const mib, gib = 1 << 20, 1 << 30
	for _, c := range []struct {
		text   string
		factor uint64
		want   int64
		exact  bool
	}{
		{"0", mib, 0, true},
		{"0.5", mib, 524288, true},
		{"-0.5", mib, -524288, true},
		{"+1", 1, 1, true},
		{"1.", 1, 1, true},
		{".25", 1000, 250, true},
		{"0.1", mib, 104858, false}, // 104857.6
		{"0.5", 1, 1, false},        // half away from zero
		{"0.4999999999999999999", 1, 0, false},
		{"1e3", 1, 1000, true},
		{"1.5E+09", 1, 1500000000, true},
		{"2500e-2", 1, 25, true},
		{"1e-400", 1, 0, false},
		{"9223372036854775807", 1, 9223372036854775807, true},
		{"-9223372036854775807", 1, -9223372036854775807, true},
		{"8589934591.999999999068677425384521484375", gib, 9223372036854775807, false}, // 39 digits
		// What Python prints of n / 2^30 gives n again.
		{"2.867405891418457", gib, 3078853632, false},
		{"13.521896362304688", gib, 14519025664, false},
		{"0.0000000000000000000000001", gib, 0, false},
	} {
		d, ok := parseDecimal(c.text)
		n, exact, fits := d.times(c.factor)
		if !ok || !fits || n != c.want || exact != c.exact {
			t.Errorf("%s × %d = %d (exact %v, number %v, fits %v), want %d (exact %v)", c.text, c.factor, n, exact, ok, fits, c.want, c.exact)
		}
	}
}

func TestTimesTooLarge(t *testing.T) {
	for _, text := range []string{"9223372036854775808", "1e30", "8589934592000000000", "1e400"} {
		d, ok := parseDecimal(text)
		if n, _, fits := d.times(1 << 30); !ok || fits {
			t.Errorf("%s: %d, number %v; want one that does not fit", text, n, ok)
		}
	}
}

func TestParseDecimalRefuses(t *testing.T) {
	for _, text := range []string{"", "-", ".", "NaN", "inf", "-Infinity", "0x10", "1_000", "1,000", "12MB", "1e", "1e1.5", "1 2", "--1", "1e999", "٣", strings.Repeat("1", maxCell+1)} {
		if d, ok := parseDecimal(text); ok {
			t.Errorf("%q is the number %+v", text, d)
		}
	}
}

// TestTimesRandom compares with exact arithmetic.
func TestTimesRandom(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for range 5_000 {
		text := strconv.FormatInt(random.Int64N(1<<random.IntN(40)+1), 10)
		if random.IntN(3) > 0 {
			text += "." + strconv.FormatUint(random.Uint64()>>random.IntN(64), 10)
		}
		if random.IntN(4) == 0 {
			text += "e" + strconv.Itoa(random.IntN(30)-22)
		}
		factor := units[random.IntN(len(units))].factor
		d, ok := parseDecimal(text)
		if !ok {
			t.Fatalf("%s is no number", text)
		}
		want, _ := new(big.Rat).SetString(text)
		want.Mul(want, new(big.Rat).SetUint64(factor))
		n, exact, fits := d.times(factor)
		limit := new(big.Rat).SetInt64(1<<63 - 1)
		if !fits {
			if want.Cmp(limit) <= 0 {
				t.Fatalf("%s × %d does not fit", text, factor)
			}
			continue
		}
		off := new(big.Rat).Sub(want, new(big.Rat).SetInt64(n))
		// 19 digits are kept of longer numbers.
		allowed := new(big.Rat).Mul(want, big.NewRat(1, 1e18))
		allowed.Add(allowed, big.NewRat(1, 2))
		if off.Abs(off).Cmp(allowed) > 0 || exact && off.Sign() != 0 {
			t.Fatalf("%s × %d = %d, off by %s, exact %v", text, factor, n, off.FloatString(6), exact)
		}
	}
}
