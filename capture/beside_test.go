package capture

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/peakgate/peakgate/capture/affon"
	"github.com/peakgate/peakgate/capture/footprint"
	"github.com/peakgate/peakgate/capture/pprof"
	"github.com/peakgate/peakgate/capture/series"
	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/capture/xla"
	"github.com/peakgate/peakgate/measure"
)

const (
	dumped    = "module_0000.jit_metric_step.cpu_after_optimizations"
	dumpText  = "dump/" + dumped + "-buffer-assignment.txt"
	dumpSums  = "dump/" + dumped + "-memory-usage-report.txt"
	dumpProto = "dump/" + dumped + "-memory-usage-report.pb"
	stats     = "analysis/mem.json"
	bare      = "analysis/buffer_assignment.pb"
)

// found gives what Find takes of a folder, and its warnings.
func found(t *testing.T, dir string) (files []string, warnings string) {
	t.Helper()
	paths, list, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.ToSlash(rel))
	}
	return files, strings.Join(list, "\n")
}

// TestFindDumps checks that a module that XLA dumped in several forms counts once.
func TestFindDumps(t *testing.T) {
	const noPlan = "=\x0a\x17\x0a\x05jit_f\x12\x04main\x1a\x08\x0a\x04main\x28\x01"
	for _, c := range []struct {
		name    string
		files   map[string]string
		want    []string
		warning string
	}{
		{"CPU", map[string]string{
			dumped + ".hlo.pb": plan, dumped + "-buffer-assignment.txt": dumpText, dumped + "-memory-usage-report.txt": dumpSums,
			dumped + "-memory-usage-report.pb": dumpProto, dumped + ".txt": "=HloModule jit_metric_step", dumped + "-buffer-assignment-values.txt": "=\nTotal bytes used: 5 (5B)\n\nUsed values:\n",
			"module_0000.jit_metric_step.before_optimizations.hlo.pb": plan,
		}, []string{dumped + ".hlo.pb"}, "passed over, as a plan of the same module lies beside it: " + dumped + "-buffer-assignment.txt, "},
		{"GPU, two modules, one of them as text only", map[string]string{
			"module_0001.jit_f.sm_9.0a_gpu_after_optimizations.hlo.pb": plan, "module_0001.jit_f.sm_9.0a_gpu_after_optimizations-buffer-assignment.txt": dumpText,
			"module_0002.jit_g.sm_9.0a_gpu_after_optimizations-buffer-assignment.txt": dumpText, "module_0002.jit_g.sm_9.0a_gpu_after_optimizations-memory-usage-report.txt": dumpSums,
		}, []string{"module_0001.jit_f.sm_9.0a_gpu_after_optimizations.hlo.pb", "module_0002.jit_g.sm_9.0a_gpu_after_optimizations-buffer-assignment.txt"},
			"module_0001.jit_f.sm_9.0a_gpu_after_optimizations-buffer-assignment.txt, module_0002.jit_g.sm_9.0a_gpu_after_optimizations-memory-usage-report.txt"},
		{"TPU, with passes and times", map[string]string{
			"1700000000.module_0000.jit_f.cl_933746096.after_optimizations.hlo.pb": plan, "1700000000.module_0000.jit_f.cl_933746096.after_optimizations-memory-usage-report.pb": dumpProto,
			"1700000000.module_0000.jit_f.0005.pass.after_x.before_y.hlo.pb": noPlan, "1700000001.module_0000.jit_f.0005.pass.after_x.before_y.hlo.pb": noPlan,
			"1700000000.module_0000.jit_f.oom_intermediate_module.hlo.pb": noPlan,
		}, []string{"1700000000.module_0000.jit_f.cl_933746096.after_optimizations.hlo.pb", "1700000001.module_0000.jit_f.0005.pass.after_x.before_y.hlo.pb"},
			"1700000000.module_0000.jit_f.0005.pass.after_x.before_y.hlo.pb, 1700000000.module_0000.jit_f.cl_933746096.after_optimizations-memory-usage-report.pb"},
		{"a proto that cannot be read is not passed over, nor is anything beside it", map[string]string{dumped + ".hlo.pb": "=", dumped + "-buffer-assignment.txt": dumpText},
			[]string{dumped + "-buffer-assignment.txt", dumped + ".hlo.pb"}, ""},
		{"a module without a plan stays, as nothing tells that it is another's", map[string]string{"train.hlo.pb": plan, "eval.hlo.pb": noPlan}, []string{"eval.hlo.pb", "train.hlo.pb"}, ""},
		{"numbers beside a profile", map[string]string{"h.xplane.pb": profile, "mem.json": stats, "a.pb": bare, "memory.prof": "leak/base.pprof.gz"}, []string{"h.xplane.pb", "memory.prof"}, "a.pb, mem.json"},
		{"numbers of several modules", map[string]string{"train.json": stats, "eval.json": stats}, []string{"eval.json", "train.json"}, ""},
		{"a report of one module beside the plan of another", map[string]string{"train.hlo.pb": plan, "train-memory-usage-report.txt": dumpSums, "eval-buffer-assignment.txt": dumpText},
			[]string{"eval-buffer-assignment.txt", "train.hlo.pb"}, "train-memory-usage-report.txt"},
		{"in folders of their own", map[string]string{"a/x.hlo.pb": plan, "b/mem.json": stats}, []string{"a/x.hlo.pb", "b/mem.json"}, ""},
	} {
		dir := tree(t, c.files)
		for _, pattern := range []string{dir, filepath.Join(dir, "**")} {
			files, _, err := Find(pattern)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			if pattern == dir {
				got, warnings := found(t, dir)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s: %s", c.name, diff)
				}
				if !strings.Contains(warnings, c.warning) || c.warning == "" && strings.Contains(warnings, "passed over") {
					t.Errorf("%s: warnings %q, want %q", c.name, warnings, c.warning)
				}
			}
			for _, f := range files {
				if base := filepath.Base(f); strings.Contains(base, "usage-report") {
					t.Errorf("%s: %s counts the module of its proto again", c.name, base)
				}
			}
		}
	}
}

