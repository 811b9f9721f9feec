package footprint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Writer writes the lines of one watched run: the header when it is made, then
// samples and events as they come, then the summary. Each line is one call of
// Write, so that a run which is killed leaves whole lines behind. It is not safe
// for use by several goroutines at once. Its errors are sticky.
type Writer struct {
	w    io.Writer
	line bytes.Buffer
	json *json.Encoder
	last int64 // t_ms of the line before
	done bool
	err  error
}

// NewWriter writes the header; its schema is set here.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	out := &Writer{w: w}
	out.json = json.NewEncoder(&out.line)
	out.json.SetEscapeHTML(false)
	h.Schema = Schema
	if h.Argv == nil {
		h.Argv = []string{}
	}
	if h.Sources == nil {
		h.Sources = map[string]string{}
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	return out, out.put(h)
}

// Sample writes one sample.
func (w *Writer) Sample(s Sample) error {
	if err := s.check(); err != nil {
		return err
	}
	return w.at(s.TMS, s)
}

// Event writes one event.
func (w *Writer) Event(e Event) error {
	if err := e.check(); err != nil {
		return err
	}
	return w.at(e.TMS, e)
}

// Summary writes the last line; nothing may follow it.
func (w *Writer) Summary(s Summary) error {
	s.Summary = true
	err := w.at(s.TMS, s)
	w.done = true
	return err
}

// at writes a line of the given time.
func (w *Writer) at(tms int64, v any) error {
	switch {
	case w.done:
		return errors.New("a line after the summary")
	case tms < w.last:
		return fmt.Errorf("t_ms %d after %d: time went back", tms, w.last)
	}
	w.last = tms
	return w.put(v)
}

func (w *Writer) put(v any) error {
	if w.err != nil {
		return w.err
	}
	w.line.Reset()
	if w.err = w.json.Encode(v); w.err == nil {
		_, w.err = w.w.Write(w.line.Bytes())
	}
	return w.err
}
