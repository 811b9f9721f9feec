package affon

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// TestMalformed: each text differs from a good one by one thing, and the error names
// the place and what is wrong.
func TestMalformed(t *testing.T) {
	const one = `{"scope":"compute.storage","name":"live_cpu_bytes","kind":"gauge","unit":"bytes","value":7}`
	good := "[" + one + "]"
	if len(read(t, []byte(good)).Rows) == 0 {
		t.Fatal("the good text gives no row")
	}
	for text, want := range map[string]string{
		"":                                    "cut off",
		"[":                                   "cut off",
		`"metrics"`:                           "offset 0: want an array of metrics, or an object, found a string",
		"[]":                                  "no metric of Affon's memory",
		"[[],[]]":                             "no metric of Affon's memory",
		`{"a":1}`:                             "offset 0: want an object with before and after",
		`{"before":[]}`:                       "want metrics of memory in both",
		`{"before":[` + one + `],"after":[]}`: "want metrics of memory in both",
		`{"before":5,"after":[]}`:             `offset 10: want [, found a number`,
		`{"current":null,"delta":null}`:       "want a run under current",
		`[5]`:                                 "offset 1: want {, found a number",
		good[:len(good)-1]:                    "cut off",
		good[:len(good)-1] + "}":              `want "," or "]", found "}"`,
		good + "garbage":                      `want an array of metrics, or an object, found "g"`,
		strings.Replace(good, `"scope":"compute.storage"`, `"scope":5`, 1):         "offset 10: want a string, found a number",
		strings.Replace(good, `"name":"live_cpu_bytes"`, `"name":{}`, 1):           "want a string, found an object",
		strings.Replace(good, `"unit":"bytes"`, `"unit":[]`, 1):                    "want a string, found an array",
		strings.Replace(good, `:7`, `:"7"`, 1):                                     "want a number, found a string",
		strings.Replace(good, `:7`, `:true`, 1):                                    `want a number, found "t"`,
		strings.Replace(good, `:7`, `:NaN`, 1):                                     `want a number, found "N"`,
		strings.Replace(good, `:7`, `:-Infinity`, 1):                               `want a value, found "-Infinity"`,
		strings.Replace(good, `:7`, `:1-2`, 1):                                     `want a value, found "1-2"`,
		strings.Replace(good, `:7`, `:0x10`, 1):                                    `want a value, found "0x10"`,
		strings.Replace(good, `:7`, `:`, 1):                                        `want a number, found "}"`,
		strings.Replace(good, `"kind":`, `"kind"`, 1):                              `want ":" after a key, found a string`,
		strings.Replace(good, `"gauge"`, `"ga\uzzzzge"`, 1):                        "wrong escape",
		strings.Replace(good, `"gauge",`, `"gauge",,`, 1):                          "want a string",
		`{"everyBatches":1,"droppedSamples":"3","snapshots":[]}`:                   "want a number, found a string",
		`{"everyBatches":1,"snapshots":[5]}`:                                       "want {, found a number",
		`{"everyBatches":1,"snapshots":7}`:                                         "want [, found a number",
		`{"everyBatches":1,"snapshots":[]}`:                                        "no metric of Affon's memory",
		`{"status":0,"peakResidentBytes":"5","peakFootprintBytes":0}`:              "want a number, found a string",
		`{"status":0,"peakResidentBytes":5,"maxMetrics":{"compute.storage/x":{}}}`: "want a number, found an object",
	} {
		c, err := Read(strings.NewReader(text), "x.json")
		if err == nil {
			t.Errorf("%s: no error, %d snapshots", text, len(c.Snapshots))
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, "x.json: ") || !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s:\n  %s\nwant %s", text, got, want)
		}
	}
}

// TestSniffOthers: JSON of other programs is not taken.
func TestSniffOthers(t *testing.T) {
	for _, text := range []string{"", "x", "[", "{", "[]", "[[]]", "{}", "[1,2]", `[{"name":"a","kind":"b"}]`, `{"scope":"a","name":"b","kind":"c"}`,
		`{"before":1,"after":2}`, `{"snapshots":[]}`, `{"resourceMetrics":[{"scopeMetrics":[{"scope":{},"metrics":[{"name":"x"}]}]}]}`,
		`[{"blocks":[],"total_size":1}]`, `{"segments":[],"device_traces":[]}`, "\x00\x01"} {
		if format, ok := Sniff([]byte(text)); ok {
			t.Errorf("%q is taken as %s", text, format)
		}
	}
}

