package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// width is how many columns an explanation takes: what a terminal shows.
const width = 120

// wrapped writes text in lines of at most width columns: the first begins with first,
// the others with rest. A word that is longer has a line of its own.
func wrapped(out io.Writer, first, rest, text string) {
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			fmt.Fprintln(out, line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		} else if strings.TrimSpace(line) == "" && strings.HasPrefix(word, "::") {
			line += "| " // runners obey a command behind blanks too
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(out, strings.TrimRight(line, " "))
}

// clip shortens a name to n columns: a shape or a path is cut in its middle, since
// names end with the place in the program.
func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n || n < 8 {
		return s
	}
	head := n / 3
	return string(r[:head]) + "…" + string(r[len(r)-(n-head-1):])
}
