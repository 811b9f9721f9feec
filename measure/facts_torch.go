package measure

// SnapshotFact is what one device of a PyTorch snapshot tells a diagnosis beside
// its rows. Sizes are bytes as the program requested them, unless a field says
// that they are rounded (as the allocator holds them). A zero in a list's entry
// is a number; what the file cannot answer is absent and named in Limits.
type SnapshotFact struct {
	Labels Labels `json:"labels"` // device
	// Settings are the allocator's settings that are not the default, by name:
	// expandable_segments, max_split_size, PYTORCH_CUDA_ALLOC_CONF.
	Settings map[string]string `json:"settings,omitempty"`
	// Limits say what the file cannot answer, each with what to do about it.
	Limits []LimitFact `json:"limits,omitempty"`
	// Classes hold what was live at the peak by class, largest first; where the
	// peak is not known, what is live at the end.
	Classes []ClassFact `json:"classes,omitempty"`
	// AtPeak tells that Classes are those of the peak.
	AtPeak bool `json:"at_peak,omitempty"`
	// Sites are the allocation sites with the most bytes at the peak, at the end
	// or in growth, at most 100, largest first.
	Sites []SiteFact `json:"sites,omitempty"`
	// Steps is absent where nothing marks the steps of the program.
	Steps *StepsFact `json:"steps,omitempty"`
	// Pools describe the free ranges at the end, by pool, stream and size class.
	Pools []PoolFact `json:"pools,omitempty"`
	// OOMs are the failed allocations, in order: at most the newest 16.
	OOMs []OOMFact `json:"ooms,omitempty"`
	// Churn is absent where no history was recorded.
	Churn *ChurnFact `json:"churn,omitempty"`
	// PendingBytes and PendingBlocks wait at the end for another stream (rounded).
	PendingBytes  Bytes `json:"pending_bytes,omitempty"`
	PendingBlocks int64 `json:"pending_blocks,omitempty"`
	// HostBytes and HostSegments are pinned host memory of the whole process;
	// they are given on the first device alone and never add to it.
	HostBytes    Bytes `json:"host_bytes,omitempty"`
	HostSegments int64 `json:"host_segments,omitempty"`
	// HostPeakBytes is the largest total of live pinned blocks (as the host
	// allocator holds them); absent where its events were not recorded.
	HostPeakBytes Bytes `json:"host_peak_bytes,omitempty"`
}

// Codes of LimitFact.
const (
	LimitNoHistory       = "no_history"        // no events: no peak, no steps
	LimitStateOnly       = "state_only"        // enabled="state" or the legacy default
	LimitTruncated       = "truncated"         // the ring buffer dropped older events
	LimitCapped          = "capped"            // older events left out on request (--max-trace-events)
	LimitMidRun          = "mid_run"           // recording began while memory was live
	LimitBeforeRecording = "before_recording"  // most live bytes are older than the history
	LimitNoStacks        = "no_stacks"         // recorded without stacks
	LimitCppStacks       = "cpp_stacks"        // stacks without Python frames
	LimitAutogradThread  = "autograd_thread"   // stacks="python" leaves backward without frames
	LimitSkippedActions  = "skipped_actions"   // frees or allocations were not recorded
	LimitContradiction   = "contradiction"     // events and segments disagree
	LimitNegative        = "negative_baseline" // damaged or cut: less than nothing was live at first
	LimitNoSegments      = "no_segments"       // the state at the dump is not known
	LimitNoSteps         = "no_steps"          // nothing marks steps, or too few are whole
)

// LimitFact says one thing that a snapshot cannot answer.
type LimitFact struct {
	Code string `json:"code"`
	Text string `json:"text"`          // what is not known, with numbers
	Fix  string `json:"fix,omitempty"` // lines of Python that make the next capture answer it
	// Bytes is how much it concerns, where that is known.
	Bytes Bytes `json:"bytes,omitempty"`
}

// Classes of what holds memory.
const (
	ClassParameter     = "parameter"
	ClassGradient      = "gradient"
	ClassOptimizer     = "optimizer_state"
	ClassActivation    = "activation"    // made by the forward pass, freed by the backward pass or kept
	ClassTemporary     = "temporary"     // freed within the pass that made it
	ClassCommunication = "communication" // buffers of collectives
	ClassWorkspace     = "workspace"     // of cuBLAS and alike
	ClassContainer     = "container"     // kept step after step
	ClassUnknown       = "unknown"
)

// Phases in which memory is allocated.
const (
	PhaseForward   = "forward"
	PhaseBackward  = "backward"
	PhaseOptimizer = "optimizer"
	PhaseRecompute = "recompute" // the forward pass again, for checkpointing
	PhaseSetup     = "setup"     // while a module is built or moved
)