// TestLarge: many metrics, long names and deep nesting cost no more than their text.
func TestLarge(t *testing.T) {
	const live = `{"scope":"compute.storage","name":"live_cpu_bytes","value":7}`
	long := strings.Repeat("n", 1<<20)
	for name, text := range map[string]string{
		"many metrics":        "[" + strings.Repeat(`{"scope":"a","name":"b","value":1},`, 200_000) + live + "]",
		"one metric for ever": "[" + strings.Repeat(live+",", 100_000) + live + "]",
		"deep nesting":        `[{"x":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + `},` + live + "]",
		"long names":          `[{"scope":"` + long + `","name":"` + long + `","unit":"` + long + `","value":1},` + live + "]",
		"names to show":       "[" + live + `,{"scope":"compute.storage","name":"live_metal_bytes","unit":"\u001b[31m` + long[:64] + `","value":1}]`,
	} {
		m := read(t, []byte(text))
		if got := value(m, "live.end_bytes", "allocator=cpu"); got != "7 B" {
			t.Errorf("%s: %s", name, got)
		}
		for _, w := range m.Warnings {
			if len(w) > 500 {
				t.Errorf("%s: a warning of %d bytes", name, len(w))
			}
		}
	}
	// Deep nesting where an array of metrics should be is refused, not followed.
	if _, err := Read(strings.NewReader(strings.Repeat("[", 200_000)), "x"); err == nil {
		t.Error("many brackets are read")
	}
	// Snapshots that say nothing are not held.
	c := mustRead(t, []byte(shot("compute.storage/live_cpu_bytes", 7)+strings.Repeat("[]", 200_000)))
	if len(c.Snapshots) != 1 || !strings.Contains(strings.Join(c.Warnings, " "), "200000 snapshots without") {
		t.Errorf("%d snapshots, %q", len(c.Snapshots), c.Warnings)
	}
}

// TestManySnapshots: a long series is shortened, and that is said.
func TestManySnapshots(t *testing.T) {
	var text strings.Builder
	for i := range measure.MaxPoints + 10 {
		text.WriteString(shot("compute.storage/live_cpu_bytes", i+1))
	}
	m := read(t, []byte(text.String()))
	if len(m.Series) != 1 || len(m.Series[0].Points) > measure.MaxPoints || !warned(m, "of 4106 points are kept") {
		t.Errorf("%d series, %q", len(m.Series), m.Warnings)
	}
}

func seeds(f *testing.F) {
	files, err := os.ReadDir(fixtures)
	if err != nil {
		f.Fatal(err)
	}
	n := 0
	for _, e := range files {
		if strings.Contains(e.Name(), ".json") {
			data := fixture(f, e.Name())
			f.Add(data[:min(len(data), 16<<10)])
			n++
		}
	}
	if n < 8 {
		f.Fatalf("%d seeds in %s", n, fixtures)
	}
	f.Add([]byte(`{"everyBatches":1,"snapshots":[{"phase":"epoch","step":3,"runtimeMetrics":` + shot("compute.storage/live_cpu_bytes", 5) + `}]}`))
}

// FuzzRead: whatever is read gives a measurement that is consistent, and the same twice.
func FuzzRead(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		Sniff(data)
		c, err := Read(bytes.NewReader(data), "x")
		if err != nil {
			if c != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v with %v", err, c)
			}
			return
		}
		m := c.Measurement()
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		one, err := json.Marshal(m)
		two, err2 := json.Marshal(mustRead(t, data).Measurement())
		if err != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Fatalf("two readings differ in %d and %d bytes, %v, %v", len(one), len(two), err, err2)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	data := fixture(b, "monitor_churn.json.gz")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if len(mustRead(b, data).Measurement().Rows) == 0 {
			b.Fatal("no rows")
		}
	}
}
