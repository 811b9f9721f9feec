package pprof

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/peakgate/peakgate/measure"
)

const (
	liveEnd  = "live.end_bytes"
	codeEnd  = "executable.code_bytes"
	maxLines = math.MaxInt32
)

// Measurement gives the bytes of live arrays of each device and the code of
// executables, and who made them. root, if set, is the project's root. The caller
// fills in Inputs.
func (p *Profile) Measurement(root string) *measure.Measurement {
	out := measure.New()
	t := newSites(p, root)
	devices := map[string][]*Sample{}
	var executables []*Sample
	var code int64
	for i := range p.Samples {
		if s := &p.Samples[i]; s.Executable {
			executables = append(executables, s)
			code += s.Bytes
		} else {
			devices[s.Device] = append(devices[s.Device], s)
		}
	}
	for _, device := range slices.Sorted(maps.Keys(devices)) {
		p.measure(out, t, liveEnd, measure.Labels{"device": device}, devices[device])
	}
	switch {
	case len(executables) == 0:
	case code == 0:
		out.Rows = append(out.Rows, absent(codeEnd, measure.Labels{}, fmt.Sprintf("the runtime tells no sizes of its %d executables", len(executables))))
	default:
		p.measure(out, t, codeEnd, measure.Labels{}, executables)
	}
	if len(devices) == 0 {
		out.Warnings = append(out.Warnings, "the profile holds no live array, so it tells nothing of any device")
	}
	return out
}

// absent is a row of what a run was seen to hold, without a value.
func absent(metric string, labels measure.Labels, reason string) measure.Row {
	r := measure.Absent(metric, labels, reason)
	r.Kind = measure.Observed
	return r
}

// measure adds the row of one metric and its contributors.
func (p *Profile) measure(out *measure.Measurement, t *sites, metric string, labels measure.Labels, samples []*Sample) {
	type holding struct {
		site         site
		bytes, count int64
		largest      int64
	}
	held := map[string]*holding{}
	var total int64
	for _, s := range samples {
		at := t.of(s)
		h, ok := held[at.key()]
		if !ok {
			h = &holding{site: at, largest: -1}
			held[at.key()] = h
		}
		// The line that holds most stands for the function; of equals, the first.
		if s.Bytes > h.largest || s.Bytes == h.largest && at.user.line < h.site.user.line {
			h.site, h.largest = at, s.Bytes
		}
		h.bytes += s.Bytes
		h.count += s.Count
		total += s.Bytes
	}
	row := absent(metric, labels, "")
	value := measure.Int(total)
	row.Value = &value
	out.Rows = append(out.Rows, row)
	var list []measure.Contributor
	for _, key := range slices.Sorted(maps.Keys(held)) {
		h := held[key]
		c := measure.Contributor{Metric: metric, Labels: labels, Key: key, Display: h.site.display(),
			Bytes: measure.Bytes(h.bytes), Count: h.count}
		if h.site.own && h.site.user.line > 0 && h.site.user.line <= maxLines {
			c.Source = &measure.Source{File: h.site.user.file, Line: int(h.site.user.line)}
		}
		list = append(list, c)
	}
	out.Contributors = append(out.Contributors, measure.KeepLargest(metric, labels, measure.Bytes(total), list)...)
}
