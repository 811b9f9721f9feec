package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Error is one fault of a budget file.
type Error struct {
	File    string
	Line    int    // from 1
	Column  int    // from 1, in runes
	Path    string // the keys that lead to the place; empty for the file itself
	Message string // what was found, and what is wanted
	Hint    string // what to do; may be empty
	Rule    string // a name that docs/budget.md or docs/budget-lint.md explains
	Level   Level
}

// Level is how bad it is. The empty one is an error: what Parse finds always is.
type Level string

// The levels. Only errors keep a budget from being used.
const (
	LevelError   Level = ""
	LevelWarning Level = "warning"
	LevelAdvice  Level = "advice"
)

// Error gives the fault in one line that editors understand:
//
//	FILE:LINE:COLUMN: PATH: MESSAGE; HINT [RULE]
func (e *Error) Error() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s:%d:%d: ", printable(e.File), e.Line, e.Column)
	if e.Level != LevelError {
		out.WriteString(string(e.Level) + ": ")
	}
	if e.Path != "" {
		out.WriteString(e.Path + ": ")
	}
	out.WriteString(e.Message)
	if e.Hint != "" {
		out.WriteString("; " + e.Hint)
	}
	out.WriteString(" [" + e.Rule + "]")
	return out.String()
}

// Errors are all faults of a file, in the order of their places.
type Errors []*Error

// Error gives one line a fault.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Render gives each fault with its line of the source and a mark under the
// place, for a terminal. What could steer the terminal is replaced.
func (es Errors) Render(data []byte) string {
	src := newSource(data)
	var out strings.Builder
	for _, e := range es {
		out.WriteString(e.Error() + "\n" + src.snippet(e.Line, e.Column))
	}
	return out.String()
}

// RenderFiles is Render for the errors of several files. A file that read does not
// give any more is shown without its lines.
func (es Errors) RenderFiles(read func(path string) ([]byte, error)) string {
	sources := map[string]*source{}
	var out strings.Builder
	for _, e := range es {
		src, ok := sources[e.File]
		if !ok {
			if data, err := read(e.File); err == nil {
				src = newSource(data)
			}
			sources[e.File] = src
		}
		out.WriteString(e.Error() + "\n")
		if src != nil {
			out.WriteString(src.snippet(e.Line, e.Column))
		}
	}
	return out.String()
}

func (es Errors) sort() {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// String is LINE:COLUMN, for messages about the same file.
func (p Position) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// quote is %q of a text that is cut where it is long.
func quote(s string) string {
	const most = 60 // runes
	n := 0
	for i := range s {
		if n == most {
			return strconv.Quote(s[:i]) + "…"
		}
		n++
	}
	return strconv.Quote(s)
}

// element is one name of a path: itself where that is plain to read.
func element(s string) string {
	plain := s != "" && len(s) <= 80
	for _, r := range s {
		plain = plain && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("._-/", r))
	}
	if plain {
		return s
	}
	return quote(s)
}

// printable escapes what a terminal or a reader of lines would act upon.
func printable(s string) string {
	var out strings.Builder
	for _, r := range s {
		if unicode.IsPrint(r) {
			out.WriteRune(r)
		} else {
			q := strconv.QuoteRune(r)
			out.WriteString(q[1 : len(q)-1])
		}
	}
	return out.String()
}