// ClassFact is one class's share of a live set.
type ClassFact struct {
	Class string `json:"class"`
	Bytes Bytes  `json:"bytes"`
	Count int64  `json:"count"` // blocks
}

// SiteFact is one allocation site. It says where bytes were allocated, never
// what retains them.
type SiteFact struct {
	Key     string  `json:"key"` // that of the contributor
	Display string  `json:"display"`
	Source  *Source `json:"source,omitempty"`
	Class   string  `json:"class"`
	// Evidence is a code for what decided the class: optimizer_frame,
	// module_init, module_move, collective_frame, workspace_frame,
	// backward_survives, backward_freed, forward_to_backward, forward_freed,
	// grows_each_step, survives_steps, none.
	Evidence string `json:"evidence"`
	// Phase is where it is allocated; empty where stacks do not tell.
	Phase string `json:"phase,omitempty"`
	// Recomputed tells that a checkpointed function computes here again, whatever
	// the site's Phase is: one line can serve both passes.
	Recomputed bool  `json:"recomputed,omitempty"`
	PeakBytes  Bytes `json:"peak_bytes"`
	PeakBlocks int64 `json:"peak_blocks"`
	EndBytes   Bytes `json:"end_bytes"`
	EndBlocks  int64 `json:"end_blocks"`
	// What the counted steps added, in all; Steps.Counted says over how many.
	GrewBytes  Bytes `json:"grew_bytes,omitempty"`
	GrewBlocks int64 `json:"grew_blocks,omitempty"`
	// GrewSteps is in how many of the counted steps both bytes and blocks rose.
	GrewSteps int64 `json:"grew_steps,omitempty"`
	// StepBytes is what one step allocates here (mean of the counted steps),
	// StepFreedBytes what a step frees of this site's blocks, and of these
	// BackwardFreedBytes are freed by the backward pass.
	StepBytes          Bytes `json:"step_bytes,omitempty"`
	StepFreedBytes     Bytes `json:"step_freed_bytes,omitempty"`
	BackwardFreedBytes Bytes `json:"backward_freed_bytes,omitempty"`
	// FirstStepBytes is what the first step added and left: optimizer state.
	FirstStepBytes Bytes `json:"first_step_bytes,omitempty"`
	// RoseParts is in how many of the eight inner tenths of the history (by
	// allocations) both bytes and blocks rose: growth where nothing marks steps.
	RoseParts int64 `json:"rose_parts,omitempty"`
}

// DumpMark is the mark of steps that go from one dump to the next.
const DumpMark = "snapshot"

// StepsFact is the table of a program's steps on one device.
type StepsFact struct {
	// Mark is what divides the steps: "train_step", "Optimizer.step#AdamW.step",
	// or DumpMark: a step is then what lies between two dumps, be it one step of the
	// program or many. A step goes from one mark to the next.
	Mark string `json:"mark"`
	// Marks counts the marks. The first step is never counted, and the last one only
	// where dumps are the marks and this dump ends it.
	Marks int64 `json:"marks"`
	// Counted is the number of whole steps that growth is taken from.
	Counted int64 `json:"counted"`
	// BytesPerStep and BlocksPerStep are the growth of live requested bytes and
	// blocks: the median of all slopes between two counted step ends.
	BytesPerStep  float64 `json:"bytes_per_step"`
	BlocksPerStep float64 `json:"blocks_per_step"`
	// GrewSteps is in how many of the counted steps both rose.
	GrewSteps int64 `json:"grew_steps"`
	// Alike tells that all counted steps have one number of events.
	Alike bool `json:"alike"`
	// GrewUnder are the user's lines, outermost first, that all stacks of what
	// the counted steps left have in common; the last may be a function alone,
	// whose lines differ. GrewUnderAt is the innermost common line. What keeps the
	// blocks is often near it.
	GrewUnder   []string `json:"grew_under,omitempty"`
	GrewUnderAt *Source  `json:"grew_under_at,omitempty"`
	// Steps holds the first step and the newest others, at most 64.
	Steps []StepFact `json:"steps"`
}

// StepFact is one step.
type StepFact struct {
	Number         int64 `json:"number"` // from 0, by marks
	Events         int64 `json:"events"`
	StartBytes     Bytes `json:"start_bytes"` // live at the start
	AllocatedBytes Bytes `json:"allocated_bytes"`
	FreedBytes     Bytes `json:"freed_bytes"`
	NetBytes       Bytes `json:"net_bytes"`
	NetBlocks      int64 `json:"net_blocks"`
	PeakBytes      Bytes `json:"peak_bytes"` // above the start
	SegmentAllocs  int64 `json:"segment_allocs,omitempty"`
	SegmentFrees   int64 `json:"segment_frees,omitempty"`
	// Whole is false for a last step that the dump may have cut.
	Whole bool `json:"whole"`
	// Counted tells that the step takes part in growth.
	Counted bool `json:"counted"`
}

