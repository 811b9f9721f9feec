package cli

import (
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/compare"
)

var versionCommand = command{
	name: "version", summary: "version, commit and the formats that are read",
	about: "Prints the version, the commit that it was built from, and the formats that\nthis peakgate reads.",
	setup: func(_ *flag.FlagSet, s Streams) func([]string) (int, error) {
		return func(args []string) (int, error) {
			if len(args) > 0 {
				return ExitUsage, usagef("version: takes no arguments, got %.40q", args[0])
			}
			t := tool()
			fmt.Fprintf(s.Stdout, "%s %s\n", t.Name, t.Version)
			if t.Commit != "" {
				fmt.Fprintf(s.Stdout, "commit  %s\n", t.Commit)
			}
			fmt.Fprintf(s.Stdout, "go      %s %s/%s\nreads   %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(capture.Formats(), ", "))
			return ExitPass, nil
		}
	},
}

// tool tells this build from what the Go linker recorded.
func tool() compare.Tool {
	t := compare.Tool{Name: "peakgate", Version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return t
	}
	if info.Main.Version != "" {
		t.Version = info.Main.Version
	}
	dirty := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			t.Commit = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty && t.Commit != "" {
		t.Commit += " (with changes)"
	}
	return t
}
