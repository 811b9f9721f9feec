package footprint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// Schema names the lines that a [Writer] writes and [Read] reads.
const Schema = "peakgate.watch/1"

// Header is the first line: what was watched, where, and how.
type Header struct {
	Schema string `json:"schema"` // set by the Writer
	// Start is the wall clock at t_ms 0, RFC 3339 in UTC.
	Start string `json:"start"`
	// Tool is the program that watched, with its version.
	Tool string   `json:"tool,omitempty"`
	Argv []string `json:"argv"`
	Host Host     `json:"host"`
	// IntervalMS is the time from one tick to the next, in milliseconds.
	IntervalMS int64 `json:"interval_ms"`
	// Sources tells for a key of the samples where its numbers come from:
	// "footprint_bytes": "smaps_rollup".
	Sources map[string]string `json:"sources"`
	// Steps tells what marks a step: one of the Steps constants; empty where nothing does.
	Steps string `json:"steps,omitempty"`
	// BudgetSHA256 is the hash of the budget file that asked for the run.
	BudgetSHA256 string `json:"budget_sha256,omitempty"`
}

// What marks a step.
const (
	StepsRegex     = "regex"     // a line of the workload's output
	StepsChannel   = "channel"   // a descriptor or file that the workload appends to
	StepsSignal    = "signal"    // one signal a step: counted, not numbered, and signals can merge
	StepsEstimated = "estimated" // a period of the series itself: never judged per step
)

