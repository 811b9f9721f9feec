package budget

import (
	"math"
	"math/big"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// writeValue writes a value as a limit that it passes, in the style of the text
// that it replaces: its unit, its spacing, its _ between digits. It has at least
// as few digits as keep it within 0.01 % of the value; lower tells that the limit
// is a min, which is rounded down.
func writeValue(style string, v measure.Value, unit measure.Unit, lower bool) string {
	r := rational(v)
	if r == nil {
		return style
	}
	number, gap, suffix := splitNumber(style)
	size, ok := unitSize(strings.TrimSpace(strings.SplitN(suffix, "/", 2)[0]), unit)
	if !ok {
		number, gap, suffix = "", " ", defaultUnit(unit)
		size, _ = unitSize(suffix, unit)
	}
	if isWhole(unit) {
		r = new(big.Rat).SetInt(roundUp(r, lower)) // what is read is whole, and must not be rounded below the value
	}
	_, fraction, _ := strings.Cut(strings.ReplaceAll(number, "_", ""), ".")
	out := digitsOf(new(big.Rat).Quo(r, size), len(fraction), lower)
	if strings.Contains(number, "_") {
		out = underscored(out)
	}
	return out + gap + suffix
}

// splitNumber takes a limit apart: digits, the space after them, the unit.
func splitNumber(s string) (number, gap, suffix string) {
	i := 0
	for i < len(s) && strings.IndexByte("+-0123456789._", s[i]) >= 0 {
		i++
	}
	j := i
	for j < len(s) && (s[j] == ' ' || s[j] == '\t') {
		j++
	}
	return s[:i], s[i:j], s[j:]
}

// unitSize is how much of a metric's own unit one of the named unit is.
func unitSize(name string, unit measure.Unit) (*big.Rat, bool) {
	switch unit {
	case measure.ByteUnit, measure.BytesPerStep, measure.BytesPerHour:
		n, err := measure.ParseBytes("1 " + name)
		return big.NewRat(int64(n), 1), err == nil
	case measure.Seconds:
		for _, u := range timeUnits {
			if u.name == name {
				return u.seconds, true
			}
		}
		return nil, false
	}
	return big.NewRat(1, 1), name == ""
}

func defaultUnit(unit measure.Unit) string {
	switch unit {
	case measure.ByteUnit, measure.BytesPerStep, measure.BytesPerHour:
		return "B"
	case measure.Seconds:
		return "s"
	}
	return ""
}

// digitsOf writes a number with at least the given decimals, and as many more as
// bring it within 1 part in 10,000, rounded up (down where lower is set). Zeros at
// the end are left out.
func digitsOf(r *big.Rat, decimals int, lower bool) string {
	const most = 15
	tolerance := new(big.Rat).Abs(r)
	tolerance.Quo(tolerance, big.NewRat(10_000, 1))
	for decimals = min(decimals, most); ; decimals++ {
		scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals)), nil)
		n := roundUp(new(big.Rat).Mul(r, new(big.Rat).SetInt(scale)), lower)
		rounded := new(big.Rat).SetFrac(n, scale)
		off := new(big.Rat).Sub(rounded, r)
		if off.Abs(off).Cmp(tolerance) <= 0 || decimals == most {
			text := rounded.FloatString(decimals)
			if strings.Contains(text, ".") {
				text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
			}
			return text
		}
	}
}

// roundUp is the smallest whole number that is not below r; with lower, the largest
// that is not above it.
func roundUp(r *big.Rat, lower bool) *big.Int {
	n := new(big.Int)
	if lower {
		return n.Div(r.Num(), r.Denom()) // Div rounds down for the positive denominator
	}
	n.Div(n.Neg(r.Num()), r.Denom())
	return n.Neg(n)
}

// underscored puts _ between each three digits before the point.
func underscored(s string) string {
	whole, fraction, point := strings.Cut(s, ".")
	var out strings.Builder
	for i, c := range []byte(whole) {
		if left := len(whole) - i; i > 0 && left%3 == 0 && whole[i-1] != '-' {
			out.WriteByte('_')
		}
		out.WriteByte(c)
	}
	if point {
		out.WriteString("." + fraction)
	}
	return out.String()
}

// atLeast is the value nearest to r that is not below it (with lower, not above it).
func atLeast(r *big.Rat, lower bool) measure.Value {
	if r.IsInt() {
		switch {
		case r.Num().IsInt64():
			return measure.Int(r.Num().Int64())
		case r.Sign() > 0:
			return measure.Int(math.MaxInt64)
		}
		return measure.Int(math.MinInt64)
	}
	f, exact := r.Float64()
	if back := new(big.Rat).SetFloat64(f); !exact && back != nil {
		if d := back.Cmp(r); !lower && d < 0 {
			f = math.Nextafter(f, math.Inf(1))
		} else if lower && d > 0 {
			f = math.Nextafter(f, math.Inf(-1))
		}
	}
	return measure.Float(f)
}
