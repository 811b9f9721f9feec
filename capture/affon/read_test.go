package affon

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

const fixtures = "../../fixtures/affon"

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join(fixtures, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var in io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	data, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t testing.TB, data []byte) *measure.Measurement {
	t.Helper()
	c, err := Read(bytes.NewReader(data), "x.json")
	if err != nil {
		t.Fatal(err)
	}
	m := c.Measurement()
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	return m
}

// value gives the value of a row, or why it has none; "absent" without a row.
func value(m *measure.Measurement, metric, labels string) string {
	for _, r := range m.Rows {
		if r.Name == metric && r.Labels.Key() == labels {
			if r.Value == nil {
				return r.NoData
			}
			return r.Value.Exact(r.Unit)
		}
	}
	return "absent"
}

func warned(m *measure.Measurement, text string) bool {
	return slices.ContainsFunc(m.Warnings, func(w string) bool { return strings.Contains(w, text) })
}

type wants map[[2]string]string

func (w wants) check(t *testing.T, m *measure.Measurement) {
	t.Helper()
	for row, want := range w {
		if got := value(m, row[0], row[1]); got != want {
			t.Errorf("%s {%s}: %s, want %s", row[0], row[1], got, want)
		}
	}
}

// TestFixtures compares with the numbers that make.py tells its story with.
func TestFixtures(t *testing.T) {
	for name, test := range map[string]struct {
		format string
		want   wants
		warn   []string
	}{
		"before.json": {FormatTelemetry, wants{
			{"live.end_bytes", "allocator=metal"}: "671,088,640 B", {"live.peak_bytes", "allocator=metal"}: "805,306,368 B",
			{"live.end_bytes", "allocator=quickjs"}: "25,165,824 B", {"reserved.end_bytes", "allocator=metal"}: "1,006,632,960 B",
			// 5,000 hits, 360 misses since the process began.
			{"pool.hit_ratio", "pool=device"}: "0.9328358208955224", {"pool.misses", "pool=device"}: "360", {"pool.drops", "pool=device"}: "300",
			{"footprint.end_bytes", ""}: "1,656,750,080 B", {"growth.bytes_per_step", "series=footprint"}: "absent",
		}, []string{"one snapshot"}},
		"pair.json": {FormatTelemetry, wants{
			// Of 20 steps: 10,000 hits, 600 misses, 600 drops.
			{"pool.hit_ratio", "pool=device"}: "0.9433962264150944", {"pool.misses", "pool=device"}: "600", {"pool.drops", "pool=device"}: "600",
			{"footprint.end_bytes", ""}: "1,824,522,240 B", {"footprint.unattributed_bytes", ""}: "759,169,024 B",
		}, nil},
		"poll.jsonl.gz": {FormatTelemetry, wants{
			{"footprint.peak_bytes", ""}:         "Affon gives 0: it measures the footprint on macOS only; run it under peakgate watch",
			{"live.end_bytes", "allocator=cuda"}: "734,003,200 B", {"pool.hit_ratio", "pool=device"}: "1", {"pool.misses", "pool=device"}: "0",
			{"growth.bytes_per_step", "series=live_cuda"}: "2,097,152 B/step", {"growth.bytes_per_step", "series=footprint"}: "absent",
			{"footprint.end_bytes", ""}: "absent", {"footprint.unattributed_bytes", ""}: "absent",
		}, []string{"given as 0"}},
		"oldest_names.json": {FormatTelemetry, wants{
			{"live.end_bytes", "allocator=metal"}: "629,145,600 B", {"pool.hit_ratio", "pool=device"}: "0.9",
			{"pool.live_peak_bytes", "pool=device"}: "the oldest names say one thing of storage and of the pool, and not which",
			{"pool.live_end_bytes", "pool=device"}:  "absent",
			{"footprint.unattributed_bytes", ""}:    "the snapshot lacks device_pool_live_bytes, qjs_heap_used_bytes",
		}, []string{"nothing tells which is which"}},
		"second_names.json": {FormatTelemetry, wants{
			{"pool.hit_ratio", "pool=device"}: "0.9", {"region.end_bytes", "allocator=metal pool=pool"}: "94,371,840 B",
		}, nil},
		"monitor_churn.json.gz": {FormatMonitor, wants{
			{"growth.bytes_per_step", "series=live_metal"}: "0 B/step", {"pool.drops", "pool=device"}: "1,410",
			{"footprint.peak_bytes", ""}: "2,143,289,344 B",
		}, []string{"dropped 3 before the first"}},
		"report.json.gz": {FormatReport, wants{
			{"footprint.peak_bytes", ""}: "2,143,289,344 B", {"growth.bytes_per_step", "series=live_metal"}: "0 B/step",
		}, nil},
		// kB of GNU time: 1,560,000 × 1,024.
		"history.json": {FormatReport, wants{
			{"footprint.peak_bytes", ""}: "1,597,440,000 B", {"live.peak_bytes", "allocator=metal"}: "805,306,368 B", {"live.end_bytes", "allocator=metal"}: "absent",
		}, []string{"multiplied by 1024"}},
		"report-comparison.json": {FormatReport, wants{{"footprint.peak_bytes", ""}: "1,597,440,000 B"}, []string{"multiplied by 1024"}},
	} {
		t.Run(name, func(t *testing.T) {
			data := fixture(t, name)
			if format, ok := Sniff(data[:min(len(data), 64<<10)]); !ok || format != test.format {
				t.Errorf("sniffed %q, want %q", format, test.format)
			}
			m := read(t, data)
			test.want.check(t, m)
			for _, text := range test.warn {
				if !warned(m, text) {
					t.Errorf("no warning with %q in %q", text, m.Warnings)
				}
			}
			if len(test.warn) == 0 && len(m.Warnings) > 0 && name != "second_names.json" {
				t.Errorf("warnings %q", m.Warnings)
			}
		})
	}
}

