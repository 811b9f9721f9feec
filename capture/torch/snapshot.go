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
}

// Snapshot is what one file says: the state of the allocator at the dump, and
// for each device what its history adds up to.
type Snapshot struct {
	Name string
	// Form is how the file is written: "pickle protocol 4", "JSON".
	Form string
	// SegmentsOnly tells a bare list of segments (torch.cuda.memory_snapshot()).
	SegmentsOnly bool
	Devices      []Device // those with segments or events, by ordinal
	Frames       []Frame  // distinct frames
	Stacks       [][]uint32
	Settings     []Setting
	// HostSegments and HostBytes describe pinned host memory: it is part of no
	// device's numbers.
	HostSegments int
	HostBytes    int64
	HostPeak     int64 // largest total of its live blocks; 0: not recorded
	Warnings     []string

	opt                    Options
	release                string
	hasSegments, hasTraces bool
	segments               []Segment
	traces                 []*trace
	notes                  *notes
	hostTrace              *trace
	hostLive               int64    // pinned bytes that are live at the dump
	uses                   []use    // by StackID
	traits                 []traits // by StackID - firstStack; of stacks that allocate or are live
}

// Device is one device of a snapshot.
type Device struct {
	Ordinal  int
	Segments []Segment // by address
	State    State
	History  History
	// Peak and End are the live sets at the peak and at the dump, by stack.
	// Peak is nil where the peak is not known.
	Peak, End []Holding
	// Failures are the newest failed allocations, oldest first.
	Failures []Failure

	peakShares, endShares []share
	trace                 *trace // what is left of the events; never nil
}

// State is what the segments of a device add up to at the dump, in bytes.
type State struct {
	Reserved, Allocated, PendingFree, Inactive, Unknown int64 // sizes
	RequestedAllocated, RequestedPendingFree            int64 // as asked for
	RoundedRequested                                    int64 // requests rounded up to 512 B, pending ones included
	LargestInactive, LargestUsable                      int64
	Private                                             int64 // reserved by private pools
	PendingBlocks                                       int64
	PoolsKnown                                          bool // each segment names its pool
}

// Requested is what live blocks asked for, those that await their free included.
func (s State) Requested() int64 { return s.RequestedAllocated + s.RequestedPendingFree }

// History is what the recorded events of a device add up to.
type History struct {
	Events   int64
	Counts   [numActions]int64
	Sequence string // hash of the (action, size) sequence
	Steps    int64
	Misses   int64 // allocations right after a segment event
	// Kind is "complete", "starts_mid_run", "truncated", "state_only" or "none".
	Kind string
	// NoPeak says why the peak is not known; empty where it is.
	NoPeak string
	// PeakEvent is the event that made the peak; -1 is the start.
	PeakEvent                           int64
	Peak, Baseline, RoundedPeak         int64
	NoReservedPeak                      string
	ReservedPeak, ReservedBaseline      int64
	UnmatchedFrees, UnmatchedFreedBytes int64
	UnknownActions                      map[string]int64
	LeftOut                             int64 // older events, left out because of Options.MaxEvents
}

// Holding is what one stack holds in a live set.
type Holding struct {
	Stack StackID
	Bytes int64 // as asked for
	Count int64 // blocks
}

// StackID names a stack of Snapshot.Stacks, or one of the constants.
type StackID int32

// The stacks that are none.
const (
	NoStack         StackID = 0  // recorded without stacks: the entry has no frames key
	EmptyStack      StackID = 1  // recorded, and no Python frame was there: the autograd thread
	BeforeRecording StackID = -1 // allocated before the recorded history
	StackUnknown    StackID = -2 // no stack, and nothing tells why
	firstStack      StackID = 2
)

// Stack gives the frames of a stack, innermost first; nil for the constants.
func (s *Snapshot) Stack(id StackID) []Frame {
	if id < firstStack {
		return nil
	}
	var out []Frame
	for _, f := range s.Stacks[id-firstStack] {
		out = append(out, s.Frames[f])
	}
	return out
}

// Frame is one line of a stack.
type Frame struct {
	Name, File string
	Line       int64 // a byte offset where File is a shared object
}

// Segment is a device reservation.
type Segment struct {
	Device                                              int // -1: host
	Address                                             uint64
	TotalSize, AllocatedSize, ActiveSize, RequestedSize int64
	Stream                                              uint64
	Small                                               bool // of the pool for requests up to 1 MiB
	Expandable                                          bool
	Pool                                                PoolID
	PoolKnown                                           bool // torch 2.0 does not write pools
	Blocks                                              []Block
}

// PoolID names a pool: {0, 0} is the default one, {n, 0} belongs to a graph,
// {0, n} to the user.
type PoolID [2]int64

// Block is a piece of a segment.
type Block struct {
	Address         uint64
	Size, Requested int64 // bytes; Requested is stale where the block is inactive
	State           BlockState
	Stack           StackID
}

// BlockState is the state of a block.
type BlockState uint8

