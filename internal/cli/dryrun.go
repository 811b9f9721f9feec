package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/dryrun/jax"
	"github.com/peakgate/peakgate/dryrun/tf"
	"github.com/peakgate/peakgate/dryrun/torch"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/watch"
)

// frameworks run a program for devices that are not there.
var frameworks = map[string]func(dryrun.Spec, string, dryrun.Start) (*dryrun.Result, error){
	dryrun.Torch: torch.Run, dryrun.JAX: jax.Run, dryrun.TensorFlow: tf.Run,
}

// maxLeft is how many captures of one dry run are read: one for each process or
// device. A program that leaves more does not do what it seems to.
const maxLeft = 1024

// maxCapture is the largest capture of a dry run that is read, in bytes: a million events
// of PyTorch with their stacks are well below it.
const maxCapture = 4 << 30

// dry runs what a spec says, and measures what it leaves in a folder.
func (r *executor) dry(spec dryrun.Spec, target, dir string, opt capture.Options) (*measure.Measurement, error) {
	if spec.Framework == dryrun.Torch && runtime.GOOS != "linux" {
		return nil, fmt.Errorf("a dry run of PyTorch needs Linux, whose CUDA libraries it stands in for; this is %s", runtime.GOOS)
	}
	interrupted := false
	result, err := frameworks[spec.Framework](spec, dir, func(p dryrun.Process) (dryrun.End, error) {
		end, err := r.process(p)
		interrupted = interrupted || errors.Is(err, errInterrupted)
		return end, err
	})
	switch {
	case interrupted:
		return nil, errInterrupted
	case err != nil:
		return nil, err
	case len(result.Captures) > maxLeft:
		return nil, fmt.Errorf("the dry run left %d captures: expected at most %d", len(result.Captures), maxLeft)
	}
	var parts []*measure.Measurement
	for _, c := range result.Captures {
		if err := inside(dir, c.Path); err != nil {
			return nil, err
		}
		m, err := capture.Measure("", []string{c.Path}, opt)
		if err != nil {
			return nil, err
		}
		if c.Device != "" {
			m.Label("device", c.Device)
		}
		parts = append(parts, m)
	}
	m := measure.Merge(target, parts)
	m.Facts.Dryrun = result.Facts
	m.Warnings = append(m.Warnings, result.Warnings...)
	for k, v := range result.Environment {
		m.Environment[k] = v
	}
	m.Environment.DescribeDryrun(result.Facts)
	return m, nil
}

// inside refuses a capture that is none of the run's own files: the program could have
// put a link in its place.
func inside(dir, path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, cause(err))
	}
	folder, err1 := resolved(dir)
	real, err2 := resolved(path)
	if err1 != nil || err2 != nil || !info.Mode().IsRegular() || !(guard{roots: []string{folder}}).holds(real) {
		return fmt.Errorf("%s: expected a file that the dry run wrote, found a link or something else", path)
	}
	if info.Size() > maxCapture {
		return fmt.Errorf("%s: expected at most %s, found %s", path, measure.Bytes(maxCapture), measure.Bytes(info.Size()))
	}
	return nil
}

// process runs one program to its end. It is not sampled: the memory of this machine
// says nothing of the device's.
func (r *executor) process(p dryrun.Process) (dryrun.End, error) {
	out := r.stderr()
	if p.Quiet || r.hide {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return dryrun.End{}, err
		}
		defer null.Close()
		out = null
	}
	if p.Env == nil {
		p.Env = workloadEnv(os.Environ())
	}
	leave := r.temp.busy()
	result, err := watch.Run(watch.Config{
		Argv: p.Argv, Env: p.Env, Dir: p.Dir, Stdout: out, Stderr: out, Output: io.Discard, Timeout: p.Timeout,
		Interval: watch.DefaultInterval, PSS: watch.PSSOff, GPU: watch.GPUOff, Linger: watch.DefaultLinger, Grace: watch.DefaultGrace, Quiet: true,
	})
	if leave() {
		return dryrun.End{}, errInterrupted
	}
	if err != nil {
		return dryrun.End{}, err
	}
	end := dryrun.End{Code: result.Code, Signal: result.Signal, TimedOut: result.TimedOut}
	if end.Signal != "" {
		end.Code = 0
	}
	return end, nil
}

// stderr takes what a workload writes: standard output is for the report.
func (r *executor) stderr() *os.File {
	if f, ok := r.s.Stderr.(*os.File); ok {
		return f
	}
	return os.Stderr
}

// dryrunSpec is what a target says of its dry run.
func dryrunSpec(t *budget.Target, at side) dryrun.Spec {
	d := t.Dryrun
	s := dryrun.Spec{Framework: d.Framework, Dir: cmp.Or(at.folder, "."), Root: at.opt.Root, Env: workloadEnv(os.Environ()), Python: d.Python, Capability: d.Capability, Assume: d.Assume}
	if strings.ContainsRune(s.Python, '/') && !filepath.IsAbs(s.Python) {
		if path, err := filepath.Abs(filepath.Join(at.head, s.Python)); err == nil {
			s.Python = path
		}
	}
	if t.Run != nil {
		s.Argv = t.Run.Args
	} else {
		s.Argv = []string{d.Function}
	}
	for _, n := range d.Device {
		s.Targets = append(s.Targets, n.Text)
	}
	if d.Devices != nil {
		s.Devices = int(d.Devices.Value)
	}
	if d.Memory != nil {
		s.Memory, _ = d.Memory.Value.Int64()
	}
	if d.Context != nil {
		s.Context, _ = d.Context.Value.Int64()
	}
	if d.Timeout != nil {
		s.Timeout = time.Duration(d.Timeout.Value.Float64() * float64(time.Second))
	}
	return s
}

// tidy names the places of a dry run by what they are, not by where they lay.
func (at side) tidy(m *measure.Measurement, dir string) {
	text := func(s *string) { *s = at.rename(errors.New(*s), dir).Error() }
	source := func(s *measure.Source) {
		if s == nil {
			return
		}
		for _, top := range []string{dir, at.opt.Root, at.folder} {
			full, err := filepath.Abs(top)
			if rel, e := filepath.Rel(full, filepath.FromSlash(s.File)); top != "" && err == nil && e == nil && filepath.IsLocal(rel) {
				s.File = filepath.ToSlash(rel)
				return
			}
		}
	}
	for i := range m.Facts.Dryrun {
		f := &m.Facts.Dryrun[i]
		for j := range f.Reasons {
			text(&f.Reasons[j].Text)
			source(f.Reasons[j].Source)
		}
		for _, read := range f.ReadLines {
			source(read.Source)
		}
		f.Unsupported = strings.TrimSpace(f.Unsupported)
	}
}
