package torch

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

var update = flag.Bool("update", false, "write the goldens in testdata anew")

// dump is all that a snapshot says, as text.
func dump(s *Snapshot) string {
	var out strings.Builder
	m := s.Measurement()
	p := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	p("%s: %s, %d frames, %d stacks", s.Name, s.Form, len(s.Frames), len(s.Stacks))
	for _, e := range s.Settings {
		p("setting %s=%s changed=%v", e.Name, e.Value, e.changed())
	}
	p("environment %v", m.Environment)
	for _, w := range m.Warnings {
		p("warning %s", w)
	}
	for _, d := range s.Devices {
		p("device %d: history %s, %d events, sequence %s, %d steps", d.Ordinal, d.History.Kind, d.History.Events, d.History.Sequence, d.History.Steps)
		for a, n := range d.History.Counts {
			if n > 0 {
				p("  %d %s", n, Action(a))
			}
		}
		for _, g := range d.Segments {
			p("  segment %#x %d small=%v expandable=%v pool=%v stream=%#x", g.Address, g.TotalSize, g.Small, g.Expandable, g.Pool, g.Stream)
			for _, b := range g.Blocks {
				p("    block %#x %d requested %d state %d stack %d", b.Address, b.Size, b.Requested, b.State, b.Stack)
			}
		}
	}
	for _, r := range m.Rows {
		if r.Value == nil {
			p("row %s{%s} no data: %s", r.Name, r.Labels.Key(), r.NoData)
			continue
		}
		p("row %s{%s} %s", r.Name, r.Labels.Key(), r.Value.Exact(r.Unit))
	}
	for _, c := range m.Contributors {
		source := measure.Source{}
		if c.Source != nil {
			source = *c.Source
		}
		p("contributor %s{%s} %d in %d: %s | %s | %s | %s | %s:%d", c.Metric, c.Labels.Key(), c.Bytes, c.Count, c.Key, c.Display, c.Group, c.Class, source.File, source.Line)
	}
	return out.String()
}

func TestDump(t *testing.T) {
	for _, name := range []string{"metadata", "pools", "oom_frag_expandable", "cpp_2_15"} {
		s := readFile(t, filepath.Join(repoRoot(t), "fixtures", "torch", name+".pickle"))
		golden := filepath.Join("testdata", name+".txt")
		got := dump(s)
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatalf("%v; write it with go test ./capture/torch -update", err)
		}
		if got == string(want) {
			continue
		}
		a, b := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Errorf("%s:%d:\n got %s\nwant %s\n(write it with go test ./capture/torch -update)", golden, i+1, a[i], b[i])
				break
			}
		}
		if len(a) != len(b) {
			t.Errorf("%s: %d lines, want %d", golden, len(a), len(b))
		}
	}
}
