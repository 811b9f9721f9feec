package measure

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func part(path string, rows ...Row) *Measurement {
	m := New()
	m.Inputs = []Input{{Path: path, Format: "test", Bytes: 1}}
	m.Rows = rows
	for _, r := range rows {
		if r.Value != nil {
			n, _ := r.Value.Int64()
			m.Contributors = append(m.Contributors, Contributor{Metric: r.Name, Labels: r.Labels, Key: "k", Display: "k", Bytes: Bytes(n), Count: 1})
		}
	}
	return m
}

func TestMergeCollapsesEqualRows(t *testing.T) {
	row := func(n int64) Row { return NewRow("live.peak_bytes", Labels{"device": "0"}, Int(n)) }
	same := Merge("t", []*Measurement{part("a/r.pickle", row(5)), part("b/r.pickle", row(5))})
	if len(same.Rows) != 1 || len(same.Contributors) != 1 || same.Rows[0].Labels["file"] != "" {
		t.Errorf("equal rows: %+v", same.Rows)
	}
	apart := Merge("t", []*Measurement{part("a/r.pickle", row(5)), part("b/r.pickle", row(6))})
	if len(apart.Rows) != 2 || len(apart.Contributors) != 2 {
		t.Fatalf("different rows: %+v", apart.Rows)
	}
	if a, b := apart.Rows[0].Labels["file"], apart.Rows[1].Labels["file"]; a != "a/r.pickle" || b != "b/r.pickle" {
		t.Errorf("file labels are %q and %q: the shortest ends that differ", a, b)
	}
	if err := apart.Validate(); err != nil {
		t.Error(err)
	}
	// A value and the lack of one are not equal.
	absent := Merge("t", []*Measurement{part("a", row(5)), part("b", Absent("live.peak_bytes", Labels{"device": "0"}, "no history"))})
	if len(absent.Rows) != 2 {
		t.Errorf("a value swallowed no_data: %+v", absent.Rows)
	}
}

