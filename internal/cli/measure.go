package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/report"
)

var measureCommand = command{
	name: "measure", args: "CAPTURE…", summary: "what captures say about memory, as text or JSON",
	about: `Reads captures (files, directories or patterns with ** for any depth) into one
measurement: its metrics, and who holds the bytes. A measurement written with
--format json can be committed and used as a base.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		format := f.String("format", "text", "`text` or json")
		output := f.String("o", "", "write to this `file` instead of standard output")
		target := f.String("target", "", "`name` of the target in the measurement")
		quiet := f.Bool("quiet", false, "no progress")
		read := declareRead(f)
		return func(args []string) (int, error) {
			if len(args) == 0 {
				return ExitUsage, usagef("measure: want at least one capture file, directory or pattern")
			}
			if err := checkFormat(*format); err != nil {
				return ExitUsage, err
			}
			if err := read.validate(); err != nil {
				return ExitUsage, err
			}
			m, err := gather(*target, args, read, s, *quiet)
			if err != nil {
				return ExitNoData, err
			}
			if err := spare(*output, m.Inputs); err != nil {
				return ExitUsage, err
			}
			return emit(s, *format, *output, m, func(w io.Writer) error { return report.Measurement(w, m) })
		}
	},
}

var diffCommand = command{
	name: "diff", args: "BASE HEAD", summary: "which metrics and which contributors moved between two captures",
	about: `Lays two captures, directories or measurements side by side, without a budget
and without a verdict.

With --leak BASE and HEAD are an earlier and a later dump of one process, made at
the same place of a step: the sites that hold more bytes in more blocks at the later
one are where it leaks. Dumps that were given the wrong way round are turned, and
PyTorch dumps of two processes are refused where their histories show it. --steps says how many steps lie between.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		format := f.String("format", "text", "`text` or json")
		output := f.String("o", "", "write to this `file` instead of standard output")
		leak := f.Bool("leak", false, "the two are dumps of one process, BASE the earlier")
		steps := f.Int64("steps", 0, "how many steps lie between the two dumps, `N`; 0 takes the marks in them")
		quiet := f.Bool("quiet", false, "no progress")
		read := declareRead(f)
		return func(args []string) (int, error) {
			if len(args) != 2 {
				return ExitUsage, usagef("diff: want two captures, BASE and HEAD, got %d", len(args))
			}
			if *steps < 0 || *steps > 0 && !*leak {
				return ExitUsage, usagef("--steps %d: want a number of steps above 0, with --leak", *steps)
			}
			if err := errors.Join(checkFormat(*format), read.validate()); err != nil {
				return ExitUsage, err
			}
			var sides [2]*measure.Measurement
			for i, path := range args {
				var err error
				if sides[i], err = gather("", []string{path}, read, s, *quiet); err != nil {
					return ExitNoData, err
				}
			}
			var warnings []string
			if *leak {
				swapped, doubts, err := compare.OneProcess(sides[0], sides[1])
				if err != nil {
					return ExitUsage, usagef("diff --leak %s %s: %v", args[0], args[1], err)
				}
				warnings = doubts
				if swapped {
					sides[0], sides[1] = sides[1], sides[0]
					warnings = append(warnings, fmt.Sprintf("%s was dumped after %s: the two are taken in that order", args[0], args[1]))
				}
			}
			d := compare.Compare(sides[0], sides[1])
			d.Warnings = append(warnings, d.Warnings...)
			d.Findings = diagnose.Changed(diagnose.Input{Base: sides[0], Head: sides[1], Earlier: *leak, Steps: *steps})
			if err := spare(*output, slices.Concat(d.BaseInputs, d.HeadInputs)); err != nil {
				return ExitUsage, err
			}
			read.hide(d)
			return emit(s, *format, *output, d, func(w io.Writer) error { return report.Diff(w, d) })
		}
	},
}

// readOptions say how captures are read.
type readOptions struct {
	maxEvents int
	redact    bool
}

