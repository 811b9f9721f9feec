package tf

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/watch/hook"
)

//go:embed extension.py
var extension []byte

const (
	// timeout is that of the program where none is given.
	timeout = 10 * time.Minute
	// maxReport is the most of a report that is read, in bytes: the program can write it too.
	maxReport  = 64 << 10
	maxReports = 1024
)

// report is what the hook says of a process.
type report struct {
	Version   string          `json:"tensorflow"`
	Error     string          `json:"error"`
	Exhausted bool            `json:"exhausted"` // the error is that memory ran out
	Place     *measure.Source `json:"place"`
}

// Run runs the program of a spec once. The profiles of its processes go to a folder,
// which is made if need be. An error is of the machine or the spec; a program that
// fails is a result.
func Run(spec dryrun.Spec, dir string, start dryrun.Start) (*dryrun.Result, error) {
	if len(spec.Argv) == 0 {
		return nil, dryrun.Wrong("TensorFlow: no program; give the command that runs it, such as python train.py")
	}
	if spec.Memory > 0 && spec.Memory < 1<<20 {
		return nil, dryrun.Wrong("TensorFlow: a memory of %s is too small; want 1 MiB or more", measure.Bytes(spec.Memory))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	h, err := hook.Install(dir, extension)
	if err != nil {
		return nil, err
	}
	h.Name = "TensorFlow"
	end, err := start(dryrun.Process{Argv: spec.Argv, Env: environment(&spec, h), Dir: spec.Dir, Timeout: cmp.Or(spec.Timeout, timeout)})
	if err != nil {
		return nil, err
	}
	out := &dryrun.Result{Environment: map[string]string{}, Warnings: h.Notes()}
	var failure *report
	for _, r := range reports(h.Dir) {
		out.Environment["tensorflow"] = dryrun.FirstLine(r.Version)
		if r.Error != "" && (failure == nil || r.Exhausted) {
			failure = &r
		}
	}
	for _, p := range h.Processes(false) {
		out.Captures = append(out.Captures, dryrun.Capture{Path: p.Snapshot})
	}
	fact := judge(&spec, end, failure, h.Loaded(), len(out.Captures) > 0)
	if fact.Class != measure.DryrunDidNotRun && fact.Fits == "" && fact.MemoryBytes > 0 {
		fit(&fact, out.Captures)
	}
	if fact.Class == measure.DryrunDidNotRun {
		out.Captures = nil
	}
	out.Facts = []measure.DryrunFact{fact}
	return out, nil
}

// environment is the program's: what is set is for it alone.
func environment(spec *dryrun.Spec, h *hook.Hook) []string {
	env := dryrun.Before(spec.Env, "PYTHONPATH", h.Python)
	env = dryrun.With(env, hook.Variable, h.Dir)
	env = dryrun.With(env, hook.Module, "tensorflow")
	env = dryrun.With(env, "TF_CPU_ALLOCATOR_USE_BFC", "true")
	env = dryrun.With(env, "CUDA_VISIBLE_DEVICES", "-1")
	if spec.Memory > 0 {
		env = dryrun.With(env, "TF_CPU_BFC_MEM_LIMIT_IN_MB", strconv.FormatInt(spec.Memory>>20, 10))
	}
	if dryrun.Variable(env, "TF_NUM_INTEROP_THREADS") == "" {
		// A device runs one operation after the other.
		env = dryrun.With(env, "TF_NUM_INTEROP_THREADS", "1")
	}
	return env
}

// reports reads what the hook says of each process.
func reports(dir string) (list []report) {
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, name := range names[:min(len(names), maxReports)] {
		data, err := dryrun.ReadFile(name, maxReport)
		var r report
		if err == nil && json.Unmarshal(data, &r) == nil {
			list = append(list, r)
		}
	}
	return list
}

// judge tells how far the profiles can be trusted, and whether the program fits.
func judge(spec *dryrun.Spec, end dryrun.End, failure *report, loaded, profiled bool) measure.DryrunFact {
	f := measure.DryrunFact{Framework: dryrun.TensorFlow, Class: measure.DryrunAssumption, Devices: 1, MemoryBytes: measure.Bytes(spec.Memory)}
	because := func(text string, at *measure.Source) measure.DryrunFact {
		f.Reasons = append(f.Reasons, measure.DryrunReason{Text: text, Source: at})
		return f
	}
	ended := fmt.Sprintf("with exit code %d", end.Code)
	if end.Signal != "" {
		ended = "by " + end.Signal
	}
	well := end == dryrun.End{}
	switch {
	case !well && failure != nil && failure.Exhausted && profiled:
		f.Fits, f.FitsReason = measure.FitsNo, dryrun.FirstLine(failure.Error)
	case well && profiled:
	default:
		f.Class = measure.DryrunDidNotRun
		switch {
		case end.TimedOut:
			return because("the program ran past its time; a few steps are enough", nil)
		case failure != nil:
			return because("the program failed: "+dryrun.FirstLine(failure.Error), spec.Source(failure.Place))
		case !well:
			return because("the program ended "+ended, nil)
		case !loaded:
			return because("no Python was started that could be seen: -I, -E and -S shut the profile out", nil)
		}
		return because("no process imported tensorflow and wrote a profile to its end", nil)
	}
	return because("the allocator is the one of GPUs, run by the CPU: kernels are the CPU's, libraries of GPUs have no workspaces here, and peaks move from run to run", nil)
}

// fit compares the largest peak of a process with the memory.
func fit(f *measure.DryrunFact, captures []dryrun.Capture) {
	peak, known := measure.Bytes(0), false
	for _, c := range captures {
		f, _, err := dryrun.Open(c.Path)
		if err != nil {
			return // whoever measures it tells why
		}
		f.Close()
		m, err := capture.Open(c.Path, capture.Options{})
		if err != nil {
			return
		}
		for _, row := range m.Rows {
			if row.Name == "live.peak_bytes" && row.Value != nil {
				n, _ := row.Value.Int64()
				peak, known = max(peak, measure.Bytes(n)), true
			}
		}
	}
	beside := dryrun.Margin(f.MemoryBytes)
	switch {
	case !known:
	case peak+beside <= f.MemoryBytes:
		f.Fits = measure.FitsYes
	default:
		f.Fits = measure.FitsUnsure
		f.FitsReason = fmt.Sprintf("the peak is %s, and a GPU wants some %s for its context and the workspaces of its libraries", peak, beside)
	}
}
