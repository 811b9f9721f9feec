package pretend

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
)

// Libraries is a folder of pretend CUDA libraries that suits one PyTorch wheel.
type Libraries struct {
	Dir          string   // for LD_LIBRARY_PATH
	Preload      []string // paths of the libraries, in the order to load them in
	TorchVersion string   // such as "2.9.1+cu128"
	CUDAVersion  string   // such as "12.8"
	Capabilities []string // those of Capabilities that the wheel has code for
	Hash         string   // of all that the libraries were made from
	Warnings     []string
}

// Capabilities are the compute capabilities that a device can claim, each with the
// numbers of one card: c/card.c.
var Capabilities = []string{"7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0"}

// Claim is what the pretend devices say of themselves, and what reads from them give.
// What is zero or empty is left to the defaults.
type Claim struct {
	Devices    int
	Memory     int64  // bytes of each device
	Context    int64  // bytes of each that the driver holds
	Capability string // one of Capabilities
	Reads      string // Keep, Zero or One
	Dir        string // for the notes
}

// What a read from the device gives.
const (
	Keep = "keep"
	Zero = "zero"
	One  = "one"
)

// Environ gives the variables of a claim, each NAME=VALUE.
func (c Claim) Environ() (env []string) {
	add := func(name, value string, there bool) {
		if there {
			env = append(env, name+"="+value)
		}
	}
	add("PRETEND_DEVICES", strconv.Itoa(c.Devices), c.Devices != 0)
	add("PRETEND_MEMORY", strconv.FormatInt(c.Memory, 10), c.Memory != 0)
	add("PRETEND_CONTEXT", strconv.FormatInt(c.Context, 10), c.Context != 0)
	add("PRETEND_CAPABILITY", c.Capability, c.Capability != "")
	add("PRETEND_READS", c.Reads, c.Reads != "")
	add("PRETEND_DIR", c.Dir, c.Dir != "")
	return env
}

// Notes gives the names of the files of notes that processes left in a claim's Dir.
func Notes(dir string) ([]string, error) { return filepath.Glob(filepath.Join(dir, "notes-*")) }

// runs gives which capabilities code for some architectures runs on: of the same major
// version, and not older. 70 is 7.0, 120 is 12.0.
func runs(architectures []int) (capabilities []string) {
	for _, c := range Capabilities {
		var major, minor int
		fmt.Sscanf(c, "%d.%d", &major, &minor)
		if slices.ContainsFunc(architectures, func(a int) bool { return a/10 == major && a%10 <= minor }) {
			capabilities = append(capabilities, c)
		}
	}
	return capabilities
}
