package torch

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// repoRoot is the folder of go.mod.
func repoRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the package")
		}
		dir = filepath.Dir(dir)
	}
}

// captures is a folder of ../shared/captures; the test is skipped without it.
func captures(t testing.TB, folder string) string {
	t.Helper()
	dir := filepath.Join(repoRoot(t), "..", "shared", "captures", folder)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("../shared/captures/%s is not there", folder)
	}
	return dir
}

func readFile(t testing.TB, path string) *Snapshot {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(f, info.Size(), filepath.Base(path), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatalf("%s: Validate: %v", path, err)
	}
	return s
}

func readJSON(t testing.TB, path string, to any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

// table gives the rows of a measurement as "metric device" → value or reason.
type table map[string]measure.Row

func rowsOf(m *measure.Measurement) table {
	out := table{}
	for _, r := range m.Rows {
		out[r.Name+" "+r.Labels["device"]] = r
	}
	return out
}

// want compares one row with an exact number.
func (rows table) want(t *testing.T, metric string, device int, want int64) {
	t.Helper()
	r, ok := rows[metric+" "+strconv.Itoa(device)]
	if !ok {
		t.Errorf("%s device %d: no row, want %d", metric, device, want)
		return
	}
	if r.Value == nil {
		t.Errorf("%s device %d: no data (%s), want %d", metric, device, r.NoData, want)
		return
	}
	if got, _ := r.Value.Int64(); got != want {
		t.Errorf("%s device %d = %d, want %d", metric, device, got, want)
	}
}

// addsUp checks that the contributors of each row add up to it.
func addsUp(t *testing.T, m *measure.Measurement) {
	t.Helper()
	for _, r := range m.Rows {
		if r.Name != "live.peak_bytes" && r.Name != "live.end_bytes" || r.Value == nil {
			continue
		}
		want, _ := r.Value.Int64()
		sum, seen := int64(0), map[string]bool{}
		for _, c := range m.Contributors {
			if c.Metric != r.Name || c.Labels.Key() != r.Labels.Key() {
				continue
			}
			if sum += int64(c.Bytes); c.Bytes <= 0 || c.Count <= 0 || c.Display == "" || c.Key == "" || seen[c.Key] {
				t.Errorf("%s %s: contributor %+v", r.Name, r.Labels.Key(), c)
			}
			seen[c.Key] = true
		}
		if sum != want {
			t.Errorf("%s %s: contributors add up to %d, want %d", r.Name, r.Labels.Key(), sum, want)
		}
	}
}

type goldenDevice struct {
	Device                                           int
	Segments, Reserved, Requested, Pending, Inactive int64
	ActiveAllocated                                  int64            `json:"active_allocated"`
	LargestInactive                                  int64            `json:"largest_inactive"`
	LargestInactiveByPool                            map[string]int64 `json:"largest_inactive_by_pool"`
	Events                                           int64
	Actions                                          map[string]int64
	Live                                             int64    `json:"final_live_requested"`
	Baseline                                         int64    `json:"baseline_requested"`
	Peak                                             int64    `json:"peak_requested"`
	PeakEvent                                        int64    `json:"peak_event"`
	UnmatchedFrees                                   int64    `json:"unmatched_frees"`
	UnmatchedFreeBytes                               int64    `json:"unmatched_free_bytes"`
	ReservedBaseline                                 int64    `json:"reserved_baseline"`
	ReservedPeak                                     int64    `json:"reserved_peak"`
	Misses                                           *int64   `json:"allocs_after_segment_event"`
	HitRatio                                         *float64 `json:"cache_hit_ratio"`
}

func TestGoldenPublic(t *testing.T) {
	dir := captures(t, "torch")
	var golden map[string]struct {
		Metrics []goldenDevice
		Viewer  []struct {
			Device     int
			MaxAtTime  int64 `json:"max_at_time"`
			SegMaxTime int64 `json:"seg_max_at_time"`
		} `json:"memoryviz_process_alloc_data"`
	}
	readJSON(t, filepath.Join(dir, "golden.json"), &golden)
	if len(golden) != 23 {
		t.Fatalf("golden.json has %d files, want 23", len(golden))
	}
	for file, g := range golden {
		t.Run(file, func(t *testing.T) {
			s := readFile(t, filepath.Join(dir, file))
			m := s.Measurement()
			addsUp(t, m)
			rows := rowsOf(m)
			devices := map[int]*Device{}
			for i := range s.Devices {
				devices[s.Devices[i].Ordinal] = &s.Devices[i]
			}
			if len(devices) != len(g.Metrics) {
				t.Errorf("%d devices, want %d", len(devices), len(g.Metrics))
			}
			for _, w := range g.Metrics {
				d := devices[w.Device]
				if d == nil {
					t.Errorf("device %d is missing", w.Device)
					continue
				}
				rows.want(t, "reserved.end_bytes", w.Device, w.Reserved)
				rows.want(t, "inactive.bytes", w.Device, w.Inactive)
				rows.want(t, "inactive.largest_bytes", w.Device, w.LargestInactive)
				rows.want(t, "pending_free.bytes", w.Device, w.Pending)
				rows.want(t, "live.end_bytes", w.Device, w.Live)
				usable := int64(0)
				for pool, n := range w.LargestInactiveByPool {
					if strings.HasSuffix(pool, "pool=(0, 0)") {
						usable = max(usable, n)
					}
				}
				if d.State.PoolsKnown {
					rows.want(t, "inactive.largest_usable_bytes", w.Device, usable)
				}
				got := fmt.Sprint(len(d.Segments), d.State.Allocated, d.State.RequestedAllocated, d.History.Events, d.History.UnmatchedFrees, d.History.UnmatchedFreedBytes)
				want := fmt.Sprint(w.Segments, w.ActiveAllocated, w.Requested, w.Events, w.UnmatchedFrees, w.UnmatchedFreeBytes)
				if got != want {
					t.Errorf("device %d: segments, allocated, requested, events, unmatched frees = %s, want %s", w.Device, got, want)
				}
				for a, n := range d.History.Counts[:Unknown] {
					if n != w.Actions[Action(a).String()] {
						t.Errorf("device %d: %d events %v, want %d", w.Device, n, Action(a), w.Actions[Action(a).String()])
					}
				}
				// With one event or none there is no history: the golden's peak is
				// then the state itself, which is no peak.
				if w.Events <= 1 {
					for _, metric := range []string{"live.peak_bytes", "live.baseline_bytes", "live.rounded_peak_bytes", "reserved.peak_bytes", "pool.hit_ratio", "pool.misses", "oom.events"} {
						if r := rows[metric+" "+strconv.Itoa(w.Device)]; r.Value != nil || r.NoData == "" {
							t.Errorf("%s device %d: %+v, want no data", metric, w.Device, r)
						}
					}
					continue
				}
				rows.want(t, "live.peak_bytes", w.Device, w.Peak)
				rows.want(t, "live.baseline_bytes", w.Device, w.Baseline)
				rows.want(t, "reserved.peak_bytes", w.Device, w.ReservedPeak)
				rows.want(t, "pool.misses", w.Device, *w.Misses)
				rows.want(t, "oom.events", w.Device, w.Actions["oom"])
				if d.History.PeakEvent != w.PeakEvent || d.History.ReservedBaseline != w.ReservedBaseline {
					t.Errorf("device %d: peak event %d, reserved baseline %d, want %d, %d", w.Device, d.History.PeakEvent, d.History.ReservedBaseline, w.PeakEvent, w.ReservedBaseline)
				}
				if r := rows["pool.hit_ratio "+strconv.Itoa(w.Device)]; r.Value == nil || fmt.Sprintf("%.6f", r.Value.Float64()) != fmt.Sprintf("%.6f", *w.HitRatio) {
					t.Errorf("device %d: hit ratio %+v, want %v", w.Device, r, *w.HitRatio)
				}
				rounded := rows["live.rounded_peak_bytes "+strconv.Itoa(w.Device)]
				if v, _ := rounded.Value.Int64(); v < w.Peak || v > w.Peak+512*(d.History.Counts[Alloc]+int64(len(d.Segments))*1000) {
					t.Errorf("device %d: rounded peak %d for the peak %d", w.Device, v, w.Peak)
				}
			}
			for _, v := range g.Viewer {
				d := devices[v.Device]
				if d == nil {
					if v.MaxAtTime != 0 {
						t.Errorf("device %d is missing; the viewer shows %d", v.Device, v.MaxAtTime)
					}
					continue
				}
				if d.History.Events <= 1 {
					continue
				}
				rows.want(t, "live.peak_bytes", v.Device, v.MaxAtTime)
				rows.want(t, "reserved.peak_bytes", v.Device, v.SegMaxTime)
			}
		})
	}
}

type replayDevice struct {
	Events       int64
	Kinds        map[string]int64
	Baseline     int64
	Live         int64
	Peak         int64
	PeakEvent    int64 `json:"peak_event"`
	Reserved     int64
	ReservedBase int64 `json:"reserved_baseline"`
	ReservedPeak int64 `json:"reserved_peak"`
	Pending      int64
	Active       int64 `json:"active_rounded"`
	Allocated    int64 `json:"allocated_rounded"`
	Inactive     int64
	PeakSites    [][3]any          `json:"peak_sites"`
	LiveSites    [][3]any          `json:"live_sites"`
	Counters     map[string]string `json:"vs_counters"`
}

// siteSums adds up a live set as the replay does: by the innermost own .py frame.
func siteSums(s *Snapshot, live []Holding) map[string][2]int64 {
	out := map[string][2]int64{}
	for _, h := range live {
		key := "<no frames>"
		if h.Stack >= firstStack {
			key = "<no user frame>"
			for _, f := range s.Stack(h.Stack) {
				if strings.HasSuffix(f.File, ".py") && !strings.Contains(f.File, "/site-packages/") && !strings.Contains(f.File, "/lib/python3") {
					key = fmt.Sprintf("%s:%d %s", filepath.Base(f.File), f.Line, f.Name)
					break
				}
			}
		}
		v := out[key]
		out[key] = [2]int64{v[0] + h.Bytes, v[1] + h.Count}
	}
	return out
}

// contributorSums does the same from our sites, for stacks with a user's line.
func contributorSums(s *Snapshot, live []Holding) map[string][2]int64 {
	t := newSites(s)
	out := map[string][2]int64{}
	for _, h := range live {
		at := t.of(h.Stack)
		if at.class == "workspace" {
			// Kept apart; the replay charges them to the line that came first.
			maps.Copy(out, addSums(out, siteSums(s, []Holding{h})))
			continue
		}
		key := "<no user frame>"
		if at.label == "" && strings.HasSuffix(at.user.file, ".py") && !strings.HasPrefix(at.user.file, "torch/") {
			key = fmt.Sprintf("%s:%d %s", filepath.Base(at.user.file), at.user.line, at.user.function)
		} else if h.Stack < firstStack {
			key = "<no frames>"
		}
		v := out[key]
		out[key] = [2]int64{v[0] + h.Bytes, v[1] + h.Count}
	}
	return out
}

func addSums(a, b map[string][2]int64) map[string][2]int64 {
	for k, v := range b {
		b[k] = [2]int64{a[k][0] + v[0], a[k][1] + v[1]}
	}
	return b
}

func goldenSums(list [][3]any) map[string][2]int64 {
	out := map[string][2]int64{}
	for _, e := range list {
		out[e[0].(string)] = [2]int64{int64(e[1].(float64)), int64(e[2].(float64))}
	}
	return out
}

func TestGoldenLab(t *testing.T) {
	dir := captures(t, "lab/torch")
	var golden map[string][]replayDevice
	readJSON(t, filepath.Join(dir, "replay.json"), &golden)
	if len(golden) < 60 {
		t.Fatalf("replay.json has %d files", len(golden))
	}
	for file, devices := range golden {
		t.Run(file, func(t *testing.T) {
			s := readFile(t, filepath.Join(dir, file))
			m := s.Measurement()
			addsUp(t, m)
			rows := rowsOf(m)
			for i, w := range devices {
				rows.want(t, "live.end_bytes", i, w.Live)
				rows.want(t, "reserved.end_bytes", i, w.Reserved)
				rows.want(t, "inactive.bytes", i, w.Inactive)
				rows.want(t, "pending_free.bytes", i, w.Pending)
				d := &s.Devices[i]
				if d.State.Allocated != w.Allocated || d.State.Allocated+d.State.PendingFree != w.Active || d.History.Events != w.Events {
					t.Errorf("allocated %d, active %d, events %d, want %d, %d, %d", d.State.Allocated, d.State.Allocated+d.State.PendingFree, d.History.Events, w.Allocated, w.Active, w.Events)
				}
				for a, n := range d.History.Counts[:Unknown] {
					if n != w.Kinds[Action(a).String()] {
						t.Errorf("%d events %v, want %d", n, Action(a), w.Kinds[Action(a).String()])
					}
				}
				for name, sums := range map[string]func(*Snapshot, []Holding) map[string][2]int64{"stacks": siteSums, "sites": contributorSums} {
					if got, want := sums(s, d.End), goldenSums(w.LiveSites); fmt.Sprint(got) != fmt.Sprint(want) {
						t.Errorf("%s at the end:\n got %v\nwant %v", name, got, want)
					}
				}
				switch {
				case w.Events <= 1, w.Kinds["free_completed"] == 0 && w.Kinds["free_requested"] > 0:
					if r := rows["live.peak_bytes "+strconv.Itoa(i)]; r.Value != nil || r.NoData == "" {
						t.Errorf("live.peak_bytes: %+v, want no data", r)
					}
					continue
				}
				rows.want(t, "live.peak_bytes", i, w.Peak)
				rows.want(t, "live.baseline_bytes", i, w.Baseline)
				rows.want(t, "reserved.peak_bytes", i, w.ReservedPeak)
				if d.History.PeakEvent != w.PeakEvent || d.History.ReservedBaseline != w.ReservedBase {
					t.Errorf("peak event %d, reserved baseline %d, want %d, %d", d.History.PeakEvent, d.History.ReservedBaseline, w.PeakEvent, w.ReservedBase)
				}
				// The replay knows only blocks that the history allocated, and with
				// context="state" not the stacks that their blocks keep.
				if w.Baseline == 0 && file != "ctx_state.pickle" {
					for name, sums := range map[string]func(*Snapshot, []Holding) map[string][2]int64{"stacks": siteSums, "sites": contributorSums} {
						if got, want := sums(s, d.Peak), goldenSums(w.PeakSites); fmt.Sprint(got) != fmt.Sprint(want) {
							t.Errorf("%s at the peak:\n got %v\nwant %v", name, got, want)
						}
					}
				}
			}
		})
	}
}

// TestCounters compares with what the allocator itself counted.
func TestCounters(t *testing.T) {
	dir := captures(t, "lab/torch")
	var truth map[string]struct {
		Files    map[string]any
		Measured map[string]struct {
			Counters []map[string]int64 `json:"allocator_counters"`
		}
	}
	readJSON(t, filepath.Join(dir, "truth.json"), &truth)
	checked := 0
	for _, story := range truth {
		for file := range story.Files {
			measured := story.Measured[filepath.Base(file)]
			s := readFile(t, filepath.Join(dir, file))
			rows := rowsOf(s.Measurement())
			for i, c := range measured.Counters {
				rows.want(t, "live.end_bytes", i, c["requested_bytes.current"])
				rows.want(t, "reserved.end_bytes", i, c["reserved_bytes.current"])
				// A cut history has seen only a part of the run.
				if r := rows["live.peak_bytes "+strconv.Itoa(i)]; r.Value != nil && s.Devices[i].History.Kind != "truncated" {
					rows.want(t, "live.peak_bytes", i, c["requested_bytes.peak"])
					rows.want(t, "reserved.peak_bytes", i, c["reserved_bytes.peak"])
					if v, _ := rows["live.rounded_peak_bytes "+strconv.Itoa(i)].Value.Int64(); v > c["active_bytes.peak"] || v < c["requested_bytes.peak"] {
						t.Errorf("%s: rounded peak %d, active peak %d", file, v, c["active_bytes.peak"])
					}
					checked++
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("compared %d files, want 50 and more", checked)
	}
}
