package measure

import (
	"math"
	"strings"
	"testing"
	"testing/quick"
)

func TestBytesString(t *testing.T) {
	for _, c := range []struct {
		bytes Bytes
		want  string
	}{
		{0, "0 B"}, {1, "1 B"}, {-1, "-1 B"}, {1023, "1023 B"}, {1024, "1.00 KiB"},
		{1<<20 - 6, "1023.99 KiB"}, {1<<20 - 5, "1.00 MiB"}, {1 << 20, "1.00 MiB"},
		{1 << 30, "1.00 GiB"}, {3 << 29, "1.50 GiB"}, {-(3 << 20), "-3.00 MiB"},
		{1 << 40, "1.00 TiB"}, {1 << 50, "1.00 PiB"}, {1 << 60, "1.00 EiB"},
		{19_249_000_448, "17.93 GiB"},
		{math.MaxInt64, "8.00 EiB"}, {math.MinInt64, "-8.00 EiB"},
	} {
		if got := c.bytes.String(); got != c.want {
			t.Errorf("Bytes(%d) = %q, want %q", int64(c.bytes), got, c.want)
		}
	}
	if got := Bytes(5).Signed(); got != "+5 B" {
		t.Errorf("Signed = %q", got)
	}
	if got := Bytes(0).Signed(); got != "0 B" {
		t.Errorf("Signed = %q", got)
	}
	for n, want := range map[Bytes]string{0: "0 B", 999: "999 B", 1000: "1,000 B", -1234567: "-1,234,567 B", 19_249_000_448: "19,249,000,448 B"} {
		if got := n.Exact(); got != want {
			t.Errorf("Exact(%d) = %q, want %q", int64(n), got, want)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0 B": 0, "1B": 1, "12 kB": 12_000, "12 KiB": 12 << 10, "9.5 GiB": 19 << 29, "1.5MB": 1_500_000,
		"1_000 B": 1000, "-1 B": -1, " 80 GB ": 80_000_000_000, "2 TiB": 2 << 40, "1 PB": 1e15, "7.99 PiB": 8995940255672565,
		"9223372036854775807 B": math.MaxInt64, ".5 KiB": 512, "0.0001 kB": 0,
		"9.3 GiB": 9985798963, // 9985798963.2: rounded down, towards the stricter side
	} {
		got, err := ParseBytes(text)
		if err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                      "want a number of bytes",
		"12":                    "without a unit",
		"GiB":                   "want a number",
		"12 GBs":                `unknown unit "GBs"`,
		"12 gib":                "did you mean GiB",
		"12 Mb":                 "did you mean MB",
		"12 m":                  `unknown unit "m"`,
		"1/2 GiB":               "want a number",
		"1e999999999 B":         "want a number",
		"0x10 B":                "want a number",
		"1.2.3 B":               "want a number",
		"NaN B":                 "want a number",
		"9223372036854775808 B": "more than",
		"9000 PiB":              "more than",
		"12,5 GiB":              "want a number",
	} {
		if got, err := ParseBytes(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseBytes(%q) = %d, %v; want an error with %q", text, got, err, want)
		}
	}
}

// What Exact prints without its commas, ParseBytes reads back.
func TestBytesRoundTrip(t *testing.T) {
	same := func(n int64) bool {
		got, err := ParseBytes(strings.ReplaceAll(Bytes(n).Exact(), ",", "_"))
		return err == nil && int64(got) == n
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}
