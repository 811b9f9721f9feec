package xla

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// sums are what captures/lab/xla/golden.json says of one memory space.
type sums struct {
	Const       int64 `json:"const"`
	LiveOut     int64 `json:"live_out"`
	N           int   `json:"n"`
	Both        int64 `json:"par_and_lo"`
	Params      int64 `json:"params"`
	Temp        int64 `json:"temp"`
	ThreadLocal int64 `json:"thread_local"`
	Total       int64 `json:"total"`
	Unaliased   int64 `json:"unaliased_out"`
}

// labCases gives the folders of captures/lab/xla and what golden.json says of them.
func labCases(t *testing.T, each func(t *testing.T, dir string, w *labCase)) {
	t.Helper()
	root := captures(t, "lab/xla")
	var golden map[string]json.RawMessage
	readJSON(t, filepath.Join(root, "golden.json"), &golden)
	for folder, raw := range golden {
		if strings.Contains(folder, "oom") {
			continue // it holds no text
		}
		var w labCase
		if err := json.Unmarshal(raw, &w); err != nil {
			t.Fatalf("%s: %v", folder, err)
		}
		t.Run(folder, func(t *testing.T) { each(t, filepath.Join(root, filepath.FromSlash(folder)), &w) })
	}
}

type labCase struct {
	Text       map[MemorySpace]sums `json:"text_buffer_assignment"`
	TextTotal  int64                `json:"text_total_bytes_used"`
	TextReport []any                `json:"text_usage_report_totals"`
	Report     []struct {
		Color MemorySpace `json:"color"`
		Total int64       `json:"total"`
	} `json:"pb_usage_report"`
	Memory map[string]int64 `json:"memory_analysis"`
	Mode   string           `json:"mode"`
}

// reportTotals gives the totals of golden.json's text report by memory space.
func (w *labCase) reportTotals(t *testing.T) map[MemorySpace]int64 {
	t.Helper()
	out := map[MemorySpace]int64{}
	for _, item := range w.TextReport {
		pair, ok := item.([]any)
		if !ok {
			t.Fatalf("text_usage_report_totals holds %v", item)
		}
		_, color, _ := strings.Cut(pair[0].(string), "(color=")
		n, err := json.Number(strings.TrimSuffix(color, ")")).Int64()
		if err != nil {
			t.Fatal(err)
		}
		out[MemorySpace(n)] = int64(pair[1].(float64))
	}
	return out
}

