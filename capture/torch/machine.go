package torch

import (
	"errors"
	"fmt"
)

// machine is a stack machine that builds a snapshot from the bottom up: a dict
// is recognized by its keys when its parent takes it, folded into its parent's
// domain value, and dropped. The pickle opcodes and the JSON tokens drive it
// alike. A container may not change, nor be used again, once it was taken;
// only frames and lists of frames may be shared, as the writers share them.
type machine struct {
	in    *input
	stack [stackLimit]ref // sp entries are in use
	sp    int
	marks []mark
	base  int // what the innermost mark left on the stack; 0 without one

	memo   []ref
	sparse map[uint32]ref // memo entries far beyond the others

	slots []slot
	free  []uint32

	texts  *texts
	frames frames
	stacks *stacks
	wide   []uint64  // integers that a ref cannot hold
	floats []float64 // numbers with a fraction

	field [numKeys]ref // the fields of the dict being decoded
	ids   []uint32     // scratch

	// What the dicts had in common, to tell the release of torch.
	seen [shapeTop + 1]keySet

	allocating    []bool // stacks that allocate, by StackID
	unknownStates map[uint32]int64
	misfits       int64 // segments whose blocks do not add up to the segment
	roundedOnly   int64 // live blocks without a requested size
}

// Limits. What real writers nest and batch is far below.
const (
	stackLimit = 1 << 13 // values on the stack; CPython's batches are 1,000, longer ones are flushed
	depthLimit = 256     // open marks
	slotLimit  = 1 << 14 // containers that are not yet taken
	pairLimit  = 1 << 16 // entries of one dict
	listLimit  = 4096    // lists in a list: one per device
	flushAt    = 64      // items of a list that wait for the end of their batch
)

type mark struct {
	at      int
	flushed bool // items were already put into the list below the mark
}

// ref is a value on the stack or in the memo: a tag in the top four bits.
type ref uint64

const (
	tagNone    ref = iota // an unset memo entry
	tagInt                // 60 bits, signed
	tagHigh               // an integer from 2^63 on: 60 bits, signed, plus 2^64
	tagWide               // index into wide
	tagBeyond             // an integer that needs more than 64 bits
	tagFloat              // index into floats
	tagConst              // None, True or False
	tagText               // number of a text
	tagFrame              // number of a frame
	tagStack              // number of a stack
	tagEmpty              // an empty list
	tagPair               // two integers of 30 bits
	tagOther              // a value that nothing needs
	tagOpen               // a container still under construction: its slot
	tagHeld               // a finished container that waits for its parent: its slot
	tagUsed               // a container that its parent has taken
	tagShift   = 60
	payload    = 1<<tagShift - 1
	constNone  = tagConst << tagShift
	constFalse = tagConst<<tagShift | 1
	constTrue  = tagConst<<tagShift | 2
	empty      = tagEmpty << tagShift
	other      = tagOther << tagShift
	used       = tagUsed << tagShift
	beyond     = tagBeyond << tagShift
)

func (r ref) tag() ref      { return r >> tagShift }
func (r ref) low() uint32   { return uint32(r) }
func (r ref) signed() int64 { return int64(r<<4) >> 4 }

var tagNoun = [...]string{"nothing", "integer", "integer", "integer", "integer beyond 64 bits", "number with a fraction",
	"None or bool", "string", "frame", "list of frames", "empty list", "tuple", "value of another kind", "container",
	"container", "container that was used before"}

func (r ref) noun() string { return tagNoun[r.tag()] }

type slotState uint8

const (
	slotFree slotState = iota
	slotOpen
	slotDone // turned into final by a memo read while still on the stack
	slotHeld
)

// content is what a list holds.
type content uint8

const (
	holdsNothing content = iota
	holdsFrames
	holdsEvents
	holdsBlocks
	holdsSegments
	holdsNotes
	holdsHistory
	holdsInts
	holdsLists
	holdsOther
)

