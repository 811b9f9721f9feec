//go:build linux || darwin

package watch

import (
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/peakgate/peakgate/capture/footprint"
)

// platform is what differs between systems.
type platform interface {
	// start starts the workload.
	start(argv []string, attr *os.ProcAttr) (pid int, err error)
	// tick reads the tree; mark tells that a step begins or the run ends.
	tick(now time.Duration, mark bool) reading
	// reap gives those of our own processes that have ended.
	reap() []exit
	// living are the processes to end with the workload.
	living() []int
	// kills counts processes that the kernel killed for memory; ok is false where
	// nothing tells.
	kills() (n int64, ok bool)
	header(*footprint.Header)
	summary(*footprint.Summary)
	close()
}

// reading is what one tick saw.
type reading struct {
	sample     footprint.Sample
	came, went []process
	// regions is what vmmap tells of the workload's process; nil off macOS.
	regions *regions
}

// process is one that came, or one that went and was reaped by its parent.
type process struct {
	pid, ppid int
	comm      string
	highWater int64
}

// exit is the end of a process that we reaped.
type exit struct {
	process
	code   int
	signal os.Signal // nil where it ended itself
	maxRSS footprint.Level
}

// helpers are our own children that are no part of the workload.
type helpers struct {
	mu   sync.Mutex
	pids map[int]bool
}

// run runs a helper; while it lives it is neither followed nor reaped by others.
func (h *helpers) run(cmd *exec.Cmd) error {
	h.mu.Lock()
	if err := cmd.Start(); err != nil {
		h.mu.Unlock()
		return err
	}
	if h.pids == nil {
		h.pids = map[int]bool{}
	}
	pid := cmd.Process.Pid
	h.pids[pid] = true
	h.mu.Unlock()
	err := cmd.Wait()
	h.mu.Lock()
	delete(h.pids, pid)
	h.mu.Unlock()
	return err
}

// has tells whether a process is a helper; the lock must be held.
func (h *helpers) has(pid int) bool { return h.pids[pid] }
