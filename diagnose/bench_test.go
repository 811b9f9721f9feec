package diagnose

import (
	"fmt"
	"testing"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/measure"
)

// BenchmarkRun runs the whole rule book on a comparison of a thousand modules.
func BenchmarkRun(b *testing.B) {
	sides := [2]*measure.Measurement{measure.New(), measure.New()}
	for side, path := range []string{"../fixtures/regression/xla/base.hlo.pb", "../fixtures/regression/xla/head.hlo.pb"} {
		one, err := capture.Open(path, capture.Options{})
		if err != nil {
			b.Fatal(err)
		}
		out := sides[side]
		for n := range 1000 {
			program := fmt.Sprint(n)
			for _, r := range one.Rows {
				r.Labels = r.Labels.With("program", program)
				out.Rows = append(out.Rows, r)
			}
			for _, c := range one.Contributors {
				c.Labels = c.Labels.With("program", program)
				out.Contributors = append(out.Contributors, c)
			}
			for _, f := range one.Facts.Modules {
				f.Labels = f.Labels.With("program", program)
				out.Facts.Modules = append(out.Facts.Modules, f)
			}
			for _, f := range one.Facts.Plans {
				f.Labels = f.Labels.With("program", program)
				out.Facts.Plans = append(out.Facts.Plans, f)
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if len(Run(Input{Base: sides[0], Head: sides[1]})) == 0 {
			b.Fatal("no findings")
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "modules/s")
}