var contentNoun = [...]string{"nothing", "frames", "trace entries", "blocks", "segments", "annotations", "history entries",
	"integers", "lists", "other values"}

// slot is a container under construction or waiting for its parent.
type slot struct {
	state  slotState
	isDict bool
	holds  content
	nested bool  // some value of the dict is tagHeld
	memo   int64 // memo entry + 1
	n      int64 // items of the list
	final  ref

	pairs []ref    // dict: key, value, key, value
	ids   []uint32 // list of frames
	ints  [2]int64 // list of integers: the first two
	*contents
}

// contents is what the lists of domain values hold; few are there at a time.
type contents struct {
	lists    []ref
	blocks   []Block
	segments []Segment
	trace    *trace
	notes    *notes
	real     int64 // newest history entry: real_size and stack
	stack    StackID
}

func newMachine(in *input) *machine {
	return &machine{
		in: in, memo: make([]ref, 0, 256+min(max(in.size, 0)/32, 1<<20)),
		texts: newTexts(), stacks: newStacks(),
		frames:        frames{ids: map[frameKey]uint32{}},
		unknownStates: map[uint32]int64{},
	}
}

var (
	errStack   = errors.New("stack underflow: an opcode needs more values than there are")
	errNoMark  = errors.New("no mark on the stack for this opcode")
	errFull    = fmt.Errorf("more than %d values wait on the stack", stackLimit)
	errChanged = errors.New("a container changes after it was used: not written by torch.cuda.memory._dump_snapshot")
	errReused  = errors.New("a container refers to itself or is used twice: only frames and stacks may be shared")
)

func (m *machine) push(v ref) error {
	if sp := m.sp; sp < stackLimit {
		m.stack[sp] = v
		m.sp++
		return nil
	}
	return m.pushFull(v)
}

func (m *machine) pushFull(v ref) error {
	if err := m.flush(); err != nil {
		return err
	}
	if m.sp == stackLimit {
		return errFull
	}
	m.stack[m.sp] = v
	m.sp++
	return nil
}

func (m *machine) pushInt(n int64) error {
	if n<<4>>4 == n {
		return m.push(tagInt<<tagShift | ref(n)&payload)
	}
	return m.pushWide(uint64(n))
}

// pushUint takes integers from 2^63 on: addresses of some devices.
func (m *machine) pushUint(u uint64) error {
	if n := int64(u); n >= 0 {
		return m.pushInt(n)
	} else if n<<4>>4 == n {
		return m.push(tagHigh<<tagShift | ref(n)&payload)
	}
	return m.push(beyond)
}

func (m *machine) pushWide(u uint64) error {
	m.wide = append(m.wide, u)
	return m.push(tagWide<<tagShift | ref(len(m.wide)-1))
}

// pushFloat takes a number with a fraction; a whole number below 2^53, which a
// float64 holds exactly, counts as that integer.
func (m *machine) pushFloat(f float64) error {
	if n := int64(f); f > -1<<53 && f < 1<<53 && float64(n) == f {
		return m.pushInt(n)
	}
	m.floats = append(m.floats, f)
	return m.push(tagFloat<<tagShift | ref(len(m.floats)-1))
}

func (m *machine) pushText(b []byte) error { return m.push(m.text(b)) }

// text interns a string. The free texts of events (each may differ from the
// one before) are not kept unless they are very short: CPython shares strings
// of one character, so such a text may be the name of a function as well.
func (m *machine) text(b []byte) ref {
	if m.sp > 0 {
		if k := m.stack[m.sp-1]; k == tagText<<tagShift|keyUserMetadata || k == tagText<<tagShift|keyCompileContext {
			if len(b) > 4 {
				if id, ok := m.texts.ids[string(b)]; ok {
					return tagText<<tagShift | ref(id)
				}
				return tagText<<tagShift | wordUnkept
			}
		}
	}
	return tagText<<tagShift | ref(m.texts.id(b))
}

