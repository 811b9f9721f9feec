package series

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the goldens in testdata anew")

// dump is all that a file of series says, as text.
func dump(t *Table) string {
	var out strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	m := t.Measurement()
	for _, w := range m.Warnings {
		p("warning %s", w)
	}
	for _, r := range m.Rows {
		if r.Value == nil {
			p("row %s{%s} no data: %s", r.Name, r.Labels.Key(), r.NoData)
			continue
		}
		p("row %s{%s} %s %s of %d", r.Name, r.Labels.Key(), r.Value.Exact(r.Unit), r.Kind, r.Samples)
	}
	for _, s := range m.Series {
		p("series {%s} %s by %s", s.Labels.Key(), s.Unit, s.XUnit)
		for i, x := range s.X {
			p("  %v %s", x, s.Points[i].Exact(s.Unit))
		}
	}
	return out.String()
}

func TestDump(t *testing.T) {
	for _, name := range fixtureNames(t) {
		got := dump(fixture(t, name))
		golden := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatalf("%v; write it with go test ./capture/series -update", err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s (go test ./capture/series -update writes it anew):\n%s", golden, d)
		}
	}
}

// fixtureNames are the files of fixtures/series that hold series.
func fixtureNames(t testing.TB) (names []string) {
	t.Helper()
	entries, err := os.ReadDir("../../fixtures/series")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".py") {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 {
		t.Fatal("no files in fixtures/series")
	}
	return names
}