// Host is the machine.
type Host struct {
	Name        string `json:"name,omitempty"`
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Kernel      string `json:"kernel,omitempty"`
	CPUs        int64  `json:"cpus,omitempty"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
	// Cgroup is "v2" where the workload ran in a control group of its own, "v1"
	// likewise, and empty where it had none.
	Cgroup string `json:"cgroup,omitempty"`
}

// Level is one number of a sample or a summary, in one of three states: a value;
// unknown (null in JSON, and the line's reasons say why); or, as the zero Level,
// not read at this tick (no key in JSON). None of them is ever written as 0.
type Level struct {
	value int64
	state state
}

type state uint8

const (
	notRead state = iota
	isKnown
	isUnknown
)

// Known is a level that was read.
func Known(n int64) Level { return Level{n, isKnown} }

// Unknown is a level that could not be read.
func Unknown() Level { return Level{state: isUnknown} }

// Value is the number; ok is false where there is none.
func (l Level) Value() (n int64, ok bool) { return l.value, l.state == isKnown }

// IsUnknown tells that the level was asked for and could not be read.
func (l Level) IsUnknown() bool { return l.state == isUnknown }

// IsZero tells that the level was not read; JSON then leaves its key out.
func (l Level) IsZero() bool { return l.state == notRead }

// MarshalJSON writes an integer or null.
func (l Level) MarshalJSON() ([]byte, error) {
	if l.state != isKnown {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, l.value, 10), nil
}

// UnmarshalJSON reads an integer of at least 0, or null.
func (l *Level) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*l = Unknown()
		return nil
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("want an integer of at least 0, or null; got %.40s", b)
	}
	*l = Known(n)
	return nil
}

// Sample is one reading of the whole process tree: sums over its living members.
// Bytes are bytes of memory, whatever unit the kernel's file has.
type Sample struct {
	// TMS is milliseconds since the start on a monotonic clock.
	TMS int64 `json:"t_ms"`
	// Step is the number of the step at whose mark this sample was taken, and nil
	// (null) for a sample between two marks.
	Step  *int64 `json:"step"`
	Nproc int64  `json:"nproc"`

	// Footprint is the number that is judged: on Linux PSS plus swap of the tree,
	// or where PSS is not read RssAnon + RssShmem + VmSwap; on macOS the physical
	// footprint.
	Footprint Level `json:"footprint_bytes,omitzero"`
	RSS       Level `json:"rss_bytes,omitzero"`
	PSS       Level `json:"pss_bytes,omitzero"`
	USS       Level `json:"uss_bytes,omitzero"`
	Swap      Level `json:"swap_bytes,omitzero"`
	// LazyFree is in PSS, and the kernel may take it back at any time.
	LazyFree Level `json:"lazy_free_bytes,omitzero"`
	// HighWater is the sum of the high-water marks of the living processes.
	HighWater Level `json:"high_water_bytes,omitzero"`
	// Cgroup is anon + shmem of the workload's control group.
	Cgroup Level `json:"cgroup_bytes,omitzero"`
	// GPU is the memory of accelerators; by which attribution, the header's sources say.
	GPU         Level `json:"gpu_bytes,omitzero"`
	Descriptors Level `json:"descriptors,omitzero"`
	Regions     Level `json:"regions,omitzero"`

	// Reasons tells, by the JSON key, why a level is null.
	Reasons map[string]string `json:"reasons,omitempty"`
}

// Event is what happened at one moment; Name says which fields are set.
type Event struct {
	TMS  int64  `json:"t_ms"`
	Name string `json:"event"`

	// Step is the step's number as the workload tells it (EventStep). Clustered
	// marks one that came within a millisecond of the next: its time is not to be trusted.
	Step      *int64 `json:"step,omitempty"`
	Clustered bool   `json:"clustered,omitempty"`

	// The process that starts or ends. Code is its exit code, nil where it is not
	// known or a signal ended it, whose name is Signal ("SIGKILL"). MaxRSS is wait4's maximum
	// of one reaped process, HighWater the last VmHWM that was seen.
	PID       int64  `json:"pid,omitempty"`
	PPID      int64  `json:"ppid,omitempty"`
	Comm      string `json:"comm,omitempty"`
	Code      *int64 `json:"code,omitempty"`
	Signal    string `json:"signal,omitempty"` // also what the watcher sent or got (EventSignal)
	MaxRSS    Level  `json:"max_rss_bytes,omitzero"`
	HighWater Level  `json:"high_water_bytes,omitzero"`

	// Kills is how many processes the kernel has killed for memory since the last
	// such event (EventOOM).
	Kills int64 `json:"kills,omitempty"`
	// GapMS is how long no sample could be taken before TMS (EventGap).
	GapMS  int64  `json:"gap_ms,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// The names of events.
const (
	EventStep      = "step"
	EventProcStart = "proc_start"
	EventProcExit  = "proc_exit"
	EventOOM       = "oom"
	EventSignal    = "signal"
	EventGap       = "gap"
)

// Summary is the last line. A file without one was cut off.
type Summary struct {
	Summary bool  `json:"summary"` // set by the Writer: true
	TMS     int64 `json:"t_ms"`
	// ExitCode is the workload's, and nil (null) where a signal ended it or it is
	// not known.
	ExitCode *int64 `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	// Stopped tells why the watcher itself ended the workload; empty where it did not.
	Stopped string `json:"stopped,omitempty"`
	// OOMKills counts processes of the workload that the kernel killed for memory;
	// unknown (with a reason) where no counter can be read.
	OOMKills Level `json:"oom_kills,omitzero"`

	Samples   int64 `json:"samples"`
	Processes int64 `json:"processes"` // ever seen
	// FootprintPeak is the largest footprint of any sample, also of one that was
	// not written.
	FootprintPeak Level `json:"footprint_peak_bytes,omitzero"`
	// ProcessPeak is the largest kernel maximum of a single process (VmHWM, or
	// wait4's ru_maxrss where that can be trusted): a lower bound of the tree's peak.
	ProcessPeak Level `json:"process_peak_bytes,omitzero"`
	// UpperPeak is the largest sum of high-water marks of processes that lived at
	// the same time: an upper bound.
	UpperPeak Level `json:"upper_peak_bytes,omitzero"`
	// CgroupPeak is memory.peak of a control group of the workload's own; it counts
	// page cache and kernel memory.
	CgroupPeak Level `json:"cgroup_peak_bytes,omitzero"`

	// What watching cost.
	WatcherCPUMS  Level `json:"watcher_cpu_ms,omitzero"`
	WatcherMaxRSS Level `json:"watcher_max_rss_bytes,omitzero"`

	Reasons map[string]string `json:"reasons,omitempty"`
}

// check tells what is wrong with a header.
func (h *Header) check() error {
	switch h.Steps {
	case "", StepsRegex, StepsChannel, StepsSignal, StepsEstimated:
	default:
		return fmt.Errorf("steps: want regex, channel, signal or estimated; got %.40q", h.Steps)
	}
	if h.IntervalMS < 0 {
		return fmt.Errorf("interval_ms: want at least 0, got %d", h.IntervalMS)
	}
	return nil
}

// check tells what is wrong with an event.
func (e *Event) check() error {
	switch e.Name {
	case EventStep:
		if e.Step == nil {
			return errors.New("event step: no step")
		}
	case EventProcStart, EventProcExit, EventSignal:
	case EventOOM:
		if e.Kills < 0 {
			return fmt.Errorf("event oom: kills: want at least 0, got %d", e.Kills)
		}
	case EventGap:
		if e.GapMS < 0 {
			return fmt.Errorf("event gap: gap_ms: want at least 0, got %d", e.GapMS)
		}
	case "":
		return errors.New("event: no name")
	}
	return nil // a name of a later version is skipped
}

// check tells what is wrong with a sample.
func (s *Sample) check() error {
	if s.Nproc < 0 {
		return fmt.Errorf("nproc: want at least 0, got %d", s.Nproc)
	}
	return nil
}

var (
	_ json.Marshaler   = Level{}
	_ json.Unmarshaler = (*Level)(nil)
)
