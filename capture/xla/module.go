package xla

import (
	"strconv"
	"strings"
)

// Capture is what one file holds about XLA memory.
type Capture struct {
	// Name is the file's, for messages.
	Name string
	// Format is one of the formats of this package.
	Format string
	// Modules are the compiled modules, in the order of the file.
	Modules []*Module
	// Devices names the types of the accelerators of the capture ("TPU v6 Lite",
	// "AMD compute 9.4"), each once.
	Devices []string
	// Software holds the versions that the capture tells: jax, jaxlib.
	Software map[string]string
	// Problems are what the profiler itself reported as lost or failed.
	Problems []string
	// Totals are what a memory usage report tells, and Stats what memory_analysis() does;
	// a file that holds either holds no modules.
	Totals []SpaceTotal
	Stats  *MemoryStats

	trace      *hostTrace // nil where the file has no allocator events
	hostPlanes int
	memory     map[string]int64 // device ordinal → the device's memory, in bytes
}

// Module is one compiled XLA module (HloProto).
type Module struct {
	Name string
	// Program is the number that tells modules of one name apart: the one in
	// parentheses in a profile, unsigned; empty in a bare HloProto.
	Program string
	// EntryID is the id of the computation that an execution runs.
	EntryID      int64
	Computations []Computation
	// Aliases are the outputs that the program promised to write over a parameter,
	// Donors the parameters that were offered for that and found no output.
	Aliases []ParameterAlias
	Donors  []ParameterIndex
	Frames  StackFrames
	// Assignment is nil where the file holds none.
	Assignment *BufferAssignment
	// Fingerprint is a hash over the opcodes and shapes of all instructions in
	// order: it knows no names, ids, source lines or layouts.
	Fingerprint string
	// Remat counts the instructions that XLA made by rematerialization.
	Remat int64

	// Partitions is the number of devices that the program was split over, 0 where
	// the file does not tell.
	Partitions int64
	// Sharded counts the parameters that are split over devices.
	Sharded int64
	// ScopedBytes is the largest vmem that one kernel takes beside the plan (TPU).
	ScopedBytes int64

	contents uint64 // hash like Fingerprint, whatever the order of the instructions
	missing  string // why Assignment is nil
	// bare says what a file with an assignment but without instructions cannot tell,
	// bufferNames what it names the buffers; doubt says why it is not believed.
	bare        string
	bufferNames map[int64]string
	doubt       string
	lookup      *lookup
}

// InstructionCount is the number of instructions of all computations.
func (m *Module) InstructionCount() int {
	n := 0
	for i := range m.Computations {
		n += len(m.Computations[i].Instructions)
	}
	return n
}

// Title is the module's name as the profile prints it: "jit_step(12)".
func (m *Module) Title() string {
	if m.Program == "" {
		return m.Name
	}
	return m.Name + "(" + m.Program + ")"
}

// Computation is one function of a module: the entry, a loop body, a fusion.
type Computation struct {
	ID   int64
	Name string
	// RootID is the instruction whose value the computation returns.
	RootID       int64
	Instructions []Instruction
}

// Instruction is one HLO instruction.
type Instruction struct {
	ID       int64 // unique in its module; newer XLA packs the computation's id into the upper half
	Name     string
	Opcode   string
	Shape    *Shape
	Metadata *OpMetadata
	Operands []int64 // instruction ids
	Called   []int64 // computation ids
	// Number is the parameter number of a parameter, and the tuple index of a get-tuple-element.
	Number int64

	computation int32 // its index in Module.Computations
}

// opName is the name that the program gave to the operation, empty where unknown.
func (in *Instruction) opName() string {
	if in.Metadata == nil {
		return ""
	}
	return in.Metadata.OpName
}

// OpMetadata says what part of the user's program an instruction was made from.
type OpMetadata struct {
	OpName     string // JAX's name stack: "jit(step)/transpose(jvp())/dot_general"
	SourceFile string // empty from jaxlib 0.9.2 on: then only FrameID
	SourceLine int64
	FrameID    int64 // 1-based into StackFrames.Frames; 0 is none
}

// StackFrames is the table of Python frames that instructions refer to. All ids
// in it are 1-based, 0 is none.
type StackFrames struct {
	Files     []string
	Functions []string
	Locations []FrameLocation
	Frames    []StackFrame
}

// FrameLocation is a place in the user's program.
type FrameLocation struct {
	FileID, FunctionID, Line, Column int64
}

// StackFrame is one frame and the one that called it.
type StackFrame struct {
	LocationID, ParentID int64
}

// ParameterIndex is a parameter of the entry computation, or a part of one that is a tuple.
type ParameterIndex struct {
	Parameter int64
	Index     []int64
}