func (m *machine) pushMark() error {
	if len(m.marks) == depthLimit {
		return fmt.Errorf("nested deeper than %d", depthLimit)
	}
	m.marks = append(m.marks, mark{at: m.sp})
	m.base = m.sp
	return nil
}

// popMark gives the place of the innermost mark.
func (m *machine) popMark() (mark, error) {
	if len(m.marks) == 0 {
		return mark{}, errNoMark
	}
	k := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	m.base = 0
	if len(m.marks) > 0 {
		m.base = m.marks[len(m.marks)-1].at
	}
	return k, nil
}

// flush puts the items of an unfinished batch into their list: the batch may
// hold a million. It does nothing where the values above the mark are no such
// batch.
func (m *machine) flush() error {
	if len(m.marks) == 0 || m.base == 0 || m.sp == m.base {
		return nil
	}
	l := m.stack[m.base-1]
	if l.tag() != tagOpen || m.slots[l.low()].isDict {
		return nil
	}
	if err := m.appendAll(l, m.stack[m.base:m.sp]); err != nil {
		return err
	}
	m.marks[len(m.marks)-1].flushed = true
	m.sp = m.base
	return nil
}

func (m *machine) pushContainer(isDict bool) error {
	if m.sp-m.base >= flushAt {
		if err := m.flush(); err != nil {
			return err
		}
	}
	var i uint32
	if n := len(m.free); n > 0 {
		i = m.free[n-1]
		m.free = m.free[:n-1]
	} else {
		if len(m.slots) == slotLimit {
			return fmt.Errorf("more than %d containers are open at once", slotLimit)
		}
		i = uint32(len(m.slots))
		m.slots = append(m.slots, slot{})
	}
	s := &m.slots[i]
	s.state, s.isDict = slotOpen, isDict
	return m.push(tagOpen<<tagShift | ref(i))
}

// release makes a slot free for the next container.
func (m *machine) release(i uint32) {
	s := &m.slots[i]
	if s.nested {
		for _, v := range s.pairs {
			if v.tag() == tagHeld && m.slots[v.low()].state == slotHeld {
				m.release(v.low())
			}
		}
		s.nested = false
	}
	if s.contents != nil {
		for _, v := range s.lists {
			if v.tag() == tagHeld {
				m.release(v.low())
			}
		}
		s.contents = nil
	}
	if cap(s.pairs) > 256 {
		s.pairs = nil
	}
	s.state, s.holds, s.memo, s.n = slotFree, holdsNothing, 0, 0
	s.pairs, s.ids = s.pairs[:0], s.ids[:0]
	m.free = append(m.free, i)
}

// settle sets what the memo says about a container from now on.
func (m *machine) settle(s *slot, v ref) {
	if s.memo == 0 {
		return
	}
	i := s.memo - 1
	if i < int64(len(m.memo)) {
		m.memo[i] = v
	} else {
		m.sparse[uint32(i)] = v
	}
}

// memoize stores the value on top of the stack.
func (m *machine) memoize(i uint32) error {
	if m.sp == 0 {
		return errStack
	}
	v := m.stack[m.sp-1]
	if v.tag() == tagOpen {
		s := &m.slots[v.low()]
		if s.memo != 0 && s.state == slotOpen {
			return errors.New("a container is put into the memo twice")
		}
		if s.state == slotDone {
			v = s.final
		} else {
			s.memo = int64(i) + 1
		}
	}
	switch n := uint32(len(m.memo)); {
	case i == n:
		m.memo = append(m.memo, v)
	case i < n:
		m.memo[i] = v
	case i < n+4096:
		for uint32(len(m.memo)) < i {
			m.memo = append(m.memo, m.sparse[uint32(len(m.memo))])
		}
		m.memo = append(m.memo, v)
	default:
		if m.sparse == nil {
			m.sparse = map[uint32]ref{}
		}
		m.sparse[i] = v
	}
	return nil
}

