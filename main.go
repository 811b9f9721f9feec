// Command peakgate stops memory regressions of ML programs at the pull request.
package main

import (
	"os"

	"github.com/peakgate/peakgate/internal/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], cli.Process()))
}
