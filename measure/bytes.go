package measure

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Bytes is an exact number of bytes. Differences may be negative.
type Bytes int64

// byteUnits lists every unit that a byte value may carry. IEC units are powers
// of 1024 and SI units powers of 1000 (IEC 80000-13); they are never mixed up.
var byteUnits = []struct {
	name string
	size int64
}{
	{"B", 1},
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"PiB", 1 << 50},
	{"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15},
}

// ByteUnits names the units that ParseBytes accepts, in one line for messages.
const ByteUnits = "B, KiB, MiB, GiB, TiB, PiB (1024) or kB, MB, GB, TB, PB (1000)"

// String gives the value in the largest IEC unit that keeps it at 1 or more,
// with two decimals: "512 B", "1.50 GiB", "-3.00 MiB".
func (b Bytes) String() string {
	sign, u := "", uint64(b)
	if b < 0 {
		sign, u = "-", -uint64(b)
	}
	if u < 1<<10 {
		return fmt.Sprintf("%s%d B", sign, u)
	}
	units := [...]string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	i, size := 0, uint64(1<<10)
	// 1023.995 of a unit would print as "1024.00": move on to the next unit.
	for i < len(units)-1 && float64(u)/float64(size) >= 1023.995 {
		i, size = i+1, size<<10
	}
	return fmt.Sprintf("%s%.2f %s", sign, float64(u)/float64(size), units[i])
}

// Signed is String with a plus sign before a value above zero.
func (b Bytes) Signed() string {
	if b > 0 {
		return "+" + b.String()
	}
	return b.String()
}

// Exact gives the plain number with thousands separators: "19,249,000,448 B".
func (b Bytes) Exact() string {
	return group(strconv.FormatInt(int64(b), 10)) + " B"
}

// group puts a comma between each three digits of a whole number.
func group(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	var out strings.Builder
	for i := range len(s) {
		if i > 0 && (len(s)-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteByte(s[i])
	}
	return sign + out.String()
}

// ParseBytes reads a byte value that carries its unit: "9.5 GiB", "12GB",
// "1_000 B", "-1 B". A number without a unit is an error, and so is a value that
// is not a whole number of bytes or does not fit an int64.
func ParseBytes(s string) (Bytes, error) {
	text := strings.TrimSpace(s)
	cut := len(text)
	for cut > 0 && isLetter(text[cut-1]) {
		cut--
	}
	number, unit := strings.TrimSpace(text[:cut]), text[cut:]
	if number == "" {
		return 0, fmt.Errorf("want a number of bytes with its unit, got %q", s)
	}
	digits := strings.ReplaceAll(number, "_", "")
	if !isDecimal(digits) {
		return 0, fmt.Errorf("want a number of bytes with its unit, got %q", s)
	}
	if unit == "" {
		return 0, fmt.Errorf("number without a unit: %q; write one of %s", s, ByteUnits)
	}
	for _, u := range byteUnits {
		if u.name != unit {
			continue
		}
		r, ok := new(big.Rat).SetString(digits)
		if !ok {
			return 0, fmt.Errorf("want a number of bytes with its unit, got %q", s)
		}
		r.Mul(r, new(big.Rat).SetInt64(u.size))
		if !r.IsInt() {
			// 9.3 GiB is a fine limit although it is no whole number of bytes:
			// the limit is rounded down, towards the stricter side.
			r.SetInt(new(big.Int).Div(r.Num(), r.Denom()))
		}
		if !r.Num().IsInt64() {
			return 0, fmt.Errorf("%q is more than %d bytes", s, int64(math.MaxInt64))
		}
		return Bytes(r.Num().Int64()), nil
	}
	for _, u := range byteUnits {
		if strings.EqualFold(u.name, unit) {
			return 0, fmt.Errorf("unknown unit %q; did you mean %s? Units are %s", unit, u.name, ByteUnits)
		}
	}
	return 0, fmt.Errorf("unknown unit %q; use %s", unit, ByteUnits)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isDecimal accepts an optional sign, digits and at most one point; big.Rat
// alone would also take fractions, exponents (a memory bomb) and hex.
func isDecimal(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	if len(s) > 40 {
		return false
	}
	seen, point := false, false
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			seen = true
		case c == '.' && !point:
			point = true
		default:
			return false
		}
	}
	return seen
}