// TestFindLab checks that each folder of the shared captures, where every form of a
// module lies beside its proto, counts it once.
func TestFindLab(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "captures")
	if _, err := os.Stat(root); err != nil {
		t.Skip("the folder ../shared/captures is not beside this repository")
	}
	folders := 0
	err := filepath.WalkDir(filepath.Join(root, "lab", "xla"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "plan.hlo.pb" {
			return err
		}
		folders++
		dir := filepath.Dir(path)
		files, warnings := found(t, dir)
		for _, f := range files {
			if f != "plan.hlo.pb" && f != "step.xplane.pb" && f != "device_memory.pprof.gz" {
				t.Errorf("%s: %s is read too", dir, f)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "mem.json")); err == nil && !strings.Contains(warnings, "mem.json") {
			t.Errorf("%s: nothing says that mem.json is passed over: %q", dir, warnings)
		}
		return nil
	})
	if err != nil || folders < 35 {
		t.Errorf("%d folders: %v", folders, err)
	}
}

// TestOpenDump checks that a text without a total counts only with its report, and
// that rows get the module's name.
func TestOpenDump(t *testing.T) {
	text := dumped + "-buffer-assignment.txt"
	labels := measure.Labels{"module": "jit_metric_step", "memory_space": "device"}
	need := func(files map[string]string) (*measure.Row, error) {
		m, err := Open(filepath.Join(tree(t, files), text), Options{})
		if err != nil {
			return nil, err
		}
		for i, r := range m.Rows {
			if r.Name == "plan.need_bytes" && r.Labels.Key() == labels.Key() {
				return &m.Rows[i], m.Validate()
			}
		}
		t.Fatalf("no row in %v", m.Rows)
		return nil, nil
	}
	for _, report := range []string{dumpSums, dumpProto} {
		r, err := need(map[string]string{text: dumpText, dumped + "-memory-usage-report" + filepath.Ext(report): report})
		if err != nil || r.Value == nil || r.Value.Cmp(measure.Int(2_621_456)) != 0 {
			t.Errorf("with %s: %+v, %v", report, r, err)
		}
	}
	if r, err := need(map[string]string{text: dumpText}); err != nil || r.Value != nil || !strings.Contains(r.NoData, "-memory-usage-report.txt") {
		t.Errorf("without a report: %+v, %v", r, err)
	}
	whole := string(fixture(t, dumpText))
	cut := whole[:strings.Index(whole, "allocation 4")]
	if _, err := need(map[string]string{text: "=" + cut, dumped + "-memory-usage-report.txt": dumpSums}); err == nil || !strings.Contains(err.Error(), "its allocations have 2621440 bytes") {
		t.Errorf("a text that lacks an allocation: %v", err)
	}
	if _, err := need(map[string]string{text: dumpText, dumped + "-memory-usage-report.txt": "=Memory Space: x"}); err == nil || !strings.Contains(err.Error(), "-memory-usage-report.txt: ") {
		t.Errorf("a damaged report: %v", err)
	}
}

