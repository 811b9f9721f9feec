package xla

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// hostPlane holds all threads of the host: their allocator events, executions and
// step markers among events of every other kind.
const hostPlane = "/host:CPU"

const (
	// maxHostPlanes bounds how many host planes of a file are read. Profilers
	// merge theirs into one.
	maxHostPlanes = 16
	// maxSpool bounds how much of a stream that cannot seek is set aside, in bytes. A
	// protocol buffer message has no more than 2 GiB.
	maxSpool = 2 << 30
	// spoolInMemory is how much of that is kept in memory rather than in a file.
	spoolInMemory = 4 << 20
	// denseIDs bounds the ids whose class is kept in an array; profilers number
	// them from 1. Others are in a map of at most farIDs.
	denseIDs = 1 << 20
	farIDs   = 1 << 16
)

// scan reads a host plane. An event names its kind by an id, and what the ids mean
// comes after the events: so the plane is walked first for the meaning of ids,
// passing over the lines, then for the lines, and then for the names of
// the ids that allocations turned out to need.
type scan struct {
	*decoder
	out *hostTrace

	classes []class         // by id
	far     map[int64]class // of the ids beyond those
	some    bool            // the plane has allocator events
	stats   [statCount]int64
	kinds   [64]stat // by id, of small ids

	textOf  map[textKey]int32
	direct  map[string]int32 // texts that events hold themselves
	linkOf  map[link]int32
	byOrder map[allocatorKey]int32

	line lineScan
}

// textKey is a text that is known by an id of the plane as yet.
type textKey struct {
	kind textKind
	id   int64
}

type textKind uint8

const (
	eventText textKind = iota // the name of an event_metadata
	statText                  // the name of a stat_metadata
)

type allocatorKey struct {
	name    int32
	ordinal int64
}

// host reads the rest of the host plane that was entered last, up to its end.
func (p *parser) host(c *Capture) {
	if c.hostPlanes++; c.hostPlanes > maxHostPlanes {
		p.leave()
		return
	}
	end := p.levels[p.depth].end
	if p.seeker != nil {
		p.scanHost(c, p.decoder)
		p.seekTo(end)
		return
	}
	d, done := p.spool(end)
	defer done()
	switch {
	case p.err != nil:
	case d == nil:
		c.host().problem("the file was read from a stream, and its host events could not be set aside: the allocators' timeline is missing")
		p.leave()
	default:
		p.scanHost(c, d)
		p.err = d.err
	}
}

// spool sets the bytes up to end aside and gives a decoder of them that can seek. It
// is nil where they are too many or there is no room for a temporary file.
func (p *parser) spool(end int64) (d *decoder, done func()) {
	done = func() {}
	at, n := p.pos(), end-p.pos()
	if n > maxSpool {
		return nil, done
	}
	var from io.ReadSeeker
	body := io.Reader(&rest{p.decoder, end})
	head := make([]byte, min(n, spoolInMemory))
	if _, err := io.ReadFull(body, head); err != nil {
		return nil, done
	}
	if int64(len(head)) == n {
		from = bytes.NewReader(head)
	} else {
		f, err := os.CreateTemp("", "peakgate-")
		if err != nil {
			return nil, done
		}
		done = func() {
			f.Close()
			os.Remove(f.Name())
		}
		if _, err := io.Copy(f, io.MultiReader(bytes.NewReader(head), body)); err != nil || p.err != nil {
			return nil, done
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return nil, done
		}
		from = f
	}
	d = newDecoder(from, n, p.name)
	d.base, d.size = at, end
	d.depth, d.levels, d.interned = p.depth, p.levels, p.interned
	return d, done
}

// rest reads what is left of a message.
type rest struct {
	d   *decoder
	end int64
}

func (r *rest) Read(b []byte) (int, error) {
	left := r.end - r.d.pos()
	if left <= 0 {
		return 0, io.EOF
	}
	if !r.d.fill(1) {
		r.d.fail(r.d.pos(), "unexpected end of file: %d more bytes are wanted", left)
		return 0, r.d.err
	}
	n := copy(b[:min(int64(len(b)), left)], r.d.buf[r.d.r:r.d.w])
	r.d.r += n
	return n, nil
}

