package jax

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
)

//go:embed driver.py
var driver []byte

const (
	// timeout is that of one device where none is given: most compile in seconds.
	timeout = 15 * time.Minute
	// maxAnswer is the most of an answer that is read, in bytes: the program can write it too.
	maxAnswer = 64 << 10
)

// packages are those whose versions decide the plan.
var packages = []string{"jax", "jaxlib", "libtpu", "jax-cuda12-plugin", "jax-cuda13-plugin"}

// request is what the driver is asked, and answer what it says.
type request struct {
	Function string         `json:"function"`
	Platform string         `json:"platform"`
	Topology string         `json:"topology"`
	Options  map[string]any `json:"options"`
	Flags    string         `json:"flags"`
	Dump     string         `json:"dump"`
	Answer   string         `json:"answer"`
	Packages []string       `json:"packages"`
}

type answer struct {
	Stage    string            `json:"stage"`
	Versions map[string]string `json:"versions"`
	Wanted   string            `json:"wanted"` // the libtpu that this jax asks for
	Devices  int64             `json:"devices"`
	Ended    bool              `json:"ended"`
	Error    string            `json:"error"`
	Refused  bool              `json:"refused"` // the error is the driver's own
	Place    *measure.Source   `json:"place"`
	Plan     string            `json:"plan"` // the name of a file in the dump
}

// Run compiles the function of a spec for each target, one after the other. The plans,
// TARGET.hlo.pb, go to a folder, which is made if need be. An error is of the machine or
// the spec; a function that cannot be compiled is a result.
func Run(spec dryrun.Spec, dir string, start dryrun.Start) (*dryrun.Result, error) {
	targets, err := parse(spec)
	if err != nil {
		return nil, err
	}
	python, err := interpreter(spec.Python)
	if err != nil {
		return nil, err
	}
	// The program runs elsewhere, and XLA takes a relative path from there.
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	work := filepath.Join(dir, "jax")
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	script := filepath.Join(work, "driver.py")
	if err := os.WriteFile(script, driver, 0o600); err != nil {
		return nil, err
	}
	out := &dryrun.Result{Environment: map[string]string{}}
	for i := range targets {
		t := &targets[i]
		r := run{target: t, spec: &spec, python: python, dir: filepath.Join(work, t.file())}
		end, err := r.start(start, script)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.label, err)
		}
		r.read()
		plan := filepath.Join(dir, t.file()+".hlo.pb")
		err = r.take(plan)
		fact := r.fact(end, err)
		if fact.Class != measure.DryrunDidNotRun {
			out.Captures = append(out.Captures, dryrun.Capture{Path: plan, Device: t.label})
		} else {
			os.Remove(plan)
		}
		out.Facts = append(out.Facts, fact)
		for _, name := range packages {
			if version := r.answer.Versions[name]; version != "" {
				out.Environment[name] = dryrun.FirstLine(version)
			}
		}
		if w := r.mismatch(); w != "" {
			out.Warnings = append(out.Warnings, w)
		}
	}
	return out, nil
}

func parse(spec dryrun.Spec) (targets []target, err error) {
	if len(spec.Argv) != 1 || !strings.Contains(spec.Argv[0], ":") {
		return nil, dryrun.Wrong("JAX: want one module:function or FILE.py:function, found %.100q", strings.Join(spec.Argv, " "))
	}
	if len(spec.Targets) == 0 {
		return nil, dryrun.Wrong("JAX: no device is named; want one or several such as h100, v5e or v5e:4x4")
	}
	seen := map[string]bool{}
	for _, text := range spec.Targets {
		t, err := parseTarget(text)
		if err != nil {
			return nil, err
		}
		if seen[t.file()] {
			return nil, dryrun.Wrong("device %.60q: named twice", text)
		}
		seen[t.file()] = true
		targets = append(targets, t)
	}
	return targets, nil
}

func interpreter(name string) (string, error) {
	if name != "" {
		return name, nil
	}
	for _, name := range []string{"python3", "python"} {
		if _, err := exec.LookPath(name); err == nil {
			return name, nil
		}
	}
	return "", errors.New("JAX: no python3 in PATH; install Python and JAX, or name the interpreter")
}

// run is that of one target.
type run struct {
	*target
	spec   *dryrun.Spec
	python string
	dir    string // its own, for what is asked, answered and dumped
	answer answer
	// planned tells that there is a plan, of which one execution needs these bytes.
	planned bool
	need    measure.Bytes
}

func (r *run) dump() string { return filepath.Join(r.dir, "dump") }

func (r *run) start(start dryrun.Start, script string) (end dryrun.End, err error) {
	if err := os.MkdirAll(r.dump(), 0o700); err != nil {
		return end, err
	}
	q := request{
		Function: r.spec.Argv[0], Platform: r.platform, Packages: packages, Dump: r.dump(), Answer: filepath.Join(r.dir, "answer.json"),
		Flags: `--xla_dump_to="` + r.dump() + `" --xla_dump_hlo_as_proto` + r.flags(),
	}
	q.Topology, q.Options = r.topology()
	data, err := json.Marshal(q)
	if err != nil {
		return end, err
	}
	path := filepath.Join(r.dir, "request.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return end, err
	}
	env := append([]string{"TF_CPP_MIN_LOG_LEVEL=2"}, r.spec.Env...) // the user's counts
	for name, value := range r.environment(r.dir) {
		env = dryrun.With(env, name, value)
	}
	return start(dryrun.Process{
		Argv: []string{r.python, script, path}, Env: env,
		Dir: r.spec.Dir, Timeout: cmp.Or(r.spec.Timeout, timeout),
	})
}

// read reads the answer, as far as there is one.
func (r *run) read() {
	data, err := dryrun.ReadFile(filepath.Join(r.dir, "answer.json"), maxAnswer)
	if err != nil || json.Unmarshal(data, &r.answer) != nil {
		r.answer = answer{}
	}
	r.answer.Devices = max(r.answer.Devices, 0)
}

// take moves the plan of what was compiled, and of no other module, to a path, and
// reads what one execution needs of the device. Without a plan it does nothing.
func (r *run) take(path string) error {
	name := r.answer.Plan
	if name == "" {
		return nil
	}
	if name != filepath.Base(name) {
		return fmt.Errorf("its name is %.60q; want a file of the dump", name)
	}
	from := filepath.Join(r.dump(), name)
	if info, err := os.Lstat(from); err != nil {
		return err
	} else if !info.Mode().IsRegular() {
		return fmt.Errorf("%.60q is no plain file", name)
	}
	if err := os.Rename(from, path); err != nil {
		return err
	}
	m, err := capture.Open(path, capture.Options{})
	if err != nil {
		return err
	}
	for _, row := range m.Rows {
		if row.Name != "plan.need_bytes" || row.Labels["memory_space"] != "device" || row.Value == nil {
			continue
		}
		if n, ok := row.Value.Int64(); ok {
			r.planned, r.need = true, measure.Bytes(n)
			return nil
		}
	}
	return errors.New("it has no memory of the device")
}
