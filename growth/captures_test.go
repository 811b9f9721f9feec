package growth

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

const captures = "../../shared/captures"

// capture reads a file of the captures; the test is skipped where there are none.
func capture(t *testing.T, name string) []byte {
	t.Helper()
	if _, err := os.Stat(captures); err != nil {
		t.Skip("no captures beside the repository: ", err)
	}
	data, err := os.ReadFile(filepath.Join(captures, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// table reads a CSV with comment lines.
func table(t *testing.T, data []byte) (header []string, rows [][]string) {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment = '#'
	all, err := r.ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatal(err)
	}
	return all[0], all[1:]
}

// amount reads a number as threads write it: "265M", "1.3G", "1222.50".
func amount(t *testing.T, text string, scale float64) measure.Value {
	t.Helper()
	for suffix, s := range map[string]float64{"M": 1 << 20, "G": 1 << 30} {
		if cut, ok := strings.CutSuffix(text, suffix); ok {
			text, scale = cut, s
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return measure.Int(int64(math.Round(v * scale)))
}

// column makes a series of a column: the first column is X, or a run length. Rows
// without a value are left out, and so is what is no step (a second stretch).
func column(t *testing.T, header []string, rows [][]string, name string, scale float64) measure.Series {
	t.Helper()
	s := measure.Series{Labels: measure.Labels{"series": name}, Unit: measure.ByteUnit, XUnit: measure.XStep}
	if scale == 1 {
		s.Unit = measure.Count
	}
	for at, title := range header {
		if title != name {
			continue
		}
		for _, row := range rows {
			if row[at] == "" {
				continue
			}
			x, err := strconv.ParseFloat(row[0], 64)
			if err != nil {
				t.Fatal(err)
			}
			repeat := 1
			if header[0] == "run_length" {
				repeat = int(x)
			}
			for range repeat {
				if header[0] == "run_length" {
					x = float64(len(s.X))
				}
				s.X, s.Points = append(s.X, x), append(s.Points, amount(t, row[at], scale))
			}
		}
		return s
	}
	t.Fatalf("no column %s in %v", name, header)
	return s
}

// TestThreads judges what people posted. All but one are too short for a test,
// whatever their reading says.
func TestThreads(t *testing.T) {
	for _, c := range []struct {
		file, column string
		scale        float64
		points       int
		high         bool
		budget       float64
		want         Verdict
	}{
		{"tf80753", "start_mb", 1e6, 21, false, 0, Inconclusive},
		{"tf80753", "end_mb", 1e6, 19, false, 0, Inconclusive},
		{"tf80895", "end_mb", 1e6, 11, false, 0, Inconclusive},
		{"tf43702", "rss_mb", 1e6, 9, false, 0, Inconclusive},
		{"keras13195", "maxrss_kb", 1e3, 17, true, 0, Inconclusive},
		{"numpyro1699_flat", "rss_mb", 1e6, 11, false, 0, Inconclusive},
		{"jax9714_plateau", "rss_mb", 1e6, 10, false, 0, Inconclusive},
		{"jax10007", "rss_mb", 1e6, 5, false, 0, Inconclusive},
		{"jax10007", "live_buffers", 1, 5, false, 0, Inconclusive},
		{"torchtune2473_mps", "peak_memory_alloc", 1 << 30, 6, false, 0, Inconclusive},
		{"mlx_examples1262", "active_gb", 1e9, 4, false, 0, Inconclusive},
		{"onednn489", "growth_kb_mkldnn", 1e3, 9, false, 0, Inconclusive},
		{"onednn489", "growth_kb_plain", 1e3, 8, false, 0, Inconclusive},
		{"signet1006_regions", "ioaccelerator_regions", 1, 5, false, 0, Inconclusive},
		{"signet1006_regions", "physical_footprint", 0, 5, false, 0, Inconclusive},
		{"pytorch159432_noisy", "memory_mb", 1e6, 7, false, 0, Inconclusive},
		{"condinst9_flat", "max_mem_mb", 1e6, 5, true, 0, Inconclusive},
		// 74 samples creep by 0.024 MB each: p is about 0, and a budget in bytes decides.
		{"lasagne860_rle", "memory_mb", 1e6, 74, false, 0.1e6, Pass},
		{"lasagne860_rle", "memory_mb", 1e6, 74, false, 0, Fail},
	} {
		header, rows := table(t, capture(t, "growth/"+c.file+".csv"))
		s := column(t, header, rows, c.column, c.scale)
		if c.high {
			s.Kind = measure.HighWater
		}
		if len(s.X) != c.points {
			t.Errorf("%s: %d points, want %d", c.file, len(s.X), c.points)
		}
		r := mustJudge(t, FromMeasure(s), Rule{Budget: c.budget})
		t.Logf("%s %s: %s: %s, %d points, %v more", c.file, c.column, r.Verdict, r.Reason, r.Points, r.More)
		if r.Verdict != c.want {
			t.Errorf("%s %s: %s (%s), want %s", c.file, c.column, r.Verdict, r.Reason, c.want)
		}
		if r.Fit != nil {
			t.Logf("%+v", *r.Fit)
		}
		if tooFew := c.points-r.Trimmed < MinPoints; (r.Fit == nil) != tooFew && !c.high {
			t.Errorf("%s: %d points after warm-up, fit %v", c.file, r.Points, r.Fit)
		}
	}
}

// TestSteps judges workloads with a known footprint: the level at each step mark, and
// what the program itself counted.
func TestSteps(t *testing.T) {
	header, rows := table(t, capture(t, "lab/footprint/steps.csv"))
	for _, c := range []struct {
		story  string
		points int
		want   Verdict // at a budget of 0 and of 32 KiB
		slope  float64
	}{
		{"leak", 48, Fail, 4 * mib},
		{"leak_small", 80, Fail, mib / 16},
		{"leakpy", 48, Fail, mib},
		{"decel", 48, Decelerating, 1886345},
		{"plateau", 48, Pass, 0},
		{"sawtooth", 52, Inconclusive, 0}, // a tooth of 8 steps
	} {
		for _, name := range []string{"truth_live_bytes", "rss_at_mark"} {
			var story [][]string
			for _, row := range rows {
				if row[0] == c.story {
					story = append(story, row[1:])
				}
			}
			s := FromMeasure(column(t, header[1:], story, name, 1))
			s.Counts = false
			for _, budget := range []float64{0, 32 << 10} {
				r := mustJudge(t, s, Rule{Budget: budget})
				if r.Verdict != c.want || r.Points != c.points || math.Abs(r.Fit.Slope-c.slope) > 0.001*c.slope {
					t.Errorf("%s %s: %s (%s), slope %v of %d points; want %s, %v of %d", c.story, name, r.Verdict, r.Reason, r.Fit.Slope, r.Points, c.want, c.slope, c.points)
				}
			}
		}
	}
}

// watched reads the samples of a prototype watcher: there are no steps.
func watched(t *testing.T, data []byte) Series {
	t.Helper()
	var s Series
	s.Seconds = true
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var sample struct {
			RSS   *float64
			Nproc int
			Ms    float64 `json:"t_ms"`
		}
		if err := json.Unmarshal(lines.Bytes(), &sample); err != nil {
			t.Fatal(err)
		}
		if sample.RSS != nil && sample.Nproc > 0 {
			s.X, s.Y = append(s.X, sample.Ms/1000), append(s.Y, *sample.RSS)
		}
	}
	return s
}

// TestWatched judges the same workloads, and others, as a watcher that knows no steps
// saw them: all that leak are told from all that do not.
func TestWatched(t *testing.T) {
	for _, c := range []struct {
		name string
		want Verdict
	}{
		{"leak", Fail}, {"leakpy", Fail}, {"plateau", Pass}, {"sawtooth", Inconclusive},
		{"daemon", Decelerating},      // grows by 100 MiB, then rests
		{"tf_leak1MiB", Decelerating}, // most of the run is start-up
		{"arena", Inconclusive}, {"arena1", Inconclusive}, {"filemap", Inconclusive}, {"flash", Inconclusive}, {"spike", Inconclusive},
		{"bigexec", Pass}, {"daemon_nosub", Pass}, {"flashthp", Pass}, {"forkshare_cow", Pass}, {"forkshare_ro", Pass},
		{"lazyfree", Pass}, {"reserve", Pass}, {"sigterm", Pass},
	} {
		s := watched(t, capture(t, "lab/footprint/"+c.name+".jsonl"))
		r := mustJudge(t, s, Rule{})
		if r.Verdict != c.want {
			t.Errorf("%s: %s (%s) of %d points, want %s: %+v", c.name, r.Verdict, r.Reason, r.Points, c.want, r.Fit)
		}
	}
}