// seekTo moves to an offset of the stream, which must be able to seek.
func (d *decoder) seekTo(offset int64) {
	d.pending = false
	if d.err != nil {
		return
	}
	if offset >= d.base && offset <= d.base+int64(d.w) {
		d.r = int(offset - d.base)
		return
	}
	if _, err := d.seeker.Seek(offset-(d.base+int64(d.w)), io.SeekCurrent); err != nil {
		d.err = fmt.Errorf("%s: offset 0x%x: %w", d.name, d.pos(), err)
		return
	}
	d.base, d.r, d.w, d.eof = offset, 0, 0, false
}

// host gives the trace that host planes are read into.
func (c *Capture) host() *hostTrace {
	if c.trace == nil {
		c.trace = &hostTrace{texts: []string{""}, chains: []link{{}}, lastCall: -1 << 62}
	}
	return c.trace
}

func (t *hostTrace) problem(format string, args ...any) {
	if len(t.problems) < maxProblems {
		t.problems = append(t.problems, fmt.Sprintf(format, args...))
	}
}

// scanHost walks the plane three times. Decoder and level stand where the
// plane's name ended.
func (p *parser) scanHost(c *Capture, d *decoder) {
	from, depth := d.pos(), d.depth
	again := func() {
		d.depth = depth
		d.seekTo(from)
	}
	s := &scan{decoder: d, textOf: map[textKey]int32{}, direct: map[string]int32{}, linkOf: map[link]int32{}, byOrder: map[allocatorKey]int32{}}
	for i := range s.stats {
		s.stats[i] = -1
	}
	lines := 0
	for d.next() {
		switch d.num {
		case 3:
			lines++
		case 4:
			s.eventClass()
		case 5:
			s.statKind()
		}
	}
	if d.err == nil && s.some && lines > 0 {
		s.out = c.host()
		for again(); d.next(); {
			if d.num == 3 {
				s.lines()
			}
		}
		for again(); d.next(); {
			switch d.num {
			case 4:
				s.name(eventText)
			case 5:
				s.name(statText)
			}
		}
	}
	d.depth = depth
}

// eventClass reads one entry of event_metadata for what its name means.
func (s *scan) eventClass() {
	var id int64
	var c class
	for l := s.leaf("event_metadata"); l.next(); {
		switch l.num {
		case 1:
			id = l.int()
		case 2:
			for v := l.inner("value"); v.next(); {
				if v.num == 2 {
					body := v.body()
					c = classify(string(body[:min(len(body), maxText)]))
				}
			}
		}
	}
	if c == plain {
		return
	}
	s.some = s.some || c == allocs || c == frees
	switch {
	case id >= 0 && id < denseIDs:
		for int64(len(s.classes)) <= id {
			s.classes = append(s.classes, plain)
		}
		s.classes[id] = c
	case len(s.far) < farIDs:
		if s.far == nil {
			s.far = map[int64]class{}
		}
		s.far[id] = c
	}
}

func (s *scan) class(id int64) class {
	if uint64(id) < uint64(len(s.classes)) {
		return s.classes[id]
	}
	if s.far != nil {
		return s.far[id]
	}
	return plain
}

// name reads one entry of event_metadata or stat_metadata, and keeps its name if it is
// wanted.
func (s *scan) name(kind textKind) {
	var id int64
	l := s.leaf("metadata")
	var value leaf
	for l.next() {
		switch l.num {
		case 1:
			id = l.int()
		case 2:
			value = l.inner("value")
		}
	}
	i, ok := s.textOf[textKey{kind, id}]
	if !ok {
		return
	}
	for value.next() {
		if value.num == 2 {
			s.out.texts[i] = value.text()
		}
	}
}

// later gives the place of a text that is known by its id as yet.
func (s *scan) later(kind textKind, id int64) int32 {
	k := textKey{kind, id}
	i, ok := s.textOf[k]
	if !ok {
		i = int32(len(s.out.texts))
		s.out.texts = append(s.out.texts, "")
		s.textOf[k] = i
	}
	return i
}