// String writes it as XLA does: "3", "3{0,1}".
func (p ParameterIndex) String() string {
	return strconv.FormatInt(p.Parameter, 10) + indexText(p.Index)
}

// ParameterAlias is an output that shares the memory of a parameter.
type ParameterAlias struct {
	Output []int64 // shape index
	ParameterIndex
}

// MemorySpace is a kind of memory, which XLA calls a color. The numbers are
// XLA's; only their meanings on TPU and GPU differ.
type MemorySpace int64

// The memory spaces that have a name here: the device's main memory, and pinned
// memory of the host. (XLA's own text calls color 5 "cmem".)
const (
	Device MemorySpace = 0
	Host   MemorySpace = 5

	vmem MemorySpace = 1 // on TPU: on-chip vector memory
)

// String is the value of the label memory_space.
func (s MemorySpace) String() string {
	switch s {
	case Device:
		return "device"
	case Host:
		return "host"
	}
	return "space" + strconv.FormatInt(int64(s), 10)
}

// BufferAssignment is XLA's plan of a module's memory: all logical buffers, the
// allocations they are placed in, and the heap simulator's traces.
type BufferAssignment struct {
	Buffers     []LogicalBuffer
	Aliases     []BufferAlias
	Allocations []BufferAllocation
	Traces      []HeapTrace
}

// LogicalBuffer is a value that an instruction defines at an index of its shape.
type LogicalBuffer struct {
	ID          int64
	SizeBytes   int64
	Instruction int64 // id
	Index       []int64
	Space       MemorySpace
}

// BufferAlias says that a buffer is seen again at another instruction and index.
type BufferAlias struct {
	Buffer      int64 // id
	Instruction int64
	Index       []int64
}

// BufferAllocation is one block of memory that logical buffers are placed in.
type BufferAllocation struct {
	Index     int64
	SizeBytes int64
	Space     MemorySpace
	// Parameter and ParameterIndex tell which entry parameter an EntryParameter is.
	Parameter      int64
	ParameterIndex []int64

	EntryParameter, Constant, MaybeLiveOut, ThreadLocal, Tuple bool
	// AliasedWithOutput is XLA's own mark of a donated parameter (jaxlib 0.6.2 and later).
	AliasedWithOutput bool

	Assigned []AssignedBuffer
}

// AssignedBuffer is the place of a logical buffer in an allocation.
type AssignedBuffer struct {
	Buffer                 int64 // id
	OffsetBytes, SizeBytes int64
}

// AllocationKind is the part of the plan that an allocation belongs to.
type AllocationKind int

// The kinds, in order of precedence: an allocation is of the first that holds.
const (
	ThreadLocal AllocationKind = iota // stack of reducers on the host; part of no total
	Argument                          // entry parameters, donated ones included
	Output                            // may be live out, and is no parameter
	Constant
	Temp // the temp block that intermediates share
)

// Kind gives the part of the plan that the allocation belongs to.
func (a *BufferAllocation) Kind() AllocationKind {
	switch {
	case a.ThreadLocal:
		return ThreadLocal
	case a.EntryParameter:
		return Argument
	case a.MaybeLiveOut:
		return Output
	case a.Constant:
		return Constant
	}
	// Note: Tuple says nothing here. XLA sets it on the temp block where a
	// custom call with several outputs keeps its pointer table in there.
	return Temp
}

// HeapTrace is the heap simulator's record of one heap.
type HeapTrace struct {
	Events []HeapEvent
	// WholeModule is false where the trace covers a part of the schedule (TPU vmem).
	WholeModule bool
	// Note: the proto's buffer_allocation_index is not kept: real files hold wrong
	// ones, and XProf ignores it too.
}

// EventKind is what a heap event does.
type EventKind int64

// The kinds of HeapSimulatorTrace.Event.
const (
	Alloc     EventKind = 0
	Free      EventKind = 1
	ShareWith EventKind = 2
)

// HeapEvent is one step of a heap trace.
type HeapEvent struct {
	Kind        EventKind
	Buffer      int64  // id of the logical buffer
	Canonical   int64  // ShareWith: id of the buffer whose memory it shares
	Instruction string // that was being scheduled
}

// indexText writes a shape index as XLA does: "{0,1}", nothing for the top.
func indexText(index []int64) string {
	if len(index) == 0 {
		return ""
	}
	var out strings.Builder
	for i, n := range index {
		out.WriteByte("{,"[min(i, 1)])
		out.WriteString(strconv.FormatInt(n, 10))
	}
	out.WriteByte('}')
	return out.String()
}
