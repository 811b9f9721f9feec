package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/watch"
	"github.com/peakgate/peakgate/watch/collect"
)

const watchExits = `Exit codes: the workload's own, or 128 + the number of the signal that ended it;
126 or 127 it could not be started; 1 a limit ended it; 2 wrong use; 3 the workload
passed, but the output is not whole, or peakgate itself failed.`

var watchCommand = command{
	name: "watch", args: "-- COMMAND [ARG …]", summary: "run a workload and write down what memory it takes",
	about: `Runs a workload and follows its whole process tree: footprint (on Linux PSS and
swap, on macOS the physical footprint), steps, processes, peaks from the kernel, kills
for memory. Each line of the output is written at once; peakgate measure reads it.

Steps are found in what the workload prints (step 5, iter: 5, a progress bar …). A
stream that is a terminal is left to the workload as it is: there, and where the
workload prints in lumps, --pty gives it a terminal of its own.

A signal is passed on. SIGTERM ends the workload, with SIGKILL after --grace; so
does a second SIGINT. Processes that outlive the first one by --linger are ended.`,
	exits: watchExits,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		w := declareWatch(f)
		return func(args []string) (int, error) { return w.run(args, s) }
	},
}

// watchFlags are the flags of the command watch.
type watchFlags struct {
	output, limit, compat string
	capture               string
	pss, gpu              string
	samples               int
	regex, also           list
	cfg                   watch.Config
	set                   *flag.FlagSet
}

func declareWatch(f *flag.FlagSet) *watchFlags {
	w := &watchFlags{set: f}
	f.StringVar(&w.output, "o", "peakgate-watch.jsonl", "write to this `file`")
	f.DurationVar(&w.cfg.Interval, "interval", watch.DefaultInterval, "`time` between two samples")
	f.Var(&w.regex, "step-regex", "a regular `expression` whose first group is the step's number; may be repeated; replaces the built-in ones")
	f.BoolVar(&w.cfg.StepFD, "step-fd", false, "take steps from the descriptor that PEAKGATE_STEP_FD names, a number a line")
	f.StringVar(&w.cfg.StepFile, "step-file", "", "take steps from this `file`, a number a line; the workload finds its name in PEAKGATE_STEP_FILE")
	f.BoolVar(&w.cfg.Pty, "pty", false, "run the workload on a terminal of its own, so that it prints line by line")
	f.Var(&w.also, "also-pid", "watch this `process` too, which runs already; may be repeated; it is never signalled")
	f.StringVar(&w.pss, "pss", "auto", "when PSS is read: `auto` (for at most 0.2 % of the time), always or off")
	f.StringVar(&w.gpu, "gpu", "pid", "whose memory of accelerators: `pid` (the tree's), device (above what was used before), all or off")
	f.StringVar(&w.limit, "max-footprint", "", "end the run, and fail, above so many `bytes` (12 GiB)")
	f.DurationVar(&w.cfg.Linger, "linger", watch.DefaultLinger, "`time` that processes may outlive the workload's first one")
	f.DurationVar(&w.cfg.Grace, "grace", watch.DefaultGrace, "`time` from SIGTERM to SIGKILL")
	f.StringVar(&w.compat, "compat", "", "`affon`: lines, limits and end of Affon's metal-footprint-watch.sh (default --interval 10s; AFFON_METAL_MAX_PHYS_GROWTH_MB, AFFON_METAL_MAX_IOACCEL_REGION_GROWTH)")
	f.IntVar(&w.samples, "samples", watch.AffonSamples, "with --compat affon: end after `N` samples, and pass")
	f.StringVar(&w.capture, "capture", "off", "have JAX, PyTorch and Affon write their captures, into this new `folder`; auto is one beside the output; off")
	f.BoolVar(&w.cfg.Quiet, "quiet", false, "no progress")
	return w
}

