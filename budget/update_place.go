package budget

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// located is the limit of one entry in the tree of the file.
type located struct {
	entry   *yaml.Node // the mapping of limits; nil for the short form
	key     *yaml.Node // the word max or min; nil for the short form
	value   *yaml.Node
	refused string // why it cannot be changed here; the rest is then empty
}

// locate walks to the limit by the keys that stand in the file itself.
func (u *updater) locate(t *targetPair, e Edit) located {
	n := u.root
	path := []string{"targets", t.Name, "budgets", e.Metric}
	for _, name := range path {
		_, v := member(n, name)
		if v == nil {
			return located{refused: element(name) + " is merged in (<<), and a change would change other places too"}
		}
		if v.Kind == yaml.AliasNode {
			return located{refused: "it is the alias *" + element(v.Value) + ", and a change would change other places too"}
		}
		n = v
	}
	out := located{value: n}
	if n.Kind == yaml.MappingNode {
		out.entry = n
		if out.key, out.value = member(n, e.Limit); out.value == nil {
			return located{refused: e.Limit + " is merged in (<<), and a change would change other places too"}
		}
	}
	switch {
	case out.value.Kind == yaml.AliasNode:
		return located{refused: "it is the alias *" + element(out.value.Value) + ", and a change would change other places too"}
	case u.shared[out.value]:
		return located{refused: "it is part of an anchor (&) that is used elsewhere, and a change would change other places too"}
	case out.value.Anchor != "":
		return located{refused: "it has an anchor (&)"}
	}
	return out
}

// member finds a key that stands in the mapping itself, with its value.
func member(n *yaml.Node, name string) (key, value *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if k := n.Content[i]; k.Kind == yaml.ScalarNode && k.Value == name && k.Tag == "!!str" {
				return k, n.Content[i+1]
			}
		}
	}
	return nil, nil
}

// findShared marks what is inside an anchor that is used, with the anchor itself.
func (u *updater) findShared() {
	used := map[*yaml.Node]bool{}
	var aliases func(n *yaml.Node)
	aliases = func(n *yaml.Node) {
		if n.Kind == yaml.AliasNode {
			used[n.Alias] = true
		}
		for _, c := range n.Content { // an alias has none
			aliases(c)
		}
	}
	aliases(u.root)
	var mark func(n *yaml.Node, shared bool)
	mark = func(n *yaml.Node, shared bool) {
		if shared = shared || used[n]; shared {
			u.shared[n] = true
		}
		for _, c := range n.Content {
			mark(c, shared)
		}
	}
	mark(u.root, false)
}

// lineStarts gives the offset of each line, as YAML and editors break lines. A byte
// order mark belongs to no line.
func lineStarts(data []byte) []int {
	out := []int{0}
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		out[0] = len(byteOrderMark)
	}
	for i, c := range data {
		if c == '\n' || c == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			out = append(out, i+1)
		}
	}
	return out
}

// offset is where a node begins, in bytes: its column counts runes.
func (u *updater) offset(n *yaml.Node) (int, bool) {
	if n.Line < 1 || n.Line > len(u.lines) {
		return 0, false
	}
	at := u.lines[n.Line-1]
	for range n.Column - 1 {
		if at >= len(u.data) {
			return 0, false
		}
		_, size := utf8.DecodeRune(u.data[at:])
		at += size
	}
	return at, true
}

// scalarSpan gives the bytes of a scalar, quotes included, where the file holds at
// its place exactly its text: on one line, without escapes.
func (u *updater) scalarSpan(n *yaml.Node) (from, to int, ok bool) {
	if n.Kind != yaml.ScalarNode || n.Value == "" {
		return 0, 0, false
	}
	text := n.Value
	switch n.Style {
	case yaml.DoubleQuotedStyle:
		text = `"` + text + `"`
	case yaml.SingleQuotedStyle:
		text = "'" + text + "'"
	case 0:
	default:
		return 0, 0, false
	}
	from, ok = u.offset(n)
	if !ok || !bytes.HasPrefix(u.data[from:], []byte(text)) || strings.ContainsAny(n.Value, `\'"`) && n.Style != 0 {
		return 0, 0, false
	}
	return from, from + len(text), true
}

