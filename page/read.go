package page

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/capture/xla"
	"github.com/peakgate/peakgate/measure"
)

// ErrNotShown tells that a capture has a format which the page does not show.
var ErrNotShown = errors.New("the viewer shows XLA plans (.xplane.pb, .hlo.pb), PyTorch snapshots (.pickle) and series")

// Of gives what the page shows of a capture: of the records that its reader made (an
// *xla.Capture, a *torch.Snapshot read with Options.Record, or nil), and of the series
// of its measurement, which has the one input. Source files of XLA below root are named
// relative to it, as a snapshot's are when it is read.
func Of(records any, m *measure.Measurement, root string) (*Side, error) {
	name, format := filepath.ToSlash(m.Inputs[0].Path), m.Inputs[0].Format
	var side Side
	missing := ErrNotShown
	switch r := records.(type) {
	case *torch.Snapshot:
		side, missing = Snapshots(r), errors.New("no device in it has segments or events")
	case *xla.Capture:
		if format != xla.FormatXSpace && format != xla.FormatHloProto {
			missing = fmt.Errorf("%s holds no live ranges; %w", format, ErrNotShown)
			break
		}
		side, missing = Plans(r, root), fmt.Errorf("no module in it has a plan of memory; %w", ErrNotShown)
		// A profile may hold what the allocators did beside its plans.
		side.Views = append(side.Views, Series(m).Views...)
	default:
		side = Series(m)
		if i := slices.IndexFunc(m.Rows, func(r measure.Row) bool { return r.Labels["series"] != "" && r.NoData != "" }); i >= 0 {
			missing = errors.New(m.Rows[i].NoData)
		}
	}
	if len(side.Views) == 0 {
		return nil, fmt.Errorf("%s: %w", name, missing)
	}
	side.Name, side.Format = Clean(name), format
	return &side, nil
}

// New lays out a page of one capture, or of a head beside its base.
func New(head, base *Side) *Page {
	p := &Page{Schema: Schema, Head: *head, Base: base, First: head.First()}
	if base != nil {
		p.Head.Views = slices.Clone(head.Views)
		for i := range p.Head.Views {
			v := &p.Head.Views[i]
			v.Base, v.Anchors, v.Buffers = 0, nil, slices.Clone(v.Buffers)
			for j := range v.Buffers {
				v.Buffers[j].Pair = 0
			}
		}
		align(&p.Head, base)
	}
	return p
}

// First is the index of the view that is shown first where nothing else is asked for:
// the largest of device memory.
func (s *Side) First() int {
	return max(0, slices.IndexFunc(s.Views, func(v View) bool { return v.Space == "device" }))
}
