package pretend

import "context"

// Libraries is a folder of pretend CUDA libraries that suits one PyTorch wheel.
type Libraries struct {
	Dir          string   // for LD_LIBRARY_PATH
	Preload      []string // paths of the libraries, in the order to load them in
	TorchVersion string   // such as "2.9.1+cu128"
	CUDAVersion  string   // such as "12.8"
	Hash         string   // of all that the libraries were made from
	Warnings     []string
}

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

// Build gives the libraries for the PyTorch of a Python interpreter, from the cache or
// made new. An empty cache is the user's own.
func Build(ctx context.Context, python, cache string) (*Libraries, error) {
	panic("not yet")
}

// Environ gives the variables of a claim, each NAME=VALUE.
func (c Claim) Environ() []string { panic("not yet") }
