package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/post"
)

// grownAt is a result with what grew on lines of the change and elsewhere.
func grownAt() *compare.Result {
	value := func(n int64) *measure.Value { v := measure.Int(n); return &v }
	at := func(line int, mib measure.Bytes, place compare.Place) compare.Contributor {
		return compare.Contributor{Key: "k", Display: "d", HeadBytes: mib << 20, Source: &measure.Source{File: "src/train.py", Line: line}, Place: place}
	}
	check := func(metric string, v compare.Verdict, cs ...compare.Contributor) compare.Check {
		return compare.Check{Metric: metric, Unit: measure.ByteUnit, Verdict: v, Head: value(5 << 30), Base: value(2 << 30), Reason: "grew", Contributors: cs,
			Limit: compare.Limit{File: "peakgate.yml", Line: 8, Column: 7}}
	}
	warn := check("live.end_bytes", compare.Warn, at(40, 1, compare.InChange))
	warn.Limit.Line = 9
	return &compare.Result{Verdict: compare.Fail, Config: "peakgate.yml", Head: compare.Revision{Folder: "ci"}, Targets: []compare.TargetResult{{Name: "train", Verdict: compare.Fail, Checks: []compare.Check{
		check("plan.need_bytes", compare.Fail, at(22, 1024, compare.InChange), at(22, 512, compare.InChange), at(30, 99, compare.InRepository), at(31, 98, ""), at(25, 256, compare.InChange)),
		check("plan.temp_bytes", compare.Fail, at(25, 128, compare.InChange)), warn,
		check("plan.argument_bytes", compare.Pass, at(50, 1, compare.InChange)),
	}}}}
}

// Lines of the change at which what grew is allocated are marked, the largest first,
// after the budgets that do not hold and before mere warnings; each once.
func TestSourceLinesAreMarked(t *testing.T) {
	r := grownAt()
	var log bytes.Buffer
	a := post.NewActions(&log, func(name string) string { return map[string]string{"GITHUB_ACTIONS": "true"}[name] })
	if got := annotate(a, r); got != 2 {
		t.Errorf("%d are red, want 2", got)
	}
	a.Close()
	var got []string
	for _, m := range resultMarks(r) {
		got = append(got, m.Level+" "+m.File+" "+m.Title+" "+m.Detail)
	}
	want := []string{
		"failure ci/peakgate.yml fail: train: plan.need_bytes grew; the largest part, +1.00 GiB, is allocated at d; and 1 more rows of this budget",
		"warning src/train.py train: plan.need_bytes +1.50 GiB live at the peak is allocated here; train: grew",
		"warning src/train.py train: plan.need_bytes +256.00 MiB live at the peak is allocated here; train: grew",
		"warning src/train.py train: live.end_bytes +1.00 MiB live at the end is allocated here; train: grew",
		"warning ci/peakgate.yml warn: train: live.end_bytes grew; the largest part, +1.00 MiB, is allocated at d",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	// The step's own annotations are relative to the working directory.
	if !strings.Contains(log.String(), "::+1.50 GiB live at the peak is allocated here") || strings.Contains(log.String(), "line=50") || strings.Contains(log.String(), "line=30") {
		t.Errorf("%s", &log)
	}
	r.Targets[0].Checks[0].Contributors[0].Source.File = "../../etc/passwd"
	for _, m := range resultMarks(r) {
		if strings.Contains(m.File, "..") {
			t.Errorf("a mark leaves the repository: %s", m.File)
		}
	}
}
