package base

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func run(target string, rows ...measure.Row) *measure.Measurement {
	m := measure.New()
	m.Target, m.Rows = target, rows
	return m
}

func peak(bytes int64, labels ...string) measure.Row {
	l := measure.Labels{}
	for i := 0; i < len(labels); i += 2 {
		l[labels[i]] = labels[i+1]
	}
	return measure.NewRow("live.peak_bytes", l, measure.Int(bytes))
}

func TestRunsRoundTrip(t *testing.T) {
	b := NewRuns("train", run("train", peak(3, "device", "0")), run("", peak(5, "device", "0"), measure.Absent("live.end_bytes", measure.Labels{}, "no <end> & such")))
	var first, second bytes.Buffer
	if err := b.Encode(&first); err != nil {
		t.Fatal(err)
	}
	back, err := DecodeRuns(bytes.NewReader(first.Bytes()), "x.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := back.Encode(&second); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() || len(back.Runs) != 2 || !strings.HasPrefix(first.String(), "{\n  \"schema\": \"peakgate.base/1\",\n  \"target\": \"train\",\n  \"runs\": [") {
		t.Errorf("not the same after a round trip:\n%s\n%s", first.String(), second.String())
	}
	plain, err := DecodeRuns(strings.NewReader(measured("train", 7)), "x.json")
	if err != nil || plain.Target != "train" || plain.Schema != RunsSchema || len(plain.Runs) != 1 || peaks(plain.Runs[0]) != "7" {
		t.Errorf("a plain measurement: %+v, %v", plain, err)
	}
}

func TestMalformedRuns(t *testing.T) {
	one := strings.TrimSpace(measured("t", 1))
	for text, want := range map[string]string{
		``: "x.json: ", `[]`: "x.json: ", `{`: "x.json: line 1, column 2",
		`{}`:                           `schema "", want "peakgate.base/1" or "peakgate.measurement/1"`,
		`{"schema":"peakgate.base/2"}`: `schema "peakgate.base/2", want`,
		`{"schema":"peakgate.base/1"}`: "no runs: nothing was measured",
		`{"schema":"peakgate.base/1","target":"t","runs":{}}`:                                                           "x.json: offset 49: base: ",
		`{"schema":"peakgate.base/1","target":"t","runs":[null]}`:                                                       `runs[0]: schema "", want`,
		`{"schema":"peakgate.base/1","target":"t","runs":[` + one + `,{}]}`:                                             `x.json: runs[1]: schema "", want`,
		`{"schema":"peakgate.base/1","target":"u","runs":[` + one + `]}`:                                                `runs[0]: a measurement of "t", want one of "u"`,
		`{"schema":"peakgate.base/1","target":"t","runs":[` + strings.Replace(one, `"value":1`, `"value":-1`, 1) + `]}`: "x.json: runs[0]: ",
		`{"schema":"peakgate.base/1","target":"t","runs":[` + strings.Repeat(one+",", maxRuns) + one + `]}`:             "more than 1000 runs",
		`{"schema":"peakgate.base/1","target":"t","runs":[` + one + `]} x`:                                              "x.json: line 1",
		`{"schema":"peakgate.base/1","target":"t","runs":[` + strings.Repeat("[", 100_000):                              "x.json: ",
	} {
		b, err := DecodeRuns(strings.NewReader(text), "x.json")
		if b != nil {
			t.Errorf("%.60s: %+v with %v; want nil", text, b, err)
		}
		wantLine(t, err, want)
	}
	if err := NewRuns("t").Encode(&bytes.Buffer{}); err == nil {
		t.Error("a base without runs was written")
	}
}

func TestSave(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		where, err := NewRuns("a/b", run("a/b", peak(int64(i)))).Save(dir)
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(dir, ".peakgate", "base", "a%2Fb.json"); where != want {
			t.Errorf("saved as %s, want %s", where, want)
		}
		data, err := os.ReadFile(where)
		if err != nil {
			t.Fatal(err)
		}
		b, err := DecodeRuns(bytes.NewReader(data), where)
		if err != nil || peaks(b.Runs[0]) != fmt.Sprint(i) {
			t.Errorf("%+v, %v", b, err)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, ".peakgate", "base")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if _, err := NewRuns("t").Save(dir); err == nil {
		t.Error("a base without runs was saved")
	}
	// A link that a pull request put there leads nowhere.
	trap, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(trap, ".peakgate")); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
	_, err := NewRuns("t", run("t", peak(1))).Save(trap)
	wantLine(t, err, "cannot be written")
	if left, _ := os.ReadDir(outside); len(left) > 0 {
		t.Errorf("written outside of the folder: %v", left)
	}
}