func (w *watchFlags) run(args []string, s Streams) (int, error) {
	if len(args) == 0 {
		return ExitUsage, usagef("watch: want a command after --: peakgate watch -- python train.py")
	}
	cfg := &w.cfg
	cfg.Argv, cfg.StepRegex = args, w.regex
	cfg.PSS, cfg.GPU = watch.PSSMode(w.pss), watch.GPUMode(w.gpu)
	cfg.Stdin = os.Stdin
	cfg.Stdout, _ = s.Stdout.(*os.File)
	cfg.Stderr, _ = s.Stderr.(*os.File)
	cfg.Log, cfg.Terminal = s.Stderr, s.Terminal
	cfg.Tool = "peakgate " + tool().Version
	if err := w.values(s); err != nil {
		return ExitUsage, err
	}
	if err := cfg.Check(); err != nil {
		return ExitUsage, usagef("watch: %v", err)
	}
	// Not for reading: a pipe whose reader has gone must say so.
	out, err := os.OpenFile(w.output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return ExitNoData, fmt.Errorf("%s: cannot write: %w", w.output, cause(err))
	}
	defer out.Close()
	cfg.Output = out
	if cfg.Affon != nil && cfg.Stdout != nil {
		cfg.Output = io.MultiWriter(out, cfg.Stdout) // its script prints each line too
	}
	taps, err := w.collect()
	if err != nil {
		return ExitUsage, err
	}
	result, err := watch.Run(*cfg)
	if taps != nil {
		taps.Close()
		w.tell(s, taps, result.Code != 0)
	}
	if err != nil {
		if info, e := out.Stat(); e == nil && info.Mode().IsRegular() && info.Size() == 0 {
			os.Remove(w.output) // nothing was run
		}
		if result.Code == 0 {
			result.Code = ExitNoData
		}
		return result.Code, err
	}
	if lost := result.Lost; lost != nil {
		return max(result.Code, ExitNoData), fmt.Errorf("%s: is not whole: %w", w.output, cause(lost))
	}
	return result.Code, nil
}

// collect turns on what frameworks write; nil where it is not wanted.
func (w *watchFlags) collect() (*collect.Collector, error) {
	if w.capture == "off" {
		return nil, nil
	}
	if w.capture == "auto" {
		w.capture = strings.TrimSuffix(w.output, ".jsonl") + "-captures"
	}
	dir, err := absolute(w.capture)
	if err != nil {
		return nil, err
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		return nil, usagef("--capture: %s is there already, and what is in it would be taken for this run's; remove it, or name another folder", w.capture)
	}
	work, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	taps, err := collect.New(dir, collect.Options{Env: os.Environ(), Work: work})
	if err != nil {
		return nil, err
	}
	w.cfg.Env, w.cfg.Printed = taps.Env(), taps
	return taps, nil
}

// tell says where the captures are.
func (w *watchFlags) tell(s Streams, taps *collect.Collector, failed bool) {
	for _, note := range taps.Notes() {
		fmt.Fprintf(s.Stderr, "peakgate watch: %s\n", note)
	}
	paths := taps.Paths(failed)
	if foreign := taps.Foreign(); foreign != "" {
		paths = append(paths, foreign)
	}
	if len(paths) > 0 && !w.cfg.Quiet {
		fmt.Fprintf(s.Stderr, "peakgate watch: captures: %s\n", strings.Join(paths, " "))
	}
}

// values reads the flags that are no plain values.
func (w *watchFlags) values(s Streams) error {
	if w.limit != "" {
		n, err := measure.ParseBytes(w.limit)
		if err != nil || n <= 0 {
			return usagef("--max-footprint: want bytes with a unit, as 12 GiB, got %.40q", w.limit)
		}
		w.cfg.MaxFootprint = int64(n)
	}
	for _, word := range w.also {
		pid, err := strconv.Atoi(word)
		if err != nil || pid <= 0 {
			return usagef("--also-pid: want a process id, got %.40q", word)
		}
		w.cfg.AlsoPIDs = append(w.cfg.AlsoPIDs, pid)
	}
	given := map[string]bool{}
	w.set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	switch w.compat {
	case "":
		if given["samples"] {
			return usagef("--samples: is for --compat affon")
		}
		return nil
	case "affon":
	default:
		return usagef("--compat: want affon, got %.40q", w.compat)
	}
	if !given["interval"] {
		w.cfg.Interval = watch.AffonInterval
	}
	growth, err1 := limitFrom(s, "AFFON_METAL_MAX_PHYS_GROWTH_MB", watch.AffonMaxGrowthMB)
	regions, err2 := limitFrom(s, "AFFON_METAL_MAX_IOACCEL_REGION_GROWTH", watch.AffonMaxRegionsGrowth)
	if w.samples <= 0 {
		return usagef("--samples: want at least 1, got %d", w.samples)
	}
	w.cfg.Affon = &watch.Affon{Samples: w.samples, MaxGrowthBytes: growth << 20, MaxRegionsGrowth: regions}
	return errors.Join(err1, err2)
}

// limitFrom reads a whole number from the environment.
func limitFrom(s Streams, name string, fallback int64) (int64, error) {
	text := s.Getenv(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return 0, usagef("%s: want a whole number, got %.40q", name, text)
	}
	return n, nil
}
