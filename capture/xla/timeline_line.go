package xla

import "math"

const (
	// retrySeconds is how long the allocator waits for memory before it fails:
	// 10,000 ms (BFCAllocator::AllocateRaw; tsl/framework/bfc_allocator.cc).
	retrySeconds = 10
	// gapLow and gapHigh bound the length of an operation that such a wait makes, in
	// picoseconds: what the operation does besides takes milliseconds.
	gapLow  = retrySeconds * 1e12
	gapHigh = gapLow + 100e9
	// maxStack bounds how deep events are nested; deeper ones are passed over.
	maxStack = 1024
	// maxKept bounds the lists that hold a few entries in any real file.
	maxKept = 1024
	// maxGaps bounds how many events of a line may be waits for memory.
	maxGaps = 64
	// maxMarks bounds how many step markers are kept.
	maxMarks = 1 << 20
	// maxBetween bounds how many kinds of host events between two executions are
	// counted; frames of the Python tracer apart from the others.
	maxBetween = 1024
	// maxTime bounds times, in picoseconds either way: 53 days.
	maxTime = 1 << 62
)

// lineScan is the state of the line, one thread, that is being read. Events come in
// the order of their starts, outer ones first; open holds those around the
// current one.
type lineScan struct {
	base     int64 // start, in picoseconds
	last     int64 // start of the event before
	index    int32
	unsorted bool
	open     []openEvent
	gaps     []gap

	calls    int   // calls of executions on this line
	lastCall int64 // the start of the last one
	// since counts the host events since the last call, past those between the two
	// before, by their ids.
	since, past between
}

// between counts events by their ids: the outermost ones of the host, and the
// functions of the user's Python code with the built-in ones that they call.
type between struct{ host, python *tally }

func (b between) clear() {
	if b.host != nil {
		b.host.clear()
		b.python.clear()
	}
}

// openEvent is an event that the current one is inside of.
type openEvent struct {
	end  int64
	id   int64
	link int32 // 0: none made yet
	exec int32 // 1-based index of the execution that it is or is in
	in   flags
}

// flags say what an event or one around it is.
type flags uint32

const (
	inHost flags = 1 << iota // no Python frame
	inCall
	inStep
	inLibrary // the innermost Python frame is not the user's
)

// gap is an event that lasted as long as a failing allocation.
type gap struct {
	start, end int64
	id         int64
	at         int64 // of the last allocator event in it
	python     bool  // it waited for Python code
}

// lines reads one XLine. Its events are most of a profile.
func (s *scan) lines() {
	l := &s.line
	s.out.lines++
	if s.idle() {
		return
	}
	*l = lineScan{index: s.out.lines, last: math.MinInt64, open: l.open[:0], gaps: l.gaps[:0], since: l.since, past: l.past}
	l.since.clear()
	l.past.clear()
	begun := false
	for s.enter("lines"); s.next(); {
		switch s.num {
		case 3: // timestamp_ns
			ns := s.int()
			if s.out.origin == 0 && ns > maxTime/1000 {
				s.out.origin = ns // times that were never made relative to the profile's start
			}
			ns -= s.out.origin
			if begun || ns > maxTime/1000 || ns < -maxTime/1000 {
				s.out.problem("a thread of the host has no usable start time: its events are left out")
				s.leave()
				return
			}
			l.base = ns * 1000
		case 4:
			begun = true
			s.event(s.bytes())
			s.events()
		}
	}
	if s.err != nil {
		return
	}
	s.between()
	if l.unsorted {
		s.out.problem("a thread's events are not in the order of time: what allocated there may be named wrongly")
	}
	for _, g := range l.gaps {
		if g.end-max(g.start, g.at) >= gapLow && !g.python && len(s.out.waits) < maxKept {
			s.out.waits = append(s.out.waits, wait{name: s.later(eventText, g.id), start: g.start, end: g.end, line: l.index})
		}
	}
}

// eventTag begins each event of a line.
const eventTag = 4<<3 | wireBytes

// events reads as many of the events that follow as lie in the window.
func (s *scan) events() {
	window := s.buf[:min(int64(s.w), s.levels[s.depth].end-s.base)]
	for s.err == nil {
		i, n := s.r, 0
		// Nearly all events hold three numbers and nothing else: these need no error's place.
		for i+plainBytes <= len(window) && window[i] == eventTag {
			n = int(window[i+1])
			id, offset, duration, ok := plainEvent((*[plainBytes]byte)(window[i:]), n)
			if !ok || s.class(id) > builtin {
				break
			}
			i += 2 + n
			s.timed(nil, id, offset, duration, 0, false)
		}
		s.r = i
		b := window[i:]
		if len(b) < 2 || b[0] != eventTag {
			return
		}
		n, i = int(b[1]), 2
		if n >= 0x80 {
			v, k := uvarint(b[1:])
			if k <= 0 || v > windowBytes {
				return
			}
			n, i = int(v), 1+k
		}
		if n > len(b)-i {
			return
		}
		// next and bytes do the same, and keep what errors need.
		s.at, s.num, s.wire = s.pos(), 4, wireBytes
		s.r += i + n
		s.end = s.pos()
		s.event(b[i : i+n])
	}
}