func TestFileName(t *testing.T) {
	for target, want := range map[string]string{
		"train_step": "train_step", "v1.2": "v1.2", "a-b": "a-b", "": "%", ".": "%2E", "..": "%2E.", "../../etc/passwd": "%2E.%2F..%2Fetc%2Fpasswd",
		"a/b": "a%2Fb", `a\b`: "a%5Cb", "a b": "a%20b", "a:b": "a%3Ab", "%": "%25", "a%2Fb": "a%252Fb", "é": "%C3%A9", "\x00": "%00", "nul": "%6Eul", "COM1.x": "%43OM1.x", "null": "null",
	} {
		if got := FileName(target); got != ".peakgate/base/"+want+".json" {
			t.Errorf("%q is in %s, want %s", target, got, want)
		}
	}
}

// Two targets never share a file, and no file is elsewhere.
func FuzzFileName(f *testing.F) {
	for _, s := range []string{"", "a", "../x", strings.Repeat("a", 300), strings.Repeat("é", 100)} {
		f.Add(s, s+"/")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		name := FileName(a)
		if path.Clean(name) != name || path.Dir(name) != ".peakgate/base" || len(path.Base(name)) > 255 {
			t.Errorf("%q is in %q", a, name)
		}
		if a != b && name == FileName(b) {
			t.Errorf("%q and %q are in one file, %q", a, b, name)
		}
	})
}

// Decoding anything neither panics nor gives a base that cannot be written.
func FuzzDecodeRuns(f *testing.F) {
	var b bytes.Buffer
	if err := NewRuns("t", run("t", peak(1)), run("t", peak(2))).Encode(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(measured("t", 1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, err := DecodeRuns(bytes.NewReader(data), "x")
		if (runs == nil) == (err == nil) {
			t.Fatalf("%v with %v", runs, err)
		}
		if err == nil {
			if err := runs.Encode(&bytes.Buffer{}); err != nil {
				t.Error(err)
			}
			runs.Spread()
		}
	})
}

func TestSpread(t *testing.T) {
	absent := measure.Absent("live.end_bytes", measure.Labels{}, "cut off")
	end := measure.NewRow("live.end_bytes", measure.Labels{}, measure.Int(1))
	b := NewRuns("t",
		run("t", peak(5, "module", "m", "program", "1", "host", "a"), end),
		run("t", peak(3, "module", "m", "program", "9", "host", "b"), absent),
		run("t", peak(5, "module", "m", "program", "2"), peak(8, "device", "1")),
	)
	show := func(b *Runs) string {
		var out []string
		for _, s := range b.Spread() {
			var values []string
			for _, v := range s.Values {
				values = append(values, v.Exact(s.Unit))
			}
			low, ok := s.Min()
			high, _ := s.Max()
			out = append(out, fmt.Sprintf("%s{%s} %s runs=%d absent=%d min=%v max=%v %v", s.Name, s.Labels.Key("host"), strings.Join(values, ","), s.Runs, s.Absent, low.Float64(), high.Float64(), ok))
		}
		return strings.Join(out, "\n")
	}
	want := `live.peak_bytes{module=m program=1} 3 B,5 B runs=3 absent=0 min=3 max=5 true
live.end_bytes{} 1 B runs=1 absent=2 min=1 max=1 true
live.peak_bytes{device=1} 8 B runs=1 absent=2 min=8 max=8 true`
	if got := show(b); got != want {
		t.Errorf("spread:\n%s\nwant:\n%s", got, want)
	}
	// Two programs of one module in one run are told apart.
	b = NewRuns("t", run("t", peak(1, "program", "1"), peak(2, "program", "2")), run("t", peak(3, "program", "1"), peak(4, "program", "2")))
	want = `live.peak_bytes{program=1} 1 B,3 B runs=2 absent=0 min=1 max=3 true
live.peak_bytes{program=2} 2 B,4 B runs=2 absent=0 min=2 max=4 true`
	if got := show(b); got != want {
		t.Errorf("spread:\n%s\nwant:\n%s", got, want)
	}
	if got := show(NewRuns("t", run("t", absent))); got != `live.end_bytes{}  runs=0 absent=1 min=0 max=0 false` {
		t.Error(got)
	}
}
