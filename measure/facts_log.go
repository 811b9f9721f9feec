package measure

// LogFact is one message about memory that a compiler or runtime printed.
type LogFact struct {
	Kind string `json:"kind"` // one of the kinds below
	// File and Line are where the log says it first.
	File string `json:"file"`
	Line int64  `json:"line"`
	// WantedBytes is what was asked for, or what the program needs; LimitBytes what
	// there is for it. Texts such as "15.86G" are exact to two decimals only.
	WantedBytes Bytes `json:"wanted_bytes,omitempty"`
	LimitBytes  Bytes `json:"limit_bytes,omitempty"`
	// BeforeBytes is what the program needed before XLA rematerialized (LogRemat).
	BeforeBytes Bytes `json:"before_bytes,omitempty"`
	// Text is the message, cut to a line of bearable length.
	Text string `json:"text"`
}

// Kinds of LogFact. The kinds of XLA's out of memory stay apart: at run time for one
// block on a GPU, at compile time for a TPU's main memory, at run time for it (to
// load a program or to hold an array), and at compile time for its on-chip memory.
const (
	LogGPU    = "xla_gpu_out_of_memory"
	LogHBM    = "tpu_hbm_out_of_memory"
	LogHBMRun = "tpu_hbm_run_out_of_memory"
	LogVMEM   = "tpu_vmem_out_of_memory"
	LogRemat  = "xla_remat_limit"
	// LogTorch is PyTorch's own message; its LimitBytes are what the device has.
	LogTorch    = "torch_out_of_memory"
	LogDonation = "jax_donation_unused"
)
