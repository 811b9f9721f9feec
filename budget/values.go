package budget

import (
	"errors"
	"fmt"
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

// plainASCII tells whether a text has nothing in it but what a number is written
// with: its Text is shown in one line.
func plainASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// readLimit reads a max, or a min where lower is set, in the unit of the metric.
func (p *parser) readLimit(v pair, unit measure.Unit, lower bool) *Limit {
	text, ok := p.scalar(v, wanted(unit))
	if !ok {
		return nil
	}
	value, bad := parseValue(text, unit, lower)
	if !plainASCII(text) {
		bad = &Error{Rule: "number", Message: "want " + wanted(unit) + ", got " + quote(text)}
	}
	if bad == nil {
		bad = checkRange(text, value, unit)
	}
	if bad != nil {
		p.add(v.place(), v.path, bad.Rule, bad.Message, bad.Hint)
		return nil
	}
	return &Limit{value, text, v.place()}
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
	case !isNumber, !plainASCII(text):
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

// readWhy reads text for people; what names it in messages.
func (p *parser) readWhy(v pair, what string) string {
	if v.value.Kind != yaml.ScalarNode {
		p.add(v.place(), v.path, "type", "want text, got "+describe(v.value), "")
		return ""
	}
	text := strings.TrimSpace(v.value.Value)
	if text == "" || isNull(v.value) {
		hint := "leave no doubt: a waiver is read by people"
		if what == "a why" {
			hint = "give the reason, or leave the key out"
		}
		p.add(v.place(), v.path, "missing", what+" that says nothing", hint)
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

// items gives the elements of a list that must have one; a value that is no list
// stands for itself.
func (p *parser) items(v pair, want string) []pair {
	switch {
	case v.value.Kind == yaml.SequenceNode && len(v.value.Content) == 0, isNull(v.value):
		p.add(v.place(), v.path, "missing", "nothing here; want "+want, "")
		return nil
	case v.value.Kind != yaml.SequenceNode:
		return []pair{v}
	}
	var out []pair
	for i, item := range v.value.Content {
		if p.stopped {
			return nil
		}
		out = append(out, pair{path: v.path + "[" + strconv.Itoa(i) + "]", at: p.placeOf(item), value: p.follow(item)})
	}
	return out
}

// text gives a value that is text, on one line, and not empty.
func (p *parser) text(v pair, want string) (string, bool) {
	text, ok := p.scalar(v, want)
	switch {
	case !ok:
		return "", false
	case v.value.Tag != "!!str":
		p.add(v.place(), v.path, "type", "want "+want+", got "+describe(v.value), "put it in quotes")
		return "", false
	case text == "":
		p.add(v.place(), v.path, "missing", "nothing here; want "+want, "")
		return "", false
	}
	return text, true
}

func (p *parser) readPatterns(v pair) []Pattern {
	var out []Pattern
	first := map[string]Position{}
	for _, item := range p.items(v, string(typePatterns)) {
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
			p.add(item.at, item.path, "duplicate", fmt.Sprintf("duplicate path %s; the first is at %s", quote(text), where), "")
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
