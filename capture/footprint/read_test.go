package footprint

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

const header = `{"schema":"peakgate.watch/1","start":"2026-01-31T12:00:00Z","argv":["a"],"host":{"os":"linux","arch":"amd64"},"interval_ms":250,"sources":{},"steps":"regex"}` + "\n"

// rows are the rows of a measurement, one a line.
func rows(m *measure.Measurement) string {
	var out strings.Builder
	for _, r := range m.Rows {
		value := "no data: " + r.NoData
		if r.Value != nil {
			value = fmt.Sprintf("%s %s of %d", r.Value.Exact(r.Unit), r.Kind, r.Samples)
		}
		fmt.Fprintf(&out, "%s{%s} %s\n", r.Name, r.Labels.Key(), value)
	}
	return out.String()
}

func read(t testing.TB, text string) *measure.Measurement {
	t.Helper()
	c, err := Read(strings.NewReader(text), "x")
	if err != nil {
		t.Fatal(err)
	}
	m := c.Measurement()
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMeasurement(t *testing.T) {
	text := header + `{"t_ms":0,"event":"proc_start","pid":7}
{"t_ms":1,"step":null,"nproc":1,"footprint_bytes":100,"rss_bytes":150,"high_water_bytes":200,"descriptors":5}
{"t_ms":2,"event":"a name of later"}
{"t_ms":3,"step":4,"nproc":2,"footprint_bytes":400,"high_water_bytes":700,"a_key_of_later":[1]}
{"t_ms":4,"event":"gap","gap_ms":1500,"reason":"suspended"}
{"t_ms":5,"step":5,"nproc":2,"footprint_bytes":410,"descriptors":9}
{"t_ms":6,"step":null,"nproc":2,"footprint_bytes":null,"reasons":{"footprint_bytes":"permission denied"}}
{"t_ms":7,"event":"proc_exit","pid":7,"code":0,"max_rss_bytes":99999,"high_water_bytes":500}
{"t_ms":8,"step":null,"nproc":0,"rss_bytes":0}
{"summary":true,"t_ms":9,"exit_code":0,"oom_kills":0,"samples":5,"processes":2,"footprint_peak_bytes":450,"upper_peak_bytes":900}
`
	m := read(t, text)
	want := `footprint.peak_bytes{} 500 B high_water of 3
footprint.peak_upper_bytes{} 900 B high_water of 0
oom.kills{} 0 exact of 0
growth.bytes_per_step{series=footprint} 10 B/step sampled of 2
footprint.plateau_bytes{} no data: 2 points after warm-up: a plateau needs 24
process.count{} 2 sampled of 5
descriptor.count{} 9 sampled of 2
`
	got := rows(m)
	// How many points are left after warm-up is growth's business.
	if i := strings.Index(got, "footprint.plateau"); i < 0 || !strings.Contains(got[i:], "points after warm-up: a plateau needs 24") {
		t.Errorf("plateau: %s", got)
	}
	cut := func(s string) string {
		var kept []string
		for line := range strings.Lines(s) {
			if !strings.HasPrefix(line, "footprint.plateau") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	if cut(got) != cut(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	f := m.Facts.Watches[0]
	if f.Outcome != measure.OutcomeFinished || f.Gaps != 1 || f.LongestGap != 1.5 || f.Samples != 5 || f.Footprints != 3 || f.Steps != 2 || f.Processes != 2 || f.IntervalSeconds != 0.25 {
		t.Errorf("%+v", f)
	}
	if len(m.Warnings) != 0 {
		t.Errorf("warnings %q", m.Warnings)
	}
}

func TestOutcome(t *testing.T) {
	const sample = `{"t_ms":1,"step":null,"nproc":1,"footprint_bytes":100}` + "\n"
	for _, c := range []struct{ name, rest, outcome, peak, warnings string }{
		{"finished", `{"summary":true,"t_ms":2,"exit_code":0,"samples":1,"processes":1}` + "\n", measure.OutcomeFinished, "100 B sampled of 1", ""},
		{"a code", `{"summary":true,"t_ms":2,"exit_code":3,"samples":1,"processes":1}` + "\n", measure.OutcomeFailed,
			"no data: the run ended with exit code 3, so this is no whole run", "the run ended with exit code 3"},
		{"a signal", `{"summary":true,"t_ms":2,"exit_code":null,"signal":"SIGSEGV","samples":1,"processes":1}` + "\n", measure.OutcomeSignal,
			"no data: the run was ended by SIGSEGV, so this is no whole run", "the run was ended by SIGSEGV"},
		{"killed for memory", `{"summary":true,"t_ms":2,"exit_code":null,"signal":"SIGKILL","oom_kills":1,"samples":1,"processes":1}` + "\n", measure.OutcomeOOMKilled,
			"100 B sampled of 1", "the kernel killed 1 process of the run for memory"},
		{"a worker killed for memory", `{"summary":true,"t_ms":2,"exit_code":0,"oom_kills":2,"samples":1,"processes":1}` + "\n", measure.OutcomeOOMKilled,
			"100 B sampled of 1", "the kernel killed 2 processes of the run for memory"},
		{"somebody else's worker", `{"summary":true,"t_ms":2,"exit_code":0,"oom_kills":2,"samples":1,"processes":1,"reasons":{"oom_kills":"shared"}}` + "\n", measure.OutcomeFinished,
			"100 B sampled of 1", ""},
		{"over a limit", `{"summary":true,"t_ms":2,"exit_code":null,"signal":"SIGTERM","stopped":"above 1 GiB","samples":1,"processes":1}` + "\n", measure.OutcomeStopped,
			"100 B sampled of 1", "the watcher ended the run: above 1 GiB"},
		{"cut off", `{"t_ms":2,"step":nul`, measure.OutcomeUnknown, "100 B sampled of 1",
			"the last line, 3, was cut off and is left out; the file has no summary: the watcher was ended after 0.0 s, and how the run ended is not known"},
		{"cut off behind a kill", `{"t_ms":2,"event":"oom","kills":1}` + "\n", measure.OutcomeOOMKilled, "100 B sampled of 1",
			"the file has no summary: the watcher was ended after 0.0 s, and how the run ended is not known; the kernel killed 1 process of the run for memory"},
	} {
		m := read(t, header+sample+c.rest)
		peak, _, _ := strings.Cut(strings.TrimPrefix(rows(m), "footprint.peak_bytes{} "), "\n")
		if got := m.Facts.Watches[0].Outcome; got != c.outcome || peak != c.peak || strings.Join(m.Warnings, "; ") != c.warnings {
			t.Errorf("%s: %s, %s, %q\nwant %s, %s, %q", c.name, got, peak, m.Warnings, c.outcome, c.peak, c.warnings)
		}
	}
}

// TestTornLines: the lines around one that was torn are whole.
func TestTornLines(t *testing.T) {
	sample := func(tms, n int) string {
		return fmt.Sprintf(`{"t_ms":%d,"step":null,"nproc":1,"footprint_bytes":%d}`, tms, n) + "\n"
	}
	const summary = `{"summary":true,"t_ms":9,"exit_code":0,"samples":3,"processes":1,"footprint_peak_bytes":400}` + "\n"
	for _, torn := range []string{`{"t_ms":2,"foot`, `{"t_ms":2,"step":nu{"t_ms":3,"nproc":1}`, "\x00\x00\x00", `{"summary":true,"t_ms":`} {
		m := read(t, header+sample(1, 100)+torn+"\n"+torn+"\n"+sample(5, 200)+summary)
		if got := rows(m); !strings.Contains(got, "footprint.peak_bytes{} 400 B sampled of 2\n") {
			t.Errorf("%q: got\n%s", torn, got)
		}
		want := "torn lines: 2, the first is line 3; they are left out, and what they said is not known"
		if len(m.Warnings) != 1 || m.Warnings[0] != want {
			t.Errorf("%q: warnings %q, want %q", torn, m.Warnings, want)
		}
	}
}

// TestDoubtfulPeak: where most samples have no footprint, and the ends of the peak
// are far apart, that is said.
func TestDoubtfulPeak(t *testing.T) {
	const rest = `{"t_ms":2,"step":null,"nproc":5,"rss_bytes":1000}
{"t_ms":3,"step":null,"nproc":5,"rss_bytes":1000}
{"summary":true,"t_ms":9,"exit_code":0,"samples":3,"processes":5,"process_peak_bytes":211292160,"upper_peak_bytes":%d}
`
	text := header + `{"t_ms":1,"step":null,"nproc":1,"footprint_bytes":209715200,"high_water_bytes":1050857472}` + "\n"
	wide := read(t, text+fmt.Sprintf(rest, 1050857472))
	want := "1 of 3 samples have a footprint: its peak lies between 201.50 MiB and 1002.18 MiB"
	if len(wide.Warnings) != 1 || !strings.HasPrefix(wide.Warnings[0], want) {
		t.Errorf("warnings %q, want %q", wide.Warnings, want)
	}
	// The watcher knows an upper end that is below the sum of marks.
	narrow := read(t, text+fmt.Sprintf(rest, 212000000))
	if got := rows(narrow); len(narrow.Warnings) != 0 || !strings.Contains(got, "footprint.peak_upper_bytes{} 212,000,000 B") {
		t.Errorf("warnings %q\n%s", narrow.Warnings, got)
	}
}

func TestNoFootprint(t *testing.T) {
	m := read(t, header+`{"t_ms":1,"step":null,"nproc":1,"rss_bytes":7,"footprint_bytes":null,"reasons":{"footprint_bytes":"permission denied"}}`+"\n"+
		`{"summary":true,"t_ms":2,"exit_code":0,"oom_kills":null,"samples":1,"processes":1,"reasons":{"oom_kills":"no control group"}}`+"\n")
	want := `footprint.peak_bytes{} no data: no footprint was read: permission denied
oom.kills{} no data: no control group
growth.bytes_per_hour{series=footprint} no data: no footprint was read: permission denied
footprint.plateau_bytes{} no data: no footprint was read: permission denied
process.count{} 1 sampled of 1
`
	if got := rows(m); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestTooShort: a run that was over before it could be sampled says so.
func TestTooShort(t *testing.T) {
	m := read(t, header+`{"t_ms":12,"step":null,"nproc":0,"rss_bytes":0}`+"\n"+
		`{"summary":true,"t_ms":13,"exit_code":0,"oom_kills":0,"samples":1,"processes":1}`+"\n")
	want := "footprint.peak_bytes{} no data: no sample has a footprint: the run was over after 13 ms, too short to be sampled; watch a longer one\n"
	if got := rows(m); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestSteps: a counter that begins again is counted on, and of two samples at one
// mark the lower one counts. A number that no counter reaches is passed over.
func TestSteps(t *testing.T) {
	text := header
	for i, step := range []int64{8, 9, 9, 1, 2, -9223372036854775808} {
		text += fmt.Sprintf(`{"t_ms":%d,"step":%d,"nproc":1,"footprint_bytes":%d}`, i, step, 100-i) + "\n"
	}
	s := read(t, text).SeriesOf("growth.bytes_per_step", measure.Labels{"series": "footprint"})
	if s == nil || fmt.Sprint(s.X) != "[8 9 10 11]" || s.Points[1] != measure.Int(98) {
		t.Errorf("%+v", s)
	}
}

func TestReadRefuses(t *testing.T) {
	const sample = `{"t_ms":5,"step":null,"nproc":1}` + "\n"
	const summary = `{"summary":true,"t_ms":6,"exit_code":0,"samples":1,"processes":1}` + "\n"
	affon, err := os.ReadFile("../../fixtures/footprint/affon.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(affon), "\n")
	second, _, _ := strings.Cut(rest, "\n")
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", `x: no header line: want {"schema":"peakgate.watch/1",…} first`},
		{"another schema", `{"schema":"peakgate.watch/2"}` + "\n", `x:1:1: schema: want "peakgate.watch/1", got "peakgate.watch/2"`},
		{"no header", sample, `x:1:1: schema: want "peakgate.watch/1", got ""`},
		{"only a header", header, "x:2: no sample: the watcher was ended before its first one"},
		{"unknown steps", strings.Replace(header, "regex", "guess", 1), `x:1:1: header: steps: want regex, channel, signal or estimated; got "guess"`},
		{"text for a number", header + `{"t_ms":5,"nproc":"1"}` + "\n", "x:2:21: sample: nproc: want an integer of 64 bits, got string"},
		{"a fraction of a byte", header + `{"t_ms":5,"nproc":1,"rss_bytes":1.5}` + "\n", "x:2:1: sample: want an integer of at least 0, or null; got 1.5"},
		{"a negative size", header + `{"t_ms":5,"nproc":1,"rss_bytes":-1}` + "\n", "x:2:1: sample: want an integer of at least 0, or null; got -1"},
		{"less than no process", header + `{"t_ms":5,"nproc":-1}` + "\n", "x:2:1: sample: nproc: want at least 0, got -1"},
		{"no time", header + `{"nproc":1}` + "\n", "x:2:1: t_ms: want milliseconds, found none"},
		{"time goes back", header + sample + `{"t_ms":4,"nproc":1}` + "\n", "x:3:1: t_ms: want at least 5, got 4: time went back"},
		{"a step without a number", header + `{"t_ms":5,"event":"step"}` + "\n", "x:2:1: event step: no step"},
		{"two runs", header + sample + summary + header, "x:4:1: a line behind the summary: want each run in a file of its own"},
		{"two headers", header + header, "x:2:1: a second header: want each run in a file of its own"},
		{"only torn lines", header + "{\"t_ms\":5\n", "x:3: no sample: the watcher was ended before its first one"},
		{"no object", header + "[]\n", "x:2:1: sample: want one JSON object a line, got array"},
		{"Affon: a key is missing", strings.Replace(first, `"pid":4242,`, "", 1) + "\n", "x:1:1: pid: want it in every line of metal-footprint-watch.sh, found none"},
		{"Affon: a key is null", strings.Replace(first, `4242`, "null", 1) + "\n", "x:1:1: pid: want it in every line of metal-footprint-watch.sh, found none"},
		{"Affon: two runs", first + "\n" + second + "\n" + first + "\n", "x:3:1: sample 1 at 4 s behind sample 2 at 14 s: want each run in a file of its own"},
		{"Affon: a negative size", strings.Replace(first, `"elapsedSeconds":4`, `"elapsedSeconds":-4`, 1) + "\n", "x:1:1: want sizes, counts and times of at least 0"},
	} {
		got, err := Read(strings.NewReader(c.in), "x")
		if err == nil || err.Error() != c.want || got != nil {
			t.Errorf("%s: %v\ngot  %v\nwant %s", c.name, got != nil, err, c.want)
		}
	}
}

func TestAffon(t *testing.T) {
	data, err := os.ReadFile("../../fixtures/footprint/affon.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	m := read(t, string(data))
	if s := m.SeriesOf("growth.regions_per_hour", measure.Labels{"series": "regions"}); s == nil || len(s.X) != 30 || s.X[29] != 294 {
		t.Errorf("%+v", s)
	}
	for _, r := range m.Rows {
		low, high := map[string][2]float64{
			"footprint.peak_bytes":    {577 << 20, 578 << 20},
			"growth.bytes_per_hour":   {2155 << 20, 2165 << 20}, // 6 MiB in 10 s
			"growth.regions_per_hour": {7190, 7210},             // 20 in 10 s
			"footprint.plateau_bytes": {540 << 20, 560 << 20},
		}[r.Name], r.Value
		if high == nil || high.Float64() < low[0] || high.Float64() > low[1] {
			t.Errorf("%s: %+v, want %v", r.Name, r, low)
		}
	}
	f := m.Facts.Watches[0]
	if f.Watcher != "affon" || f.Outcome != measure.OutcomeUnknown || *f.GrowthRegions != 582 || f.LimitRegions != 5000 || f.LimitGrowthBytes != 512<<20 || f.IntervalSeconds != 10 {
		t.Errorf("%+v", f)
	}
	if len(m.Warnings) != 0 {
		t.Errorf("warnings %q", m.Warnings)
	}
}

func TestAffonWarnings(t *testing.T) {
	data, err := os.ReadFile("../../fixtures/footprint/affon.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all := strings.SplitAfter(string(data), "\n")
	few := strings.ReplaceAll(strings.Join(all[:3], ""), `"elapsedSeconds":4,`, `"elapsedSeconds":1,`)
	last := strings.ReplaceAll(all[29], `"ioAcceleratorGraphicsRegions":892`, `"ioAcceleratorGraphicsRegions":9999`)
	for _, c := range []struct{ name, in, want string }{
		{"few", few, "3 samples, the script takes 12: the run ended early, or growth stopped it; " +
			"the first sample was taken 1 s after the start: growth since then is all that the program ever takes, its start included"},
		{"the first lines are missing", strings.Join(all[2:], ""), "physicalFootprintGrowthBytes is not counted from the first line: lines before it are missing"},
		{"above the script's limit", strings.Join(all[:29], "") + last, "IOAccelerator (graphics) regions grew by 9689 since the first sample, more than the script's default of 5000"},
		{"cut off", string(data[:len(data)-9]), "the last line, 30, was cut off and is left out"},
	} {
		if got := strings.Join(read(t, c.in).Warnings, "; "); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
	}
	zeros := strings.NewReplacer(`"ioAcceleratorGraphicsRegions":`, `"ioAcceleratorGraphicsRegions":0,"was":`).Replace(string(data))
	if got := rows(read(t, zeros)); !strings.Contains(got, "growth.regions_per_hour{series=regions} no data: it is 0 in all samples") {
		t.Errorf("no regions at all: %s", got)
	}
}

func TestSniff(t *testing.T) {
	affon, err := os.ReadFile("../../fixtures/footprint/affon.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		in   string
		want bool
	}{
		{header, true}, {header[:len(header)-1], true}, {string(affon), true},
		{`{"schema":"peakgate.watch/1","argv":["` + strings.Repeat("x", 70<<10), true},
		{`{"schema":"peakgate.measurement/1"}`, false}, {`{"step":1,"rss_mib":2}`, false}, {"", false}, {"{", false},
		{`{"physicalFootprintBytes":1}`, false},
	} {
		if _, got := Sniff([]byte(c.in)); got != c.want {
			t.Errorf("%.60q: %v", c.in, got)
		}
	}
}

// TestWriterIsRead: what the Writer writes is read, and says the same.
func TestWriterIsRead(t *testing.T) {
	var out strings.Builder
	w, err := NewWriter(&out, Header{IntervalMS: 10, Steps: StepsChannel, Host: Host{OS: "linux", Arch: "amd64"}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(40) {
		step := i
		if err := w.Event(Event{TMS: i, Name: EventStep, Step: &step}); err != nil {
			t.Fatal(err)
		}
		if err := w.Sample(Sample{TMS: i, Step: &step, Nproc: 1, Footprint: Known(1<<30 + 4096*i), Regions: Known(10 + 2*i)}); err != nil {
			t.Fatal(err)
		}
	}
	code := int64(0)
	if err := w.Summary(Summary{TMS: 50, ExitCode: &code, OOMKills: Known(0)}); err != nil {
		t.Fatal(err)
	}
	got := rows(read(t, out.String()))
	for _, want := range []string{"growth.bytes_per_step{series=footprint} 4,096 B/step", "growth.regions_per_step{series=regions} 2 count/step", "footprint.plateau_bytes{} 1,073,8"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
