package compare

import (
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func TestOneProcess(t *testing.T) {
	type dump struct {
		start, end int64
		history    string
		live       int64
		torch      string
	}
	measured := func(d dump) *measure.Measurement {
		m, l := measure.New(), measure.Labels{"device": "0"}
		m.Environment["torch"] = d.torch
		m.Rows = []measure.Row{measure.NewRow("live.end_bytes", l, measure.Int(d.live))}
		m.Facts.Traces = []measure.TraceFact{{Labels: l, StartUS: d.start, EndUS: d.end, History: d.history, Events: 9}}
		return m
	}
	first := dump{100, 200, "complete", 5, "2.14"}
	for name, c := range map[string]struct {
		base, head dump
		swapped    bool
		doubt, err string
	}{
		"one recording":            {first, dump{100, 300, "complete", 9, "2.14"}, false, "", ""},
		"the same dump":            {first, first, false, "", ""},
		"swapped":                  {dump{100, 300, "complete", 9, "2.14"}, first, true, "", ""},
		"a ring that went on":      {first, dump{150, 300, "truncated", 9, "2.14"}, false, "", ""},
		"a ring that turned":       {first, dump{250, 300, "truncated", 9, "2.14"}, false, "begins after the earlier dump", ""},
		"a ring that turned, back": {dump{250, 300, "truncated", 9, "2.14"}, first, true, "begins after the earlier dump", ""},
		"another process":          {first, dump{250, 300, "complete", 9, "2.14"}, false, "", "nothing was live"},
		"another process, back":    {dump{250, 300, "complete", 9, "2.14"}, first, false, "", "nothing was live"},
		"all was freed between":    {dump{100, 200, "complete", 0, "2.14"}, dump{250, 300, "complete", 9, "2.14"}, false, "begins after", ""},
		"two at one time":          {first, dump{150, 300, "complete", 9, "2.14"}, false, "", "nothing was live"},
		"begins earlier":           {first, dump{50, 300, "truncated", 9, "2.14"}, false, "", "begins before"},
		"another release":          {first, dump{100, 300, "complete", 9, "2.15"}, false, "two releases of torch (2.14 and 2.15)", ""},
		"no times":                 {dump{0, 0, "complete", 5, ""}, dump{0, 0, "complete", 1, ""}, false, "", ""},
	} {
		swapped, doubts, err := OneProcess(measured(c.base), measured(c.head))
		if got := strings.Join(doubts, "; "); swapped != c.swapped || (c.doubt == "") != (got == "") || !strings.Contains(got, c.doubt) {
			t.Errorf("%s: swapped %v, doubts %q", name, swapped, got)
		}
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", name, err, c.err)
		}
	}
}
