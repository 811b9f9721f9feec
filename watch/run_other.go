//go:build !linux && !darwin

package watch

import (
	"fmt"
	"runtime"
)

// Run is for Linux and macOS.
func Run(Config) (Result, error) {
	return Result{}, fmt.Errorf("a workload cannot be watched on %s, only on Linux and macOS", runtime.GOOS)
}
