package xla

import (
	"encoding/binary"
	"math"
	"math/bits"
)

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
	// maxBetween bounds how many kinds of host events between two executions are kept.
	maxBetween = 256
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

	calls   int             // calls of executions on this line
	between map[int64]int64 // ids of the outermost events since the last call
}

// openEvent is an event that the current one is inside of.
type openEvent struct {
	end  int64
	id   int64
	link int32 // 0: none made yet
	exec int32
	host bool // it or one around it is no Python frame
	call bool
	step bool
}

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
	*l = lineScan{index: l.index + 1, last: math.MinInt64, open: l.open[:0], gaps: l.gaps[:0]}
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
	if l.unsorted {
		s.out.problem("a thread's events are not in the order of time: what allocated there may be named wrongly")
	}
	for _, g := range l.gaps {
		if g.end-max(g.start, g.at) >= gapLow && !g.python && len(s.out.waits) < maxKept {
			s.out.waits = append(s.out.waits, wait{name: s.later(eventText, g.id), start: g.start, end: g.end})
		}
	}
}

// events reads as many of the events that follow as lie in the window.
func (s *scan) events() {
	const tag = 4<<3 | wireBytes
	limit := s.levels[s.depth].end - s.base
	for s.err == nil {
		b := s.buf[s.r:min(int64(s.w), limit)]
		if len(b) < 2 || b[0] != tag {
			return
		}
		n, i := int(b[1]), 2
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

// varint decodes one varint at b[i]. A next of 0 means that there is none.
func varint(b []byte, i int) (v uint64, next int) {
	if i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		if stop := ^x & 0x8080808080808080; stop != 0 {
			n := bits.TrailingZeros64(stop) + 1
			x &= ^uint64(0) >> (64 - n)
			x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
			x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
			return x&0x0fffffff | x&0x0fffffff00000000>>4, i + n>>3
		}
	}
	v, n := uvarint(b[i:])
	if n <= 0 {
		return 0, 0
	}
	return v, i + n
}

// event reads an XEvent. Nothing is kept of one that neither is wanted nor has
// anything wanted inside.
func (s *scan) event(b []byte) {
	var id, offset, duration int64
	step, marked := int64(0), false
	for i := 0; i < len(b); {
		tag := b[i]
		var v uint64
		switch tag {
		case 1<<3 | wireVarint, 2<<3 | wireVarint, 3<<3 | wireVarint, 4<<3 | wireBytes:
			v, i = varint(b, i+1)
			if i == 0 {
				s.badEvent(b)
				return
			}
		default:
			// num_occurrences and fields to come.
			l := leaf{d: s.decoder, b: b, base: s.end - int64(len(b)), what: "events", pos: i}
			if !l.next() {
				return
			}
			i = l.pos
			continue
		}
		switch tag >> 3 {
		case 1:
			id = int64(v)
		case 2:
			offset = int64(v)
		case 3:
			duration = int64(v)
		case 4:
			if v > uint64(len(b)-i) {
				s.badEvent(b)
				return
			}
			stat := b[i : i+int(v)]
			i += int(v)
			if len(stat) > 1 && stat[0] == 1<<3|wireVarint {
				switch k, next := varint(stat, 1); {
				case next == 0:
				case int64(k) == s.stats[statStep]:
					step, marked = number(stat[next:])
				case int64(k) == s.stats[statGroup]:
					if g, ok := number(stat[next:]); ok {
						s.group(g, offset)
					}
				}
			}
		}
	}

	l := &s.line
	start := l.base + offset
	if offset > maxTime || offset < -maxTime || duration < 0 || duration > maxTime || start > maxTime || start < -maxTime {
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
	var around openEvent
	if n > 0 {
		around = l.open[n-1]
	}

	c := s.class(id)
	if c == allocs || c == frees {
		s.memory(b, start, c == frees)
		return
	}
	this := openEvent{end: end, id: id, exec: around.exec, host: around.host || c != frame, call: around.call, step: around.step}
	switch {
	case c == frame:
		if duration > gapLow/2 {
			for i := range l.gaps {
				if g := &l.gaps[i]; g.start <= start && end <= g.end {
					g.python = true
				}
			}
		}
	case c == plain:
		if l.calls > 0 && !around.host && (l.between[id] > 0 || len(l.between) < maxBetween) {
			l.between[id]++
		}
	default:
		s.special(c, b, &this, around, start)
	}
	if marked && !around.step {
		this.step = true
		s.out.marks = append(s.out.marks, mark{start, step, l.index})
	}
	if duration == 0 {
		return
	}
	if duration >= gapLow && duration <= gapHigh && c != frame && !marked {
		// The innermost one is kept.
		if k := len(l.gaps); k > 0 && l.gaps[k-1].end >= end {
			l.gaps = l.gaps[:k-1]
		}
		if len(l.gaps) < maxKept {
			l.gaps = append(l.gaps, gap{start: start, end: end, id: id, at: start})
		}
	}
	if n < maxStack {
		l.open = append(l.open, this)
	}
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

// special takes an event that has to do with executions.
func (s *scan) special(c class, b []byte, this *openEvent, around openEvent, start int64) {
	t := s.out
	switch c {
	case run:
		t.runs = append(t.runs, start)
		s.called(start)
	case retry:
		if len(t.waits) < maxKept {
			t.waits = append(t.waits, wait{name: s.later(eventText, this.id), start: start, end: this.end, retry: true})
		}
	case call:
		if this.call = true; !around.call {
			s.called(start)
		}
		if id, ok := s.flow(b, statProducer, statProduced); ok {
			if t.calls == nil {
				t.calls = map[flow]int32{}
			}
			t.calls[id] = s.chain()
		}
	case execute:
		id, _ := s.flow(b, statConsumer, statConsumed)
		if this.exec == 0 {
			if len(t.executions) >= math.MaxInt32-1 {
				return
			}
			t.executions = append(t.executions, execution{
				start: start, end: this.end, name: s.later(eventText, this.id), module: s.statText(b, statName), chain: s.chain(),
			})
			this.exec = int32(len(t.executions))
		}
		if e := &t.executions[this.exec-1]; e.id == (flow{}) {
			e.id = id
		}
		t.executions[this.exec-1].inner = s.later(eventText, this.id)
	case launch:
		if this.exec > 0 {
			e := &t.executions[this.exec-1]
			e.launched = true
			if e.launch == 0 {
				e.launch = s.later(eventText, this.id)
			}
			if e.module == 0 {
				e.module = s.statText(b, statModule)
			}
		}
	}
}

// called takes a call of an execution: what lies between the last two on the line
// that made the last one is kept.
func (s *scan) called(start int64) {
	l, t := &s.line, s.out
	if l.calls++; l.calls > 1 && start >= t.lastCall {
		t.between = t.between[:0]
		for id, n := range l.between {
			for _, o := range l.open {
				if o.id == id && o.host {
					n-- // the call is inside of it
					break
				}
			}
			if n > 0 {
				t.between = append(t.between, counted{s.later(eventText, id), n})
			}
		}
	}
	t.lastCall = max(t.lastCall, start)
	if l.between == nil {
		l.between = map[int64]int64{}
	}
	clear(l.between)
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