// quotedLike puts a text in the quotes that another has.
func quotedLike(old []byte, text string) string {
	if len(old) > 0 && (old[0] == '"' || old[0] == '\'') {
		return string(old[0]) + text + string(old[0])
	}
	return text
}

// addWhy extends the replacement of a limit by the reason. It gives the spans, what
// to do to the tree, and a reason where there is no safe way.
func (u *updater) addWhy(n located, limit span, text, why string) (spans []span, changes []func(), refused string) {
	why = strings.ToValidUTF8(why, "?")
	quoted := strconv.QuoteToGraphic(why) // its escapes are YAML's too
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "why"}
	value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: why, Style: yaml.DoubleQuotedStyle}
	if n.entry == nil { // the short form becomes a mapping
		limit.text = "{ max: " + limit.text + ", why: " + quoted + " }"
		return []span{limit}, []func(){func() {
			number := *n.value
			*n.value = yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: []*yaml.Node{
				{Kind: yaml.ScalarNode, Tag: "!!str", Value: "max"}, &number, key, value}}
		}}, ""
	}
	if _, have := member(n.entry, "why"); have != nil {
		from, to, ok := u.scalarSpan(have)
		if !ok || u.shared[have] || have.Anchor != "" {
			return nil, nil, "the reason is to become its why, and that is no plain text on one line"
		}
		return []span{limit, {from, to, quoted}}, []func(){func() {
			have.Value, have.Tag, have.Style = why, "!!str", yaml.DoubleQuotedStyle
		}}, ""
	}
	insert := func() {
		i := slices.Index(n.entry.Content, n.key) + 2
		n.entry.Content = slices.Insert(n.entry.Content, i, key, value)
	}
	if n.entry.Style&yaml.FlowStyle != 0 {
		limit.text += ", why: " + quoted
		return []span{limit}, []func(){insert}, ""
	}
	// In a block it gets a line of its own, below that of the limit.
	start, ok := u.offset(n.key)
	indent := u.data[u.lines[n.key.Line-1]:max(start, u.lines[n.key.Line-1])]
	if !ok || strings.Trim(string(indent), " ") != "" {
		return nil, nil, "the reason is to become its why, and there is no plain line to put it after"
	}
	end := limit.to
	for end < len(u.data) && u.data[end] != '\n' && u.data[end] != '\r' {
		end++
	}
	return []span{limit, {end, end, u.lineBreak() + string(indent) + "why: " + quoted}}, []func(){insert}, ""
}

// lineBreak is the one that the file's first line ends with.
func (u *updater) lineBreak() string {
	i := bytes.IndexAny(u.data, "\r\n")
	switch {
	case i < 0 || u.data[i] == '\n':
		return "\n"
	case i+1 < len(u.data) && u.data[i+1] == '\n':
		return "\r\n"
	}
	return "\r"
}

// apply makes the replacements, and proves that the new text is the file with the
// wanted values and nothing else changed.
func (u *updater) apply() ([]byte, error) {
	slices.SortFunc(u.spans, func(a, b span) int { return a.from - b.from })
	var out []byte
	at := 0
	for _, s := range u.spans {
		if s.from < at {
			return nil, fmt.Errorf("%s: two changes touch each other; nothing was changed", printable(u.parser.file))
		}
		out = append(append(out, u.data[at:s.from]...), s.text...)
		at = s.to
	}
	out = append(out, u.data[at:]...)
	l := &loader{}
	d := l.parse(out, u.parser.file)
	if d != nil {
		l.readAlone()
	}
	if errs := l.errors(); len(errs) > 0 {
		return nil, fmt.Errorf("the changed text has a fault, so nothing was changed: %w", errs)
	}
	if !sameTree(u.root, d.root) {
		return nil, fmt.Errorf("%s: the changed text means something else too; nothing was changed", printable(u.parser.file))
	}
	return out, nil
}

// sameTree compares what two trees say: comments, quotes and places do not count.
func sameTree(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Tag != b.Tag || a.Value != b.Value || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !sameTree(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}
