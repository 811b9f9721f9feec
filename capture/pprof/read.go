package pprof

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Profile is a device memory profile. Indexes are checked: every one is in range.
type Profile struct {
	// Name is the file's, for messages.
	Name string
	// Samples are in the order of the file.
	Samples []Sample

	frames [][]frame // by location: innermost first, several where code was inlined
	stacks []uint64  // location ids of all samples, end to end; then indexes of frames
}

// Sample is what one Python stack holds on one device, or of executables.
type Sample struct {
	// Executable tells that it is compiled code, else arrays.
	Executable bool
	// Device is the runtime's name of it ("cuda:0"), empty for an executable.
	Device string
	// Count and Bytes are of live arrays, or of executables and their code.
	Count, Bytes int64

	from, to int // its locations in Profile.stacks, innermost first
}

// frame is one line of a stack.
type frame struct {
	file, function string
	line           int64
	owner          owner // set by newSites
}

// maxValue bounds counts and bytes: more than any machine has, and so small that
// 128 of them can be added.
const maxValue = 1 << 56

// raw is a profile whose strings are still indexes: they come last.
type raw struct {
	types     [][2]uint64
	samples   []rawSample
	stacks    []uint64
	locations map[uint64][]rawLine
	functions map[uint64]rawFunction
	strings   []string
}

type rawSample struct {
	from, to int
	values   [2]uint64
	labels   [][2]uint64
	at       int64
}

type rawLine struct {
	function uint64
	line     int64
}

type rawFunction struct{ name, file uint64 }

// maxText is how much of a name is kept, in bytes.
const maxText = 4 << 10

