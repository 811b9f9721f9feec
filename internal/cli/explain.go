package cli

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/report"
)

var explainCommand = command{
	name: "explain", args: "CAPTURE…", summary: "what takes the memory, who holds the peak, and what to do about it",
	about: `Reads captures and diagnoses them: the figures of the plan, who holds the bytes at
the peak, and findings, each with its fix, what that saves at most by this
capture's own bytes, and what it costs. Nothing is run and nothing is judged.

Of several XLA modules it explains the one whose last execution never launched a
kernel, else the largest that ran, else the largest; --module names another. With
--log it also reads what the compiler or runtime printed.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		format := f.String("format", "text", "`text` or json: the measurement with its findings")
		output := f.String("o", "", "write to this `file` instead of standard output")
		name := f.String("module", "", "the XLA `module` to explain: its name, or NAME(PROGRAM)")
		top := f.Int("top", 8, "how many holders of the peak, findings and steps to list, `N`")
		memory := f.String("device-memory", "", "what the device has, in `bytes` (80GB, 24 GiB): with it, a failed allocation tells what is held outside of PyTorch's allocator")
		base := f.String("base", "", "compare with this `capture`: what changed is a finding too")
		var logs list
		f.Var(&logs, "log", "a `file` with what the run or the compiler printed; may be given again")
		quiet := f.Bool("quiet", false, "no progress")
		read := declareRead(f)
		return func(args []string) (int, error) {
			if len(args) == 0 && len(logs) > 0 {
				return ExitUsage, usagef("explain: want a capture as well: --log adds to what a capture shows, and is not explained alone")
			}
			if len(args) == 0 {
				return ExitUsage, usagef("explain: want at least one capture file, directory or pattern")
			}
			if err := checkFormat(*format); err != nil {
				return ExitUsage, err
			}
			var device measure.Bytes
			if *memory != "" {
				var err error
				if device, err = measure.ParseBytes(*memory); err != nil || device <= 0 {
					return ExitUsage, usagef("--device-memory: want the memory of the device, as 80GB or 24 GiB, got %q", *memory)
				}
			}
			if *top < 1 {
				return ExitUsage, usagef("--top %d: want at least 1", *top)
			}
			if err := read.validate(); err != nil {
				return ExitUsage, err
			}
			m, err := gather("", args, read, s, *quiet)
			if err != nil {
				return ExitNoData, err
			}
			in := diagnose.Input{Head: m, DeviceMemory: device}
			if *base != "" {
				if in.Base, err = gather("", []string{*base}, read, s, *quiet); err != nil {
					return ExitNoData, err
				}
			}
			for _, path := range logs {
				facts, warnings, err := readLog(path)
				if err != nil {
					return ExitNoData, read.hidden(err)
				}
				m.Facts.Logs, m.Warnings = append(m.Facts.Logs, facts...), append(m.Warnings, warnings...)
			}
			subject, err := diagnose.Choose(m, *name)
			if err != nil {
				return ExitUsage, usagef("--module: %v", err)
			}
			m.Findings = diagnose.Run(in)
			inputs := slices.Clone(m.Inputs)
			if in.Base != nil {
				inputs = append(inputs, in.Base.Inputs...)
			}
			for _, path := range logs {
				inputs = append(inputs, measure.Input{Path: path})
			}
			if err := spare(*output, inputs); err != nil {
				return ExitUsage, err
			}
			read.hide(m)
			return emit(s, *format, *output, m, func(w io.Writer) error { return report.Explain(w, m, subject, *top) })
		}
	},
}

// readLog takes what a log says of memory.
func readLog(path string) ([]measure.LogFact, []string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: cannot read: %w", path, cause(err))
	}
	defer f.Close()
	return diagnose.ReadLog(f, filepath.ToSlash(path))
}
