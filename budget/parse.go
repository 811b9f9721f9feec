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

// pair is one key of a mapping with its value. Aliases are followed already.
type pair struct {
	name  string
	path  string   // of the value
	at    Position // of the key
	value *yaml.Node
}

// place is where to point for the value: at the key where nothing is written.
func (v pair) place() Position {
	if v.value.Value == "" && v.value.Tag == "!!null" {
		return v.at
	}
	return placeOf(v.value)
}

func placeOf(n *yaml.Node) Position { return Position{n.Line, n.Column} }

// follow counts a visit and gives the node that an alias stands for.
func (p *parser) follow(n *yaml.Node) *yaml.Node {
	if p.visited++; p.visited > MaxNodes {
		p.add(placeOf(n), "", "alias", fmt.Sprintf("more than %d values, those behind aliases counted each time", MaxNodes), "use fewer aliases, or split the file")
		p.stopped = true
	}
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// pairs gives the keys of a mapping, then those that it merges in and does not
// have itself. Keys that are not text or are given twice are reported.
func (p *parser) pairs(n *yaml.Node, path string, depth int) []pair {
	var out []pair
	var merges []*yaml.Node
	first := map[string]Position{}
	for i := 0; i+1 < len(n.Content) && !p.stopped; i += 2 {
		at := placeOf(n.Content[i])
		k, v := p.follow(n.Content[i]), p.follow(n.Content[i+1])
		if k.Kind != yaml.ScalarNode || k.Tag != "!!str" && k.Tag != "!!merge" {
			p.add(at, path, "key", "a key must be text, got "+describe(k), "put it in quotes")
			continue
		}
		if where, ok := first[k.Value]; ok {
			p.add(at, path, "duplicate", fmt.Sprintf("duplicate key %s; the first is at %d:%d", quote(k.Value), where.Line, where.Column), "")
			continue
		}
		first[k.Value] = at
		if k.Tag == "!!merge" {
			merges = p.mergeSources(v, at, path)
			continue
		}
		out = append(out, pair{k.Value, join(path, element(k.Value)), at, v})
	}
	for _, m := range merges {
		if depth == maxDepth {
			p.add(placeOf(m), path, "nesting", fmt.Sprintf("merged deeper than %d levels", maxDepth), "")
			break
		}
		for _, v := range p.pairs(m, path, depth+1) {
			if _, ok := first[v.name]; !ok {
				first[v.name] = v.at
				out = append(out, v)
			}
		}
	}
	return out
}

// mergeSources gives the mappings that a merge key names, the strongest first.
func (p *parser) mergeSources(n *yaml.Node, at Position, path string) []*yaml.Node {
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = nil
		for _, item := range n.Content {
			list = append(list, p.follow(item))
		}
	}
	for _, m := range list {
		if m.Kind != yaml.MappingNode {
			p.add(at, path, "alias", "the merge key << wants a mapping or a list of mappings, got "+describe(m), "")
			return nil
		}
	}
	return list
}

// members is pairs for a value that must be a mapping with at least one key.
func (p *parser) members(v pair, want string) []pair {
	switch {
	case isNull(v.value):
		p.add(v.place(), v.path, "missing", "nothing here; want "+want, "")
	case v.value.Kind != yaml.MappingNode:
		p.add(v.place(), v.path, "type", "want "+want+", got "+describe(v.value), "")
	case len(v.value.Content) == 0:
		p.add(v.place(), v.path, "missing", "nothing here; want "+want, "")
	default:
		return p.pairs(v.value, v.path, 0)
	}
	return nil
}

// object reads a mapping whose keys are in the table. Each supported key goes to
// read; unknown ones, those not supported yet, and required ones that are not
// there are reported here. A required key is not missed where another key was
// probably meant to be it.
//
// It tells whether the mapping holds only what is understood.
func (p *parser) object(v pair, in context, read func(pair)) bool {
	legal, understood := legalKeys[in], true
	excused := map[string]bool{}
	for _, member := range p.pairs(v.value, v.path, 0) {
		k := find(legal, member.name)
		switch {
		case k == nil:
			near, hint := suggest(member.name, "legal here:", legalNames[in])
			p.add(member.at, v.path, "key", "unknown key "+quote(member.name), hint)
			excused[near], understood = true, false
		case !k.supported:
			p.add(member.at, v.path, "unsupported", "key "+quote(member.name)+" is not supported yet", "remove it: this version would not obey it")
			understood = false
			if in == inTarget && (k.name == "run" || k.name == "dryrun") {
				excused["captures"] = true // these make the captures
			}
		default:
			excused[k.name] = true
			read(member)
		}
	}
	for _, k := range legal {
		if k.required && !excused[k.name] {
			p.add(v.at, v.path, "missing", fmt.Sprintf("no key %q", k.name), "want "+string(k.value))
		}
	}
	return understood
}

// suggest gives the name that was probably meant, which may be none, and a hint
// that ends with the names that are legal.
func suggest(word, intro string, legal []string) (near, hint string) {
	hint = intro + " " + strings.Join(legal, ", ")
	if near = measure.Closest(word, legal); near != "" {
		hint = "did you mean " + near + "? " + hint
	}
	return near, hint
}

func find(keys []key, name string) *key {
	for i := range keys {
		if keys[i].name == name {
			return &keys[i]
		}
	}
	return nil
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