// PoolFact describes the segments of one pool, stream and size class at the end.
// Sizes are rounded ones.
type PoolFact struct {
	Pool string `json:"pool"` // "(0,0)" is the default one
	// Private pools belong to a graph or to the user; ordinary allocations
	// cannot use their free ranges.
	Private bool `json:"private,omitempty"`
	// Stream is 0 for the default stream; others are numbered as they come.
	Stream int64 `json:"stream"`
	// Class is "small" (requests up to 1 MiB) or "large".
	Class         string `json:"class"`
	Expandable    bool   `json:"expandable,omitempty"`
	Segments      int64  `json:"segments"`
	ReservedBytes Bytes  `json:"reserved_bytes"`
	LiveBytes     Bytes  `json:"live_bytes"`
	PendingBytes  Bytes  `json:"pending_bytes,omitempty"`
	InactiveBytes Bytes  `json:"inactive_bytes"`
	Holes         int64  `json:"holes"` // free ranges
	LargestBytes  Bytes  `json:"largest_bytes"`
	// EmptySegments hold nothing: empty_cache() could return them.
	EmptySegments int64 `json:"empty_segments,omitempty"`
	EmptyBytes    Bytes `json:"empty_bytes,omitempty"`
}

// OOMFact is the state at a failed allocation, not at the dump.
type OOMFact struct {
	Event int64 `json:"event"` // its number in the history, from 0
	// RequestBytes is the request rounded up to 512 B.
	RequestBytes Bytes `json:"request_bytes"`
	// DeviceFreeBytes is what the driver had left; absent in files without it.
	DeviceFreeBytes *Bytes `json:"device_free_bytes,omitempty"`
	LiveBytes       Bytes  `json:"live_bytes"` // requested, pending ones included
	PendingBytes    Bytes  `json:"pending_bytes,omitempty"`
	ReservedBytes   Bytes  `json:"reserved_bytes"`
	// Layout tells that the free ranges are known: "exact" where the dump shows
	// the very moment, "rebuilt" where events were undone (blocks rounded up to
	// 512 B, so a range may be up to 1 MiB too long), "" where they are not.
	Layout        string `json:"layout,omitempty"`
	InactiveBytes Bytes  `json:"inactive_bytes"` // all free ranges
	LargestBytes  Bytes  `json:"largest_bytes"`
	// Usable are the free ranges in the request's own stream, pool and size class.
	UsableBytes        Bytes `json:"usable_bytes"`
	UsableHoles        int64 `json:"usable_holes"`
	UsableSegments     int64 `json:"usable_segments"` // that hold these ranges
	LargestUsableBytes Bytes `json:"largest_usable_bytes"`
	PrivateBytes       Bytes `json:"private_bytes,omitempty"` // free, in private pools
	// Holders are the sites with the most live bytes at that moment, at most 10.
	Holders []HolderFact `json:"holders,omitempty"`
	// Site and Source name the request; Stack is its stack, innermost first, at
	// most 24 lines.
	Site   string   `json:"site,omitempty"`
	Source *Source  `json:"source,omitempty"`
	Stack  []string `json:"stack,omitempty"`
}

// HolderFact is one site's share of a live set.
type HolderFact struct {
	Key     string  `json:"key"`
	Display string  `json:"display"`
	Class   string  `json:"class,omitempty"`
	Source  *Source `json:"source,omitempty"`
	Bytes   Bytes   `json:"bytes"`
	Count   int64   `json:"count"`
}

// ChurnFact is how the pool dealt with the device.
type ChurnFact struct {
	Allocations int64 `json:"allocations"`
	Misses      int64 `json:"misses"` // that needed a segment
	// Warm counts only what follows the first whole step; where nothing marks
	// steps, the second half of the allocations.
	WarmAllocations int64 `json:"warm_allocations"`
	WarmMisses      int64 `json:"warm_misses"`
	SegmentFrees    int64 `json:"segment_frees"`
	// StepSegmentFrees are those inside counted steps.
	StepSegmentFrees int64 `json:"step_segment_frees,omitempty"`
	// EmptyCacheFrees are those whose stack has empty_cache.
	EmptyCacheFrees int64   `json:"empty_cache_frees,omitempty"`
	EmptyCacheAt    *Source `json:"empty_cache_at,omitempty"`
	// Retries are bursts of segment_free right before a segment_alloc: the
	// device was full and the pool gave back what it could.
	Retries      int64 `json:"retries,omitempty"`
	RetriedBytes Bytes `json:"retried_bytes,omitempty"` // given back in them
	// CycleFrees and CycleBytes were freed by Python's cycle collector, where
	// free stacks tell.
	CycleFrees int64 `json:"cycle_frees,omitempty"`
	CycleBytes Bytes `json:"cycle_bytes,omitempty"`
}
