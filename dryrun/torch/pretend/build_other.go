//go:build !linux

package pretend

import (
	"context"
	"errors"
)

// Build gives the libraries for the PyTorch of a Python interpreter: on Linux alone.
func Build(ctx context.Context, python, cache string) (*Libraries, error) {
	return nil, errors.New("a dry run of PyTorch needs Linux: there alone are wheels with CUDA that run over other libraries")
}
