package torch

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
	named                  *sites   // for Site; made when first asked for
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
