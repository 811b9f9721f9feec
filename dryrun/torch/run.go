package torch

import (
	"errors"

	"github.com/peakgate/peakgate/dryrun"
)

// Run runs the program of a spec. Its files go to a folder, which is made if need be.
// An error is of the machine or the spec; a program that cannot run is a result.
func Run(spec dryrun.Spec, dir string, start dryrun.Start) (*dryrun.Result, error) {
	return nil, errors.New("PyTorch programs cannot be run for a GPU that is not there yet")
}