// Read reads a profile; name is for messages only. On error the profile is nil.
func Read(r io.Reader, name string) (*Profile, error) {
	s := newStream(r, name)
	w := raw{locations: map[uint64][]rawLine{}, functions: map[uint64]rawFunction{}}
	for s.next() {
		if bad := w.field(s); bad != "" {
			s.fail(s.from, "%s", bad)
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	p, err := w.resolve(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// field takes one field of the outermost message; the text says what is wrong with it.
func (w *raw) field(s *stream) string {
	if s.num <= 6 && s.wire != delim {
		return fmt.Sprintf("field %d: want wire type %d, got %d", s.num, delim, s.wire)
	}
	m := &message{b: s.body}
	switch s.num {
	case 1: // sample_type
		var t [2]uint64
		for m.next() {
			if m.num == 1 || m.num == 2 {
				t[m.num-1] = m.int()
			}
		}
		if w.types = append(w.types, t); len(w.types) > 16 {
			return "sample_type: more than 16"
		}
		return place("sample_type", m.bad)
	case 2:
		return place("sample", w.sample(m, s.from))
	case 4:
		return place("location", w.location(m))
	case 5:
		var f rawFunction
		id := uint64(0)
		for m.next() {
			switch m.num {
			case 1:
				id = m.int()
			case 2:
				f.name = m.int()
			case 4:
				f.file = m.int()
			}
		}
		if _, ok := w.functions[id]; ok || id == 0 {
			return fmt.Sprintf("function: want an id of its own above 0, got %d", id)
		}
		w.functions[id] = f
		return place("function", m.bad)
	case 6:
		w.strings = append(w.strings, strings.ToValidUTF8(string(s.body[:min(len(s.body), maxText)]), "\ufffd"))
	}
	return ""
}

func place(what, bad string) string {
	if bad == "" {
		return ""
	}
	return what + ": " + bad
}

// sample reads a Sample.
func (w *raw) sample(m *message, at int64) string {
	s := rawSample{from: len(w.stacks), at: at}
	var values []uint64
	for m.next() {
		switch m.num {
		case 1:
			w.stacks = m.ints(w.stacks)
		case 2:
			if values = m.ints(values); len(values) > 2 {
				return "want two values, got more"
			}
		case 3:
			l, label := &message{b: m.bytes()}, [2]uint64{}
			for l.next() {
				if l.num == 1 || l.num == 2 {
					label[l.num-1] = l.int()
				}
			}
			if l.bad != "" {
				return "label: " + l.bad
			}
			if s.labels = append(s.labels, label); len(s.labels) > 16 {
				return "more than 16 labels"
			}
		}
	}
	if m.bad == "" && len(values) != 2 {
		return fmt.Sprintf("want two values, got %d", len(values))
	}
	s.to = len(w.stacks)
	copy(s.values[:], values)
	w.samples = append(w.samples, s)
	return m.bad
}

// location reads a Location.
func (w *raw) location(m *message) string {
	var lines []rawLine
	id := uint64(0)
	for m.next() {
		switch m.num {
		case 1:
			id = m.int()
		case 4:
			l, line := &message{b: m.bytes()}, rawLine{}
			for l.next() {
				switch l.num {
				case 1:
					line.function = l.int()
				case 2:
					line.line = int64(l.int())
				}
			}
			if l.bad != "" {
				return "line: " + l.bad
			}
			lines = append(lines, line)
		}
	}
	if _, ok := w.locations[id]; ok || id == 0 {
		return fmt.Sprintf("want an id of its own above 0, got %d", id)
	}
	w.locations[id] = lines
	return m.bad
}

// resolve puts strings, functions and locations in the place of their numbers.
func (w *raw) resolve(name string) (*Profile, error) {
	text := func(i uint64) (string, error) {
		if i >= uint64(len(w.strings)) {
			return "", fmt.Errorf("string %d is not among the %d of the file: it is cut off", i, len(w.strings))
		}
		return w.strings[i], nil
	}
	if err := w.checkTypes(text); err != nil {
		return nil, err
	}
	p := &Profile{Name: name, stacks: w.stacks}
	index := make(map[uint64]uint64, len(w.locations))
	for i, id := range w.stacks {
		at, ok := index[id]
		if !ok {
			frames, err := w.framesOf(id, text)
			if err != nil {
				return nil, err
			}
			at = uint64(len(p.frames))
			p.frames, index[id] = append(p.frames, frames), at
		}
		p.stacks[i] = at
	}
	var total int64
	for i, s := range w.samples {
		out := Sample{from: s.from, to: s.to, Count: int64(s.values[0]), Bytes: int64(s.values[1])}
		for _, n := range s.values {
			if n > maxValue {
				return nil, fmt.Errorf("offset 0x%x: samples[%d]: want a value from 0 to %d, got %d", s.at, i, int64(maxValue), int64(n))
			}
		}
		if total += out.Bytes; total > math.MaxInt64-maxValue {
			return nil, fmt.Errorf("samples of more than %d bytes", int64(math.MaxInt64-maxValue))
		}
		labels := map[string]string{}
		for _, l := range s.labels {
			key, err := text(l[0])
			if err == nil && labels[key] != "" {
				err = fmt.Errorf("offset 0x%x: samples[%d]: label %.40q occurs twice", s.at, i, key)
			}
			if err == nil {
				labels[key], err = text(l[1])
			}
			if err != nil {
				return nil, err
			}
		}
		switch kind := labels["kind"]; {
		case kind == "executable":
			out.Executable = true
		case kind == "buffer" && labels["device"] != "":
			out.Device = labels["device"]
		default:
			return nil, fmt.Errorf("offset 0x%x: samples[%d]: want the labels of JAX (kind=buffer with a device, or kind=executable), found kind=%.40q device=%.40q", s.at, i, kind, labels["device"])
		}
		p.Samples = append(p.Samples, out)
	}
	return p, nil
}

// checkTypes refuses the profiles of other programs.
func (w *raw) checkTypes(text func(uint64) (string, error)) error {
	var found []string
	for _, t := range w.types {
		name, err := text(t[0])
		if err != nil {
			return err
		}
		unit, err := text(t[1])
		if err != nil {
			return err
		}
		found = append(found, fmt.Sprintf("%.40s/%.40s", name, unit))
	}
	const want = "allocations/count, space/bytes"
	if got := strings.Join(found, ", "); got != want {
		return fmt.Errorf("a pprof profile that JAX did not write: want the sample types %s, found %q; make it with jax.profiler.save_device_memory_profile", want, got)
	}
	return nil
}

// framesOf gives the frames of a location.
func (w *raw) framesOf(id uint64, text func(uint64) (string, error)) ([]frame, error) {
	lines, ok := w.locations[id]
	if !ok {
		return nil, fmt.Errorf("location %d is not among the %d of the file: it is cut off", id, len(w.locations))
	}
	var frames []frame
	for _, l := range lines {
		f, ok := w.functions[l.function]
		if !ok {
			return nil, fmt.Errorf("function %d is not among the %d of the file: it is cut off", l.function, len(w.functions))
		}
		name, err := text(f.name)
		if err != nil {
			return nil, err
		}
		file, err := text(f.file)
		if err != nil {
			return nil, err
		}
		frames = append(frames, frame{file: file, function: name, line: l.line})
	}
	return frames, nil
}
