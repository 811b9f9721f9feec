package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"model.py:39 forward → einops": "model.py:39 forward → einops",
		"a\x1b[31mred":                 `a\x1b[31mred`,
		"two\nlines\r\t":               `two\x0alines\x0d\x09`,
		"bad \xff utf8":                `bad \xff utf8`,
		"rtl \u202e override":          `rtl \u{202e} override`,
		"line\u2028sep":                `line\u{2028}sep`,
		"nul\x00":                      `nul\x00`,
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCode(t *testing.T) {
	for in, want := range map[string]string{
		"jit_f":           "`jit_f`",
		"":                "`(empty)`",
		"  ":              "`(empty)`",
		"a`b":             "``a`b``",
		"```":             "```` ``` ````",
		"a|b":             "`a∣b`",
		"`edge":           "`` `edge ``",
		"x\n| y | z |\n#": "`x\\x0a∣ y ∣ z ∣\\x0a#`",
	} {
		if got := code(in); got != want {
			t.Errorf("code(%q) = %s, want %s", in, got, want)
		}
	}
	long := code(strings.Repeat("é", 500))
	if n := utf8.RuneCountInString(long); n != maxName+2 || !strings.Contains(long, "…") {
		t.Errorf("a long name has %d runes", n)
	}
}

func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"@org/team":          "@\u200borg/team",
		"see #12":            "see #\u200b12",
		"<img src=x>":        "&lt;img src=x&gt;",
		"https://evil.test":  "https:\u200b//evil.test",
		"nothing: at all":    "nothing: at all",
		"GH-5":               "GH\u200b-5",
		":100:":              ":\u200b100:",
		"www.evil.test":      "www\u200b.evil.test",
		"[a](b) ![c](d)":     `\[a\](b) !\[c\](d)`,
		"a | b\n\n# title":   `a \| b\\x0a\\x0a#` + "\u200b title",
		"- item":             `\- item`,
		"  12) item":         `12\) item`,
		"3.00 GiB":           "3.00 GiB",
		"+1.00 GiB":          "+1.00 GiB",
		"--- x":              `\--- x`,
		"a_b _c_ _":          `a_b \_c\_ \_`,
		"high-water":         "high-water",
		"_WWW.evil.test":     "\\_WWW\u200b.evil.test",
		"train.py:22 block":  "train.py:22 block",
		"*b* _i_ ~s~ `c` \\": "\\*b\\* \\_i\\_ \\~s\\~ \\`c\\` \\\\",
	} {
		if got := prose(in); got != want {
			t.Errorf("prose(%q) =\n%q, want\n%q", in, got, want)
		}
	}
}
