package budget

import (
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/peakgate/peakgate/measure"
	"gopkg.in/yaml.v3"
)

type parser struct {
	file    string
	src     *source
	errors  Errors
	seen    map[fault]bool
	visited *int // nodes, for MaxNodes
	stopped bool // one of the limits is reached: read no further

	excused map[string]bool // keys that the last object had, or seems to have misspelt
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
		File: at.File, Line: at.Line, Column: at.Column, Path: path, Message: message, Hint: hint, Rule: rule,
	})
}

func (p *parser) readFile(root *yaml.Node) *document {
	v := pair{at: p.at(1, 1), value: p.follow(root)}
	if root.Kind != yaml.MappingNode {
		p.add(p.placeOf(root), "", "document", "want a mapping with the keys version and targets, got "+describe(root), "")
		return nil
	}
	d := &document{parser: p, root: root}
	// A file of another version has another language: say nothing else about it.
	for _, member := range p.pairs(root, "", 0) {
		if member.name == "version" && !p.readVersion(member) {
			return nil
		}
	}
	p.object(v, inFile, func(member pair) {
		switch member.name {
		case "version": // read above
		case "defaults":
			p.readDefaults(member, d)
		case "policy":
			if p.isMapping(member, "a mapping with the keys loosen, stale, trust and inconclusive") {
				d.policy = p.readPolicy(member)
			}
		case "includes":
			d.includes = p.readIncludes(member)
		case "targets":
			for _, t := range p.members(member, "at least one target") {
				d.targets = append(d.targets, p.readTarget(t))
			}
		case "devices":
			for _, v := range p.members(member, "at least one device") {
				d.devices = append(d.devices, p.readDevice(v))
			}
		case "waivers":
			d.waivers = p.readWaivers(member)
		default:
			panic("internal error: no reader for the key " + member.name)
		}
	})
	d.missing = !p.excused["targets"]
	return d
}

func (p *parser) readDefaults(v pair, d *document) {
	if !p.isMapping(v, "a mapping with the keys severity, select and budgets") {
		return
	}
	p.object(v, inDefaults, func(member pair) {
		switch member.name {
		case "severity":
			d.severity = p.readSeverity(member)
		case "select":
			d.labels = p.readSelector(member)
		case "budgets":
			d.budgets = p.members(member, "at least one metric")
		default:
			panic("internal error: no reader for the key " + member.name)
		}
	})
}

// readIncludes reads paths without globs: files are asked for one by one.
func (p *parser) readIncludes(v pair) []Pattern {
	var out []Pattern
	for _, inc := range p.readPatterns(v) {
		switch {
		case strings.ContainsAny(inc.Text, "*?[{"):
			p.add(inc.Pos, v.path, "pattern", "path "+quote(inc.Text)+" is a glob", "name each file")
		case path.IsAbs(inc.Text) || strings.Contains(inc.Text, ":"):
			p.add(inc.Pos, v.path, "pattern", "path "+quote(inc.Text)+" is not relative to this file", "")
		default:
			out = append(out, inc)
		}
	}
	return out
}

func (p *parser) readVersion(v pair) bool {
	if v.value.Kind == yaml.ScalarNode && v.value.Tag == "!!int" && v.value.Value == "1" {
		return true
	}
	p.add(v.place(), v.path, "version", "want the number 1, got "+describe(v.value), "this is the only version of the language that is read here")
	return false
}

func (p *parser) readTarget(v pair) *targetPair {
	t := &targetPair{Target: &Target{Name: v.name, Pos: v.at}, path: v.path}
	if !targetName(v.name) {
		p.add(v.at, "targets", "name", "target name "+quote(v.name)+" has a character that file names and flags may not have", "use letters, digits, and . _ - inside the name")
	}
	if !p.isMapping(v, "a mapping with the keys captures and budgets") {
		return t
	}
	p.object(v, inTarget, func(member pair) {
		switch member.name {
		case "captures":
			t.Captures = p.readPatterns(member)
		case "base":
			t.Base = p.readPatterns(member)
			if len(t.Base) == 1 && t.Base[0].Text == "run" {
				t.BaseRun, t.Base = t.Base[0].Pos, nil
			}
		case "run":
			t.Run = p.readCommand(member)
		case "dryrun":
			t.Dryrun = p.readDryrun(member)
		case "select":
			t.Select = p.readSelector(member)
		case "expect":
			t.Expect = p.readExpect(member)
		case "only_when":
			t.OnlyWhen = p.readConditions(member)
		case "warmup":
			t.Warmup = p.readWarmup(member)
		case "confirm":
			t.Confirm = p.readNumber(member)
		case "budgets":
			t.budgets = member // needs the selectors and the defaults, which may come after it
		default:
			panic("internal error: no reader for the key " + member.name)
		}
	})
	t.missing = !p.excused["budgets"]
	if t.Dryrun != nil {
		p.checkDryrun(t)
	} else if t.Run == nil && !p.excused["run"] {
		if t.BaseRun.Line > 0 {
			p.add(t.BaseRun, v.path, "missing", "\"base: run\" without run: there is nothing to run", "write ./run if it is a file")
		}
		if t.Confirm != nil {
			p.add(t.Confirm.Pos, v.path, "missing", "confirm without run: only what peakgate runs can be run again", "")
		}
	}
	return t
}

// lookupMetric finds a metric that may be judged.
func (p *parser) lookupMetric(name string, at Position, path string) (measure.Metric, bool) {
	metric, ok := measure.Lookup(name)
	if !ok {
		hint := "peakgate measure CAPTURE shows the metrics that a capture has"
		if near := measure.Nearest(name); near != "" {
			hint = "did you mean " + near + "?"
		}
		p.add(at, path, "metric", "unknown metric "+quote(name), hint)
		return metric, false
	}
	if metric.Kind == measure.HighWater && metric.Information {
		p.add(at, path, "metric", metric.Name+" is an upper bound for information and is never judged", "budget footprint.peak_bytes")
		return metric, false
	}
	return metric, true
}

func (p *parser) readEntry(v pair, parent string, outer Selector) *Entry {
	metric, ok := p.lookupMetric(v.name, v.at, parent)
	if !ok {
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
		case "up_to":
			e.UpTo = p.readLimit(member, floorUnit(metric.Unit), false)
		case "horizon":
			e.Horizon = p.readNumber(member)
		case "severity":
			e.Severity, e.SeverityPos = p.readSeverity(member), member.place()
		case "select":
			own := p.readSelector(member)
			if e.Select == nil {
				e.Select = Selector{}
			}
			maps.Copy(e.Select, own)
		case "why":
			e.Why = p.readWhy(member, "a why")
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
	for _, name := range []string{"up_to", "horizon"} {
		if member, ok := had[name]; ok && !isSlope(e.Metric.Unit) {
			p.add(member.at, v.path, "limit", name+" goes with metrics per step or hour, and "+e.Metric.Name+" is none", "")
		}
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
