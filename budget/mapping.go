package budget

import (
	"fmt"
	"strings"

	"github.com/peakgate/peakgate/measure"
	"gopkg.in/yaml.v3"
)

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
	return Position{v.value.Line, v.value.Column, v.at.File} // an anchor is of the same file
}

func (p *parser) placeOf(n *yaml.Node) Position { return Position{n.Line, n.Column, p.file} }

// at is a place in the parser's file.
func (p *parser) at(line, column int) Position { return Position{line, column, p.file} }

const yamlSequence = yaml.SequenceNode

// isMapping tells whether a value is a mapping, and reports it where it is not.
func (p *parser) isMapping(v pair, want string) bool {
	if v.value.Kind == yaml.MappingNode {
		return true
	}
	p.add(v.place(), v.path, "type", "want "+want+", got "+describe(v.value), "")
	return false
}

// follow counts a visit and gives the node that an alias stands for.
func (p *parser) follow(n *yaml.Node) *yaml.Node {
	if *p.visited++; *p.visited > MaxNodes {
		p.add(p.placeOf(n), "", "alias", fmt.Sprintf("more than %d values, those behind aliases counted each time", MaxNodes), "use fewer aliases, or split the file")
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
		at := p.placeOf(n.Content[i])
		k, v := p.follow(n.Content[i]), p.follow(n.Content[i+1])
		if k.Kind != yaml.ScalarNode || k.Tag != "!!str" && k.Tag != "!!merge" {
			p.add(at, path, "key", "a key must be text, got "+describe(k), "put it in quotes")
			continue
		}
		if where, ok := first[k.Value]; ok {
			p.add(at, path, "duplicate", fmt.Sprintf("duplicate key %s; the first is at %s", quote(k.Value), where), "")
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
			p.add(p.placeOf(m), path, "nesting", fmt.Sprintf("merged deeper than %d levels", maxDepth), "")
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

// object reads a mapping whose keys are in the table. Each of them goes to read;
// unknown ones, and required ones that are not there, are reported here. A required
// key is not missed where another key was probably meant to be it.
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
		default:
			if in == inTarget && (k.name == "run" || k.name == "dryrun") {
				excused["captures"] = true // these make the captures
			}
			excused[k.name] = true
			read(member)
		}
	}
	for _, k := range legal {
		if k.required && !excused[k.name] {
			p.add(v.at, v.path, "missing", fmt.Sprintf("no key %q", k.name), "want "+string(k.value))
		}
	}
	p.excused = excused
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
