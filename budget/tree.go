package budget

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// Limits of a file. Budgets of hundreds of targets are a tenth of them.
const (
	MaxSize  = 1 << 20 // bytes
	MaxNodes = 100_000 // YAML nodes visited, those behind aliases counted each time
	maxDepth = 64      // mappings and lists inside each other, or merged into each other
	maxFound = 1000    // errors that are kept

	maxSearch = 128 << 10 // bytes of a file in which a syntax error is searched for: it is read some 20 times
)

// tree turns the bytes into the root node. It is the only place that calls the
// YAML library, and all faults that are YAML's own are reported here.
func (p *parser) tree(data []byte) *yaml.Node {
	if len(data) > MaxSize {
		p.add(p.at(1, 1), "", "size", fmt.Sprintf("file of %d bytes; a budget file has at most %d", len(data), MaxSize), "split it")
		return nil
	}
	if !p.checkText(data) {
		return nil
	}
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	root, second, err := decode(data)
	switch {
	case errors.Is(err, io.EOF):
		p.add(p.at(1, 1), "", "document", "the file holds nothing", "begin with \"version: 1\"")
		return nil
	case err != nil:
		p.syntaxError(data, err)
		return nil
	case second != nil:
		p.add(p.placeOf(second), "", "document", "a second YAML document begins here", "a budget is one document: remove the ---")
		return nil
	}
	if !p.checkNode(root.Content[0], 0, map[*yaml.Node]bool{}) {
		return nil
	}
	return root.Content[0]
}

// decode reads the first document, and the second if there is one. A panic of the
// library is an error like any other: the input is not ours.
func decode(data []byte) (root, second *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			root, second, err = nil, nil, fmt.Errorf("the YAML library gave up: %v", r)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(data))
	root = new(yaml.Node)
	if err := d.Decode(root); err != nil {
		return nil, nil, err
	}
	if len(root.Content) == 0 {
		return nil, nil, io.EOF
	}
	second = new(yaml.Node)
	switch err := d.Decode(second); {
	case errors.Is(err, io.EOF):
		return root, nil, nil
	case err != nil:
		return nil, nil, err
	}
	return root, second, nil
}

// checkText looks at each character: after it, lines and columns mean the same to
// YAML and to an editor, and the library's own reader finds nothing to refuse.
func (p *parser) checkText(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		p.add(p.at(1, 1), "", "encoding", "the file is UTF-16", "save it as UTF-8")
		return false
	}
	at := p.at(1, 1)
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		message, hint := "", "remove it"
		switch {
		case i == 0 && r == '\ufeff':
			i += n
			continue
		case r == utf8.RuneError && n == 1:
			message, hint = fmt.Sprintf("byte 0x%02x is not UTF-8", data[i]), "save the file as UTF-8"
		case r == '\u0085' || r == '\u2028' || r == '\u2029':
			message = fmt.Sprintf("character U+%04X is a line break to YAML but not to editors", r)
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0, r == '\ufeff', r == '\ufffe', r == '\uffff':
			message = fmt.Sprintf("character U+%04X is not allowed in YAML", r)
		}
		if message != "" {
			p.add(at, "", "encoding", message, hint)
			return false
		}
		if r == '\n' || r == '\r' && (i+1 == len(data) || data[i+1] != '\n') {
			at = p.at(at.Line+1, 1)
		} else {
			at.Column++
		}
		i += n
	}
	return true
}

// checkNode looks at what holds for each node wherever it is. It follows no
// alias, so it sees each node once; open holds the anchors around the node. An
// alias leads to a node that began earlier, so every cycle has an alias to one
// that is still open. It tells whether the tree is safe to walk.
func (p *parser) checkNode(n *yaml.Node, depth int, open map[*yaml.Node]bool) bool {
	at := p.placeOf(n)
	switch {
	case depth > maxDepth:
		p.add(at, "", "nesting", fmt.Sprintf("nested deeper than %d levels", maxDepth), "")
		return false
	case n.Kind == yaml.AliasNode:
		if open[n.Alias] {
			p.add(at, "", "alias", "alias *"+element(n.Value)+" is inside its own anchor", "")
			return false
		}
		return true
	case n.Style&yaml.TaggedStyle != 0:
		p.add(at, "", "tag", "explicit tag "+quote(n.Tag), "remove it; put the value in quotes if it is text")
		if n.Kind == yaml.ScalarNode { // read on as if it were not there
			n.Style, n.Tag = n.Style&^yaml.TaggedStyle, ""
			n.Tag = n.ShortTag()
		}
	}
	if n.Anchor != "" {
		open[n] = true
		defer delete(open, n)
	}
	safe := true
	for _, c := range n.Content {
		safe = p.checkNode(c, depth+1, open) && safe
	}
	return safe
}

