package watch

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/peakgate/peakgate/capture/footprint"
)

// status tells a person how the run goes: one line that is drawn anew on a
// terminal, one line a minute elsewhere. The workload's own output goes between.
type status struct {
	log      io.Writer
	terminal bool
	quiet    bool
	// direct tells that the workload writes to a terminal itself, where a line that
	// is drawn anew would be in its way.
	direct bool

	mu     sync.Mutex
	drawn  bool
	last   time.Duration
	peak   int64
	number *int64
	nproc  int64
	seen   bool // a footprint
}

const (
	// costFrom is how long a run must last for its cost to say something: before that
	// it is the cost of the start.
	costFrom    = 10 * time.Second
	redrawEvery = time.Second
	plainEvery  = time.Minute
)

func newStatus(cfg *Config) *status {
	log := cfg.Log
	if log == nil {
		log = io.Discard
	}
	return &status{log: log, terminal: cfg.Terminal, quiet: cfg.Quiet}
}

// note writes a line that is always told.
func (s *status) note(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	fmt.Fprintf(s.log, "peakgate watch: %s\n", line)
}

// clear takes the line off the terminal; the lock must be held.
func (s *status) clear() {
	if s.drawn {
		fmt.Fprint(s.log, "\r\x1b[K")
		s.drawn = false
	}
}

// passing lets the workload's output through without the line in it.
func (s *status) passing(write func()) {
	s.mu.Lock()
	s.clear()
	s.mu.Unlock()
	write()
}

func (s *status) step(n int64) {
	s.mu.Lock()
	s.number = &n
	s.mu.Unlock()
}

func (s *status) sample(now time.Duration, sample footprint.Sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nproc = sample.Nproc
	n, ok := sample.Footprint.Value()
	if !ok {
		return
	}
	s.peak, s.seen = max(s.peak, n), true
	live := s.terminal && !s.direct
	every := plainEvery
	if live {
		every = redrawEvery
	}
	if s.quiet || now-s.last < every {
		return
	}
	s.last = now
	line := fmt.Sprintf("%s: %s in %d %s, at most %s", now.Round(time.Second), mebibytes(n), s.nproc, plural(s.nproc, "process", "processes"), mebibytes(s.peak))
	if s.number != nil {
		line += fmt.Sprintf(", step %d", *s.number)
	}
	if live {
		fmt.Fprintf(s.log, "\r\x1b[K%s", line)
		s.drawn = true
	} else {
		fmt.Fprintf(s.log, "peakgate watch: %s\n", line)
	}
}

// end tells what is to be known of the whole; cost is the watcher's processor time.
func (s *status) end(now time.Duration, r Result, cost time.Duration) {
	if r.OOMKills > 0 {
		s.note(fmt.Sprintf("the kernel killed %d %s for memory", r.OOMKills, plural(r.OOMKills, "process", "processes")))
	}
	if s.quiet {
		return
	}
	switch {
	case s.seen:
		line := fmt.Sprintf("%s: largest sampled footprint %s", now.Round(100*time.Millisecond), mebibytes(s.peak))
		if now >= costFrom {
			line += fmt.Sprintf("; watching took %.2f %% of a core", 100*cost.Seconds()/now.Seconds())
		}
		s.note(line)
	default:
		s.note(fmt.Sprintf("%s: no footprint could be sampled", now.Round(100*time.Millisecond)))
	}
}

func mebibytes(n int64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
