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
	marks []stackMark
	base  int // what the innermost mark left on the stack; 0 without one

	memo   []ref // the first flatLimit entries
	late   lateMemo
	sparse map[uint32]ref // memo entries far beyond the others

	slots []slot
	free  []uint32

	texts  *texts
	frames frames
	stacks *stacks
	wide   []uint64  // integers that a ref cannot hold
	floats []float64 // numbers with a fraction

	field [numKeys]ref // the fields of the dict being decoded
	entry entryReader

	// What the dicts had in common, to tell the release of torch.
	seen [shapeTop + 1]keySet

	frameTraits   []traits
	collector     bool     // some frame is one of Python's cycle collector
	stackTraits   []traits // by StackID - firstStack
	use           []use    // by StackID
	maxEvents     int      // events kept for each device; 0: all
	record        bool     // keep when each block was live
	logChunks     int      // full chunks of all event logs
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

type stackMark struct {
	at      int
	flushed bool // items were already put into the list below the mark
}

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
		return m.push(intRef(n))
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

// text interns a string; below it on the stack may be the key that it belongs to.
func (m *machine) text(b []byte) ref {
	if m.sp > 0 {
		return m.textOf(m.stack[m.sp-1], b)
	}
	return m.textOf(0, b)
}

// textOf interns the string that belongs to a key. The free texts of events (each
// may differ from the one before) are not kept unless they are very short: CPython
// shares strings of one character, so such a text may be the name of a function as
// well.
func (m *machine) textOf(key ref, b []byte) ref {
	if (key == tagText<<tagShift|keyUserMetadata || key == tagText<<tagShift|keyCompileContext) && len(b) > 4 {
		if id, ok := m.texts.ids[string(b)]; ok {
			return tagText<<tagShift | ref(id)
		}
		return tagText<<tagShift | wordUnkept
	}
	return tagText<<tagShift | ref(m.texts.id(b))
}

func (m *machine) pushMark() error {
	if len(m.marks) == depthLimit {
		return fmt.Errorf("nested deeper than %d", depthLimit)
	}
	m.marks = append(m.marks, stackMark{at: m.sp})
	m.base = m.sp
	return nil
}

// popMark gives the place of the innermost mark.
func (m *machine) popMark() (stackMark, error) {
	if len(m.marks) == 0 {
		return stackMark{}, errNoMark
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

// growing tells that a list is on top: what comes next may be its only item, which
// writers append to it without a mark.
func (m *machine) growing() bool {
	top := m.stack[m.sp-1]
	return top.tag() == tagOpen && !m.slots[top.low()].isDict
}

func (m *machine) pushContainer(isDict bool) error {
	if m.sp-m.base >= flushAt && !m.growing() {
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