// recall pushes a value of the memo.
func (m *machine) recall(i uint32) error {
	var v ref
	if i < uint32(len(m.memo)) {
		v = m.memo[i]
	} else {
		v = m.sparse[i]
	}
	switch v.tag() {
	case tagNone:
		return fmt.Errorf("memo entry %d does not exist; there are %d", i, len(m.memo)+len(m.sparse))
	case tagUsed:
		return errReused
	case tagOpen:
		var err error
		if v, err = m.freeze(v.low()); err != nil {
			return err
		}
	}
	return m.push(v)
}

// freeze finishes a container that is read from the memo while it is still on
// the stack: a frame that occurs twice in one stack, a list of frames, or an
// empty list. It may not change after that.
func (m *machine) freeze(i uint32) (ref, error) {
	s := &m.slots[i]
	var v ref
	switch {
	case s.isDict && len(s.pairs) > 0:
		keys, err := m.fields(s)
		if err != nil {
			return 0, err
		}
		if keys.shape() != shapeFrame {
			return 0, errReused
		}
		if v, err = m.frame(keys); err != nil {
			return 0, err
		}
	case s.isDict:
		v = other
	case s.holds == holdsNothing:
		v = empty
	case s.holds == holdsFrames:
		v = tagStack<<tagShift | ref(m.stacks.id(s.ids))
	default:
		return 0, errReused
	}
	m.settle(s, v)
	s.state, s.final = slotDone, v
	return v, nil
}

// take finishes a value that its parent dict or list of lists takes.
func (m *machine) take(v ref) (ref, error) {
	switch v.tag() {
	case tagUsed, tagHeld:
		return 0, errReused
	case tagOpen:
	default:
		return v, nil
	}
	i := v.low()
	s := &m.slots[i]
	switch {
	case s.state == slotDone:
		v = s.final
	case s.isDict:
		s.state = slotHeld
		m.settle(s, used)
		return tagHeld<<tagShift | ref(i), nil
	case s.holds == holdsNothing:
		v = empty
	case s.holds == holdsFrames:
		v = tagStack<<tagShift | ref(m.stacks.id(s.ids))
	case s.holds == holdsInts && s.n == 2:
		v = pair(s.ints[0], s.ints[1])
	case s.holds == holdsInts, s.holds == holdsOther:
		v = other
	default:
		s.state = slotHeld
		m.settle(s, used)
		return tagHeld<<tagShift | ref(i), nil
	}
	m.settle(s, v)
	m.release(i)
	return v, nil
}

// pair makes a tuple of two integers: a pool id. A pool number is a counter.
func pair(a, b int64) ref {
	if uint64(a) >= 1<<30 || uint64(b) >= 1<<30 {
		return other
	}
	return tagPair<<tagShift | ref(a)<<30 | ref(b)
}

// open gives the slot of a container that may still change.
func (m *machine) open(v ref, dict bool) (*slot, error) {
	if v.tag() != tagOpen {
		if v.tag() >= tagFrame {
			return nil, errChanged
		}
		return nil, fmt.Errorf("want a %s to put values into, got %s", containerNoun(dict), v.noun())
	}
	s := &m.slots[v.low()]
	if s.state != slotOpen {
		return nil, errChanged
	}
	if s.isDict != dict {
		return nil, fmt.Errorf("want a %s to put values into, got a %s", containerNoun(dict), containerNoun(s.isDict))
	}
	return s, nil
}

func containerNoun(dict bool) string {
	if dict {
		return "dict"
	}
	return "list"
}