// event reads an XEvent. Nothing is kept of one that neither is wanted nor has
// anything wanted inside.
func (s *scan) event(b []byte) {
	var field [4]int64 // id, offset and duration, by their numbers
	if step, marked, ok := s.fields(b, &field); ok {
		s.timed(b, field[1], field[2], field[3], step, marked)
	}
}

// timed takes an event, whose bytes are only looked at again if it is of a class of
// its own.
func (s *scan) timed(b []byte, id, offset, duration, step int64, marked bool) {
	l := &s.line
	start := l.base + offset
	if far(offset) || far(start) || duration < 0 || duration > maxTime {
		s.out.problem("an event lies outside of all time: it is left out")
		return
	}
	end := start + duration
	if start < l.last {
		l.unsorted = true
	}
	l.last = start
	n := len(l.open)
	for n > 0 && l.open[n-1].end < end {
		n--
	}
	l.open = l.open[:n]
	var in flags
	var exec int32
	if n > 0 {
		in, exec = l.open[n-1].in, l.open[n-1].exec
	}

	c := s.class(id)
	switch {
	case c >= frame && c <= builtin:
		switch {
		case c == library:
			in |= inLibrary
		case c == frame:
			in &^= inLibrary
		}
		if l.calls > 0 && in&(inHost|inLibrary) == 0 {
			l.since.python.add(id)
		}
		if duration > gapLow/2 {
			l.pythonGap(start, end)
		}
	case c == allocs || c == frees:
		s.memory(b, start, c == frees)
		return
	case c == plain:
		if l.calls > 0 && in&inHost == 0 {
			l.since.host.add(id)
		}
		in |= inHost
	default:
		in, exec = s.special(c, b, id, start, end, in, exec)
		in |= inHost
	}
	if marked && in&inStep == 0 && len(s.out.marks) < maxMarks {
		in |= inStep
		s.out.marks = append(s.out.marks, mark{start, step, l.index})
	}
	if duration >= gapLow && duration <= gapHigh && (c < frame || c > builtin) && !marked {
		l.addGap(gap{start: start, end: end, id: id, at: start})
	}
	if duration > 0 && n < maxStack {
		if n == cap(l.open) {
			l.open = append(l.open, openEvent{})
		}
		l.open = l.open[:n+1]
		// Field by field: a whole literal is built elsewhere first, and the copy waits for it.
		o := &l.open[n]
		o.end, o.id, o.link, o.exec, o.in = end, id, 0, exec, in
	}
}

// far reports whether a time is more than maxTime away.
func far(t int64) bool { return uint64(t+maxTime) > 2*maxTime }

// addGap keeps the innermost of nested events.
func (l *lineScan) addGap(g gap) {
	if k := len(l.gaps); k > 0 && l.gaps[k-1].end >= g.end {
		l.gaps = l.gaps[:k-1]
	}
	if len(l.gaps) < maxGaps {
		l.gaps = append(l.gaps, g)
	}
}

// pythonGap notes that Python code took most of a gap.
func (l *lineScan) pythonGap(start, end int64) {
	for i := range l.gaps {
		if g := &l.gaps[i]; g.start <= start && end <= g.end {
			g.python = true
		}
	}
}

// fields reads the fields of an event. marked tells that the event marks a step.
func (s *scan) fields(b []byte, field *[4]int64) (step int64, marked, ok bool) {
	for i := 0; i < len(b); {
		tag := b[i]
		var v uint64
		switch tag {
		case 1<<3 | wireVarint, 2<<3 | wireVarint, 3<<3 | wireVarint, 4<<3 | wireBytes:
			if v, i = varint(b, i+1); i == 0 {
				s.badEvent(b)
				return 0, false, false
			}
		default:
			// num_occurrences and fields to come.
			l := leaf{d: s.decoder, b: b, base: s.end - int64(len(b)), what: "events", pos: i}
			if !l.next() {
				return 0, false, false
			}
			i = l.pos
			continue
		}
		if tag != 4<<3|wireBytes {
			field[tag>>3&3] = int64(v)
			continue
		}
		if v > uint64(len(b)-i) {
			s.badEvent(b)
			return 0, false, false
		}
		stat := b[i : i+int(v)]
		i += int(v)
		if len(stat) < 2 || stat[0] != 1<<3|wireVarint {
			continue
		}
		switch k, next := varint(stat, 1); {
		case next == 0:
		case int64(k) == s.stats[statStep]:
			step, marked = number(stat[next:])
		case int64(k) == s.stats[statGroup]:
			if g, ok := number(stat[next:]); ok {
				s.group(g, field[2])
			}
		}
	}
	return step, marked, true
}

