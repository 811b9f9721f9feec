package cli

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/report"
)

const dryrunExits = `Exit codes: 0 the memory was measured; 1 it does not fit the device; 2 wrong use;
3 the program did not run, or peakgate itself failed.`

var dryrunCommand = command{
	name: "dryrun", summary: "run a program for a GPU or TPU that is not there, and measure it",
	about: "Tells what a program would hold on a device that this machine does not have.",
	exits: dryrunExits,
	subcommands: []command{
		{
			name: "torch", args: "-- COMMAND [ARG …]", summary: "a PyTorch program, unchanged, for CUDA devices",
			about: `Runs a PyTorch program over pretend CUDA libraries: PyTorch's own allocator answers
each request, and no kernel runs. What the program asks for is exact, unless values
that a kernel would have computed steer it: those are read as 0 and, in a second
run, as 1, and where the two differ the lines are named. The libraries are built once
for a torch wheel, with the C compiler of the machine.`,
			exits: dryrunExits, setup: setupDryrun(dryrun.Torch),
		},
		{
			name: "jax", args: "-- MODULE:FUNCTION", summary: "a function of JAX, compiled ahead of time for GPUs and TPUs",
			about: `Calls the function, which gives the jitted step and its abstract arguments, and
compiles it for each device. Nothing runs: the compiler's own plan is the number.`,
			exits: dryrunExits, setup: setupDryrun(dryrun.JAX),
		},
		{
			name: "tf", args: "-- COMMAND [ARG …]", summary: "a TensorFlow program, on the CPU with the allocator of its GPUs",
			about: "Runs a TensorFlow program on the CPU with the allocator that it uses on GPUs.",
			exits: dryrunExits, setup: setupDryrun(dryrun.TensorFlow),
		},
	},
}

// dryrunFlags are the flags of a dry run. They are those of the budget's dryrun, and
// are read as it.
type dryrunFlags struct {
	memory, context, devices string
	spec                     dryrun.Spec
	format, output, keep     string
	quiet                    bool
}

func setupDryrun(framework string) func(*flag.FlagSet, Streams) func([]string) (int, error) {
	return func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		o := &dryrunFlags{spec: dryrun.Spec{Framework: framework}}
		switch framework {
		case dryrun.Torch:
			f.StringVar(&o.spec.Capability, "capability", "", "compute capability of the device, as `9.0`")
			f.IntVar(&o.spec.Devices, "devices", 1, "how many devices there are, `N`")
			f.StringVar(&o.context, "context", "", "what the driver holds of each device, in `bytes` (600MiB)")
			f.StringVar(&o.spec.Assume, "assume", "", "the value, `0 or 1`, that the program may read from the device; without it both are tried")
			fallthrough
		case dryrun.TensorFlow:
			f.StringVar(&o.memory, "memory", "", "what one device has, in `bytes` (80GB, 24 GiB)")
		case dryrun.JAX:
			f.StringVar(&o.devices, "device", "", "what to compile for, a `list` such as h100,v5e:2x2")
			f.StringVar(&o.spec.Python, "python", "", "the `interpreter`, python3 if not given")
		}
		f.DurationVar(&o.spec.Timeout, "timeout", 0, "end a program that has not ended by then; a `time` such as 10m")
		f.StringVar(&o.format, "format", "text", "`text` or json: the measurement")
		f.StringVar(&o.output, "o", "", "write to this `file` instead of standard output")
		f.StringVar(&o.keep, "keep", "", "keep the captures in this new `folder`")
		f.BoolVar(&o.quiet, "quiet", false, "do not show what the program writes")
		return func(args []string) (int, error) { return o.run(args, s) }
	}
}

