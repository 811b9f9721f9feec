package series

import (
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// decimal is a number as it was written: digits × 10^exponent.
type decimal struct {
	negative bool
	digits   uint64
	exponent int
	cut      bool // further digits were left out: none of 19 or fewer was
	places   int  // digits behind the point, as written
}

// maxCell is the longest text of a number.
const maxCell = 60

// parseDecimal reads what programs print: 12, -0.5, 1.5e+09. Text that is no such
// number gives ok false: words, NaN and Inf, hexadecimal, separators of thousands.
func parseDecimal(s string) (d decimal, ok bool) {
	if len(s) > maxCell {
		return d, false
	}
	if s != "" && (s[0] == '-' || s[0] == '+') {
		d.negative, s = s[0] == '-', s[1:]
	}
	mantissa, exponent, scientific := strings.Cut(s, "e")
	if !scientific {
		mantissa, exponent, scientific = strings.Cut(s, "E")
	}
	seen, point := false, false
	for i := range len(mantissa) {
		c := mantissa[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
			return d, false
		}
		seen = true
		if point {
			d.places++
		}
		if d.digits > (math.MaxUint64-9)/10 {
			d.cut = d.cut || c != '0'
			if !point {
				d.exponent++
			}
			continue
		}
		d.digits = d.digits*10 + uint64(c-'0')
		if point {
			d.exponent--
		}
	}
	if scientific {
		e, err := strconv.Atoi(exponent)
		if err != nil || e < -400 || e > 400 {
			return d, false
		}
		d.exponent += e
		d.places = max(0, d.places-e)
	}
	return d, seen
}

// times gives the nearest int64 to the number times a factor; exact tells that
// nothing was rounded. ok is false where it is beyond an int64.
func (d decimal) times(factor uint64) (n int64, exact, ok bool) {
	exact = !d.cut
	if d.digits == 0 {
		return 0, exact, true
	}
	digits, e := d.digits, d.exponent
	for ; e < -19; e++ { // 10^19 is the largest power that fits
		exact = exact && digits%10 == 0
		digits /= 10
	}
	high, low := bits.Mul64(digits, factor)
	if e >= 0 {
		for ; e > 0 && high == 0; e-- {
			high, low = bits.Mul64(low, 10)
		}
		if high != 0 || low > math.MaxInt64 {
			return 0, false, false
		}
		return d.sign(low), exact, true
	}
	divisor := uint64(1)
	for ; e < 0; e++ {
		divisor *= 10
	}
	if high >= divisor {
		return 0, false, false
	}
	q, r := bits.Div64(high, low, divisor)
	if r != 0 {
		exact = false
		if r >= divisor-r {
			q++
		}
	}
	if q > math.MaxInt64 {
		return 0, false, false
	}
	return d.sign(q), exact, true
}

func (d decimal) sign(n uint64) int64 {
	if d.negative {
		return -int64(n)
	}
	return int64(n)
}

// float is the number as a step or a time.
func (d decimal) float(text string) (float64, bool) {
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && math.Abs(f) <= 1<<53
}
