package dryrun

import (
	"fmt"
	"time"

	"github.com/peakgate/peakgate/measure"
)

// Frameworks that a program can be written for.
const (
	Torch      = "torch"
	JAX        = "jax"
	TensorFlow = "tf"
)

// Spec says what is run, and for which device.
type Spec struct {
	Framework string
	// Argv is the program of Torch and TensorFlow as a shell would start it. Of JAX it
	// is one word, module:function.
	Argv []string
	// Dir is the folder that the program runs in, Env its environment to begin with.
	Dir string
	Env []string
	// Root is the folder that lines of the program are named relative to, the
	// repository's; empty is Dir.
	Root string
	// Python is the interpreter of JAX; empty is python3, else python, of the PATH. Of
	// Torch it is found from Argv where it is empty.
	Python string
	// Targets are the devices of JAX, each NAME or NAME:TOPOLOGY.
	Targets []string

	Memory     int64  // bytes of one device; 0 is the default of the framework
	Capability string // compute capability such as "9.0"; empty is the default
	Devices    int    // how many there are; 0 is 1
	Context    int64  // bytes of a device that the driver holds; 0 is the default
	// Assume is the value, "0" or "1", that the user says the program may read from the
	// device; empty where nothing is said. Then both are tried.
	Assume string
	// Timeout ends a program that does not end; 0 is the default.
	Timeout time.Duration
	// Cache is the folder that what is built once is kept in; empty is the user's
	// cache folder.
	Cache string
}

// Process is a program to be run to its end, with all that it starts.
type Process struct {
	Argv, Env []string
	Dir       string
	Timeout   time.Duration
	// Quiet tells that the output is not shown: it is the second run of the same program.
	Quiet bool
}

// End is how a process ended.
type End struct {
	Code     int    // exit code; 0 where a signal ended it
	Signal   string // such as SIGKILL; empty where none did
	TimedOut bool   // ended because it ran past its time
}

// Start runs a process. An error is that it could not be started or was interrupted.
type Start func(Process) (End, error)

// Capture is a file to measure.
type Capture struct {
	Path string
	// Device becomes the label device of the capture's rows: the target of JAX. Empty
	// where the capture names its devices itself.
	Device string
}

// Result is what a dry run gave.
type Result struct {
	// Captures are the files to measure; none where the program did not run.
	Captures []Capture
	// Facts tell how far to trust it: one, and of JAX one for each target in its order.
	Facts []measure.DryrunFact
	// Environment holds the versions of what ran, such as jax and libtpu.
	Environment map[string]string
	Warnings    []string
}

// SpecError is a Spec that no run can be made of: what was asked for is wrong, not what
// came of it.
type SpecError struct{ text string }

func (e *SpecError) Error() string { return e.text }

// Wrong gives a SpecError.
func Wrong(format string, args ...any) error { return &SpecError{fmt.Sprintf(format, args...)} }
