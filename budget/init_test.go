package budget

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func TestInit(t *testing.T) {
	kind := func(m *measure.Measurement, kind measure.Kind) *measure.Measurement {
		for i := range m.Rows {
			m.Rows[i].Kind, m.Rows[i].Samples = kind, 100
		}
		return m
	}
	short := kind(rowsMeasured(t, "series.peak_bytes series=rss 3 GiB", "growth.bytes_per_step series=rss 12 B"), measure.Sampled)
	short.Rows[1].Samples = 20 // too short for a trend
	marks := kind(rowsMeasured(t, "growth.bytes_per_step series=a 12 B", "growth.bytes_per_step series=peak 12 B", "growth.bytes_per_step series=rss 12 B"), measure.Sampled)
	marks.Rows[1].Kind = measure.HighWater
	starts := []Start{
		{Name: "train_step", Captures: []string{"captures/train/**/*.xplane.pb"}, Base: []string{"captures/base/**/*.xplane.pb"}, Runs: []*measure.Measurement{
			rowsMeasured(t, "plan.need_bytes module=jit_step memory_space=device 9.05 GiB", "plan.need_bytes module=jit_step memory_space=host 90 GiB",
				"plan.need_bytes module=jit_init memory_space=device 1 GiB", "plan.donated_bytes module=jit_step memory_space=device 3 GiB", "plan.donated_bytes module=jit_init memory_space=device 0 B"),
			rowsMeasured(t, "plan.need_bytes module=jit_step memory_space=device 9.05 GiB"),
		}},
		{Name: "true", Captures: []string{"*.pickle", "a b.pickle"}, Runs: []*measure.Measurement{
			rowsMeasured(t, "live.peak_bytes device=0 100 MiB", "live.peak_bytes device=1 40 MiB", "oom.events device=0 0"),
			rowsMeasured(t, "live.peak_bytes device=0 104 MiB", "oom.events device=0 0"),
			rowsMeasured(t, "live.peak_bytes device=0 101 MiB"),
		}},
		{Name: "soak", Captures: []string{"soak.jsonl"}, Runs: []*measure.Measurement{
			kind(rowsMeasured(t, "footprint.peak_bytes 3 GiB", "growth.bytes_per_step series=footprint 12 B", "growth.bytes_per_step series=rss 99 B"), measure.Sampled),
		}},
		{Name: "csv", Captures: []string{"csv/a.csv"}, Runs: []*measure.Measurement{
			kind(rowsMeasured(t, "series.peak_bytes series=rss 3 GiB", "growth.bytes_per_step series=rss 12 B", "growth.bytes_per_hour series=pss 99 B"), measure.Sampled),
		}},
		{Name: "short", Captures: []string{"short.csv"}, Runs: []*measure.Measurement{short}},
		{Name: "marks", Captures: []string{"marks.csv"}, Runs: []*measure.Measurement{marks}},
		{Name: "exact", Captures: []string{"exact.pb"}, Runs: []*measure.Measurement{kind(rowsMeasured(t, "growth.bytes_per_step allocator=gpu 0 B"), measure.Exact)}},
		{Name: "small", Captures: []string{"s.pb"}, Runs: []*measure.Measurement{rowsMeasured(t, "plan.need_bytes module=m 700 B")}},
	}
	data, err := Init(starts)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "init.golden"), string(data))
	f := mustParse(t, string(data))
	found := map[string]Found{}
	for _, s := range starts {
		found[s.Name] = Found{Head: s.Runs[0], Base: s.Runs}
		for _, e := range f.Target(s.Name).Budgets { // every run is within every limit
			for _, m := range s.Runs {
				for _, r := range matching(m.Rows, e) {
					if e.Max != nil && !isSlope(e.Metric.Unit) && r.Value.Cmp(e.Max.Value) > 0 {
						t.Errorf("%s %s: %s is over %s", s.Name, e.Metric.Name, r.Value.Exact(r.Unit), e.Max.Text)
					}
				}
			}
		}
	}
	if got := Lint(f, found, lintToday); len(got) > 0 {
		t.Errorf("lint says of the first budget:\n%s", got.Render(data))
	}
	if err := compileSchema(t).Validate(asJSON(t, string(data))); err != nil {
		t.Error(err)
	}
	if !strings.HasPrefix(string(data), SchemaComment+"\n") {
		t.Error("the first line is not for the editor")
	}
}

func TestInitRefuses(t *testing.T) {
	run := []*measure.Measurement{rowsMeasured(t, "plan.need_bytes 1 GiB")}
	for _, c := range []struct {
		start Start
		want  string
	}{
		{Start{Name: "a/b", Captures: []string{"x"}, Runs: run}, "target name \"a/b\" has a character"},
		{Start{Name: "a", Captures: []string{"x"}}, "target a: nothing was measured that a first budget limits; want one of plan.need_bytes"},
		{Start{Name: "a", Captures: []string{"x"}, Runs: []*measure.Measurement{rowsMeasured(t, "plan.temp_bytes 1 GiB")}}, "nothing was measured"},
		{Start{Name: "a", Captures: []string{"x\\y"}, Runs: run}, "the first budget would not be legal: peakgate.yml:7:15: targets.a.captures: path"},
		{Start{Name: "a", Runs: run}, "the first budget would not be legal"},
	} {
		data, err := Init([]Start{c.start})
		if err == nil || data != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.start, err, c.want)
		}
	}
}

func TestYAMLText(t *testing.T) {
	for _, s := range []string{"a", "true", "12", "null", "~", "", "*", "-", "- a", "a: b", "a #b", "\"", "é\n\t\u2028", "2027-01-31", "0x1", ".inf", "a/**/*.pb", "<<", "[", "@x", "no", "1_0"} {
		var got string
		if err := yamlUnmarshal("x: "+yamlText(s), &got); err != nil || got != s {
			t.Errorf("%q is written %s and read %q, %v", s, yamlText(s), got, err)
		}
	}
}

func yamlUnmarshal(text string, into *string) error {
	root, _, err := decode([]byte(text))
	if err != nil {
		return err
	}
	n := root.Content[0].Content[1]
	if n.ShortTag() != "!!str" {
		return fmt.Errorf("the tag is %s", n.ShortTag())
	}
	*into = n.Value
	return nil
}
