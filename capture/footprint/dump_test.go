package footprint

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

// fixtures are the files of watched runs.
func fixtures(t testing.TB) (files []string) {
	t.Helper()
	files, err := filepath.Glob("../../fixtures/footprint/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in fixtures/footprint: %v", err)
	}
	return files
}

func TestDump(t *testing.T) {
	for _, file := range fixtures(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		m := read(t, string(data))
		out := rows(m)
		for _, w := range m.Warnings {
			out += "warning " + w + "\n"
		}
		f := m.Facts.Watches[0]
		out += fmt.Sprintf("%s: %s after %v s, every %v s: %d samples, %d footprints, %d steps by %q\n",
			f.Watcher, f.Outcome, f.Seconds, f.IntervalSeconds, f.Samples, f.Footprints, f.Steps, f.StepSource)
		for _, s := range m.Series {
			out += fmt.Sprintf("series {%s} %s by %s\n", s.Labels.Key(), s.Unit, s.XUnit)
			for i, x := range s.X {
				out += fmt.Sprintf("  %v %s\n", x, s.Points[i].Exact(s.Unit))
			}
		}
		golden := filepath.Join("testdata", strings.TrimSuffix(filepath.Base(file), ".jsonl")+".txt")
		if *update {
			if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatalf("%v; write it with go test ./capture/footprint -update", err)
		}
		if d := cmp.Diff(string(want), out); d != "" {
			t.Errorf("%s (go test ./capture/footprint -update writes it anew):\n%s", golden, d)
		}
	}
}
