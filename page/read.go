package page

import (
	"errors"
	"fmt"
	"io"

	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/capture/xla"
)

// ErrNotShown tells that a capture has a format which the page does not show.
var ErrNotShown = errors.New("the viewer shows XLA plans (.xplane.pb, .hlo.pb), PyTorch snapshots (.pickle) and series of bytes")

// Read reads a plan or a snapshot into what the page shows of it. head is the beginning of the
// file, by which its format is told; size is -1 if unknown; name is for messages.
// maxEvents, if above 0, is how many of the newest events of a PyTorch history are read.
func Read(head []byte, r io.Reader, size int64, name string, maxEvents int) (*Side, error) {
	opt := torch.Options{MaxEvents: maxEvents, Record: true}
	if _, ok := torch.Sniff(head); ok {
		s, err := torch.Read(r, size, name, opt)
		if err != nil {
			return nil, err
		}
		side := Snapshots(s)
		if len(side.Views) == 0 {
			return nil, fmt.Errorf("%s: no device in it has segments or events", name)
		}
		return &side, s.Validate()
	}
	format, ok := xla.Sniff(head)
	if !ok || format != xla.FormatXSpace && format != xla.FormatHloProto {
		if format == "" {
			return nil, fmt.Errorf("%s: %w", name, ErrNotShown)
		}
		return nil, fmt.Errorf("%s: %s holds no live ranges; %w", name, format, ErrNotShown)
	}
	c, err := xla.Read(r, size, name)
	if err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	side := Plans(c)
	if len(side.Views) == 0 {
		return nil, fmt.Errorf("%s: no module in it has a plan of memory; %w", name, ErrNotShown)
	}
	return &side, nil
}

// New lays out a page of one capture, or of a head beside its base.
func New(head, base *Side) *Page { return &Page{Schema: Schema, Head: *head, Base: base} }