func declareRead(f *flag.FlagSet) *readOptions {
	r := &readOptions{}
	f.IntVar(&r.maxEvents, "max-trace-events", 0, "read only the newest `N` events of a PyTorch history, and say so; 0 reads all")
	f.BoolVar(&r.redact, "redact", false, "take the names of users out of paths: /home/NAME and /Users/NAME become ~")
	return r
}

func (r *readOptions) validate() error {
	if r.maxEvents < 0 || r.maxEvents == 1 {
		return usagef("--max-trace-events %d: want 2 or more, or 0 for all", r.maxEvents)
	}
	return nil
}

func (r *readOptions) options(root string) capture.Options {
	if r == nil {
		r = &readOptions{}
	}
	return capture.Options{Root: root, MaxTraceEvents: r.maxEvents, Redact: r.redact}
}

// hide takes the names of users out of what is printed, if that is asked for.
func (r *readOptions) hide(v any) {
	if r != nil && r.redact {
		capture.RedactAll(v)
	}
}

// hidden is an error without the names of users, if that is asked for.
func (r *readOptions) hidden(err error) error {
	if err == nil || r == nil || !r.redact {
		return err
	}
	return nameless{err}
}

type nameless struct{ error }

func (e nameless) Error() string { return capture.RedactText(e.error.Error()) }
func (e nameless) Unwrap() error { return e.error }

// gather finds and reads all captures that the patterns name, with progress.
func gather(target string, patterns []string, read *readOptions, s Streams, quiet bool) (*measure.Measurement, error) {
	opt := read.options("")
	if !quiet {
		p := newProgress(s)
		defer p.done()
		opt.Progress = p.tell
	}
	m, err := find(target, patterns, opt, nil)
	return m, read.hidden(err)
}

// find finds and reads all captures that the patterns name; a guard refuses
// those that lead where a budget may not.
func find(target string, patterns []string, opt capture.Options, within *guard) (*measure.Measurement, error) {
	var files, warnings []string
	if len(patterns) == 1 && within == nil {
		if runs := openRuns(patterns[0]); runs != nil {
			newest := runs.Runs[len(runs.Runs)-1]
			if opt.Redact {
				capture.Redact(newest)
			}
			return newest, nil
		}
	}
	for _, pattern := range patterns {
		if pattern == "-" && within == nil {
			files = append(files, "/dev/stdin")
			continue
		}
		found, warned, err := capture.Find(pattern)
		if none := new(capture.NotFoundError); within != nil && errors.As(err, &none) {
			return nil, fmt.Errorf("%w (paths are relative to the budget file)", err)
		}
		if err != nil {
			return nil, err
		}
		files, warnings = append(files, found...), append(warnings, warned...)
	}
	slices.Sort(files)
	if within != nil {
		if err := within.files(files); err != nil {
			return nil, err
		}
	}
	m, err := capture.Measure(target, slices.Compact(files), opt)
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		if opt.Redact {
			w = capture.RedactText(w)
		}
		m.Warnings = append(m.Warnings, w)
	}
	return m, nil
}

// emit writes v as JSON or text, to a file or to standard output.
func emit(s Streams, format, path string, v any, text func(io.Writer) error) (int, error) {
	write := text
	if format == "json" {
		write = func(w io.Writer) error { return report.JSON(w, v) }
	}
	data, err := render(write)
	if err != nil {
		return ExitNoData, err
	}
	if path == "" {
		if _, err := s.Stdout.Write(data); err != nil {
			return ExitNoData, fmt.Errorf("standard output: cannot write: %w", cause(err))
		}
		return ExitPass, nil
	}
	if err := writeFile(path, data); err != nil {
		return ExitNoData, err
	}
	return ExitPass, nil
}

// checkFormat refuses a wrong format before anything is read.
func checkFormat(format string) error {
	if format != "text" && format != "json" {
		return usagef("unknown format %.40q; there are text and json", format)
	}
	return nil
}