// setAll puts keys and values into a dict.
func (m *machine) setAll(d ref, items []ref) error {
	s, err := m.open(d, true)
	if err != nil {
		return err
	}
	if len(items)%2 != 0 {
		return errors.New("a dict gets a key without a value")
	}
	if len(s.pairs)+len(items) > 2*pairLimit {
		return fmt.Errorf("more than %d entries in one dict", pairLimit)
	}
	for i := 0; i < len(items); i += 2 {
		k, v := items[i], items[i+1]
		if k.tag() != tagText {
			return fmt.Errorf("want a string as the key of a dict, got %s", k.noun())
		}
		if v.tag() >= tagOpen {
			if v, err = m.take(v); err != nil {
				return err
			}
			if v.tag() == tagHeld {
				s.nested = true
			}
		}
		s.pairs = append(s.pairs, k, v)
	}
	return nil
}

// fields spreads the known keys of a dict over m.field.
func (m *machine) fields(s *slot) (keys keySet, err error) {
	for i := 0; i < len(s.pairs); i += 2 {
		k := s.pairs[i].low()
		if k >= numKeys {
			continue
		}
		if keys.has(int(k)) {
			return 0, fmt.Errorf("key %q occurs twice in one dict", words[k])
		}
		keys |= 1 << k
		m.field[k] = s.pairs[i+1]
	}
	return keys, nil
}

// hold notes what a list holds; all its items are of one kind.
func (s *slot) hold(c content) error {
	if s.holds == c {
		return nil
	}
	switch {
	case s.holds == holdsNothing:
		s.holds = c
		if c >= holdsEvents && c <= holdsLists && c != holdsInts {
			s.contents = &contents{}
		}
	case (s.holds == holdsInts || s.holds == holdsOther) && (c == holdsInts || c == holdsOther):
		s.holds = holdsOther
	default:
		return fmt.Errorf("a list of %s also holds %s", contentNoun[s.holds], contentNoun[c])
	}
	return nil
}

// appendAll puts values at the end of a list.
func (m *machine) appendAll(l ref, items []ref) error {
	s, err := m.open(l, false)
	if err != nil {
		return err
	}
	for _, v := range items {
		switch v.tag() {
		case tagFrame:
			if s.holds != holdsFrames {
				if err := s.hold(holdsFrames); err != nil {
					return err
				}
			}
			s.ids = append(s.ids, v.low())
		case tagInt:
			err = s.hold(holdsInts)
			if s.n < 2 {
				s.ints[s.n] = v.signed()
			}
		case tagUsed, tagHeld:
			err = errReused
		case tagStack, tagEmpty:
			err = s.addList(v)
		case tagOpen:
			err = m.appendContainer(s, v)
		default:
			err = s.hold(holdsOther)
		}
		if err != nil {
			return err
		}
		s.n++
	}
	return nil
}

func (s *slot) addList(v ref) error {
	if err := s.hold(holdsLists); err != nil {
		return err
	}
	if len(s.lists) == listLimit {
		return fmt.Errorf("more than %d lists in one list", listLimit)
	}
	s.lists = append(s.lists, v)
	return nil
}

func (m *machine) appendContainer(s *slot, v ref) error {
	i := v.low()
	d := &m.slots[i]
	if d == s {
		return errReused
	}
	if d.state == slotDone {
		v = d.final
		m.release(i)
		return m.appendValue(s, v)
	}
	if !d.isDict {
		v, err := m.take(v)
		if err != nil {
			return err
		}
		return m.appendValue(s, v)
	}
	keys, err := m.fields(d)
	if err != nil {
		return err
	}
	sh := keys.shape()
	m.seen[sh] |= keys
	memo := used
	switch sh {
	case shapeEvent:
		if err = s.hold(holdsEvents); err == nil {
			if s.trace == nil {
				s.trace = newTrace()
			}
			err = m.event(s.trace, keys)
		}
	case shapeFrame:
		if err = s.hold(holdsFrames); err == nil {
			if memo, err = m.frame(keys); err == nil {
				s.ids = append(s.ids, memo.low())
			}
		}
	case shapeBlock:
		if err = s.hold(holdsBlocks); err == nil {
			var b Block
			if b, err = m.block(keys); err == nil {
				s.blocks = append(s.blocks, b)
			}
		}
	case shapeSegment:
		if err = s.hold(holdsSegments); err == nil {
			var g Segment
			if g, err = m.segment(keys); err == nil {
				s.segments = append(s.segments, g)
			}
		}
	case shapeNote:
		if err = s.hold(holdsNotes); err == nil {
			if s.notes == nil {
				s.notes = newNotes()
			}
			err = m.note(s.notes, keys)
		}
	case shapeHistory:
		if err = s.hold(holdsHistory); err == nil && s.n == 0 {
			s.real, s.stack, err = m.history(keys)
		}
	default:
		err = s.hold(holdsOther)
	}
	if err != nil {
		if sh != shapeOther {
			return fmt.Errorf("%s %d: %w", noun[sh], s.n, err)
		}
		return err
	}
	m.settle(d, memo)
	m.release(i)
	return nil
}

