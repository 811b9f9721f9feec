package measure

// PlanFact describes the plan of one XLA module in one memory space, beside what
// its rows say.
type PlanFact struct {
	Labels Labels `json:"labels"` // module, program, memory_space
	// Classes sums what is live at the heap peak by class; without a heap trace,
	// what lives throughout and the temp block.
	Classes []PlanClass `json:"classes,omitempty"`
	// Holders are the largest of them: up to eight of each class, and those that
	// padding blows up.
	Holders []PlanHolder `json:"holders,omitempty"`
	// Donation is nil where the space has no arguments.
	Donation *DonationFact `json:"donation,omitempty"`
	// BlockBytes is the largest temp block: one piece of memory without a gap.
	BlockBytes Bytes `json:"block_bytes,omitempty"`
	// ScopedBytes is the largest scratch memory of one kernel (TPU vmem).
	ScopedBytes Bytes `json:"scoped_bytes,omitempty"`
	// Schedule is a hash of what the heap trace allocates and frees, in order:
	// equal for equal schedules.
	Schedule string `json:"schedule,omitempty"`
}

// PlanClass is one class of live buffers with its bytes.
type PlanClass struct {
	Class string `json:"class"`
	Bytes Bytes  `json:"bytes"`
	Count int64  `json:"count"`
}

// PlanHolder is a group of equal buffers.
type PlanHolder struct {
	Key string `json:"key"` // of the contributor that it is part of
	// Operation is the key without the function: class and name of the operation.
	Operation string `json:"operation"`
	Class     string `json:"class"`
	// Opcode is that of the instruction that defines it; of an argument, "parameter".
	Opcode string `json:"opcode,omitempty"`
	Shape  string `json:"shape,omitempty"`
	// Display names it for people.
	Display       string  `json:"display"`
	Bytes         Bytes   `json:"bytes"`
	UnpaddedBytes Bytes   `json:"unpadded_bytes"` // of the values alone
	Count         int64   `json:"count"`
	Copy          bool    `json:"copy,omitempty"` // a copy of an argument
	Source        *Source `json:"source,omitempty"`
}

// DonationFact tells which arguments an output reuses, by leaves of the arguments.
type DonationFact struct {
	Arguments int64 `json:"arguments"`
	Donated   int64 `json:"donated"` // an output is written over it
	Declared  int64 `json:"declared"`
	// Left are the arguments that were offered and that no output took.
	Left      []PlanHolder `json:"left,omitempty"` // the largest eight
	LeftCount int64        `json:"left_count,omitempty"`
	LeftBytes Bytes        `json:"left_bytes,omitempty"`
	// Missing are arguments that were not offered though an output of the same
	// size has memory of its own: MissingBytes bounds what donation saves.
	Missing      []PlanHolder `json:"missing,omitempty"` // the largest eight
	MissingCount int64        `json:"missing_count,omitempty"`
	MissingBytes Bytes        `json:"missing_bytes,omitempty"`
}
