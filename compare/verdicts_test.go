package compare

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/measure"
)

var update = flag.Bool("update", false, "write testdata/verdicts.txt anew")

// The states whose every combination has a row in testdata/verdicts.txt. The
// base's value is 1000, the max 1500, growth 10 % with a floor of 50.
var (
	rowStates = []struct {
		name string
		head func() (*measure.Measurement, error)
	}{
		{"same", headOf(1000)}, {"fell", headOf(900)}, {"zero", headOf(0)}, {"grown within", headOf(1100)}, {"grown", headOf(1200)},
		{"over max", headOf(1501)}, {"int64 max", headOf(1<<63 - 1)},
		{"no value", func() (*measure.Measurement, error) {
			return measurement(measure.Absent("live.peak_bytes", device, "no history")), nil
		}},
		{"no row", func() (*measure.Measurement, error) { return measurement(), nil }},
		{"unreadable", func() (*measure.Measurement, error) { return nil, errors.New("cut off") }},
	}
	limitStates = []struct{ name, entry string }{
		{"max", "max: 1500 B"}, {"growth", "growth: 10%, floor: 50 B"}, {"both", "max: 1500 B, growth: 10%, floor: 50 B"},
	}
	baseStates = []struct {
		name string
		runs []*measure.Measurement
		err  error
	}{
		{"value", runs(measurement(peak(1000, device))), nil},
		{"zero", runs(measurement(peak(0, device))), nil},
		{"none", nil, nil},
		{"unreadable", nil, errors.New("cut off")},
		{"no value", runs(measurement(measure.Absent("live.peak_bytes", device, "no history"))), nil},
		{"no metric", runs(measurement()), nil},
		{"other row", runs(measurement(peak(1000, measure.Labels{"device": "1"}))), nil},
		{"other unit", runs(measurement(measure.Row{Name: "live.peak_bytes", Labels: device, Unit: measure.Count, Value: number(1000)})), nil},
	}
	waiverStates = []struct{ name, waiver string }{
		{"none", ""}, {"covers", "max: 2000 B, until: 2999-01-01"}, {"beyond", "max: 1100 B, until: 2999-01-01"}, {"expired", "max: 2000 B, until: 2001-01-01"},
	}
	severities = []string{"fail", "warn"}

	device = measure.Labels{"device": "0"}
)

func headOf(n int64) func() (*measure.Measurement, error) {
	return func() (*measure.Measurement, error) { return measurement(peak(n, device)), nil }
}

func number(n int64) *measure.Value { v := measure.Int(n); return &v }

// TestEveryVerdict holds the verdict of every combination of row, limit, base,
// waiver and severity to the table, and to the rules that no table may break.
func TestEveryVerdict(t *testing.T) {
	var table strings.Builder
	table.WriteString("row | limit | base | waiver | verdict with severity fail | with severity warn\n")
	for _, row := range rowStates {
		for _, limit := range limitStates {
			for _, base := range baseStates {
				for _, waiver := range waiverStates {
					line := fmt.Sprintf("%s | %s | %s | %s", row.name, limit.name, base.name, waiver.name)
					var both [2]Verdict
					for i, severity := range severities {
						text := fmt.Sprintf("version: 1\ntargets:\n  train:\n    captures: x\n    budgets:\n      live.peak_bytes: { %s, severity: %s }\n", limit.entry, severity)
						if waiver.waiver != "" {
							text += fmt.Sprintf("waivers:\n  - { target: train, metric: live.peak_bytes, %s, reason: r, owner: o }\n", waiver.waiver)
						}
						f, err := budget.Parse([]byte(text), "peakgate.yml")
						if err != nil {
							t.Fatal(err)
						}
						head, headErr := row.head()
						both[i] = Judge(Workload{Target: f.Targets[0], Config: "peakgate.yml", Budget: f, Today: "2026-11-30", Head: head, HeadErr: headErr, Runs: base.runs, BaseErr: base.err}).Verdict
					}
					fmt.Fprintf(&table, "%s | %s | %s\n", line, both[0], both[1])
					measured := row.name != "no value" && row.name != "no row" && row.name != "unreadable"
					over := row.name == "over max" || row.name == "int64 max"
					comparable := base.name == "value" || base.name == "zero"
					for i, v := range both {
						switch {
						case waiver.name == "expired" && v != Fail:
							t.Errorf("%s: %s: an expired waiver is a failure", line, v)
						case waiver.name == "expired":
						case !measured && v != NoData:
							t.Errorf("%s: %s: what was not measured is no_data, whatever the severity", line, v)
						case measured && limit.name != "max" && !comparable && v == Pass:
							t.Errorf("%s: %s: growth that was not judged is no pass", line, v)
						case measured && limit.name != "growth" && over && waiver.name == "none" && i == 0 && v != Fail:
							t.Errorf("%s: %s: over its max", line, v)
						case measured && base.name == "value" && row.name == "same" && v != Pass:
							t.Errorf("%s: %s: nothing grew", line, v)
						case both[0] == Pass && both[1] != Pass:
							t.Errorf("%s: a severity of warn made it worse", line)
						}
					}
				}
			}
		}
	}
	const path = "testdata/verdicts.txt"
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), table.String()); diff != "" {
		t.Errorf("%s (go test ./compare -update writes it anew):\n%s", path, diff)
	}
}
