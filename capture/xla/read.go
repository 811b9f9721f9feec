package xla

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Read reads a file of any of the formats of size bytes (-1 if unknown); name is for
// messages only. A reader that can seek is only asked for what is wanted. On
// error the capture is nil.
func Read(r io.Reader, size int64, name string) (*Capture, error) {
	c, err := read(r, size, name)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func read(r io.Reader, size int64, name string) (*Capture, error) {
	d := newDecoder(r, size, name)
	d.fill(windowBytes)
	if d.err != nil {
		return nil, d.err
	}
	head := d.buf[:d.w]
	if len(head) == 0 {
		return nil, fmt.Errorf("%s: want an XSpace (.xplane.pb) or an HloProto (.hlo.pb), found an empty file", name)
	}
	hint := textHint(head) // now: the window moves on
	format, ok := Sniff(head)
	if !ok {
		return nil, fmt.Errorf("%s: offset 0x0: want an XSpace (.xplane.pb) or an HloProto (.hlo.pb), found neither%s", name, hint)
	}
	c := &Capture{Name: name, Format: format, Software: map[string]string{}}
	p := newParser(d)
	switch format {
	case FormatXSpace:
		p.space(c)
		if c.trace != nil && d.err == nil {
			c.trace.finish()
		}
	case FormatHloProto:
		if m := p.hloProto(); m != nil {
			c.Modules = []*Module{m}
		}
	case FormatAssignment:
		c.Modules = []*Module{p.bareAssignment()}
	case FormatReport:
		c.Totals = p.protoReport()
	case FormatText, FormatStats:
		return c, c.readText(io.MultiReader(bytes.NewReader(head), r))
	}
	if d.err != nil {
		var f *formatError
		if errors.As(d.err, &f) {
			return nil, fmt.Errorf("%w%s", d.err, hint)
		}
		return nil, d.err
	}
	return c, nil
}

// textHint says so where the file went through a text copy.
func textHint(head []byte) string {
	if textCopy(head) {
		return "; the file was copied as text, which replaced its bytes from 0x80 on by EF BF BD: copy it again as binary"
	}
	return ""
}
