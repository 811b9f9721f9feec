package report

import (
	"fmt"
	"regexp"
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
	if far := 2 * utf8.UTFMax * n; len(s) > 2*far {
		s = s[:far] + s[len(s)-far:] // what is shown of it is within these
	}
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
	s = strings.ReplaceAll(cut(plain(cut(s, maxName)), maxName), "|", "∣")
	if strings.TrimSpace(s) == "" {
		s = "(empty)"
	}
	fence := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return fence + s + fence
}

// longestRun is the length of the longest run of backticks.
func longestRun(s string) (longest int) {
	run := 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// maxWords is how many runes of a sentence a report shows.
const maxWords = 800

// prose puts a sentence that may hold hostile names into markdown text: each
// character with a meaning is escaped, mentions and references are broken, and it
// can begin no list, heading or rule.
func prose(s string) string {
	text := strings.TrimLeft(cut(plain(cut(s, maxWords)), maxWords), " ")
	var out strings.Builder
	start := leading.FindStringSubmatchIndex(text)
	for i, r := range text {
		switch {
		case start != nil && i == start[2]:
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '@', r == '#':
			out.WriteRune(r)
			out.WriteString("\u200b") // a zero-width space: no mention, no reference
		case r == ':' && scheme.MatchString(text[i:]):
			out.WriteString(":\u200b") // no http:// link, no :emoji:
		case r == '<':
			out.WriteString("&lt;")
		case r == '>':
			out.WriteString("&gt;")
		case r == '&':
			out.WriteString("&amp;")
		case r == '_' && i > 0 && alphanumeric(text[i-1]) && i+1 < len(text) && alphanumeric(text[i+1]):
			out.WriteRune(r) // inside a word it has no meaning
		case strings.ContainsRune("\\`*_[]|~$", r):
			out.WriteByte('\\')
			out.WriteRune(r)
		default:
			out.WriteRune(r)
		}
	}
	return reference.ReplaceAllString(out.String(), "$1$2\u200b$3")
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

var (
	// leading is what begins a list, a rule or the line under a heading.
	leading = regexp.MustCompile(`^(?:[0-9]{1,9})?([-+.)=](?: |$)|[-=]{2})`)
	scheme  = regexp.MustCompile(`^:(/|[A-Za-z0-9_+-]+:)`)
	// reference is what servers make links of without a mark: www.example.org, GH-12.
	reference = regexp.MustCompile(`(?i)(^|[^a-z0-9])(www|gh)([.-])`)
)

// block fences lines of text; each stands on a line of its own, and none can end the
// block.
func block(indent, language string, lines []string) string {
	longest := 2
	for i, line := range lines {
		lines[i] = plain(line)
		longest = max(longest, longestRun(lines[i]))
	}
	fence := strings.Repeat("`", longest+1)
	return indent + fence + language + "\n" + indent + strings.Join(lines, "\n"+indent) + "\n" + indent + fence + "\n"
}
