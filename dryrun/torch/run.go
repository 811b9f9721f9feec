package torch

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/dryrun/torch/pretend"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/watch/hook"
)

//go:embed extension.py
var extension []byte

// What a spec leaves open.
const (
	// DefaultMemory is what torch.cuda.mem_get_info gives as the total of an H100 that is
	// sold with 80 GB, in bytes.
	DefaultMemory     = 84_929_347_584
	DefaultCapability = "9.0"
	// DefaultContext is what a CUDA context takes of a device; 478 to 659 MiB were seen.
	DefaultContext = 512 << 20
	DefaultTimeout = 10 * time.Minute
)

// grace is what a program has, after the hook should have ended it, to be ended from
// outside: where it never used a device, or never gives up Python's lock.
const grace = time.Minute

// Run runs the program of a spec. Its files go to a folder, which is made if need be.
// An error is of the machine or the spec; a program that cannot run is a result.
func Run(spec dryrun.Spec, dir string, start dryrun.Start) (*dryrun.Result, error) {
	if spec.Assume != "" && spec.Assume != "0" && spec.Assume != "1" {
		return nil, dryrun.Wrong("assume: want 0 or 1, found %q", spec.Assume)
	}
	spec = filled(spec)
	if spec.Memory <= spec.Context {
		return nil, dryrun.Wrong("memory: want more than the context, the %s that the driver holds of it; found %s", measure.Bytes(spec.Context), measure.Bytes(spec.Memory))
	}
	python, err := interpreter(spec)
	if err != nil {
		return nil, err
	}
	libraries, err := pretend.Build(context.Background(), python, spec.Cache)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(libraries.Capabilities, spec.Capability) {
		return nil, dryrun.Wrong("capability %s: torch %s has no code for it; it has for %s", spec.Capability, libraries.TorchVersion, strings.Join(libraries.Capabilities, ", "))
	}
	r := &runner{spec: spec, dir: dir, start: start, libraries: libraries}
	result, err := r.judge()
	if err != nil {
		return nil, err
	}
	result.Environment = map[string]string{"torch": libraries.TorchVersion, "cuda": libraries.CUDAVersion}
	result.Warnings = append(libraries.Warnings, result.Warnings...)
	return result, nil
}

func filled(spec dryrun.Spec) dryrun.Spec {
	if spec.Memory == 0 {
		spec.Memory = DefaultMemory
	}
	if spec.Capability == "" {
		spec.Capability = DefaultCapability
	}
	if spec.Devices == 0 {
		spec.Devices = 1
	}
	if spec.Context == 0 {
		spec.Context = DefaultContext
	}
	if spec.Timeout == 0 {
		spec.Timeout = DefaultTimeout
	}
	return spec
}

// runner runs one program, once or several times.
type runner struct {
	spec      dryrun.Spec
	dir       string
	start     dryrun.Start
	libraries *pretend.Libraries
	runs      int
}

// outcome is what one run left.
type outcome struct {
	fill      string // what each read gave: "0" or "1"
	end       dryrun.End
	processes []process
	others    []*report // of processes that used no device
	lost      int       // processes that used a device and left no report
	notes     notes
	loaded    bool // some Python ran the hook
	warnings  []string
	dir       string
}

// process is one that used a device.
type process struct {
	path     string
	report   *report
	snapshot *torch.Snapshot
	oom      bool // the snapshot is of the moment when memory ran out
	fault    error
}

