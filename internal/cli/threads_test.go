package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/compare"
)

// threads are series that people posted, by file: their first column is x, which
// is the header here, and the others have a name with a unit here.
var threads = []struct {
	file, x string
	columns []string // "" for a column that is not taken
	after   int      // points after warm-up, of the longest series
	checks  int
}{
	{"tf80753", "step", []string{"start_mb", "end_mb"}, 11, 2},
	{"tf80895", "step", []string{"start_mb", "end_mb"}, 1, 2},
	{"tf43702", "step", []string{"rss_mb"}, 0, 1},
	{"keras13195", "step", []string{"maxrss_kb"}, 17, 1},
	{"numpyro1699_flat", "step", []string{"rss_mb"}, 9, 1},
	{"jax9714_plateau", "step", []string{"rss_mb"}, 0, 1},
	{"jax10007", "step", []string{"rss_mb", "blocks_count"}, 0, 2},
	{"torchtune2473_mps", "step", []string{"active_gib", "pool_gib"}, 0, 2},
	{"mlx_examples1262", "step", []string{"active_gb", "peak_gb"}, 3, 2},
	{"onednn489", "step", []string{"mkldnn_kb", "plain_kb"}, 8, 2},
	{"signet1006_regions", "seconds", []string{"regions_count", "footprint_mib"}, 4, 2},
	{"pytorch159432_noisy", "step", []string{"memory_mb"}, 6, 1},
	{"condinst9_flat", "step", []string{"max_mem_mb"}, 5, 1},
	{"lasagne860_rle", "step", []string{"memory_mb"}, 60, 1},
}

// convert writes a posted table as series.csv. Minutes become seconds, runs of equal
// levels are rolled out, and a size such as 1.3G is in MiB.
func convert(t *testing.T, data []byte, x string, columns []string) string {
	t.Helper()
	r := csv.NewReader(bytes.NewReader(data))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var out strings.Builder
	fmt.Fprintln(&out, strings.Join(append([]string{x}, columns...), ","))
	line := 0
	for _, row := range rows[1:] {
		at, repeat := row[0], 1
		switch rows[0][0] {
		case "run_length":
			repeat = int(number(at))
		case "minute":
			at = strconv.FormatFloat(60*number(at), 'f', -1, 64)
		}
		for range repeat {
			if line++; rows[0][0] == "run_length" {
				at = strconv.Itoa(line)
			}
			out.WriteString(at)
			for i := range columns {
				cell := row[i+1]
				if size, ok := strings.CutSuffix(cell, "M"); ok {
					cell = size
				} else if size, ok := strings.CutSuffix(cell, "G"); ok {
					cell = strconv.FormatFloat(1024*number(size), 'f', -1, 64)
				}
				out.WriteString("," + cell)
			}
			out.WriteString("\n")
		}
	}
	return out.String()
}

// TestThreads: what people posted of leaks and plateaus, judged from series.csv to the
// exit code. All but one are too short for a trend, whatever their posters read in them.
func TestThreads(t *testing.T) {
	captures := sharedCaptures(t)
	dir := t.TempDir()
	config := "version: 1\ntargets:\n"
	for _, c := range threads {
		data, err := os.ReadFile(filepath.Join(captures, "growth", c.file+".csv"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, c.file+".csv"), []byte(convert(t, data, c.x, c.columns)), 0o666); err != nil {
			t.Fatal(err)
		}
		bytes, counts := "growth.bytes_per_step: 100 kB", "growth.blocks_per_step: 0.5"
		if c.x == "seconds" {
			bytes, counts = "growth.bytes_per_hour: 1 MB", "growth.regions_per_hour: 1"
		}
		if slices.ContainsFunc(c.columns, func(name string) bool { return strings.HasSuffix(name, "_count") }) {
			bytes += ", " + counts
		}
		config += fmt.Sprintf("  %s: { captures: %s.csv, budgets: { %s } }\n", c.file, c.file, bytes)
	}
	check := func(policy string) (*compare.Result, int) {
		path := filepath.Join(dir, "peakgate.yml")
		if err := os.WriteFile(path, []byte(config+policy), 0o666); err != nil {
			t.Fatal(err)
		}
		var out, problems bytes.Buffer
		code := Main([]string{"check", "--config", path, "--format", "json"}, Streams{Stdout: &out, Stderr: &problems, Getenv: func(string) string { return "" }})
		var r compare.Result
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err, problems.String())
		}
		return &r, code
	}
	r, code := check("")
	if code != ExitPass || r.Verdict != compare.Warn || len(r.Targets) != len(threads) {
		t.Errorf("exit code %d, %s, %d targets", code, r.Verdict, len(r.Targets))
	}
	for i, target := range r.Targets {
		want := threads[i]
		if target.Name != want.file || len(target.Checks) != want.checks {
			t.Errorf("%s: %d checks, want %d", target.Name, len(target.Checks), want.checks)
		}
		after := 0
		for _, c := range target.Checks {
			if c.Trend == nil {
				t.Fatalf("%s {%s}: no trend: %s", target.Name, c.Labels.Key(), c.Reason)
			}
			t.Logf("%s {%s}: %s: %s", target.Name, c.Labels.Key(), c.Verdict, c.Reason)
			after = max(after, c.Trend.Points)
			verdict := compare.Inconclusive
			if c.Trend.Points >= 24 {
				verdict = compare.Pass
			}
			if c.Verdict != verdict {
				t.Errorf("%s {%s}: %s (%s), want %s", target.Name, c.Labels.Key(), c.Verdict, c.Reason, verdict)
			}
		}
		if after != want.after {
			t.Errorf("%s: %d points count, want %d", target.Name, after, want.after)
		}
	}
	if r, code := check("policy: { inconclusive: fail }\n"); code != ExitFail || r.Verdict != compare.Fail {
		t.Errorf("strict: exit code %d, %s", code, r.Verdict)
	}
}
