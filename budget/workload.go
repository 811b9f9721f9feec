package budget

import (
	"math"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/measure"
	"gopkg.in/yaml.v3"
)

// Command is a program with its arguments. No shell reads it.
type Command struct {
	Args []string
	Pos  Position
}

// Warmup is the beginning of a series that does not count. One of the three is set.
type Warmup struct {
	Pos      Position
	Steps    *Number
	Time     *Limit // in seconds
	Fraction *Limit // of the points: 0 to 0.9
}

// maxFraction is the largest part of a series that can be its warm-up.
const maxFraction = 0.9

func (p *parser) readCommand(v pair) *Command {
	if v.value.Kind == yaml.ScalarNode && !isNull(v.value) {
		p.add(v.place(), v.path, "type", "want "+string(typeCommand)+", got "+describe(v.value), "no shell reads it: write [python, train.py]")
		return nil
	}
	c := &Command{Pos: v.place()}
	for i, item := range p.items(v, string(typeCommand)) {
		// 30 and true are arguments as good as any: what counts is how they are written.
		if item.value.Kind != yaml.ScalarNode || item.value.Value == "" && isNull(item.value) {
			p.add(item.place(), item.path, "type", "want an argument, got "+describe(item.value), "put it in quotes")
			continue
		}
		switch text := item.value.Value; {
		case strings.ContainsRune(text, 0):
			p.add(item.place(), item.path, "type", "an argument cannot hold the character U+0000", "")
		case i == 0 && strings.TrimSpace(text) == "":
			p.add(item.place(), item.path, "missing", "the name of the program is empty", "")
		default:
			c.Args = append(c.Args, text)
		}
	}
	return c
}

func (p *parser) readWarmup(v pair) *Warmup {
	w := &Warmup{Pos: v.at}
	if !p.isMapping(v, "a mapping with one of the keys steps, time and fraction") {
		return w
	}
	had := map[string]pair{}
	understood := p.object(v, inWarmup, func(member pair) {
		had[member.name] = member
		switch member.name {
		case "steps":
			w.Steps = p.readNumber(member)
		case "time":
			w.Time = p.readLimit(member, measure.Seconds, false)
		case "fraction":
			w.Fraction = p.readLimit(member, measure.Ratio, false)
			if w.Fraction != nil && w.Fraction.Value.Float64() > maxFraction {
				p.add(member.place(), member.path, "range", quote(w.Fraction.Text)+" leaves nothing to judge", "want at most 0.9")
			}
		default:
			panic("internal error: no reader for the key " + member.name)
		}
	})
	var given []string
	for _, k := range legalNames[inWarmup] {
		if _, ok := had[k]; ok {
			given = append(given, k)
		}
	}
	switch {
	case len(given) > 1:
		p.add(had[given[1]].at, v.path, "limit", given[0]+" and "+given[1]+" together", "a warm-up ends once: give one of them")
	case understood && len(given) == 0:
		p.add(v.at, v.path, "missing", "nothing here; want steps, time or fraction", "")
	}
	return w
}

// members of expect, with the label whose values are counted.
var expectLabels = map[string]string{"ranks": "rank", "hosts": "host", "devices": "device"}

func (p *parser) readExpect(v pair) []Expect {
	var out []Expect
	for range p.members(v, "ranks, hosts or devices, each with its number") {
		break // members reports what is no mapping or empty
	}
	if v.value.Kind != yaml.MappingNode {
		return nil
	}
	p.object(v, inExpect, func(member pair) {
		if n := p.readNumber(member); n != nil {
			out = append(out, Expect{expectLabels[member.name], n.Value, n.Pos})
		}
	})
	return out
}

func (p *parser) readConditions(v pair) []Condition {
	var out []Condition
	for _, member := range p.members(v, string(typeConditions)) {
		text, ok := p.scalar(member, "a pattern")
		if ok && text == "" {
			p.add(member.place(), member.path, "missing", "an empty pattern", "* stands for any text")
		}
		out = append(out, Condition{member.name, text, member.place()})
	}
	return out
}

// numberRange gives the least and the largest of the whole numbers by their keys.
var numberRange = map[string][2]int64{
	"ranks": {1, 1_000_000}, "hosts": {1, 1_000_000}, "devices": {1, 1_000_000},
	"steps": {0, math.MaxInt64}, "horizon": {1, math.MaxInt64},
	"confirm": {1, 20}, // each costs a run of the workload
}

// readNumber reads a whole number in the range of its key.
func (p *parser) readNumber(v pair) *Number {
	least, most := numberRange[v.name][0], numberRange[v.name][1]
	text, ok := p.scalar(v, string(typeNumber))
	if !ok {
		return nil
	}
	r, ok := decimal(text)
	switch {
	case !ok || !r.IsInt():
		p.add(v.place(), v.path, "number", "want "+string(typeNumber)+", got "+quote(text), "")
	case !r.Num().IsInt64() || r.Num().Int64() < least || r.Num().Int64() > most:
		message := quote(text) + " is below " + strconv.FormatInt(least, 10)
		if r.Sign() > 0 && !(r.Num().IsInt64() && r.Num().Int64() < least) {
			message = quote(text) + " is more than " + strconv.FormatInt(most, 10)
		}
		p.add(v.place(), v.path, "range", message, "")
	default:
		return &Number{r.Num().Int64(), v.place()}
	}
	return nil
}
