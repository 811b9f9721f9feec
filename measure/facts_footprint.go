package measure

// WatchFact is what a watcher's file tells of a run beside its numbers.
type WatchFact struct {
	Labels Labels `json:"labels"`
	// Watcher is "peakgate" or "affon".
	Watcher string `json:"watcher"`
	// Outcome is one of the Outcome constants.
	Outcome string `json:"outcome"`
	// ExitCode and Signal are those of the workload; both are absent where they are
	// not known. Stopped says why the watcher itself ended it.
	ExitCode *int64 `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"`
	Stopped  string `json:"stopped,omitempty"`
	// OOMKills is how many processes the kernel killed for memory; absent where it
	// is not known.
	OOMKills *int64 `json:"oom_kills,omitempty"`

	Seconds         float64 `json:"seconds"`          // from the first sample to the last
	IntervalSeconds float64 `json:"interval_seconds"` // between samples: as asked for, else the median
	// Samples is how many there are, Footprints how many of them have a footprint,
	// and Steps how many of these were taken at the mark of a step, which StepSource
	// tells.
	Samples    int64  `json:"samples"`
	Footprints int64  `json:"footprints"`
	Steps      int64  `json:"steps,omitempty"`
	StepSource string `json:"step_source,omitempty"`
	// Gaps is how often no sample could be taken for a time, LongestGap the longest.
	Gaps       int64   `json:"gaps,omitempty"`
	LongestGap float64 `json:"longest_gap_seconds,omitempty"`
	Processes  int64   `json:"processes,omitempty"` // ever seen
	// Sources tells by the key of a sample where its numbers come from.
	Sources map[string]string `json:"sources,omitempty"`

	// GrowthBytes and GrowthRegions are the last sample minus the first, and the
	// limits are what Affon's script allows by default. Its file does not hold those
	// that it ran with.
	GrowthBytes      *Bytes `json:"growth_bytes,omitempty"`
	GrowthRegions    *int64 `json:"growth_regions,omitempty"`
	LimitGrowthBytes Bytes  `json:"limit_growth_bytes,omitempty"`
	LimitRegions     int64  `json:"limit_growth_regions,omitempty"`
}

// How a watched run ended.
const (
	OutcomeFinished  = "finished"          // exit code 0
	OutcomeOOMKilled = "killed_for_memory" // the kernel killed a process of it for memory
	OutcomeStopped   = "stopped"           // the watcher ended it: it was over a limit
	OutcomeSignal    = "signal"            // a signal ended it
	OutcomeFailed    = "failed"            // another exit code
	OutcomeUnknown   = "unknown"           // the file does not tell, or was cut off
)

// Broken says in words why a run is no whole one; it is empty for one that is, and
// for one of which nobody knows.
func (f WatchFact) Broken() string {
	switch f.Outcome {
	case OutcomeOOMKilled:
		return "the kernel killed " + plural(*f.OOMKills, "process", "processes") + " of the run for memory"
	case OutcomeStopped:
		return "the watcher ended the run: " + f.Stopped
	case OutcomeSignal:
		return "the run was ended by " + f.Signal
	case OutcomeFailed:
		if f.ExitCode == nil {
			return "the run failed"
		}
		return "the run ended with exit code " + Int(*f.ExitCode).Exact(Count)
	}
	return ""
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Int(n).Exact(Count) + " " + many
}
