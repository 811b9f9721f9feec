package watch

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/peakgate/peakgate/capture/footprint"
)

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cfg    Config
		direct bool
		want   string
	}{
		{"terminal", Config{Terminal: true}, false, "\r\x1b[K1s: 100.0 MiB in 2 processes, at most 100.0 MiB" +
			"\r\x1b[K2s: 50.0 MiB in 1 process, at most 100.0 MiB, step 7" +
			"\r\x1b[K" + // the workload prints
			"\r\x1b[K1m10s: 50.0 MiB in 1 process, at most 100.0 MiB, step 7" +
			"\r\x1b[Kpeakgate watch: a note\n"},
		{"a log: a line a minute", Config{}, false, "peakgate watch: 1m10s: 50.0 MiB in 1 process, at most 100.0 MiB, step 7\npeakgate watch: a note\n"},
		{"a terminal that the workload writes to", Config{Terminal: true}, true, "peakgate watch: 1m10s: 50.0 MiB in 1 process, at most 100.0 MiB, step 7\npeakgate watch: a note\n"},
		{"quiet", Config{Terminal: true, Quiet: true}, false, "peakgate watch: a note\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			tt.cfg.Log = &log
			s := newStatus(&tt.cfg)
			s.direct = tt.direct
			sample := func(at time.Duration, n, mib int64) {
				s.sample(at, footprint.Sample{Nproc: n, Footprint: footprint.Known(mib << 20)})
			}
			sample(time.Second, 2, 100)
			sample(1500*time.Millisecond, 2, 90) // too soon
			s.step(7)
			sample(2*time.Second, 1, 50)
			s.sample(65*time.Second, footprint.Sample{Nproc: 1}) // no footprint
			s.passing(func() {})
			sample(70*time.Second, 1, 50)
			s.note("a note")
			if log.String() != tt.want {
				t.Errorf("got %q\nwant %q", log.String(), tt.want)
			}
		})
	}
}

func TestStatusAtTheEnd(t *testing.T) {
	end := func(quiet, seen bool, at time.Duration, r Result) string {
		var log strings.Builder
		s := newStatus(&Config{Log: &log, Quiet: quiet})
		if seen {
			s.sample(0, footprint.Sample{Nproc: 1, Footprint: footprint.Known(20 << 30)})
		}
		s.end(at, r, 100*time.Millisecond)
		return log.String()
	}
	for _, tt := range []struct{ got, want string }{
		{end(false, true, 1500*time.Millisecond, Result{}), "peakgate watch: 1.5s: largest sampled footprint 20.0 GiB\n"},
		{end(false, true, 100*time.Second, Result{}), "peakgate watch: 1m40s: largest sampled footprint 20.0 GiB; watching took 0.10 % of a core\n"},
		{end(false, false, time.Second, Result{}), "peakgate watch: 1s: no footprint could be sampled\n"},
		{end(true, true, time.Second, Result{OOMKills: 2}), "peakgate watch: the kernel killed 2 processes for memory\n"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