func (o *dryrunFlags) run(args []string, s Streams) (int, error) {
	if err := errors.Join(checkFormat(o.format), o.check(args)); err != nil {
		return ExitUsage, err
	}
	var err error
	if o.keep, err = newFolder("--keep", o.keep); err != nil {
		return ExitUsage, err
	}
	r := &executor{s: s, hide: o.quiet, temp: newTemporary(s.Getenv("RUNNER_TEMP"))}
	defer r.temp.close()
	dir := o.keep
	if dir == "" {
		if dir, err = r.temp.folder("dryrun"); err != nil {
			return ExitNoData, err
		}
	}
	if o.spec.Dir, err = os.Getwd(); err != nil {
		return ExitNoData, err
	}
	o.spec.Env, o.spec.Argv = workloadEnv(os.Environ()), args
	o.spec.Root = o.spec.Dir
	at := side{folder: o.spec.Dir, opt: capture.Options{Root: o.spec.Root}}
	m, err := r.dry(o.spec, "", dir, at.opt)
	if wrong := new(dryrun.SpecError); errors.As(err, &wrong) {
		return ExitUsage, err
	}
	if err != nil {
		return ExitNoData, err
	}
	if o.keep == "" {
		at.renameInputs(m, dir)
	}
	code := dryrunExit(m)
	if code == ExitFail {
		m.Findings = diagnose.Run(diagnose.Input{Head: m})
	}
	written, err := emit(s, o.format, o.output, m, func(w io.Writer) error { return report.Measurement(w, m) })
	return max(code, written), err
}

// dryrunExit is what a dry run says by its exit code.
func dryrunExit(m *measure.Measurement) int {
	code := ExitPass
	for _, f := range m.Facts.Dryrun {
		switch {
		case f.Fits == measure.FitsNo:
			return ExitFail
		case f.Class == measure.DryrunDidNotRun:
			code = ExitNoData
		}
	}
	return code
}

// The forms of two flags, as the budget has them.
var (
	deviceForm     = regexp.MustCompile(budget.DevicePattern)
	capabilityForm = regexp.MustCompile(`^[0-9]{1,3}\.[0-9]{1,3}$`)
)

// check reads the flags that are no plain values.
func (o *dryrunFlags) check(args []string) error {
	s, command := &o.spec, "dryrun "+o.spec.Framework
	bytes := func(name, text string, into *int64) error {
		if text == "" {
			return nil
		}
		n, err := measure.ParseBytes(text)
		if err != nil || n <= 0 {
			return usagef("--%s: want bytes with a unit, as 80GB or 600MiB, got %.40q", name, text)
		}
		*into = int64(n)
		return nil
	}
	if err := errors.Join(bytes("memory", o.memory, &s.Memory), bytes("context", o.context, &s.Context)); err != nil {
		return err
	}
	if o.devices != "" {
		s.Targets = strings.Split(o.devices, ",")
	}
	wrong := func(name, want, got string) error { return usagef("--%s: want %s, got %.40q", name, want, got) }
	for _, device := range s.Targets {
		if !deviceForm.MatchString(device) {
			return wrong("device", "a list such as h100,v5e:2x2", o.devices)
		}
	}
	switch {
	case s.Capability != "" && !capabilityForm.MatchString(s.Capability):
		return wrong("capability", "a version such as 9.0", s.Capability)
	case s.Assume != "" && s.Assume != "0" && s.Assume != "1":
		return wrong("assume", "0 or 1", s.Assume)
	case s.Framework == dryrun.Torch && (s.Devices < 1 || s.Devices > budget.MaxPretended):
		return usagef("--devices %d: want 1 to %d", s.Devices, budget.MaxPretended)
	case s.Framework == dryrun.JAX && len(args) != 1:
		return usagef("%s: want one function after --: peakgate dryrun jax --device h100 -- train:step", command)
	case s.Framework == dryrun.JAX && len(s.Targets) == 0:
		return usagef("%s: want --device, a list such as h100,v5e:2x2", command)
	case len(args) == 0:
		return usagef("%s: want a command after --: peakgate %s -- python train.py", command, command)
	case s.Timeout < 0:
		return usagef("--timeout: want a time above 0, as 10m, got %s", s.Timeout)
	}
	return nil
}

// newFolder gives the absolute path of a folder that holds nothing yet; empty for none.
func newFolder(flag, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	dir, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		return "", usagef("%s: %s is there already, and what is in it would be taken for this run's; remove it, or name another folder", flag, path)
	}
	return dir, os.MkdirAll(dir, 0o755)
}