// The facts of several snapshots of one device are told apart, both of them where
// either differs; those of equal files are given once.
func TestMergeTellsSnapshotsApart(t *testing.T) {
	snapshot := func(path string, events, pending int64) *Measurement {
		m, l := part(path), Labels{"device": "0"}
		m.Facts.Traces = []TraceFact{{Labels: l, Events: events}}
		m.Facts.Snapshots = []SnapshotFact{{Labels: l, PendingBlocks: pending}}
		return m
	}
	for name, c := range map[string]struct {
		events, pending int64 // of the second file
		want            string
	}{
		"equal": {5, 1, "device=0; device=0; "}, "other events": {6, 1, "device=0 file=a.pickle; device=0 file=a.pickle; device=0 file=b.pickle; device=0 file=b.pickle; "},
		"other state": {5, 2, "device=0 file=a.pickle; device=0 file=a.pickle; device=0 file=b.pickle; device=0 file=b.pickle; "},
	} {
		m, got := Merge("t", []*Measurement{snapshot("a.pickle", 5, 1), snapshot("b.pickle", c.events, c.pending)}), ""
		for i := range m.Facts.Traces {
			got += m.Facts.Traces[i].Labels.Key() + "; " + m.Facts.Snapshots[i].Labels.Key() + "; "
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestMergeEnvironment(t *testing.T) {
	a, b := part("a"), part("b")
	a.Environment["torch"], b.Environment["torch"], b.Environment["cuda"] = "2.6", "2.7", "12"
	want := Environment{"torch": "2.6 | 2.7", "cuda": "12"}
	if diff := cmp.Diff(want, Merge("t", []*Measurement{a, b, b}).Environment); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRoundTrip(t *testing.T) {
	m := part("a", NewRow("plan.need_bytes", Labels{"module": "jit_f", "memory_space": "device"}, Int(1<<62)), Absent("plan.temp_bytes", Labels{}, "why"))
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	back, err := Decode(bytes.NewReader(data), "m.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, back, cmp.AllowUnexported(Value{})); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeRefuses(t *testing.T) {
	row := `{"name":"live.peak_bytes","labels":{},"unit":"B","kind":"exact",`
	for name, c := range map[string]struct{ text, want string }{
		"empty":        {"", "line 1"},
		"no schema":    {`{}`, `schema "", want`},
		"cut":          {`{"schema":"peakgate.measurement/1",`, "line 1"},
		"other schema": {`{"schema":"peakgate.measurement/2"}`, `want "peakgate.measurement/1"`},
		"string":       {`{"schema":"peakgate.measurement/1","metrics":[` + row + `"value":"5"}]}`, "want an integer"},
		"beyond int64": {`{"schema":"peakgate.measurement/1","metrics":[` + row + `"value":9223372036854775808}]}`, "64 bits"},
		"no value":     {`{"schema":"peakgate.measurement/1","metrics":[` + row + `"samples":1}]}`, "neither value nor no_data"},
		"both":         {`{"schema":"peakgate.measurement/1","metrics":[` + row + `"value":1,"no_data":"x"}]}`, "both a value"},
		"negative":     {`{"schema":"peakgate.measurement/1","metrics":[` + row + `"value":-1}]}`, "never negative"},
		"fraction":     {`{"schema":"peakgate.measurement/1","metrics":[` + row + `"value":1.5}]}`, "must be an integer"},
		"twice":        {`{"schema":"peakgate.measurement/1","metrics":[` + row + `"value":1},` + row + `"value":2}]}`, "second row"},
		"unit":         {`{"schema":"peakgate.measurement/1","metrics":[{"name":"live.peak_bytes","labels":{},"unit":"GiB","kind":"exact","value":1}]}`, `want "B"`},
		"orphan":       {`{"schema":"peakgate.measurement/1","contributors":[{"metric":"live.peak_bytes","labels":{},"key":"k"}]}`, "no row"},
		"line":         {"{\n\"schema\": 5}", "line 2"},
	} {
		m, err := Decode(strings.NewReader(c.text), "m.json")
		if err == nil || m != nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "m.json: ") {
			t.Errorf("%s: %v, want an error with the file and %q", name, err, c.want)
		}
	}
}

func TestKeepLargestAddsUp(t *testing.T) {
	total := Bytes(1 << 30) // threshold: 107,374 bytes
	cs := []Contributor{{Key: "small", Bytes: 107_373, Count: 2}, {Key: "big", Bytes: 1 << 29, Count: 1}, {Key: "edge", Bytes: 107_374, Count: 1}}
	got := KeepLargest("live.peak_bytes", Labels{}, total, cs)
	var sum Bytes
	for _, c := range got {
		sum += c.Bytes
	}
	if sum != total || len(got) != 3 || got[0].Key != "big" || got[1].Key != "edge" || got[2].Key != Other || got[2].Count != 2 {
		t.Errorf("sum %d of %d: %+v", sum, total, got)
	}
	if least := KeepThreshold(1000); least != 16<<10 {
		t.Errorf("least = %d", least)
	}
}

func TestLabelsKey(t *testing.T) {
	l := Labels{"module": "jit f", "device": "0", "host": "h"}
	if got := l.Key("host"); got != `device=0 module="jit f"` {
		t.Errorf("key = %s", got)
	}
	if a, b := (Labels{"a": "1 b=2"}).Key(), (Labels{"a": "1", "b": "2"}).Key(); a == b {
		t.Errorf("two label sets share the key %s", a)
	}
}

func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Catalogue() {
		if seen[m.Name] || m.Doc == "" || m.Unit == "" || m.Kind == "" {
			t.Errorf("entry %+v", m)
		}
		seen[m.Name] = true
		if m.ExplainedBy != "" {
			if by, ok := Lookup(m.ExplainedBy); !ok || by.ExplainedBy != "" {
				t.Errorf("%s is explained by %s, which must hold contributors of its own", m.Name, m.ExplainedBy)
			}
		}
	}
	if got := Nearest("plan.need_byte"); got != "plan.need_bytes" {
		t.Errorf("nearest = %q", got)
	}
	for name, want := range map[string]string{"need_bytes": "plan.need_bytes", "requested_bytes.all.peak": "live.peak_bytes", "MAX_MEMORY_ALLOCATED": "live.peak_bytes", "bytes": ""} {
		if got := Nearest(name); got != want {
			t.Errorf("nearest of %q = %q, want %q", name, got, want)
		}
	}
	for name, metric := range aliases {
		if _, ok := Lookup(metric); !ok {
			t.Errorf("%s is called %s, which the catalogue lacks", name, metric)
		}
	}
	if got := Nearest("zzzzzzzzzz"); got != "" {
		t.Errorf("nearest of nonsense = %q", got)
	}
}
