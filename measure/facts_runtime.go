package measure

// TimelineFact is what a profile's allocator events tell of one allocator. Bytes
// are chunks, as the allocator counts them, where nothing else is said. A field
// that is absent is not known.
type TimelineFact struct {
	Labels Labels `json:"labels"` // allocator, device where known
	// Pool is "device", or "host" for an allocator of host memory.
	Pool          string `json:"pool"`
	Events        int64  `json:"events"`
	Allocations   int64  `json:"allocations"`
	Deallocations int64  `json:"deallocations"`

	// LimitBytes is what the allocator may hold; DeviceMemoryBytes the size of the
	// device's memory, of which the limit is a fraction.
	LimitBytes        Bytes `json:"limit_bytes,omitempty"`
	DeviceMemoryBytes Bytes `json:"device_memory_bytes,omitempty"`

	// In use before the first event, at most, and after the last one. PeakSeconds is
	// when the peak was, since the profile's start.
	BaselineBytes Bytes   `json:"baseline_bytes"`
	PeakBytes     Bytes   `json:"peak_bytes"`
	PeakSeconds   float64 `json:"peak_seconds"`
	EndBytes      Bytes   `json:"end_bytes"`
	// UsedPeakBytes is the largest sum of heap and reserved stack; StackBytes the
	// stack in it (TPU).
	UsedPeakBytes Bytes `json:"used_peak_bytes"`
	StackBytes    Bytes `json:"stack_bytes,omitempty"`
	// LifetimePeakBytes is the heap's largest since the process began. Above
	// PeakBytes, the true peak was before the profile.
	LifetimePeakBytes Bytes `json:"lifetime_peak_bytes"`

	// Unmatched deallocations free what was allocated before the profile; Live is
	// how many allocations of the profile are never freed in it.
	Unmatched int64 `json:"unmatched_deallocations,omitempty"`
	Live      int64 `json:"live_at_end,omitempty"`
	// Breaks counts events that contradict those before them: some were lost.
	Breaks int64 `json:"replay_breaks,omitempty"`

	// WasteBytes is what the chunks live at the peak have more than was asked for;
	// Oversized counts the allocations that got a larger chunk than rounding explains.
	WasteBytes Bytes `json:"waste_at_peak_bytes,omitempty"`
	Oversized  int64 `json:"oversized_chunks,omitempty"`
	// Fragmentation is the allocator's own figure at the last event: the share of
	// the free pool that is not in its largest free chunk. LargestFreeBytes is that
	// chunk, provided that the allocator has taken all of its limit, as it does
	// unless preallocation is off; it is an upper bound otherwise.
	Fragmentation    *float64 `json:"fragmentation,omitempty"`
	LargestFreeBytes *Bytes   `json:"largest_free_bytes,omitempty"`

	// Steps tells what separates the steps: "step_markers", "executions",
	// "function_runs", "group_ids", or is empty; StepCount how many there are, and
	// Growth the change of live requested bytes.
	Steps     string      `json:"steps,omitempty"`
	StepCount int64       `json:"step_count,omitempty"`
	Growth    *GrowthFact `json:"growth,omitempty"`

	// LastStart is what was live when the last execution on this allocator began,
	// grouped by what allocated it, largest first. The groups add up.
	LastStart *LiveFact `json:"last_execution_start,omitempty"`
}

// GrowthFact is an exact change of live requested bytes over a number of steps.
type GrowthFact struct {
	ChangeBytes Bytes `json:"change_bytes"`
	Steps       int64 `json:"steps"`
	// From is the first step that counts; those before are warm-up. Period is the
	// cycle's length in steps, 0 where the levels follow none.
	From   int64 `json:"from"`
	Period int64 `json:"period,omitempty"`
}

// LiveFact is what was in use at one moment.
type LiveFact struct {
	Seconds float64     `json:"seconds"` // since the profile's start
	Module  string      `json:"module,omitempty"`
	InUse   Bytes       `json:"in_use_bytes"`
	Groups  []LiveGroup `json:"groups"`
	// Between are the host events between the last two calls of an execution.
	Between []HostEvent `json:"host_events_between,omitempty"`
}

// LiveGroup is the live memory that one kind of host event allocated: "outputs of
// jit_step execution 3", "BufferFromHostBuffer(s32[16])", "allocated before the
// capture".
type LiveGroup struct {
	Name  string  `json:"name"`
	Bytes Bytes   `json:"bytes"`
	Count int64   `json:"count"`
	From  *Source `json:"source,omitempty"`
}

// HostEvent is a host event and how often it occurred.
type HostEvent struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
}

// ExecutionFact is what a profile tells of the executions of one module on one
// allocator.
type ExecutionFact struct {
	Labels Labels `json:"labels"` // module, allocator and device where known
	Count  int64  `json:"count"`
	// NeverLaunched counts the executions that ended without launching a kernel; it
	// is absent where the profile cannot tell.
	NeverLaunched *int64 `json:"never_launched,omitempty"`
	// In use when the first and the last execution began.
	FirstInUse Bytes `json:"first_in_use_bytes"`
	LastInUse  Bytes `json:"last_in_use_bytes"`
	// Growth is that of live requested bytes from one start to the next.
	Growth *GrowthFact `json:"growth,omitempty"`
	// OutputBytes are the module's unaliased outputs by its plan; OutputMultiple is
	// the growth per execution as a multiple of them: 1 where each execution's
	// outputs are kept.
	OutputBytes    *Bytes   `json:"unaliased_output_bytes,omitempty"`
	OutputMultiple *float64 `json:"output_multiple,omitempty"`
}

// WaitFact is a wait for memory that a profile shows.
type WaitFact struct {
	Labels Labels `json:"labels"` // host where there are several
	// Event is the host event that waited, Kind "retry" where the allocator recorded
	// the wait itself and "gap" where it is inferred: an operation without any
	// allocation for as long as the allocator waits before it gives up.
	Event string `json:"event"`
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
	// LongestSeconds is the longest of them; GaveUp how many lasted as long as the
	// allocator waits before it fails.
	LongestSeconds float64 `json:"longest_seconds"`
	GaveUp         int64   `json:"gave_up,omitempty"`
}
