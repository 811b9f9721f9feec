package budget

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// source is the text of the file in lines, for places and snippets.
type source struct {
	lines []string
	// The line that was asked for last, in runes: errors come in order, and one
	// line may be the whole file.
	last      int
	lastRunes []rune
}

// runes gives a line that exists.
func (s *source) runes(line int) []rune {
	if s.last != line {
		s.last, s.lastRunes = line, []rune(s.lines[line-1])
	}
	return s.lastRunes
}

const byteOrderMark = "\ufeff"

func newSource(data []byte) *source {
	text := strings.TrimPrefix(string(data[:min(len(data), MaxSize)]), byteOrderMark)
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n") // YAML and editors both break there
	return &source{lines: strings.Split(strings.TrimSuffix(text, "\n"), "\n")}
}

// clamp moves a place that is outside the file to the nearest one inside. A
// column may be one past the end of its line.
func (s *source) clamp(p Position) Position {
	p.Line = min(max(p.Line, 1), len(s.lines))
	p.Column = min(max(p.Column, 1), len(s.runes(p.Line))+1)
	return p
}

// snippet draws the line and marks what begins at the column:
//
//	8 |     max: 12
//	  |          ^~
func (s *source) snippet(line, column int) string {
	if line < 1 || line > len(s.lines) {
		return ""
	}
	const before, most = 60, 120 // runes shown
	text := s.runes(line)
	at := min(max(column-1, 0), len(text))
	end := at + tokenLength(text[at:])

	first, last := 0, len(text)
	if len(text) > most {
		first = max(0, at-before)
		last = min(len(text), first+most)
	}
	var shown, mark strings.Builder
	if first > 0 {
		shown.WriteRune('…')
		mark.WriteByte(' ')
	}
	marked := false
	for i := first; i < last; i++ {
		r, width := visible(text[i])
		shown.WriteRune(r)
		switch {
		case i < at:
			mark.WriteString(strings.Repeat(" ", width))
		case i < end && !marked:
			mark.WriteString("^" + strings.Repeat("~", max(width-1, 0)))
			marked = true
		case i < end:
			mark.WriteString(strings.Repeat("~", width))
		}
	}
	if !marked {
		mark.WriteByte('^')
	}
	if last < len(text) {
		shown.WriteRune('…')
	}
	return fmt.Sprintf("%5d | %s\n      | %s\n", line, strings.TrimRight(shown.String(), " "), mark.String())
}

// tokenLength guesses how far the YAML token at the start of the text goes.
func tokenLength(text []rune) int {
	if len(text) == 0 {
		return 0
	}
	if q := text[0]; q == '"' || q == '\'' {
		if i := slices.Index(text[1:], q); i >= 0 {
			return i + 2
		}
	}
	n := 1
	for ; n < len(text); n++ {
		next := ' '
		if n+1 < len(text) {
			next = text[n+1]
		}
		if r := text[n]; strings.ContainsRune(",]}", r) || r == ':' && next == ' ' || r == '#' && text[n-1] == ' ' {
			break
		}
	}
	for n > 1 && unicode.IsSpace(text[n-1]) {
		n--
	}
	return n
}

// visible gives what to show for a rune and how many cells of a terminal it takes.
func visible(r rune) (rune, int) {
	switch {
	case r == '\t':
		return ' ', 1
	case !unicode.IsPrint(r):
		return utf8.RuneError, 1
	case unicode.In(r, unicode.Mn, unicode.Me):
		return r, 0
	}
	for _, w := range wide {
		if r >= w[0] && r <= w[1] {
			return r, 2
		}
	}
	return r, 1
}

// wide lists the large blocks of East Asian width W and F (Unicode TR11).
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xac00, 0xd7a3}, {0xf900, 0xfaff}, {0xfe30, 0xfe6f},
	{0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
}
