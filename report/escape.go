package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain frees a name of everything that a terminal, a log or a line-based
// reader could act on: control characters, line separators and characters that
// change the direction of writing are shown as escapes.
func plain(s string) string {
	clean := true
	for _, r := range s {
		if !printable(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&out, `\x%02x`, s[0])
		case printable(r):
			out.WriteRune(r)
		case r < 0x80:
			fmt.Fprintf(&out, `\x%02x`, r)
		default:
			fmt.Fprintf(&out, `\u{%x}`, r)
		}
		s = s[n:]
	}
	return out.String()
}

func printable(r rune) bool {
	return r == ' ' || r != utf8.RuneError && unicode.IsGraphic(r) && !unicode.Is(unicode.Zl, r) && !unicode.Is(unicode.Zp, r)
}

// cut shortens a name to at most n runes, in the middle, where least is lost.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	front := (n - 1) / 2
	return string(r[:front]) + "…" + string(r[len(r)-(n-1-front):])
}

// maxName is how many runes of a name a report shows.
const maxName = 160

// code puts a name into a markdown code span that also stands in a table. The
// fence is longer than any run of backticks inside; a pipe, which would end the
// cell even inside a span, is shown as the look-alike U+2223.
func code(s string) string {
	s = strings.ReplaceAll(cut(plain(s), maxName), "|", "∣")
	if strings.TrimSpace(s) == "" {
		s = "(empty)"
	}
	run, longest := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// prose puts a sentence that may hold hostile names into markdown text: each
// character with a meaning is escaped, and mentions and references are broken.
func prose(s string) string {
	var out strings.Builder
	text := plain(s)
	for i, r := range text {
		switch {
		case r == '@', r == '#':
			out.WriteRune(r)
			out.WriteString("\u200b") // a zero-width space: no mention, no reference
		case r == ':' && i+1 < len(text) && text[i+1] != ' ':
			out.WriteString(":\u200b") // no http:// link, no :emoji:
		case r == '<':
			out.WriteString("&lt;")
		case r == '>':
			out.WriteString("&gt;")
		case r == '&':
			out.WriteString("&amp;")
		case strings.ContainsRune("\\`*_{}[]()!|~$", r):
			out.WriteByte('\\')
			out.WriteRune(r)
		default:
			out.WriteRune(r)
		}
	}
	return strings.NewReplacer("www.", "www\u200b.", "GH-", "GH\u200b-", "gh-", "gh\u200b-").Replace(out.String())
}
