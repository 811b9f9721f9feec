package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Value is one number of a row: an exact int64 (bytes, counts) or, where the
// quantity is a quotient (ratios, slopes), a finite float64.
type Value struct {
	int   int64
	float float64
	isInt bool
}

// Int is an exact value.
func Int(n int64) Value { return Value{int: n, isInt: true} }

// Float is a value that is a quotient by nature. NaN and infinities have no
// place in a measurement; Validate reports them.
func Float(f float64) Value { return Value{float: f} }

// Int64 is the exact value; ok is false for a quotient.
func (v Value) Int64() (n int64, ok bool) { return v.int, v.isInt }

// Float64 is the value as a float64, rounded where an int64 has more digits.
func (v Value) Float64() float64 {
	if v.isInt {
		return float64(v.int)
	}
	return v.float
}

// Cmp compares exactly: an int64 is never rounded to a float64 first.
func (v Value) Cmp(w Value) int {
	if v.isInt && w.isInt {
		switch {
		case v.int < w.int:
			return -1
		case v.int > w.int:
			return 1
		}
		return 0
	}
	return v.big().Cmp(w.big())
}

// Sub is v - w; exact for two int64 values as long as the result fits one.
func (v Value) Sub(w Value) Value {
	if v.isInt && w.isInt {
		if d := v.int - w.int; (d <= v.int) == (w.int >= 0) {
			return Int(d)
		}
	}
	return Float(v.Float64() - w.Float64())
}

func (v Value) big() *big.Float {
	// 64 bits of mantissa hold every int64 and every float64 exactly.
	f := new(big.Float).SetPrec(64)
	if v.isInt {
		return f.SetInt64(v.int)
	}
	if math.IsNaN(v.float) {
		return f
	}
	return f.SetFloat64(v.float)
}

func (v Value) finite() bool {
	return v.isInt || !math.IsNaN(v.float) && !math.IsInf(v.float, 0)
}

// MarshalJSON writes a JSON integer for an exact value.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.isInt {
		return strconv.AppendInt(nil, v.int, 10), nil
	}
	if !v.finite() {
		return nil, fmt.Errorf("value %v has no place in a measurement", v.float)
	}
	out, err := json.Marshal(v.float)
	if math.Abs(v.float) >= 1<<63 && !strings.ContainsAny(string(out), ".eE") {
		out = append(out, ".0"...) // else it would be read as an integer of more than 64 bits
	}
	return out, err
}

// UnmarshalJSON reads an integer as an exact value and anything with a point or
// an exponent as a quotient. An integer beyond int64 is an error.
func (v *Value) UnmarshalJSON(data []byte) error {
	s := string(data)
	if !strings.ContainsAny(s, ".eE") {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return fmt.Errorf("value: want an integer of 64 bits or a number with a point, got %.40q", s)
		}
		*v = Int(n)
		return nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(f, 0) {
		return fmt.Errorf("value: want a finite number, got %.40q", s)
	}
	*v = Float(f)
	return nil
}

// Format writes the value for people in the given unit: "1.50 GiB", "0.985",
// "12", "1.00 MiB/step".
func (v Value) Format(unit Unit) string { return v.format(unit, false) }

// FormatSigned is Format with a plus sign before a value above zero.
func (v Value) FormatSigned(unit Unit) string { return v.format(unit, true) }

// Exact writes the value with all its digits: "19,249,000,448 B", "12". Of a quotient
// those that mean something: no slope is read to less than a byte.
func (v Value) Exact(unit Unit) string {
	n := strconv.FormatFloat(v.float, 'g', -1, 64)
	size := math.Abs(v.float)
	switch base, _, slope := strings.Cut(string(unit), "/"); {
	case v.isInt:
		n = group(strconv.FormatInt(v.int, 10))
	case size >= 1000 && size < 1e18, slope && base == string(ByteUnit) && size < 1000:
		n = group(strconv.FormatInt(int64(math.Round(v.float)), 10))
	case slope:
		n = strconv.FormatFloat(v.float, 'g', 6, 64)
	}
	if unit == Count || unit == Ratio {
		return n
	}
	return n + " " + string(unit)
}

func (v Value) format(unit Unit, signed bool) string {
	sign := ""
	if signed && v.Float64() > 0 {
		sign = "+"
	}
	if base, per, _ := strings.Cut(string(unit), "/"); base == string(ByteUnit) {
		n := v.int
		if !v.isInt {
			n = int64(math.Round(v.float))
		}
		s := sign + Bytes(n).String()
		if per != "" {
			s += "/" + per
		}
		return s
	}
	s := sign
	if v.isInt {
		s += group(strconv.FormatInt(v.int, 10))
	} else {
		s += strconv.FormatFloat(v.float, 'f', 3, 64)
	}
	switch unit {
	case Count, Ratio:
		return s
	}
	if _, per, ok := strings.Cut(string(unit), "/"); ok {
		return s + "/" + per
	}
	return s + " " + string(unit)
}