// there reports whether a folder holds a file.
func there(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// value gives the row of a metric; a missing row is an error.
func value(t *testing.T, m *measure.Measurement, metric string, labels measure.Labels) measure.Row {
	t.Helper()
	for _, r := range m.Rows {
		if r.Name == metric && r.Labels.Key() == labels.Key() {
			return r
		}
	}
	t.Fatalf("no row %s %s", metric, labels.Key())
	return measure.Row{}
}

// is checks that a row has a value.
func is(t *testing.T, m *measure.Measurement, metric string, labels measure.Labels, want int64) {
	t.Helper()
	r := value(t, m, metric, labels)
	if r.Value == nil || r.Value.Cmp(measure.Int(want)) != 0 {
		t.Errorf("%s %s: want %d, got %v (no data: %s)", metric, labels.Key(), want, r.Value, r.NoData)
	}
}

// isAbsent checks that a row has a reason instead of a value.
func isAbsent(t *testing.T, m *measure.Measurement, metric string, labels measure.Labels, reason string) {
	t.Helper()
	if r := value(t, m, metric, labels); r.Value != nil || !strings.Contains(r.NoData, reason) {
		t.Errorf("%s %s: want no data with %q, got %v, %q", metric, labels.Key(), reason, r.Value, r.NoData)
	}
}

// TestTextsLab compares every *-buffer-assignment.txt with golden.json, and with
// what the proto of the same compilation gives.
func TestTextsLab(t *testing.T) {
	texts, confirmed := 0, 0
	labCases(t, func(t *testing.T, dir string, w *labCase) {
		file := filepath.Join(dir, "buffer-assignment.txt")
		if !there(file) {
			return
		}
		texts++
		c := open(t, file)
		if c.Format != FormatText || len(c.Modules) != 1 || len(c.Modules[0].Spaces()) != len(w.Text) {
			t.Fatalf("format %s, %d modules, spaces %v", c.Format, len(c.Modules), c.Modules[0].Spaces())
		}
		m := c.Modules[0]
		for space, want := range w.Text {
			p, err := m.Plan(space)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for i := range m.Assignment.Allocations {
				if m.Assignment.Allocations[i].Space == space {
					n++
				}
			}
			got := sums{p.ConstantBytes, p.OutputBytes, n, p.DonatedBytes, p.ArgumentBytes, p.TempBytes, p.ThreadLocalBytes, p.NeedBytes + p.ThreadLocalBytes, p.UnaliasedOutputBytes}
			if got != want {
				t.Errorf("memory space %s: want %+v, got %+v", space, want, got)
			}
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if own := bytes.Contains(data, []byte("\nTotal bytes used: ")); own == c.Doubtful() {
			t.Errorf("a total is there: %v; doubtful: %v", own, c.Doubtful())
		}
		if c.Doubtful() {
			isAbsent(t, c.Measurement(), "plan.need_bytes", measure.Labels{"memory_space": "device"}, "memory-usage-report.txt")
			report := ""
			for _, name := range []string{"memory-usage-report.pb", "memory-usage-report.txt"} {
				if there(filepath.Join(dir, name)) {
					report = filepath.Join(dir, name)
				}
			}
			if report == "" {
				return
			}
			if err := c.Confirm(open(t, report)); err != nil {
				t.Fatal(err)
			}
			confirmed++
		}
		sameAsProto(t, c, open(t, filepath.Join(dir, "plan.hlo.pb")))
	})
	if texts < 20 || confirmed < 10 {
		t.Errorf("%d texts, %d confirmed by a report, want more", texts, confirmed)
	}
}

// sameAsProto checks that what a file without instructions says of a plan is what
// the proto says, or nothing.
func sameAsProto(t *testing.T, c, proto *Capture) {
	t.Helper()
	want := map[string]measure.Row{}
	for _, r := range proto.Measurement().Rows {
		want[r.Name+" "+r.Labels.Key("module", "program")] = r
	}
	got := c.Measurement()
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	values := 0
	for _, r := range got.Rows {
		w, ok := want[r.Name+" "+r.Labels.Key()]
		switch {
		case !ok:
			t.Errorf("%s %s: the proto has no such row", r.Name, r.Labels.Key())
		case r.Value == nil && r.NoData == "":
			t.Errorf("%s: neither value nor reason", r.Name)
		case r.Value != nil && (w.Value == nil || r.Value.Cmp(*w.Value) != 0):
			t.Errorf("%s %s: want %v, got %v", r.Name, r.Labels.Key(), w.Value, r.Value)
		case r.Value != nil:
			values++
		}
	}
	if len(got.Rows) != len(want) || values < 9 {
		t.Errorf("%d rows with %d values, the proto has %d", len(got.Rows), values, len(want))
	}
}

// TestReportsLab compares every memory usage report with golden.json.
func TestReportsLab(t *testing.T) {
	reports := 0
	labCases(t, func(t *testing.T, dir string, w *labCase) {
		pb := map[MemorySpace]int64{}
		for _, r := range w.Report {
			pb[r.Color] = r.Total
		}
		for name, format := range map[string]string{"memory-usage-report.pb": FormatReport, "memory-usage-report.txt": FormatText} {
			file := filepath.Join(dir, name)
			if !there(file) {
				continue
			}
			reports++
			want := pb
			if format == FormatText {
				want = w.reportTotals(t)
			}
			c := open(t, file)
			if c.Format != format || len(c.Totals) != len(want) || len(want) == 0 {
				t.Fatalf("%s: format %s, totals %v, want %v", name, c.Format, c.Totals, want)
			}
			m := c.Measurement()
			for space, n := range want {
				is(t, m, "plan.total_bytes", measure.Labels{"memory_space": space.String(), "source": "usage_report"}, n)
				isAbsent(t, m, "plan.need_bytes", measure.Labels{"memory_space": space.String(), "source": "usage_report"}, "totals alone")
			}
			if err := m.Validate(); err != nil {
				t.Error(err)
			}
			if all := strings.Join(m.Warnings, "\n"); !strings.Contains(all, "include thread-local memory") {
				t.Errorf("warnings %q", all)
			}
		}
	})
	if reports < 15 {
		t.Errorf("%d reports, want all", reports)
	}
}

// TestStatsLab compares the numbers of memory_analysis() with golden.json, and
// checks that none of them can be taken for a plan's.
func TestStatsLab(t *testing.T) {
	files := 0
	labCases(t, func(t *testing.T, dir string, w *labCase) {
		file := filepath.Join(dir, "mem.json")
		if !there(file) {
			return
		}
		files++
		c := open(t, file)
		m := c.Measurement()
		if err := m.Validate(); err != nil {
			t.Error(err)
		}
		for prefix, space := range map[string]string{"": "device", "host_": "host"} {
			labels := measure.Labels{"memory_space": space, "source": "memory_analysis"}
			of := func(name string) int64 { return w.Memory[prefix+name+"_size_in_bytes"] }
			is(t, m, "plan.argument_bytes", labels, of("argument"))
			is(t, m, "plan.output_bytes", labels, of("output"))
			is(t, m, "plan.unaliased_output_bytes", labels, of("output")-of("alias"))
			is(t, m, "plan.donated_bytes", labels, of("alias"))
			is(t, m, "plan.temp_bytes", labels, of("temp"))
			isAbsent(t, m, "plan.need_bytes", labels, "leaves constants out")
		}
		for _, r := range m.Rows {
			if r.Labels["source"] != "memory_analysis" || r.Name == "plan.compiler_peak_bytes" || r.Name == "plan.total_bytes" {
				t.Errorf("row %s %s could be taken for a plan's", r.Name, r.Labels.Key())
			}
		}
		want := "on TPU, temp of memory_analysis()"
		if w.Mode == "tpu" {
			want = "is not the plan's temp block on this TPU"
		}
		if all := strings.Join(m.Warnings, "\n"); !strings.Contains(all, want) {
			t.Errorf("warnings %q, want %q", all, want)
		}
		if m.Environment["jaxlib"] == "" {
			t.Errorf("environment %v", m.Environment)
		}
	})
	if files < 30 {
		t.Errorf("%d files, want all", files)
	}
}

// TestBareAssignmentsLab compares the assignments that memory_analysis() gives with
// the proto of the same compilation.
func TestBareAssignmentsLab(t *testing.T) {
	files := 0
	labCases(t, func(t *testing.T, dir string, _ *labCase) {
		file := filepath.Join(dir, "memory_analysis.buffer_assignment.pb")
		if !there(file) {
			return
		}
		files++
		c := open(t, file)
		proto := open(t, filepath.Join(dir, "plan.hlo.pb"))
		if c.Format != FormatAssignment || c.Doubtful() {
			t.Errorf("format %s, doubtful %v", c.Format, c.Doubtful())
		}
		sameAsProto(t, c, proto)
		for _, x := range c.Measurement().Contributors {
			if name := path.Base(x.Key); x.Class == "output" && !strings.HasPrefix(name, "buffer ") && name != measure.Other {
				t.Errorf("contributor %s: the file knows ids only", x.Key)
			}
		}
	})
	if files < 6 {
		t.Errorf("%d files, want all", files)
	}
}
