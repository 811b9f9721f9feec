package budget

import (
	"strings"
	"testing"
	"unicode"
)

func TestSnippet(t *testing.T) {
	long := strings.Repeat("x", 200)
	for _, c := range []struct {
		name, text   string
		line, column int
		want         string
	}{
		{"a scalar", "a: 1\n  max: 12, b", 2, 8, "    2 |   max: 12, b\n      |        ^~\n"},
		{"a key", "max: 12", 1, 1, "    1 | max: 12\n      | ^~~\n"},
		{"a value of two words", "max: 9.5 GiB # c", 1, 6, "    1 | max: 9.5 GiB # c\n      |      ^~~~~~~\n"},
		{"in quotes", "why: \"a, b\" }", 1, 6, "    1 | why: \"a, b\" }\n      |      ^~~~~~\n"},
		{"an open quote", "why: \"a, b", 1, 6, "    1 | why: \"a, b\n      |      ^~\n"},
		{"past the end", "max:", 1, 5, "    1 | max:\n      |     ^\n"},
		{"an empty line", "", 1, 1, "    1 | \n      | ^\n"},
		{"tabs", "\tmax: 12", 1, 2, "    1 |  max: 12\n      |  ^~~\n"},
		{"wide runes before", "日本: 12", 1, 5, "    1 | 日本: 12\n      |       ^~\n"},
		{"wide runes marked", "a: 日本", 1, 4, "    1 | a: 日本\n      |    ^~~~\n"},
		{"a combining accent before", "e\u0301: 12", 1, 5, "    1 | e\u0301: 12\n      |    ^~\n"},
		{"terminal controls", "a: \x1b[31m", 1, 4, "    1 | a: \ufffd[31m\n      |    ^~~~~\n"},
		{"text direction", "a: \u202ebc", 1, 4, "    1 | a: \ufffdbc\n      |    ^~~\n"},
		{"bytes that are no text", "a: \xff\xfe", 1, 4, "    1 | a: \ufffd\ufffd\n      |    ^~\n"},
		{"CRLF", "a: 1\r\nb: 2\r\n", 2, 4, "    2 | b: 2\n      |    ^\n"},
		{"byte order mark", byteOrderMark + "a: 1", 1, 4, "    1 | a: 1\n      |    ^\n"},
		{"a long line, near its start", "a: " + long, 1, 1, "    1 | a: " + long[:117] + "…\n      | ^\n"},
		{"a long line, near its end", long + ": 12", 1, 203, "    1 | …" + long[:58] + ": 12\n      | " + strings.Repeat(" ", 61) + "^~\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := newSource([]byte(c.text)).snippet(c.line, c.column); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
	if got := newSource([]byte("a")).snippet(7, 1); got != "" {
		t.Errorf("a line that is not there: %q", got)
	}
}

// TestErrorsAreSafeToPrint: names of the file reach the terminal escaped.
func TestErrorsAreSafeToPrint(t *testing.T) {
	text := "version: 1\ntargets:\n  \"a\\e]0;x\\a\\n::error::\": { captures: \"b\\e[2J\\\\\", budgets: { \"c\\r\\u202e\": 1 } }\n"
	_, err := Parse([]byte(text), "peak\x1b[1mgate\n.yml")
	es, ok := err.(Errors)
	if !ok {
		t.Fatalf("error is %v", err)
	}
	for _, out := range []string{es.Error(), es.Render([]byte(text))} {
		for _, r := range strings.ReplaceAll(out, "\n", "") {
			if !unicode.IsPrint(r) {
				t.Errorf("%U in %q", r, out)
			}
		}
	}
	if n := strings.Count(es.Error(), "\n") + 1; n != len(es) {
		t.Errorf("%d lines for %d errors", n, len(es))
	}
}

func TestRender(t *testing.T) {
	text := "version: 1\ntargets:\n  train:\n    captures: a\n    budgets:\n      plan.need_bytes: { max: 12, growth: 2 }\n"
	got := parseErrors(t, text).Render([]byte(text))
	want := `peakgate.yml:6:31: targets.train.budgets.plan.need_bytes.max: number without a unit: "12"; write one of B, KiB, MiB, GiB, TiB, PiB (1024) or kB, MB, GB, TB, PB (1000) [unit]
    6 |       plan.need_bytes: { max: 12, growth: 2 }
      |                               ^~
peakgate.yml:6:43: targets.train.budgets.plan.need_bytes.growth: growth without a percent sign: "2"; want a percentage such as 2% [percent]
    6 |       plan.need_bytes: { max: 12, growth: 2 }
      |                                           ^
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