// The states of blocks.
const (
	UnknownState BlockState = iota
	Inactive
	Allocated
	PendingFree // freed by the program, still awaited by another stream
)

// Action is the kind of an event.
type Action uint8

// The actions, in the order of their words.
const (
	Alloc Action = iota
	FreeRequested
	FreeCompleted
	SegmentAlloc
	SegmentFree
	SegmentMap
	SegmentUnmap
	DumpTaken // "snapshot": an earlier dump
	OOM
	UserDefined
	Annotate
	Unknown
	numActions
)

// String is the word of the trace.
func (a Action) String() string {
	if a < Unknown {
		return words[wordAlloc+int(a)]
	}
	return "unknown"
}

// Setting is one allocator setting, as text.
type Setting struct{ Name, Value string }

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
	m.maxEvents = opt.MaxEvents
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
	withStacks := len(s.Stacks) > 0
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
		m.replayed(s, d, t, withStacks)
		s.Devices = append(s.Devices, *d)
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

// sum adds up the segments of a device.
func (d *Device) sum() error {
	st := &d.State
	st.PoolsKnown = true
	for i, g := range d.Segments {
		if i > 0 {
			if last := d.Segments[i-1]; g.Address-last.Address < uint64(last.TotalSize) {
				return fmt.Errorf("damaged file: the segments at %#x and %#x overlap", last.Address, g.Address)
			}
		}
		st.Reserved += g.TotalSize
		private := g.Pool != PoolID{}
		st.PoolsKnown = st.PoolsKnown && g.PoolKnown
		if private {
			st.Private += g.TotalSize
		}
		for _, b := range g.Blocks {
			switch b.State {
			case Allocated:
				st.Allocated += b.Size
				st.RequestedAllocated += b.Requested
				st.RoundedRequested += round(b.Requested)
			case PendingFree:
				st.PendingFree += b.Size
				st.RequestedPendingFree += b.Requested
				st.RoundedRequested += round(b.Requested)
				st.PendingBlocks++
			case Inactive:
				st.Inactive += b.Size
				st.LargestInactive = max(st.LargestInactive, b.Size)
				if !private {
					st.LargestUsable = max(st.LargestUsable, b.Size)
				}
			default:
				st.Unknown += b.Size
			}
			if st.RequestedAllocated > sumLimit || st.RequestedPendingFree > sumLimit || st.Inactive > sumLimit || st.Unknown > sumLimit || st.RoundedRequested > sumLimit {
				return errSum
			}
		}
		if st.Reserved > sumLimit {
			return errSum
		}
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

// Validate tells whether the parts of a snapshot agree; one that Read returned
// always does.
func (s *Snapshot) Validate() error {
	stackOK := func(id StackID) bool { return id >= StackUnknown && int(id) < len(s.Stacks)+int(firstStack) }
	for i, st := range s.Stacks {
		for _, f := range st {
			if int(f) >= len(s.Frames) {
				return fmt.Errorf("stack %d: frame %d of %d", i, f, len(s.Frames))
			}
		}
	}
	last := -1
	for _, d := range s.Devices {
		if d.Ordinal <= last {
			return fmt.Errorf("device %d after device %d", d.Ordinal, last)
		}
		last = d.Ordinal
		for _, g := range d.Segments {
			if g.Device != d.Ordinal || g.TotalSize < 0 {
				return fmt.Errorf("device %d: segment %#x of device %d with %d bytes", d.Ordinal, g.Address, g.Device, g.TotalSize)
			}
			for _, b := range g.Blocks {
				if b.Size < 0 || b.Requested < 0 || !stackOK(b.Stack) {
					return fmt.Errorf("device %d: block %#x: size %d, requested %d, stack %d", d.Ordinal, b.Address, b.Size, b.Requested, b.Stack)
				}
			}
		}
		for _, set := range [...]struct {
			name  string
			live  []Holding
			total int64
		}{{"peak", d.Peak, d.History.Peak}, {"end", d.End, d.State.Requested()}} {
			if set.live == nil {
				continue
			}
			sum := int64(0)
			for _, h := range set.live {
				if !stackOK(h.Stack) || h.Bytes < 0 || h.Count <= 0 {
					return fmt.Errorf("device %d: %s: stack %d holds %d bytes in %d blocks", d.Ordinal, set.name, h.Stack, h.Bytes, h.Count)
				}
				sum += h.Bytes
			}
			if sum != set.total {
				return fmt.Errorf("device %d: the live set at the %s adds up to %d bytes, want %d", d.Ordinal, set.name, sum, set.total)
			}
		}
		if d.History.NoPeak == "" && (d.History.Baseline < 0 || d.History.Peak < d.History.Baseline || d.History.Peak < d.State.Requested()) {
			return fmt.Errorf("device %d: peak %d, baseline %d, end %d", d.Ordinal, d.History.Peak, d.History.Baseline, d.State.Requested())
		}
	}
	return nil
}