// libraryLine is how the YAML library names a line: not always the right one, and
// never a column.
var libraryLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntaxError reports what the library says, in plainer words where there are any.
func (p *parser) syntaxError(data []byte, err error) {
	message := libraryLine.ReplaceAllString(err.Error(), "")
	at := p.findFault(data, err, message)
	line := p.src.runes(at.Line)
	upTo := string(line[:min(at.Column, len(line))])
	indent := string(line[:len(line)-len([]rune(strings.TrimLeft(string(line), " \t")))])
	firstText := len(indent) + 1

	rule, hint := "syntax", ""
	switch {
	case strings.Contains(message, "max depth"):
		rule, message = "nesting", fmt.Sprintf("nested deeper than %d levels", maxDepth)
	case strings.HasPrefix(message, "unknown anchor"):
		at.Column = 1 + utf8.RuneCountInString(upTo[:max(0, strings.LastIndexByte(upTo, '*'))])
		rule, message, hint = "alias", strings.TrimSuffix(message, " referenced"), "define it above this place, with & instead of *"
	case strings.ContainsRune(indent, '\t'):
		at.Column = 1 + strings.IndexByte(indent, '\t')
		message, hint = "a tab in the indentation", "indent with spaces"
	case strings.HasPrefix(message, "found character that cannot start") && upTo != "":
		message, hint = fmt.Sprintf("a value cannot begin with %q", line[len([]rune(upTo))-1]), "put it in quotes"
	case strings.HasPrefix(message, "did not find expected alphabetic"):
		message, hint = "* begins an alias and & an anchor, and no name follows", "put the value in quotes"
	case strings.HasPrefix(message, "mapping values"):
		message, hint = "a second colon in one value", "put text that holds \": \" in quotes, and check the indentation"
	case strings.HasPrefix(message, "found unexpected end of stream"):
		message, hint = "a quote that is never closed", ""
	case strings.HasPrefix(message, "found incompatible YAML"):
		at.Column = 1
		message, hint = "a %YAML directive that is not read here", "remove the line"
	case strings.HasPrefix(message, "could not find expected ':'"):
		at.Column = firstText
		message, hint = "a key without a colon", "a key is followed by a colon and a space"
	default:
		if strings.HasPrefix(message, "did not find expected") {
			hint = "check the indentation and the brackets"
			if strings.Contains(message, "key") || strings.Contains(message, "'-'") {
				at.Column = firstText
			}
		}
		message = "not YAML: " + printable(message)
	}
	p.add(at, "", rule, printable(message), hint)
}

// findFault gives the end of the shortest beginning of the file that fails in the
// same way, first in lines, then in characters of the last line.
func (p *parser) findFault(data []byte, err error, message string) Position {
	lines := p.src.lines
	if len(data) > maxSearch {
		line := 1
		if m := libraryLine.FindStringSubmatch(err.Error()); m != nil && m[1] != "" {
			line, _ = strconv.Atoi(m[1])
		}
		return p.at(min(max(line, 1), len(lines)), 1)
	}
	fails := func(text string) bool {
		_, _, err := decode([]byte(text))
		return err != nil && libraryLine.ReplaceAllString(err.Error(), "") == message
	}
	n := 1 + sort.Search(len(lines)-1, func(i int) bool { return fails(strings.Join(lines[:i+1], "\n") + "\n") })
	before := strings.Join(lines[:n-1], "\n")
	if n > 1 {
		before += "\n"
	}
	last := p.src.runes(n)
	column := 1 + sort.Search(max(len(last)-1, 0), func(i int) bool { return fails(before + string(last[:i+1])) })
	return p.at(n, column)
}
