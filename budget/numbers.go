package budget

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// floorUnit is the unit of a floor. That of a slope is a growth in all.
func floorUnit(unit measure.Unit) measure.Unit {
	switch unit {
	case measure.BytesPerStep, measure.BytesPerHour:
		return measure.ByteUnit
	case measure.CountPerStep, measure.CountPerHour:
		return measure.Count
	}
	return unit
}

func isSlope(unit measure.Unit) bool { return strings.Contains(string(unit), "/") }

// perName names what the horizon of a slope counts.
func perName(unit measure.Unit) string {
	if strings.HasSuffix(string(unit), "/h") {
		return "hours"
	}
	return "steps"
}

// wanted describes the values of a unit.
func wanted(unit measure.Unit) string {
	switch unit {
	case measure.ByteUnit:
		return "bytes such as 9.5 GiB"
	case measure.BytesPerStep, measure.BytesPerHour:
		_, per, _ := strings.Cut(string(unit), "/")
		return "bytes such as 4 KiB/" + per
	case measure.Ratio:
		return "a ratio such as 0.95"
	case measure.Seconds:
		return "a time such as 10 s"
	case measure.Count:
		return "a whole number"
	}
	return "a number"
}

// parseValue reads a number in a unit. Bytes that are no whole number are rounded
// to the stricter side: a max down, a min up.
func parseValue(text string, unit measure.Unit, lower bool) (measure.Value, *Error) {
	number := text
	if before, per, ok := strings.Cut(text, "/"); ok {
		_, want, slope := strings.Cut(string(unit), "/")
		if per = strings.TrimSpace(per); !slope || per != want {
			return measure.Value{}, &Error{Rule: "unit", Message: "unit " + quote("/"+per) + " does not fit: want " + wanted(unit)}
		}
		number = strings.TrimSpace(before)
	}
	switch unit {
	case measure.ByteUnit, measure.BytesPerStep, measure.BytesPerHour:
		return parseBytes(number, unit, lower)
	case measure.Seconds:
		return parseSeconds(number)
	}
	r, ok := decimal(number)
	if !ok {
		if _, err := measure.ParseBytes(number); err == nil && len(number) < 64 {
			return measure.Value{}, &Error{Rule: "unit", Message: quote(text) + " has a unit: want " + wanted(unit)}
		}
		if strings.HasSuffix(number, "%") {
			return measure.Value{}, &Error{Rule: "unit", Message: quote(text) + " is a percentage: want " + wanted(unit)}
		}
		return measure.Value{}, &Error{Rule: "number", Message: "want " + wanted(unit) + ", got " + quote(text), Hint: "digits and one point"}
	}
	if unit == measure.Count && !r.IsInt() {
		return measure.Value{}, &Error{Rule: "number", Message: "want a whole number, got " + quote(text)}
	}
	if r.IsInt() && !r.Num().IsInt64() {
		return measure.Value{}, &Error{Rule: "range", Message: fmt.Sprintf("%s is more than %d", quote(text), int64(math.MaxInt64))}
	}
	return toValue(r), nil
}

func parseBytes(number string, unit measure.Unit, lower bool) (measure.Value, *Error) {
	if len(number) > 64 || strayUnderscore(number) {
		return measure.Value{}, &Error{Rule: "number", Message: "want " + wanted(unit) + ", got " + quote(number)}
	}
	b, err := measure.ParseBytes(number)
	if err == nil && lower {
		// ParseBytes rounds down; the negative of a number rounds the other way.
		if up, err := measure.ParseBytes("-" + strings.TrimPrefix(number, "+")); err == nil {
			b = -up
		}
	}
	if err == nil {
		return measure.Int(int64(b)), nil
	}
	bad := &Error{Rule: "number", Message: err.Error()}
	if strings.HasPrefix(bad.Message, "want ") {
		bad.Message = "want " + wanted(unit) + ", got " + quote(number)
		return measure.Value{}, bad
	}
	if i := strings.LastIndex(bad.Message, "; "); i >= 0 {
		bad.Rule, bad.Message, bad.Hint = "unit", bad.Message[:i], bad.Message[i+2:]
	} else {
		bad.Rule = "range"
	}
	return measure.Value{}, bad
}

// timeUnits are those of a limit in seconds.
var timeUnits = []struct {
	name    string
	seconds *big.Rat
}{
	{"ms", big.NewRat(1, 1000)}, {"s", big.NewRat(1, 1)}, {"min", big.NewRat(60, 1)}, {"h", big.NewRat(3600, 1)},
}

func parseSeconds(text string) (measure.Value, *Error) {
	number := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	unit := text[len(number):]
	r, ok := decimal(strings.TrimSpace(number))
	if !ok {
		return measure.Value{}, &Error{Rule: "number", Message: "want a time such as 10 s, got " + quote(text)}
	}
	for _, u := range timeUnits {
		if u.name == unit {
			return toValue(r.Mul(r, u.seconds)), nil
		}
	}
	if unit == "" {
		return measure.Value{}, &Error{Rule: "unit", Message: "number without a unit: " + quote(text), Hint: "write one of ms, s, min, h"}
	}
	return measure.Value{}, &Error{Rule: "unit", Message: "unknown unit " + quote(unit), Hint: "use one of ms, s, min, h"}
}

// checkRange refuses numbers that no row can have.
func checkRange(text string, v measure.Value, unit measure.Unit) *Error {
	switch {
	case v.Cmp(measure.Int(0)) < 0 && !isSlope(unit):
		return &Error{Rule: "range", Message: quote(text) + " is below zero"}
	case unit == measure.Ratio && v.Cmp(measure.Int(1)) > 0:
		return &Error{Rule: "range", Message: quote(text) + " is above 1, the largest ratio", Hint: "write 0.95 for 95 %"}
	}
	return nil
}

// decimal reads a plain decimal number: sign, digits, one point, _ between
// digits. Exponents, hex, octal and the words of YAML for NaN and infinity are
// refused: a limit is read by people.
func decimal(s string) (*big.Rat, bool) {
	if strayUnderscore(s) {
		return nil, false
	}
	s = strings.ReplaceAll(s, "_", "")
	digits := strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || len(digits) > 40 || strings.Count(digits, ".") > 1 || strings.Trim(digits, "0123456789.") != "" || strings.Trim(digits, ".") == "" {
		return nil, false
	}
	if len(digits) > 1 && digits[0] == '0' && digits[1] != '.' {
		return nil, false // 010 is 8 to some readers of YAML
	}
	return new(big.Rat).SetString(s)
}

// strayUnderscore tells whether a _ is anywhere but between two digits.
func strayUnderscore(s string) bool {
	digit := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	for i := range len(s) {
		if s[i] == '_' && (!digit(i-1) || !digit(i+1)) {
			return true
		}
	}
	return false
}

func toValue(r *big.Rat) measure.Value {
	if r.IsInt() && r.Num().IsInt64() {
		return measure.Int(r.Num().Int64())
	}
	f, _ := r.Float64()
	return measure.Float(f)
}