// TestOpenRenamedDump checks that a text and its report belong together under names
// that are not XLA's.
func TestOpenRenamedDump(t *testing.T) {
	other := "=" + strings.ReplaceAll(string(fixture(t, dumpSums)), "Total bytes: 2621456", "Total bytes: 2621473")
	for _, c := range []struct {
		name    string
		text    string
		reports map[string]string
		want    string // a part of why there is no need_bytes, empty where there is
	}{
		{"nothing but the endings", "buffer-assignment.txt", map[string]string{"memory-usage-report.txt": dumpSums}, ""},
		{"the same, of several", "buffer-assignment.txt", map[string]string{"memory-usage-report.pb": dumpProto, "eval-memory-usage-report.txt": other}, ""},
		{"the text by another name", "train.txt", map[string]string{"memory-usage-report.txt": dumpSums}, ""},
		{"the report by another name", "buffer-assignment.txt", map[string]string{"step-memory-usage-report.pb": dumpProto}, ""},
		{"another module's", "train.txt", map[string]string{"memory-usage-report.txt": other}, "whether it is cut off cannot be told"},
		{"the same name and other sums", "buffer-assignment.txt", map[string]string{"memory-usage-report.txt": other}, "one of the two is cut off or stale"},
		{"which of two is its own is not known", "train.txt", map[string]string{"a-memory-usage-report.txt": dumpSums, "b-memory-usage-report.txt": dumpSums}, "whether it is cut off cannot be told"},
		{"XLA's name of another module", "train.txt", map[string]string{dumped + "-memory-usage-report.txt": dumpSums}, "whether it is cut off cannot be told"},
	} {
		files := map[string]string{c.text: dumpText}
		for name, from := range c.reports {
			files[name] = from
		}
		m, err := Open(filepath.Join(tree(t, files), c.text), Options{})
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		default:
			for _, r := range m.Rows {
				if r.Name == "plan.need_bytes" && r.Labels["memory_space"] == "device" {
					if got = r.NoData; r.Value != nil && r.Value.Cmp(measure.Int(2_621_456)) == 0 {
						got = ""
					}
				}
			}
		}
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestDumpName(t *testing.T) {
	for name, want := range map[string]string{
		"module_0000.jit_f.cpu_after_optimizations-buffer-assignment.txt":                              "jit_f",
		"1700000000.module_0012.jit_train_step.sm_9.0a_gpu_after_optimizations-memory-usage-report.pb": "jit_train_step",
		"module_0001.jit_f.gfx942_gpu_after_optimizations-memory-usage-report.txt":                     "jit_f",
		"module_0000.jit_offload_step.cl_933746096.after_optimizations-buffer-assignment.txt":          "jit_offload_step",
		"module_0003.a_inference_train_step_123__.4.cpu_after_optimizations-buffer-assignment.txt":     "a_inference_train_step_123__.4",
		"buffer-assignment.txt": "", "mem.json": "", "module_0000.cpu_after_optimizations-buffer-assignment.txt": "",
	} {
		got := ""
		if f := dumpName.FindStringSubmatch(name); f != nil {
			got = f[1]
		}
		if got != want {
			t.Errorf("%s: want %q, got %q", name, want, got)
		}
	}
}

// TestOneReader checks that every file of the shared captures and the fixtures is
// claimed by one reader at most, and that files of formats to come by none.
func TestOneReader(t *testing.T) {
	claimed := map[string]int{}
	for _, root := range []string{"../fixtures", "../../shared/captures"} {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil
			}
			head, err := headOf(path)
			if err != nil {
				t.Errorf("%s: %v", path, err)
				return nil
			}
			var by []string
			if isMeasurement(head) {
				by = append(by, MeasurementFormat)
			}
			for _, sniff := range []func([]byte) (string, bool){torch.Sniff, xla.Sniff, affon.Sniff, pprof.Sniff, footprint.Sniff, series.Sniff} {
				if format, ok := sniff(head); ok {
					by = append(by, format)
				}
			}
			format, _ := choose(head)
			if len(by) > 1 || (len(by) == 1) != (format != "") {
				t.Errorf("%s: claimed by %v, read as %q", path, by, format)
			}
			claimed[format]++
			for _, later := range []string{"captures/fdinfo/", "captures/vmmap/", "captures/affon/"} {
				if strings.Contains(filepath.ToSlash(path), later) && format != "" {
					t.Errorf("%s: read as %s", path, format)
				}
			}
			return nil
		})
	}
	for _, format := range Formats() {
		if format != MeasurementFormat && claimed[format] == 0 {
			t.Errorf("no file is %s", format)
		}
	}
}

// A profile of Go's own heap is a pprof too.
func TestOpenGoHeap(t *testing.T) {
	heap := []byte("\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x04\x12\x04\x12\x02\x01\x01\x32\x00\x32\x0dinuse_objects\x32\x05count\x32\x0binuse_space\x32\x05bytes")
	_, _, err := read(bytes.NewReader(heap), int64(len(heap)), "heap.pb.gz", Options{})
	if err == nil || !strings.Contains(err.Error(), "a pprof profile that JAX did not write") {
		t.Errorf("%v", err)
	}
}
