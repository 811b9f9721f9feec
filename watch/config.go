package watch

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/peakgate/peakgate/watch/step"
)

// Config says what to run and how to watch it.
type Config struct {
	// Argv is the command; Argv[0] is looked up in PATH.
	Argv []string
	// Dir is where the command runs, and what a path in Argv[0] is relative to; empty
	// is the current folder. Env is its environment; nil is that of this process.
	Dir string
	Env []string
	// The workload's streams. What it writes is passed on byte by byte; a terminal
	// is given to it as it is, and then no steps are found there.
	Stdin, Stdout, Stderr *os.File
	// Printed, if set, also gets what the workload writes where that is passed on;
	// from several goroutines.
	Printed io.Writer
	// Output takes the lines. A write that fails is told and does not end the watch.
	Output io.Writer
	// Interval is the time between two ticks.
	Interval time.Duration

	// StepRegex finds steps in the output; empty means the built-in patterns.
	StepRegex []string
	// StepFD gives the workload a descriptor, named by PEAKGATE_STEP_FD, to write
	// its steps to; StepFile is a file that it appends them to. Then the output is
	// not searched.
	StepFD   bool
	StepFile string
	// Pty runs the workload on a terminal of its own, so that it writes line by line.
	Pty bool

	// AlsoPIDs are processes that ran before and are watched too; they are never
	// signalled.
	AlsoPIDs []int
	// PSS is when smaps_rollup is read.
	PSS PSSMode
	// GPU is how the memory of accelerators is attributed.
	GPU GPUMode

	// MaxFootprint ends a run whose footprint is above it; 0 is no limit.
	MaxFootprint int64
	// Timeout ends a run that has not ended by then; 0 is no limit.
	Timeout time.Duration
	// Linger is how long processes may outlive the workload's first one; Grace is
	// how long after SIGTERM comes SIGKILL.
	Linger, Grace time.Duration

	// Affon makes the output, the limits and the end those of Affon's script.
	Affon *Affon

	// Log takes notes for a person, a line each; nil drops them. Terminal tells
	// that a line may be drawn anew on it; Quiet, that no progress is wanted.
	Log      io.Writer
	Terminal bool
	Quiet    bool

	// For the header.
	Tool, BudgetSHA256 string

	// procRoot and sysRoot are other roots, for tests.
	procRoot, sysRoot string
}

// PSSMode is when PSS is read.
type PSSMode string

// The modes of PSS.
const (
	PSSAuto   PSSMode = "auto"   // within 0.2 % of the time, and where nothing cheaper says the same
	PSSAlways PSSMode = "always" // at every tick, whatever it costs
	PSSOff    PSSMode = "off"
)

// GPUMode is how the memory of accelerators is attributed to the workload.
type GPUMode string

// The modes of attribution.
const (
	GPUPid    GPUMode = "pid"    // what the driver lists for the tree's processes
	GPUDevice GPUMode = "device" // what the devices use above what they used before
	GPUAll    GPUMode = "all"    // what the driver lists for any process
	GPUOff    GPUMode = "off"
)

// Affon is what its tools/metal-footprint-watch.sh takes.
type Affon struct {
	Samples int // the run ends after so many
	// A run fails that grows by more than these since the first sample.
	MaxGrowthBytes   int64
	MaxRegionsGrowth int64
}

// Affon's own defaults.
const (
	AffonInterval         = 10 * time.Second
	AffonSamples          = 12
	AffonMaxGrowthMB      = 512
	AffonMaxRegionsGrowth = 5000
)

// Defaults of a watch.
const (
	DefaultInterval = 250 * time.Millisecond
	DefaultLinger   = 10 * time.Second
	DefaultGrace    = 5 * time.Second
)

// Result is how a watch ended.
type Result struct {
	// Code is what the process shall exit with: the workload's own code, 128 + the
	// number of the signal that ended it, 126 or 127 where it could not be started,
	// 1 where a limit ended it.
	Code int
	// Signal is the one that ended the workload; empty where it ended by itself.
	Signal string
	// TimedOut tells that the run was ended at its Timeout.
	TimedOut bool
	// Stopped is the limit that ended the run; OOMKills how many of its processes
	// the kernel killed for memory.
	Stopped  string
	OOMKills int64
	// Lost is the first error of writing the output, and nil if it is whole.
	Lost error
}

// Check tells what is wrong with it.
func (c *Config) Check() error {
	switch {
	case len(c.Argv) == 0:
		return errors.New("no command to run")
	case c.Interval < 10*time.Millisecond:
		return fmt.Errorf("interval %s: want at least 10ms", c.Interval)
	case c.StepFD && c.StepFile != "":
		return errors.New("want one channel of steps, a descriptor or a file, not both")
	case (c.StepFD || c.StepFile != "") && len(c.StepRegex) > 0:
		return errors.New("want steps from the output or from a channel, not both")
	}
	if _, err := step.NewFinder(c.StepRegex); err != nil {
		return fmt.Errorf("step pattern: %w", err)
	}
	switch c.PSS {
	case PSSAuto, PSSAlways, PSSOff:
	default:
		return fmt.Errorf("pss %.40q: want auto, always or off", c.PSS)
	}
	switch c.GPU {
	case GPUPid, GPUDevice, GPUAll, GPUOff:
	default:
		return fmt.Errorf("gpu %.40q: want pid, device, all or off", c.GPU)
	}
	return nil
}
