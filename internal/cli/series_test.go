package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/report"
	"github.com/rogpeppe/go-internal/testscript"
)

// shapes are series of levels over steps, 1 GiB and what is given here, in MiB, with
// some noise.
var shapes = map[string]func(i, n float64) float64{
	"leak":         func(i, n float64) float64 { return i },
	"creep":        func(i, n float64) float64 { return i / 100 },
	"steady":       func(i, n float64) float64 { return 0 },
	"decelerating": func(i, n float64) float64 { return 200 * math.Log1p(i) },
	"noisy":        func(i, n float64) float64 { return 120 * math.Sin(i*i) }, // as good as random, and no leak
	"filled":       func(i, n float64) float64 { return min(i, 0.45*n) * 8 },  // a cache that is full before the run is half over
	"pool":         func(i, n float64) float64 { return math.Floor(i/10) * 12 },
}

// synthetic makes a series of a shape. A name that ends in /s is over seconds, one
// every ten, /high a high-water mark, /count counts, and /need says what each step asked for.
func synthetic(name, shape string, n int) (measure.Series, error) {
	name, how, _ := strings.Cut(name, "/")
	at, ok := shapes[shape]
	if !ok {
		return measure.Series{}, fmt.Errorf("no shape %q", shape)
	}
	s := measure.Series{Labels: measure.Labels{"series": name}, Unit: measure.ByteUnit, XUnit: measure.XStep}
	random := rand.New(rand.NewPCG(7, uint64(n)))
	for i := range n {
		level := at(float64(i), float64(n))
		point := 1<<30 + int64(level*(1<<20)) + random.Int64N(1<<17)
		if how == "count" {
			point = 100 + int64(level)
		}
		s.X, s.Points = append(s.X, float64(i)), append(s.Points, measure.Int(point))
		if how == "need" {
			s.Need = append(s.Need, measure.Int(int64(i/10*10)))
		}
	}
	switch how {
	case "s":
		s.XUnit = measure.XSeconds
		for i := range s.X {
			s.X[i] *= 10
		}
	case "high":
		s.Kind = measure.HighWater
	case "count":
		s.Unit = measure.Count
	}
	return s, nil
}

// measured writes a measurement with synthetic series: measured FILE NAME=SHAPE:POINTS …
// A NAME=VALUE without points is an exact growth per step.
func measured(ts *testscript.TestScript, neg bool, args []string) {
	m := measure.New()
	m.Inputs = []measure.Input{{Path: "synthetic", Format: "series.csv", Bytes: 1}}
	for _, arg := range args[1:] {
		name, what, _ := strings.Cut(arg, "=")
		shape, points, long := strings.Cut(what, ":")
		n, err := strconv.Atoi(points)
		if !long {
			v, err := measure.ParseBytes(what)
			ts.Check(err)
			row := measure.NewRow("growth.bytes_per_step", measure.Labels{"series": name}, measure.Int(int64(v)))
			row.Kind, row.Samples = measure.Exact, 20
			m.Rows = append(m.Rows, row)
			continue
		}
		ts.Check(err)
		s, err := synthetic(name, shape, n)
		ts.Check(err)
		m.Series = append(m.Series, s)
		if row, ok := growth.Row(s); ok {
			m.Rows = append(m.Rows, row)
		}
	}
	ts.Check(m.Validate())
	var out bytes.Buffer
	ts.Check(report.JSON(&out, m))
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o777))
	ts.Check(os.WriteFile(path, out.Bytes(), 0o666))
}

// again computes each sampled growth of a result from the result's JSON alone, with
// package growth, and fails where a verdict or any number differs: again FILE N, where N
// growths must be there.
func again(ts *testscript.TestScript, neg bool, args []string) {
	var r compare.Result
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &r))
	n := 0
	for _, t := range r.Targets {
		var computed []growth.Result
		var told []growth.Result
		for _, c := range t.Checks {
			if c.Trend == nil {
				continue
			}
			got, err := growth.Judge(growth.FromMeasure(*c.Series), c.Trend.Rule)
			ts.Check(err)
			computed, told = append(computed, got), append(told, c.Trend.Result)
		}
		var all []*growth.Result
		for i := range computed {
			all = append(all, &computed[i])
		}
		growth.Holm(all, growth.DefaultAlpha)
		if diff := cmp.Diff(told, computed); diff != "" {
			ts.Fatalf("target %s: computed again from the JSON: %s", t.Name, diff)
		}
		n += len(all)
	}
	if strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d sampled growths in %s, want %s", n, args[0], args[1])
	}
}

func TestSyntheticShapes(t *testing.T) {
	for shape := range shapes {
		if s, err := synthetic("rss", shape, 50); err != nil || len(s.Points) != 50 || s.Validate() != nil {
			t.Errorf("%s: %d points, %v, %v", shape, len(s.Points), err, s.Validate())
		}
	}
}
