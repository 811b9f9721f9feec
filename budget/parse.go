package budget

import (
	"fmt"
	"maps"
	"strings"

	"github.com/peakgate/peakgate/measure"
	"gopkg.in/yaml.v3"
)

// Parse reads a budget file; the name is for messages and annotations only. The
// error is of the type Errors and holds every fault of the file, in the order of
// their places; the File is then nil.
func Parse(data []byte, file string) (*File, error) {
	p := &parser{file: file, src: newSource(data), seen: map[fault]bool{}}
	var f *File
	if root := p.tree(data); root != nil {
		f = p.readFile(root)
	}
	if len(p.errors) > 0 {
		p.errors.sort()
		return nil, p.errors
	}
	return f, nil
}

type parser struct {
	file    string
	src     *source
	errors  Errors
	seen    map[fault]bool
	visited int  // nodes, for MaxNodes
	stopped bool // one of the limits is reached: read no further
}

// fault tells errors apart. What stands in an anchored value is found again
// through each alias, and reported once.
type fault struct {
	at            Position
	rule, message string
}

func (p *parser) add(at Position, path, rule, message, hint string) {
	if p.stopped || p.seen[fault{at, rule, message}] {
		return
	}
	p.seen[fault{at, rule, message}] = true
	at = p.src.clamp(at)
	if len(p.errors) == maxFound {
		p.stopped = true
		rule, path, hint = "many", "", "mend these first"
		message = fmt.Sprintf("more than %d errors; the rest of the file was not read", maxFound)
	}
	p.errors = append(p.errors, &Error{
		File: p.file, Line: at.Line, Column: at.Column, Path: path, Message: message, Hint: hint, Rule: rule,
	})
}

func (p *parser) readFile(root *yaml.Node) *File {
	v := pair{at: Position{1, 1}, value: p.follow(root)}
	if root.Kind != yaml.MappingNode {
		p.add(placeOf(root), "", "document", "want a mapping with the keys version and targets, got "+describe(root), "")
		return nil
	}
	f := &File{Path: p.file}
	// A file of another version has another language: say nothing else about it.
	for _, member := range p.pairs(root, "", 0) {
		if member.name == "version" && !p.readVersion(member) {
			return nil
		}
	}
	p.object(v, inFile, func(member pair) {
		switch member.name {
		case "version":
			f.Version = 1
		case "targets":
			for _, t := range p.members(member, "at least one target") {
				f.Targets = append(f.Targets, p.readTarget(t))
			}
		default:
			panic("internal error: no reader for the key " + member.name)
		}
	})
	return f
}

func (p *parser) readVersion(v pair) bool {
	if v.value.Kind == yaml.ScalarNode && v.value.Tag == "!!int" && v.value.Value == "1" {
		return true
	}
	p.add(v.place(), v.path, "version", "want the number 1, got "+describe(v.value), "this is the only version of the language that is read here")
	return false
}

func (p *parser) readTarget(v pair) *Target {
	t := &Target{Name: v.name, Pos: v.at}
	if !targetName(v.name) {
		p.add(v.at, "targets", "name", "target name "+quote(v.name)+" has a character that file names and flags may not have", "use letters, digits, and . _ - inside the name")
	}
	if v.value.Kind != yaml.MappingNode {
		p.add(v.place(), v.path, "type", "want a mapping with the keys captures and budgets, got "+describe(v.value), "")
		return t
	}
	var budgets pair
	p.object(v, inTarget, func(member pair) {
		switch member.name {
		case "captures":
			t.Captures = p.readPatterns(member)
		case "base":
			t.Base = p.readPatterns(member)
			if len(t.Base) == 1 && t.Base[0].Text == "run" {
				p.add(t.Base[0].Pos, member.path, "unsupported", "\"base: run\" is not supported yet", "write ./run if it is a file")
			}
		case "select":
			t.Select = p.readSelector(member)
		case "budgets":
			budgets = member // needs the selector, which may come after it
		default:
			panic("internal error: no reader for the key " + member.name)
		}
	})
	if budgets.value != nil {
		for _, e := range p.members(budgets, "at least one metric") {
			if entry := p.readEntry(e, budgets.path, t.Select); entry != nil {
				t.Budgets = append(t.Budgets, entry)
			}
		}
	}
	return t
}

func (p *parser) readEntry(v pair, parent string, outer Selector) *Entry {
	metric, ok := measure.Lookup(v.name)
	if !ok {
		hint := "peakgate measure CAPTURE shows the metrics that a capture has"
		if near := measure.Nearest(v.name); near != "" {
			hint = "did you mean " + near + "?"
		}
		p.add(v.at, parent, "metric", "unknown metric "+quote(v.name), hint)
		return nil
	}
	if metric.Kind == measure.HighWater && metric.Information {
		p.add(v.at, parent, "metric", metric.Name+" is an upper bound for information and is never judged", "budget footprint.peak_bytes")
		return nil
	}
	e := &Entry{Metric: metric, Pos: v.at, Severity: SeverityFail, Select: maps.Clone(outer)}
	switch {
	case isNull(v.value):
		p.add(v.place(), v.path, "limit", "no limit", "give max, min or growth")
		return nil
	case v.value.Kind == yaml.ScalarNode:
		if metric.HigherIsBetter {
			p.add(v.place(), v.path, "limit", "the short form means max, and of "+metric.Name+" more is better", "write { min: … }")
			return nil
		}
		e.Max = p.readLimit(v, metric.Unit, false)
		return e
	case v.value.Kind != yaml.MappingNode:
		p.add(v.place(), v.path, "type", "want a limit or a mapping, got "+describe(v.value), "")
		return nil
	}
	had := map[string]pair{}
	understood := p.object(v, inEntry, func(member pair) {
		had[member.name] = member
		switch member.name {
		case "max":
			e.Max = p.readLimit(member, metric.Unit, false)
		case "min":
			e.Min = p.readLimit(member, metric.Unit, true)
		case "growth":
			e.Growth = p.readGrowth(member, metric)
		case "floor":
			e.Floor = p.readLimit(member, floorUnit(metric.Unit), false)
		case "severity":
			e.Severity = p.readSeverity(member)
		case "select":
			own := p.readSelector(member)
			if e.Select == nil {
				e.Select = Selector{}
			}
			maps.Copy(e.Select, own)
		case "why":
			e.Why = p.readWhy(member)
		default:
			panic("internal error: no reader for the key " + member.name)
		}
	})
	if understood { // else what seems to be left out may only be misspelt
		p.checkEntry(v, e, had)
	}
	return e
}

// checkEntry looks at what the keys of an entry say together.
func (p *parser) checkEntry(v pair, e *Entry, had map[string]pair) {
	_, hasMax := had["max"]
	_, hasMin := had["min"]
	_, hasGrowth := had["growth"]
	if !hasMax && !hasMin && !hasGrowth {
		p.add(v.at, v.path, "limit", "no limit", "give max, min or growth")
	} else if floor, ok := had["floor"]; ok && !hasGrowth && !isSlope(e.Metric.Unit) {
		p.add(floor.at, v.path, "limit", "floor without growth", "a floor softens a growth limit; max and min have none")
	}
	if e.Max != nil && e.Min != nil && e.Min.Value.Cmp(e.Max.Value) > 0 {
		p.add(e.Min.Pos, had["min"].path, "range", "min "+quote(e.Min.Text)+" is above max "+quote(e.Max.Text), "")
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// describe names a node for the "got" of a message.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "nothing"
	}
	if n.Tag == "!!str" {
		return "the text " + quote(n.Value)
	}
	return strings.Trim(quote(n.Value), "\"")
}
