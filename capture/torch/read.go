package torch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Options say how to read a snapshot.
type Options struct {
	// Root is the project's directory; files under it are named relative to it.
	// Empty, or when no file of the program is under it: the longest common
	// directory of the program's own files.
	Root string
	// MaxEvents, if above 0, is how many of the newest events of each device are
	// read; older ones are left out as if the ring buffer had dropped them.
	MaxEvents int
	// Record keeps when each block was live, for Snapshot.Lived: 48 bytes for each
	// block that was freed.
	Record bool
}

// Read reads a snapshot: a pickle of protocol 0 to 5 or JSON, of a snapshot or
// of a bare list of segments, or the page of trace_plot that holds the pickle. size is that of the whole file, -1 if unknown;
// name is for messages. One pass; on an error the snapshot is nil.
func Read(r io.Reader, size int64, name string, opt Options) (*Snapshot, error) {
	in := newInput(r, size, name)
	in.refill()
	if in.end == 0 {
		if in.err != nil {
			return nil, in.fail(0, in.err)
		}
		return nil, fmt.Errorf("%s: empty file: the dump was interrupted", name)
	}
	s := &Snapshot{Name: name, opt: opt}
	var page *embedded
	if text := trimJSON(in.buf[:in.end]); len(text) > 0 && text[0] == '<' {
		if err := findEmbedded(in); err != nil {
			return nil, in.fail(in.offset(), err)
		}
		page = &embedded{in: in}
		in = newInput(page, -1, name)
		in.refill()
		if in.end == 0 {
			return nil, in.fail(0, errors.New("the page holds an empty snapshot"))
		}
	}
	m := newMachine(in)
	m.maxEvents, m.record = opt.MaxEvents, opt.Record
	head := in.buf[:in.end]
	text := trimJSON(head)
	var err error
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') { // neither is a pickle opcode
		in.pos = len(head) - len(text)
		s.Form = "JSON"
		err = m.json()
	} else {
		s.Form = "pickle protocol 0"
		switch {
		case head[0] == 0x80 && len(head) > 1:
			s.Form = fmt.Sprintf("pickle protocol %d", head[1])
		case head[0] == '}' || head[0] == ']':
			s.Form = "pickle protocol 1"
		}
		err = m.pickle()
	}
	if err != nil {
		return nil, err
	}
	if page != nil {
		s.Form += " in an HTML page"
	}
	end := in.offset()
	if err := m.top(s); err != nil {
		return nil, in.fail(end, err)
	}
	if err := m.trailing(s, end); err != nil {
		return nil, in.fail(end, err)
	}
	if page != nil && page.another() {
		return nil, page.in.fail(page.in.offset(), errors.New("the page holds a second snapshot, and it is not told which one is meant: give the pickles themselves, one a file"))
	}
	if err := m.finish(s); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// trailing looks at what follows the snapshot. A few NUL bytes are padding
// (the HTML of torch.cuda._memory_viz has them); a second snapshot would make
// it unclear which one is meant.
func (m *machine) trailing(s *Snapshot, end int64) error {
	first, n := m.in.rest()
	if m.in.err != nil {
		return m.in.err
	}
	if strings.HasPrefix(s.Form, "JSON") {
		if len(bytes.TrimSpace(first)) > 0 {
			return errors.New("data after the end of the JSON value: one snapshot a file")
		}
		return nil
	}
	first = bytes.TrimLeft(first, "\x00")
	if len(first) > 1 && first[0] == 0x80 && first[1] <= 5 {
		return errors.New("a second pickle follows: one snapshot a file")
	}
	if len(first) > 0 {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%d bytes after the end of the snapshot (offset %#x) were not read", n, end))
	}
	return nil
}

// finish turns what the machine holds into the domain values.
func (m *machine) finish(s *Snapshot) error {
	for _, f := range m.frames.list {
		s.Frames = append(s.Frames, Frame{Name: clean(m.texts.list[f.name]), File: clean(m.texts.list[f.file]), Line: f.line})
	}
	for i := range m.stacks.hashes {
		s.Stacks = append(s.Stacks, m.stacks.frames(i))
	}
	devices := map[int]*Device{}
	device := func(i int) *Device {
		if devices[i] == nil {
			devices[i] = &Device{Ordinal: i}
		}
		return devices[i]
	}
	for _, g := range s.segments {
		if g.Device < 0 {
			return fmt.Errorf("segments: device: want an ordinal, got %d", g.Device)
		}
		d := device(g.Device)
		d.Segments = append(d.Segments, g)
	}
	for i, t := range s.traces {
		if t != nil {
			device(i)
		}
	}
	s.segments = nil
	var idle []Device
	for _, i := range slices.Sorted(maps.Keys(devices)) {
		d := devices[i]
		slices.SortStableFunc(d.Segments, func(a, b Segment) int {
			if a.Address < b.Address {
				return -1
			} else if a.Address > b.Address {
				return 1
			}
			return 0
		})
		var t *trace
		if i < len(s.traces) {
			t = s.traces[i]
		}
		if err := d.sum(); err != nil {
			return fmt.Errorf("device %d: %w", i, err)
		}
		if t != nil && t.ring != nil {
			if err := t.foldLater(m); err != nil {
				return fmt.Errorf("device %d: %w", i, err)
			}
		}
		m.replayed(s, d, t)
		if d.idle() {
			idle = append(idle, *d)
			continue
		}
		s.Devices = append(s.Devices, *d)
	}
	if len(s.Devices) == 0 {
		s.Devices = idle // the file has nothing else: say so of each
	}
	s.traces = nil
	if err := m.finishHost(s); err != nil {
		return fmt.Errorf("host_traces: %w", err)
	}
	s.uses = m.use
	for i := range s.Devices {
		for _, h := range s.Devices[i].End {
			m.traitsOf(h.Stack)
		}
	}
	s.traits = m.stackTraits
	s.release = m.torchRelease(s)
	m.warn(s)
	return nil
}

// idle tells that the process never used the device: the dump alone left its mark
// in the device's history, as it does on every device that the process sees.
func (d *Device) idle() bool {
	return len(d.Segments) == 0 && d.History.Events == d.History.Counts[DumpTaken]
}

// finishHost finds the peak of pinned host memory.
func (m *machine) finishHost(s *Snapshot) error {
	t := s.hostTrace
	if t == nil {
		return nil
	}
	s.hostTrace = nil
	if err := t.foldLater(m); err != nil {
		return err
	}
	if peak := s.hostLive - t.requested.now + t.requested.max; peak > 0 && t.contradictions == 0 {
		s.HostPeak = peak
	}
	return nil
}

// clean makes a text of the file fit for a report: valid UTF-8 that can be
// seen, at most 4 KiB of it.
func clean(s string) string {
	if len(s) > 4096 {
		s = s[:4096] + "…"
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return strings.Map(func(r rune) rune {
				if !unicode.IsPrint(r) {
					return '?'
				}
				return r
			}, s)
		}
	}
	return s
}