// TestKinds: the kernel's own maximum is told from what Affon saw when it looked.
func TestKinds(t *testing.T) {
	for name, want := range map[string]measure.Kind{"report.json.gz": measure.HighWater, "monitor_churn.json.gz": measure.Sampled} {
		for _, r := range read(t, fixture(t, name)).Rows {
			if r.Name == footprintPeakMetric && r.Kind != want {
				t.Errorf("%s: footprint peak is %s, want %s", name, r.Kind, want)
			}
		}
	}
}

// TestNames reads every name of the list of names seen in Affon's text: each is read,
// ambiguous, or left out on purpose.
func TestNames(t *testing.T) {
	const list = "../../../shared/captures/affon/metric-names.csv"
	file, err := os.Open(list)
	if err != nil {
		t.Skip("the folder ../shared/captures is not beside this repository")
	}
	defer file.Close()
	lines := csv.NewReader(file)
	lines.Comment, lines.FieldsPerRecord = '#', -1
	rows, err := lines.ReadAll()
	if err != nil || len(rows) < 80 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	unread := map[string]bool{}
	for _, name := range strings.Fields(`allocator.events/allocations allocator.events/reuses allocator.events/frees allocator.events/stores
		owned.current_count/live_objects observed.current_bytes/iokit observed.current_bytes/ioaccelerator observed.current_bytes/malloc_bytes
		observed.current_bytes/memory_used_bytes observed.current_count/object_count observed.current_count/string_count
		compute.execution/transfer_to_host_count compute.execution/transfer_from_host_count compute.execution/contiguity_fixup_count
		compute.execution/contiguous_input_required_count compute.execution/storage_input_required_count compute.execution/fusion_eligible_region_count
		compute.storage/allocation_count compute.storage/free_count compute.storage/reuse_count compute.storage/live_object_count
		compute.storage/live_bytes compute.storage/peak_bytes compute.memory/metal_pool_store_count compute.memory/metal_pool_trim_bytes
		compute.memory/device_pool_trim_bytes runtime.memory/qjs_object_count runtime.memory/allocator_allocated_bytes_total
		runtime.memory/allocator_freed_bytes_total runtime.memory/allocator_allocation_count runtime.memory/allocator_free_count
		runtime.memory/resident_peak_bytes`) {
		unread[name] = true
	}
	seen := 0
	for _, row := range rows[1:] {
		full := row[1] + "/" + row[2]
		k, ok := names[full]
		_, isBucket := bucketSlot(row[1], strings.Replace(row[2], "_N", "_8", 1))
		if !ok && !isBucket && !ambiguous[full] && !unread[full] {
			t.Errorf("%s is not read", full)
		}
		if ok && fmt.Sprint(k.generation) != row[0] {
			t.Errorf("%s is of generation %s, here %d", full, row[0], k.generation)
		}
		if ok && row[4] != "" && (row[4] == "count") != k.signal.isCount() {
			t.Errorf("%s is in %s, here it is a count: %v", full, row[4], k.signal.isCount())
		}
		if ok || isBucket {
			seen++
		}
	}
	if seen < 50 {
		t.Errorf("%d names are read", seen)
	}
	for s, name := range canon {
		if name == "" {
			t.Errorf("signal %d has no name", s)
		}
	}
}

