package series

import (
	"bytes"
	"strings"
)

// cell is the text of one cell and where it begins: its column in bytes, from 1.
type cell struct {
	text   string
	column int
}

// fault is what is wrong at a column of a line.
type fault struct {
	column int
	text   string
}

// splitter cuts a line into cells, which it appends.
type splitter func(cells []cell, line string) ([]cell, fault)

// separator is the one that a header uses: a tab, a semicolon or a comma.
func separator(header []byte) byte {
	for _, c := range []byte{'\t', ';'} {
		if bytes.IndexByte(header, c) >= 0 {
			return c
		}
	}
	return ','
}

// separated cuts at a separator. A cell may stand in double quotes, where "" is one
// of them; blanks around cells are no part of them.
func separated(separator byte) splitter {
	return func(cells []cell, line string) ([]cell, fault) {
		for at := 0; ; {
			begin := at + spaces(line[at:])
			if begin < len(line) && line[begin] == '"' {
				text, n := quoted(line[begin:])
				if n == 0 {
					return nil, fault{begin + 1, "a quote that does not end on its line"}
				}
				end := begin + n + spaces(line[begin+n:])
				if end < len(line) && line[end] != separator {
					return nil, fault{end + 1, "text behind a quoted cell; write \"\" for a quote in it"}
				}
				cells = append(cells, cell{strings.TrimSpace(text), begin + 1})
				at = end
			} else {
				end := strings.IndexByte(line[at:], separator)
				if end < 0 {
					end = len(line) - at
				}
				cells = append(cells, cell{strings.TrimSpace(line[at : at+end]), begin + 1})
				at += end
			}
			if at >= len(line) {
				return cells, fault{}
			}
			at++ // the separator; behind a last one there is one more, empty cell
		}
	}
}

// spaces counts the blanks at the start, tabs not among them: they may separate.
func spaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// quoted gives the content of the quoted text at the start of s and its length
// with the quotes, 0 where it does not end.
func quoted(s string) (text string, n int) {
	doubled := false
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '"':
		case i+1 < len(s) && s[i+1] == '"':
			doubled = true
			i++
		default:
			text = s[1:i]
			if doubled {
				text = strings.ReplaceAll(text, `""`, `"`)
			}
			return text, i + 1
		}
	}
	return "", 0
}

// blanks cuts at runs of blanks, as psrecord's rows are.
func blanks(cells []cell, line string) ([]cell, fault) {
	for at := 0; ; {
		at += spaces(line[at:])
		if at >= len(line) {
			return cells, fault{}
		}
		end := strings.IndexByte(line[at:], ' ')
		if end < 0 {
			end = len(line) - at
		}
		cells = append(cells, cell{line[at : at+end], at + 1})
		at += end
	}
}

// wideBlanks cuts at two blanks or more, as the names of psrecord's header are.
func wideBlanks(header string) string {
	var names []string
	for _, name := range strings.Split(strings.TrimLeft(header, "# "), "  ") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, "\t")
}