// run runs the program with a value for all that it reads.
func (r *runner) run(fill string) (*outcome, error) {
	r.runs++
	dir := filepath.Join(r.dir, fmt.Sprintf("run%d", r.runs))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	h, err := hook.Install(dir, extension)
	if err != nil {
		return nil, err
	}
	end, err := r.start(dryrun.Process{
		Argv: r.spec.Argv, Dir: r.spec.Dir, Env: r.environment(fill, h), Timeout: r.spec.Timeout + grace, Quiet: r.runs > 1,
	})
	if err != nil {
		return nil, err
	}
	o := &outcome{fill: fill, end: end, loaded: h.Loaded(), warnings: h.Notes(), dir: dir}
	notes, err1 := readNotes(h.Dir, hooked(h.Dir))
	reports, err2 := readReports(h.Dir)
	o.notes = notes
	for _, err := range []error{err1, err2} {
		if err != nil {
			o.warnings = append(o.warnings, err.Error())
		}
	}
	for _, p := range h.Processes(end.Code != 0 || end.Signal != "") {
		q := process{path: p.Snapshot, report: reports[p.ID], oom: p.OutOfMemory}
		delete(reports, p.ID)
		q.snapshot, q.fault = load(p.Snapshot, r.root())
		o.processes = append(o.processes, q)
	}
	for _, id := range slices.Sorted(maps.Keys(reports)) {
		o.others = append(o.others, reports[id])
	}
	o.lost = lost(h.Dir)
	return o, nil
}

// environment is the program's: what is set is for it alone.
func (r *runner) environment(fill string, h *hook.Hook) []string {
	env := slices.Clone(r.spec.Env)
	if dryrun.Variable(env, "PYTHONHASHSEED") == "" {
		// Else sets of texts, and what is allocated in their order, differ from run to run.
		env = dryrun.With(env, "PYTHONHASHSEED", "0")
	}
	// What torch.compile finds in its cache it does not try out again, so that a first run
	// allocates more than a second one.
	env = dryrun.With(env, "TORCHINDUCTOR_CACHE_DIR", filepath.Join(filepath.Dir(h.Dir), "inductor"))
	env = dryrun.Before(env, "LD_LIBRARY_PATH", r.libraries.Dir)
	env = dryrun.Before(env, "PYTHONPATH", h.Python)
	env = dryrun.With(env, hook.Variable, h.Dir)
	env = dryrun.With(env, "PEAKGATE_DRYRUN_LIBRARIES", strings.Join(r.libraries.Preload, string(filepath.ListSeparator)))
	env = dryrun.With(env, "PEAKGATE_DRYRUN_DEADLINE", strconv.FormatInt(time.Now().Add(r.spec.Timeout).Unix(), 10))
	claim := pretend.Claim{Devices: r.spec.Devices, Memory: r.spec.Memory, Context: r.spec.Context,
		Capability: r.spec.Capability, Reads: map[string]string{"0": pretend.Zero, "1": pretend.One}[fill], Dir: h.Dir}
	var ordinals []string // all of them: a machine without a device may hide it
	for i := range r.spec.Devices {
		ordinals = append(ordinals, strconv.Itoa(i))
	}
	env = dryrun.With(env, "CUDA_VISIBLE_DEVICES", strings.Join(ordinals, ","))
	for _, v := range claim.Environ() {
		name, value, _ := strings.Cut(v, "=")
		env = dryrun.With(env, name, value)
	}
	return env
}

// root is the folder that lines of the user's are named relative to.
func (r *runner) root() string {
	root, err := filepath.Abs(cmp.Or(r.spec.Root, r.spec.Dir))
	if err != nil {
		return ""
	}
	return root
}

// readReports reads the reports of a run, by the process's own name.
func readReports(dir string) (list map[string]*report, fault error) {
	list = map[string]*report{}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok {
			continue
		}
		if len(list) == maxReports {
			return list, fmt.Errorf("more than %d processes left reports; the others are not read", maxReports)
		}
		r, err := readReport(filepath.Join(dir, e.Name()))
		if err != nil {
			fault = err
			continue
		}
		list[id] = r
	}
	return list, fault
}

// hooked are the process ids of those that imported torch. A tool that one of them
// calls, such as an assembler, may look for CUDA too, and is none of them.
func hooked(dir string) (pids []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		id, extension, _ := strings.Cut(e.Name(), ".")
		if _, pid, ok := strings.Cut(id, "pid"); ok && (extension == "json" || extension == "began") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// lost counts the processes that began to record a history and left no report: they
// were killed, or crashed.
func lost(dir string) (n int) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".began"); ok {
			if _, err := os.Stat(filepath.Join(dir, id+".json")); err != nil {
				n++
			}
		}
	}
	return n
}