// shot is a telemetry array of (scope/name, value) pairs.
func shot(pairs ...any) string {
	var rows []string
	for i := 0; i < len(pairs); i += 2 {
		scope, name, _ := strings.Cut(pairs[i].(string), "/")
		rows = append(rows, fmt.Sprintf(`{"id":%d,"scope":%q,"name":%q,"kind":"gauge","unit":"","value":%v,"count":0,"sum":0,"min":0,"max":0}`, i, scope, name, pairs[i+1]))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// TestAbsent: what a snapshot lacks is no 0, and no sum is made without it.
func TestAbsent(t *testing.T) {
	full := []any{"runtime.memory/physical_footprint_bytes", 1000, "compute.storage/live_metal_bytes", 100,
		"compute.memory/metal_pool_live_bytes", 200, "compute.storage/live_cpu_bytes", 300, "runtime.memory/qjs_heap_used_bytes", 50}
	wants{{"footprint.unattributed_bytes", ""}: "350 B", {"live.end_bytes", "allocator=cuda"}: "absent"}.check(t, read(t, []byte(shot(full...))))
	for i := 2; i < len(full); i += 2 {
		m := read(t, []byte(shot(slices.Delete(slices.Clone(full), i, i+2)...)))
		if got := value(m, "footprint.unattributed_bytes", ""); !strings.HasPrefix(got, "the snapshot lacks ") {
			t.Errorf("without %s: %s", full[i], got)
		}
	}
	// More parts than the whole: nothing is unattributed, and nobody holds a share.
	full[1] = 400
	m := read(t, []byte(shot(full...)))
	wants{{"footprint.unattributed_bytes", ""}: "0 B"}.check(t, m)
	if len(m.Contributors) != 0 {
		t.Errorf("contributors %v", m.Contributors)
	}
}

// TestHolders: the parts of the footprint add up to it.
func TestHolders(t *testing.T) {
	m := read(t, fixture(t, "after.json"))
	var sum measure.Bytes
	for _, c := range m.ContributorsOf("footprint.end_bytes", measure.Labels{}) {
		sum += c.Bytes
	}
	if got := value(m, "footprint.end_bytes", ""); sum != 1_824_522_240 || got != "1,824,522,240 B" {
		t.Errorf("contributors have %d of %s", sum, got)
	}
}

// TestSeveral: the ways to give several snapshots of one process mean the same.
func TestSeveral(t *testing.T) {
	one, two := string(fixture(t, "before.json")), string(fixture(t, "after.json"))
	want, err := json.Marshal(read(t, fixture(t, "pair.json")))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"an array of arrays": "[" + one + "," + two + "]", "one after another": one + two, "on one line": strings.TrimSpace(one) + strings.TrimSpace(two),
		"the later first": `{"after":` + two + `,"before":` + one + `}`, "with a byte order mark": "\xef\xbb\xbf" + one + two,
	} {
		got, err := json.Marshal(read(t, []byte(text)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
		if _, ok := Sniff([]byte(text)); !ok {
			t.Errorf("%s: not sniffed", name)
		}
	}
}

// TestTorn cuts a monitor file everywhere: what is whole before the cut is read and
// that it is cut off is said, or it is an error; never a panic.
func TestTorn(t *testing.T) {
	whole := fixture(t, "monitor_churn.json.gz")
	total := len(mustRead(t, whole).Snapshots)
	if total != 62 {
		t.Fatalf("%d snapshots", total)
	}
	read, before := 0, 0
	for cut := 1; cut < len(whole)-1; cut += 9973 {
		c, err := Read(bytes.NewReader(whole[:cut]), "monitor.json")
		if err != nil {
			if !strings.Contains(err.Error(), "cut off") || read > 0 {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			continue
		}
		read++
		if len(c.Snapshots) < before || !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "cut off") }) {
			t.Fatalf("cut at %d: %d snapshots after %d, %q", cut, len(c.Snapshots), before, c.Warnings)
		}
		before = len(c.Snapshots)
	}
	if before < total-1 {
		t.Errorf("%d snapshots before the last cut, %d in all", before, total)
	}
}

func mustRead(t testing.TB, data []byte) *Capture {
	t.Helper()
	c, err := Read(bytes.NewReader(data), "x")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRestart: counters that fall belong to another process, which is left out.
func TestRestart(t *testing.T) {
	at := func(hits, misses int) string {
		return shot("compute.memory/metal_pool_hit_count", hits, "compute.memory/metal_pool_miss_count", misses)
	}
	m := read(t, []byte(at(900, 90)+at(950, 95)+at(10, 5)+at(30, 5)))
	wants{{"pool.hit_ratio", "pool=device"}: "1", {"pool.misses", "pool=device"}: "0"}.check(t, m)
	if !warned(m, "counters start anew at snapshot 3: the 2 snapshots before it are of another process") {
		t.Errorf("warnings %q", m.Warnings)
	}
}

// TestDoubtful: the quirk of trim_bytes does no harm, and what is in another unit, below
// zero, no whole number or said twice is no number.
func TestDoubtful(t *testing.T) {
	const live = `{"scope":"compute.storage","name":"live_metal_bytes","kind":"gauge","unit":"bytes","value":%s}`
	other := shot("compute.storage/live_cpu_bytes", 7)
	for text, want := range map[string]string{
		fmt.Sprintf(live, "5"): "", fmt.Sprintf(live, "5.0"): "", fmt.Sprintf(live, "5e0"): "", fmt.Sprintf(live, "null"): "absent",
		fmt.Sprintf(live, "-5"): "want a whole number", fmt.Sprintf(live, "0.5"): "want a whole number", fmt.Sprintf(live, "1e308"): "want a whole number",
		fmt.Sprintf(live, "1e999"): "want a whole number", fmt.Sprintf(live, "99999999999999999999999"): "want a whole number",
		fmt.Sprintf(live, "5") + "," + fmt.Sprintf(live, "6"): "twice", fmt.Sprintf(live, "5") + "," + fmt.Sprintf(live, "5"): "",
		strings.Replace(fmt.Sprintf(live, "5"), `"bytes"`, `"MB"`, 1):                                                                         "found the unit",
		strings.Replace(fmt.Sprintf(live, "5"), `"gauge"`, `"histogram"`, 1):                                                                  "histogram",
		`{"scope":"compute.memory","name":"metal_pool_trim_bytes","kind":"counter","unit":"count","value":1048576},` + fmt.Sprintf(live, "5"): "",
	} {
		m := read(t, []byte("["+text+","+other[1:]))
		got := value(m, "live.end_bytes", "allocator=metal")
		switch {
		case want == "" && (got != "5 B" || len(m.Warnings) > 0 && !warned(m, "one snapshot")):
			t.Errorf("%s: %s, %q", text, got, m.Warnings)
		case want != "" && got != "absent", want != "" && want != "absent" && !warned(m, want):
			t.Errorf("%s: %s, want %q in %q", text, got, want, m.Warnings)
		}
	}
}

// TestFailedRun: a run that failed gives no peak.
func TestFailedRun(t *testing.T) {
	m := read(t, bytes.Replace(fixture(t, "report.json.gz"), []byte(`"status":0`), []byte(`"status":137`), 1))
	if got := value(m, footprintPeakMetric, ""); !strings.Contains(got, "status 137") || len(m.Rows) != 1 {
		t.Errorf("%s, %d rows", got, len(m.Rows))
	}
}

// TestHistory: an entry a line is read as the array is, and the newest is compared with
// the last of the same program that did not fail.
func TestHistory(t *testing.T) {
	entry := func(config string, status, kilobytes int) string {
		return fmt.Sprintf(`{"timestamp":"2026-03-01T10:00:00Z","config":%q,"configSha256":"","binary":"affon","status":%d,"peakResidentBytes":%d,"peakFootprintBytes":0,"snapshots":3,"maxMetrics":{"compute.storage/live_cpu_bytes":7}}`+"\n", config, status, kilobytes)
	}
	lines := entry("a", 0, 100) + entry("b", 0, 200) + entry("a", 1, 300) + entry("a", 0, 400)
	for _, text := range []string{lines, "[" + strings.ReplaceAll(strings.TrimSpace(lines), "\n", ",") + "]"} {
		r := mustRead(t, []byte(text)).Report
		if r.ResidentPeak != 400*1024 || r.Previous == nil || r.Previous.ResidentPeak != 100*1024 {
			t.Errorf("%+v, previous %+v", r, r.Previous)
		}
	}
	// macOS gives bytes, and both numbers.
	mac := strings.ReplaceAll(entry("a", 0, 1<<20), `"peakFootprintBytes":0`, `"peakFootprintBytes":2097152`)
	wants{{footprintPeakMetric, ""}: "2,097,152 B"}.check(t, read(t, []byte(mac)))
}