// badEvent reports what is wrong with an event.
func (s *scan) badEvent(b []byte) {
	for l := (leaf{d: s.decoder, b: b, base: s.end - int64(len(b)), what: "events"}); l.next(); {
		if l.num < 4 {
			l.int()
		} else if l.num == 4 {
			l.body()
		}
	}
	if s.err == nil {
		s.fail(s.at, "events: want an event, found other bytes")
	}
}

// number reads the value of a statistic that is a whole number.
func number(b []byte) (n int64, ok bool) {
	if len(b) < 2 || b[0] != 3<<3|wireVarint && b[0] != 4<<3|wireVarint {
		return 0, false
	}
	v, next := varint(b, 1)
	return int64(v), next > 0
}

// group notes when a group of events is first seen.
func (s *scan) group(id, offset int64) {
	if offset > maxTime || offset < -maxTime {
		return
	}
	at := s.line.base + offset
	if have, ok := s.out.groups[id]; ok {
		s.out.groups[id] = min(have, at)
	} else if len(s.out.groups) < farIDs {
		if s.out.groups == nil {
			s.out.groups = map[int64]int64{}
		}
		s.out.groups[id] = at
	}
}

// special takes an event that has to do with executions, and gives what is said of
// those inside of it.
func (s *scan) special(c class, b []byte, id, start, end int64, in flags, exec int32) (flags, int32) {
	t := s.out
	switch c {
	case run:
		if len(t.runs) < maxMarks {
			t.runs = append(t.runs, start)
		}
		s.called(start)
	case retry:
		if len(t.waits) < maxKept {
			t.waits = append(t.waits, wait{name: s.later(eventText, id), start: start, end: end, line: s.line.index, retry: true})
		}
	case call:
		if in&inCall == 0 {
			s.called(start)
		}
		in |= inCall
		if id, ok := s.flow(b, statProducer, statProduced); ok {
			if t.calls == nil {
				t.calls = map[flow]int32{}
			}
			t.calls[id] = s.chain()
		}
	case execute:
		if exec == 0 {
			if len(t.executions) >= math.MaxInt32-1 {
				break
			}
			t.executions = append(t.executions, execution{
				start: start, end: end, name: s.later(eventText, id), module: s.statText(b, statName), chain: s.chain(), line: s.line.index,
			})
			exec = int32(len(t.executions))
		}
		e := &t.executions[exec-1]
		if e.id == (flow{}) {
			e.id, _ = s.flow(b, statConsumer, statConsumed)
		}
		e.inner = s.later(eventText, id)
	case launch:
		if exec == 0 {
			break
		}
		e := &t.executions[exec-1]
		e.launched = true
		if e.launch == 0 {
			e.launch = s.later(eventText, id)
		}
		if e.module == 0 {
			e.module = s.statText(b, statModule)
		}
	}
	return in, exec
}

// called takes a call of an execution.
func (s *scan) called(start int64) {
	l := &s.line
	if l.since.host == nil {
		l.since, l.past = between{&tally{}, &tally{}}, between{&tally{}, &tally{}}
	}
	for _, o := range l.open { // the call is inside of these
		l.since.host.remove(o.id)
		l.since.python.remove(o.id)
	}
	l.calls++
	l.lastCall = start
	l.since, l.past = l.past, l.since
	l.since.clear()
}

// between takes what the line that ended had between its last two calls, if the
// last one is the last of all lines.
func (s *scan) between() {
	l, t := &s.line, s.out
	if l.calls == 0 || l.lastCall < t.lastCall {
		return
	}
	if t.lastCall = l.lastCall; l.calls == 1 {
		return
	}
	t.between = t.between[:0]
	for _, counts := range []*tally{l.past.host, l.past.python} {
		for _, i := range counts.used {
			if n := counts.counts[i] - 1; n > 0 {
				t.between = append(t.between, counted{s.later(eventText, counts.ids[i]), n})
			}
		}
	}
}

// chain gives the events around the current one as links, and makes them.
func (s *scan) chain() int32 {
	open := s.line.open
	known := len(open)
	for known > 0 && open[known-1].link == 0 {
		known--
	}
	parent := int32(0)
	if known > 0 {
		parent = open[known-1].link
	}
	for i := known; i < len(open); i++ {
		k := link{parent, s.later(eventText, open[i].id)}
		n, ok := s.linkOf[k]
		if !ok {
			n = int32(len(s.out.chains))
			s.out.chains = append(s.out.chains, k)
			s.linkOf[k] = n
		}
		open[i].link, parent = n, n
	}
	return parent
}
