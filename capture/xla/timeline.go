package xla

// hostTrace is what the host plane's events tell about memory at run time. Times are
// picoseconds since the start of the profile.
type hostTrace struct {
	lines      int32 // how many were read
	origin     int64 // what times are relative to, in nanoseconds
	allocators []*allocator
	executions []execution
	marks      []mark          // step markers, in the order of the file
	runs       []int64         // starts of FunctionRun events
	groups     map[int64]int64 // group id → when it is first seen
	waits      []wait
	calls      map[flow]int32 // what a call set off → link of what the call is inside of

	// between are the host events and the user's Python between the last two calls of an execution on
	// the line that made the last call, as ids of texts.
	between  []counted
	lastCall int64

	chains []link   // 1-based: what an allocation was made inside of
	texts  []string // names; 0 is the empty one
	// problems are what could not be read, one sentence each.
	problems []string
}

// allocator is the timeline of one allocator.
type allocator struct {
	name    int32 // text; 0 on TPU, where only the ordinal is known
	ordinal int64 // index_on_host or device_ordinal; -1 where there is none
	label   string
	device  string // its ordinal, empty where unknown
	host    bool   // it holds host memory

	events []memoryEvent
	limit  int64 // heap + stack + available, the same at each event
	limits int   // how many events have another limit, and the first of them
	odd    int64
	peak   int64 // largest peak_bytes_in_use
	bad    int64 // events whose numbers make no sense, which are left out

	replay
}

// memoryEvent is a MemoryAllocation or a MemoryDeallocation.
type memoryEvent struct {
	at            int64
	addr          uint64
	chunk         int64 // allocation_bytes, -1 where it is not told
	requested     int64 // -1 where it is not told
	inUse         int64 // after the event
	reserved      int64
	fragmentation float64 // NaN where it is not told

	chain  int32 // link, 0 for none
	exec   int32 // 1-based index of the execution it is in, 0 for none
	op     int32 // text: tf_op
	region int32 // text: region_type
	shape  int32 // text
	peer   int32 // 1-based index of the event that frees it, or of the allocation freed
	free   bool
}

// execution is one execution of a module on one device.
type execution struct {
	start, end int64
	name       int32 // text: the host event, and the innermost of its kind in it
	inner      int32
	module     int32 // text: the module as the event names it
	launch     int32 // text: the event that launched its kernels
	chain      int32 // link: what it is inside of
	id         flow  // what caused it
	line       int32
	allocator  int32 // 1-based index of the device's allocator that it used
	launched   bool
}

// flow connects events of different threads: _pt and _p of the producer, _ct and
// _c of the consumer.
type flow struct{ kind, id int64 }

// mark is a step marker (StepTraceAnnotation, tf.profiler.experimental.Trace).
type mark struct {
	start int64
	step  int64
	line  int32
}

// wait is an event that waited for memory.
type wait struct {
	name       int32 // text
	start, end int64
	line       int32
	retry      bool // recorded by the allocator itself
}

type counted struct {
	text  int32
	count int64
}

// link is one host event around allocations, and what it is inside of.
type link struct {
	parent int32 // 0 for none
	text   int32
}

// text gives the place of a string in texts.
func (t *hostTrace) text(i int32) string { return t.texts[i] }

// seconds converts a time.
func seconds(ps int64) float64 { return float64(ps) / 1e12 }
