package footprint

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// labLine is a line of an older watcher, "lab-watch/1", with the keys that are used.
type labLine struct {
	Start   int64   `json:"mono_ns_at_t0"`
	TMS     float64 `json:"t_ms"`
	Event   string  `json:"event"`
	Summary bool    `json:"summary"`
	Exit    int64   `json:"exit"`
	Nproc   int64   `json:"nproc"`
	RSS     *int64  `json:"rss"`
	PSS     *int64  `json:"pss"`
	SwapPSS int64   `json:"swappss"`
	High    int64   `json:"hwm_sum"`
	Largest int64   `json:"largest_wait4_maxrss"`
}

// truthLine is what the workload says that it holds.
type truthLine struct {
	NS   int64 `json:"t_ns"`
	Step int64 `json:"step"`
	Live int64 `json:"live_bytes"`
}

func decodeLines[T any](t *testing.T, file string) (out []T) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var v T
		if err := json.Unmarshal(s.Bytes(), &v); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out = append(out, v)
	}
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return out
}

// convert writes the lines of an older watcher as ours: the sample after the mark
// of a step has its number.
func convert(t *testing.T, lab []labLine, truth []truthLine) string {
	t.Helper()
	var out strings.Builder
	w, err := NewWriter(&out, Header{IntervalMS: 20, Steps: StepsChannel})
	if err != nil {
		t.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range lab[1:] {
		switch {
		case l.Summary:
			check(w.Summary(Summary{TMS: int64(l.TMS) + 1e9, ExitCode: &l.Exit, ProcessPeak: Known(l.Largest)}))
		case l.Event == "" && l.RSS != nil:
			s := Sample{TMS: int64(l.TMS), Nproc: l.Nproc, RSS: Known(*l.RSS), HighWater: Known(l.High)}
			if l.PSS != nil {
				s.Footprint = Known(*l.PSS + l.SwapPSS)
				for len(truth) > 0 && truth[0].NS <= lab[0].Start+int64(l.TMS*1e6) {
					s.Step = &truth[0].Step
					truth = truth[1:]
				}
			}
			check(w.Sample(s))
		}
	}
	return out.String()
}

// TestLab compares with workloads of a known footprint: what they hold at most, and
// how much they keep in each step. A process holds a few MiB of its own besides.
func TestLab(t *testing.T) {
	const dir = "../../../shared/captures/lab/footprint"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the shared captures are not there")
	}
	const mib = 1 << 20
	for _, c := range []struct {
		story      string
		peak, each float64 // MiB, each NaN: not given
		slack      float64 // MiB that the peak may be above
	}{
		{"leak", 240, 4, 4},
		{"leakpy", 60, 1, 20},
		{"plateau", 96, math.NaN(), 6},
		{"forkshare_cow", 400, math.NaN(), 12},
		{"forkshare_ro", 200, math.NaN(), 12},
		{"flash", 300, math.NaN(), 12},
		{"spike", 200, math.NaN(), 12},
		{"daemon", 100, math.NaN(), 4},
		{"bigexec", 400, math.NaN(), 4},
		{"reserve", 0, math.NaN(), 4},
	} {
		lab := decodeLines[labLine](t, filepath.Join(dir, c.story+".jsonl"))
		truth := decodeLines[truthLine](t, filepath.Join(dir, c.story+".truth.jsonl"))
		m := read(t, convert(t, lab, truth))
		for _, r := range m.Rows {
			switch {
			case r.Name == "footprint.peak_bytes":
				if got := r.Value.Float64() / mib; got < c.peak || got > c.peak+c.slack {
					t.Errorf("%s: peak %.1f MiB, holds %.1f", c.story, got, c.peak)
				}
			case r.Name == "growth.bytes_per_step" && !math.IsNaN(c.each):
				if got := r.Value.Float64() / mib; math.Abs(got-c.each) > c.each/20 {
					t.Errorf("%s: %.3f MiB a step, keeps %.1f", c.story, got, c.each)
				}
			}
		}
		s := m.SeriesOf("growth.bytes_per_step", measure.Labels{"series": "footprint"})
		if !math.IsNaN(c.each) && (s == nil || len(s.X) < 24) {
			t.Errorf("%s: no series by step of 24 points", c.story)
		}
	}
}
