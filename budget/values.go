package budget

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/peakgate/peakgate/measure"
	"gopkg.in/yaml.v3"
)

// scalar gives the text of a value that is written on one line.
func (p *parser) scalar(v pair, want string) (string, bool) {
	switch {
	case isNull(v.value):
		p.add(v.place(), v.path, "missing", "nothing here; want "+want, "")
	case v.value.Kind != yaml.ScalarNode:
		p.add(v.place(), v.path, "type", "want "+want+", got "+describe(v.value), "")
	case v.value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		p.add(v.place(), v.path, "type", "want "+want+" on one line, got a block of text", "write it after the colon")
	default:
		return strings.TrimSpace(v.value.Value), true
	}
	return "", false
}

// readLimit reads a max, or a min where lower is set, in the unit of the metric.
func (p *parser) readLimit(v pair, unit measure.Unit, lower bool) *Limit {
	text, ok := p.scalar(v, wanted(unit))
	if !ok {
		return nil
	}
	value, bad := parseValue(text, unit, lower)
	if bad == nil {
		bad = checkRange(text, value, unit)
	}
	if bad != nil {
		p.add(v.place(), v.path, bad.Rule, bad.Message, bad.Hint)
		return nil
	}
	return &Limit{value, text, v.place()}
}

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
	if len(number) > 64 {
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

func toValue(r *big.Rat) measure.Value {
	if r.IsInt() && r.Num().IsInt64() {
		return measure.Int(r.Num().Int64())
	}
	f, _ := r.Float64()
	return measure.Float(f)
}

func (p *parser) readGrowth(v pair, metric measure.Metric) *Growth {
	if isSlope(metric.Unit) {
		p.add(v.at, v.path, "limit", metric.Name+" is a growth itself", "limit it with max")
		return nil
	}
	text, ok := p.scalar(v, string(typePercent))
	if !ok {
		return nil
	}
	number, percent := strings.CutSuffix(text, "%")
	r, isNumber := decimal(strings.TrimSpace(number))
	switch {
	case !isNumber:
		p.add(v.place(), v.path, "percent", "want "+string(typePercent)+", got "+quote(text), "")
	case !percent:
		p.add(v.place(), v.path, "percent", "growth without a percent sign: "+quote(text), "want "+string(typePercent))
	case r.Sign() < 0:
		p.add(v.place(), v.path, "range", "growth "+quote(text)+" is below zero", "0% means not one byte more; force a fall with max")
	case metric.HigherIsBetter && r.Cmp(big.NewRat(100, 1)) >= 0:
		p.add(v.place(), v.path, "range", "growth "+quote(text)+" can never be broken: of "+metric.Name+" it limits the fall", "want less than 100%")
	default:
		return &Growth{Percent: r, Fall: metric.HigherIsBetter, Text: text, Pos: v.place()}
	}
	return nil
}

func (p *parser) readSeverity(v pair) Severity {
	text, ok := p.scalar(v, string(typeSeverity))
	if ok && text != string(SeverityFail) && text != string(SeverityWarn) {
		p.add(v.place(), v.path, "choice", "want "+string(typeSeverity)+", got "+quote(text), "")
	}
	return Severity(text)
}

func (p *parser) readWhy(v pair) string {
	if v.value.Kind != yaml.ScalarNode {
		p.add(v.place(), v.path, "type", "want text, got "+describe(v.value), "")
		return ""
	}
	text := strings.TrimSpace(v.value.Value)
	if text == "" || isNull(v.value) {
		p.add(v.place(), v.path, "missing", "a why that says nothing", "give the reason, or leave the key out")
	}
	return text
}

func (p *parser) readSelector(v pair) Selector {
	s := Selector{}
	for _, member := range p.members(v, string(typeSelector)) {
		if !slices.Contains(labelNames, member.name) {
			_, hint := suggest(member.name, "labels are", labelNames)
			p.add(member.at, v.path, "label", "unknown label "+quote(member.name), hint)
			continue
		}
		text, ok := p.scalar(member, "a pattern")
		if ok && text == "" {
			p.add(member.place(), member.path, "missing", "an empty pattern", "* stands for any text")
		}
		s[member.name] = text
	}
	return s
}

func (p *parser) readPatterns(v pair) []Pattern {
	items := []pair{v}
	switch {
	case v.value.Kind == yaml.SequenceNode && len(v.value.Content) == 0, isNull(v.value):
		p.add(v.place(), v.path, "missing", "nothing here; want "+string(typePatterns), "")
		return nil
	case v.value.Kind == yaml.SequenceNode:
		items = nil
		for i, item := range v.value.Content {
			if p.stopped {
				return nil
			}
			items = append(items, pair{path: v.path + "[" + strconv.Itoa(i) + "]", at: placeOf(item), value: p.follow(item)})
		}
	}
	var out []Pattern
	first := map[string]Position{}
	for _, item := range items {
		if p.stopped {
			return nil
		}
		text, ok := p.scalar(item, "a path")
		if !ok {
			continue
		}
		if item.value.Tag != "!!str" {
			p.add(item.place(), item.path, "type", "want a path, got "+describe(item.value), "put it in quotes")
			continue
		}
		if err := checkPattern(text); err != nil {
			p.add(item.place(), item.path, "pattern", "path "+quote(text)+" "+err.Error(), "")
			continue
		}
		if where, ok := first[text]; ok {
			p.add(item.at, item.path, "duplicate", fmt.Sprintf("duplicate path %s; the first is at %d:%d", quote(text), where.Line, where.Column), "")
			continue
		}
		first[text] = item.place()
		out = append(out, Pattern{text, item.place()})
	}
	return out
}

// checkPattern looks at the form only; whether it names a file is seen later.
func checkPattern(s string) error {
	if s == "" {
		return errors.New("is empty")
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return errors.New("holds a control character")
	}
	if strings.Contains(s, `\`) {
		return errors.New(`holds a backslash; separate folders with /`)
	}
	if strings.Count(s, "[") != strings.Count(s, "]") || strings.Count(s, "{") != strings.Count(s, "}") {
		return errors.New("is malformed: unbalanced [ or {")
	}
	for _, e := range strings.Split(s, "/") {
		if strings.Contains(e, "**") && e != "**" {
			return errors.New("has ** beside other characters; it stands alone between slashes, as in **/*.pb")
		}
	}
	return nil
}

// targetName tells whether a name can be a file name and stand before the = of a
// flag: letters, digits, and . _ - but not at its start.
func targetName(s string) bool {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && (r != '_') && (i == 0 || !strings.ContainsRune(".-", r)) {
			return false
		}
	}
	return s != "" && len(s) <= 100
}
