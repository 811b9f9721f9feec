package footprint

import (
	"errors"
	"strings"
	"testing"
)

func TestWriter(t *testing.T) {
	var out strings.Builder
	w, err := NewWriter(&out, Header{Start: "2026-01-31T12:00:00Z", Argv: []string{"python", "a<b"}, Host: Host{OS: "linux", Arch: "amd64"}, IntervalMS: 250, Steps: StepsRegex})
	if err != nil {
		t.Fatal(err)
	}
	step := int64(3)
	for _, err := range []error{
		w.Event(Event{TMS: 1, Name: EventProcStart, PID: 7, PPID: 6, Comm: "python"}),
		w.Sample(Sample{TMS: 2, Nproc: 1, RSS: Known(4096), PSS: Unknown(), Reasons: map[string]string{"pss_bytes": "permission denied"}}),
		w.Event(Event{TMS: 2, Name: EventStep, Step: &step}),
		w.Sample(Sample{TMS: 2, Step: &step, Nproc: 1, Footprint: Known(0), RSS: Known(8192)}),
		w.Summary(Summary{TMS: 9, ExitCode: new(int64), Samples: 2, Processes: 1, OOMKills: Unknown(), Reasons: map[string]string{"oom_kills": "no control group of its own"}}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := `{"schema":"peakgate.watch/1","start":"2026-01-31T12:00:00Z","argv":["python","a<b"],"host":{"os":"linux","arch":"amd64"},"interval_ms":250,"sources":{},"steps":"regex"}
{"t_ms":1,"event":"proc_start","pid":7,"ppid":6,"comm":"python"}
{"t_ms":2,"step":null,"nproc":1,"rss_bytes":4096,"pss_bytes":null,"reasons":{"pss_bytes":"permission denied"}}
{"t_ms":2,"event":"step","step":3}
{"t_ms":2,"step":3,"nproc":1,"footprint_bytes":0,"rss_bytes":8192}
{"summary":true,"t_ms":9,"exit_code":0,"oom_kills":null,"samples":2,"processes":1,"reasons":{"oom_kills":"no control group of its own"}}
`
	if out.String() != want {
		t.Errorf("wrote\n%s\nwant\n%s", out.String(), want)
	}
	if err := w.Sample(Sample{TMS: 10}); err == nil || err.Error() != "a line after the summary" {
		t.Errorf("a line after the summary: %v", err)
	}
}

func TestWriterRefuses(t *testing.T) {
	w, err := NewWriter(&strings.Builder{}, Header{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{w.Event(Event{Name: EventStep}), "event step: no step"},
		{w.Event(Event{}), "event: no name"},
		{w.Sample(Sample{Nproc: -1}), "nproc: want at least 0, got -1"},
		{errors.Join(w.Sample(Sample{TMS: 5}), w.Sample(Sample{TMS: 4})), "t_ms 4 after 5: time went back"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
	if _, err := NewWriter(&strings.Builder{}, Header{Steps: "guess"}); err == nil {
		t.Error("a header with unknown steps was taken")
	}
}