// appendValue puts a finished value at the end of a list.
func (m *machine) appendValue(s *slot, v ref) error {
	switch v.tag() {
	case tagFrame:
		s.ids = append(s.ids, v.low())
		return s.hold(holdsFrames)
	case tagStack, tagEmpty, tagHeld:
		return s.addList(v)
	}
	return s.hold(holdsOther)
}

// The verbs of the opcodes: each takes its values from the stack.

func (m *machine) appendOne() error {
	if m.sp-m.base < 2 {
		return errStack
	}
	m.sp--
	return m.appendAll(m.stack[m.sp-1], m.stack[m.sp:m.sp+1])
}

func (m *machine) appendBatch() error {
	k, err := m.popMark()
	if err != nil {
		return err
	}
	if k.at-m.base < 1 {
		return errStack
	}
	err = m.appendAll(m.stack[k.at-1], m.stack[k.at:m.sp])
	m.sp = k.at
	return err
}

func (m *machine) setOne() error {
	if m.sp-m.base < 3 {
		return errStack
	}
	m.sp -= 2
	return m.setAll(m.stack[m.sp-1], m.stack[m.sp:m.sp+2])
}

func (m *machine) setBatch() error {
	k, err := m.popMark()
	if err != nil {
		return err
	}
	if k.at-m.base < 1 {
		return errStack
	}
	err = m.setAll(m.stack[k.at-1], m.stack[k.at:m.sp])
	m.sp = k.at
	return err
}

// collect makes a list or dict of all that is above the mark (protocol 0).
func (m *machine) collect(isDict bool) error {
	k, err := m.popMark()
	if err != nil {
		return err
	}
	if k.flushed {
		return errStack
	}
	// The new container goes on top and then moves below its items.
	items := m.stack[k.at:m.sp]
	outer := m.base
	m.base = m.sp // nothing to flush
	if err := m.pushContainer(isDict); err != nil {
		return err
	}
	m.base = outer
	c := m.stack[m.sp-1]
	if isDict {
		err = m.setAll(c, items)
	} else {
		err = m.appendAll(c, items)
	}
	m.stack[k.at] = c
	m.sp = k.at + 1
	return err
}

// tuple makes a tuple of the top n values. Pool ids are the only tuples of a
// snapshot; others are kept as a value that nothing needs.
func (m *machine) tuple(n int) error {
	if m.sp-m.base < n {
		return errStack
	}
	items := m.stack[m.sp-n : m.sp]
	v := other
	if n == 2 && items[0].tag() == tagInt && items[1].tag() == tagInt {
		v = pair(items[0].signed(), items[1].signed())
	}
	for _, it := range items {
		if it.tag() >= tagOpen {
			return errors.New("a tuple holds a list or a dict: not written by torch.cuda.memory._dump_snapshot")
		}
	}
	m.sp -= n
	return m.push(v)
}

func (m *machine) tupleBatch() error {
	k, err := m.popMark()
	if err != nil {
		return err
	}
	if k.flushed {
		return errStack
	}
	return m.tuple(m.sp - k.at)
}
