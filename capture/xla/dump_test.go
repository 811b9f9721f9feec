package xla

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// dump writes a measurement as text, for people who review a change of the goldens.
func dump(m *measure.Measurement) string {
	var out strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m.Environment)) {
		fmt.Fprintf(&out, "environment %s = %s\n", k, m.Environment[k])
	}
	for _, w := range m.Warnings {
		fmt.Fprintf(&out, "warning %s\n", w)
	}
	for _, f := range m.Facts.Modules {
		fmt.Fprintf(&out, "module %s: %d instructions in %d computations, fingerprint %s, aliased %d, donors %d, remat %d, assigned %v\n",
			f.Labels.Key(), f.Instructions, f.Computations, f.Fingerprint, f.Aliased, f.Donors, f.Remat, f.Assigned)
		fmt.Fprintf(&out, "  parameters %s\n  outputs %s\n", strings.Join(f.Parameters, " "), strings.Join(f.Outputs, " "))
	}
	for _, f := range m.Facts.Timelines {
		fact(&out, "timeline", f)
	}
	for _, f := range m.Facts.Executions {
		fact(&out, "executions", f)
	}
	for _, f := range m.Facts.Waits {
		fact(&out, "wait", f)
	}
	for _, s := range m.Series {
		fmt.Fprintf(&out, "series %s: %d points from %v to %v\n", s.Labels.Key(), len(s.Points), s.X[0], s.X[len(s.X)-1])
	}
	labels := ""
	for _, r := range m.Rows {
		if key := r.Labels.Key(); key != labels {
			labels = key
			fmt.Fprintf(&out, "\n%s\n", key)
		}
		if r.Value == nil {
			fmt.Fprintf(&out, "  %-30s no data: %s\n", r.Name, r.NoData)
		} else {
			fmt.Fprintf(&out, "  %-30s %s\n", r.Name, r.Value.Exact(r.Unit))
		}
		for _, c := range m.Contributors {
			if c.Metric == r.Name && c.Labels.Key() == labels {
				fmt.Fprintf(&out, "    %18s  %s\n", c.Bytes.Exact(), c.Display)
				fmt.Fprintf(&out, "    %18s  key %s, count %d, class %s", "", c.Key, c.Count, c.Class)
				if c.Source != nil {
					fmt.Fprintf(&out, ", at %s:%d", c.Source.File, c.Source.Line)
				}
				out.WriteByte('\n')
			}
		}
	}
	return out.String()
}

func fact(out *strings.Builder, what string, f any) {
	data, err := json.Marshal(f)
	if err != nil {
		data = []byte(err.Error())
	}
	fmt.Fprintf(out, "%s %s\n", what, data)
}

func TestDump(t *testing.T) {
	for _, name := range []string{"regression/xla/head.hlo.pb", "xla/tpu_offload.hlo.pb", "xla/cpu_donate.xplane.pb", "xla/tf_leak.xplane.pb", "xla/tf_oom.xplane.pb"} {
		t.Run(name, func(t *testing.T) {
			got := dump(open(t, fixture(t, name)).Measurement())
			golden := filepath.Join("testdata", strings.ReplaceAll(name, "/", "_")+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs from what is read now; review with go test -run TestDump -update\n%s", golden, firstDifference(string(want), got))
			}
		})
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("want %d lines, got %d", len(w), len(g))
}
