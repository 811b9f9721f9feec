package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/watch"
	"github.com/peakgate/peakgate/watch/collect"
)

// executor runs what targets name under run:, and measures it. The workload is code of
// the repository: it has the rights of this process, and no more is asked of it than
// of any other step of the same job.
type executor struct {
	s       Streams
	quiet   bool
	hide    bool   // what dry runs write is not shown
	capture bool   // what frameworks write is turned on
	keep    string // where the files of runs stay; empty: nowhere
	temp    *temporary
}

// side is where a target is run: the head's folder or the base's working tree.
type side struct {
	name     string // "head" or "base"
	folder   string // the workload's
	head     string // the head's, which has what is in no commit, such as a virtual environment
	captures []string
	commit   string // is put behind the names of the base's files
	tree     string // top of the base's working tree; empty for the head
	within   *guard
	opt      capture.Options
	round    int
}

// run runs a target once and measures what came of it. The measurement of a run that
// ended badly tells so (measure.WatchFact); one that simply failed gives an error, but
// where it shows that memory ran out.
func (r *executor) run(t *budget.Target, at side) (*measure.Measurement, error) {
	dir, err := r.folder(t, at)
	if err != nil {
		return nil, fmt.Errorf("no folder for the run: %w", err)
	}
	// Files that the run writes are not older than its folder: one clock made both times.
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	since := info.ModTime()
	fmt.Fprintf(r.s.Stderr, "peakgate: %s: run %d of the %s\n", t.Name, at.round, at.name)
	m, err := r.once(t, at, dir, since)
	if err != nil {
		return nil, at.rename(err, dir)
	}
	at.renameInputs(m, dir)
	return m, nil
}

// once runs a target: for the device that it names, or here under the watcher.
func (r *executor) once(t *budget.Target, at side, dir string, since time.Time) (*measure.Measurement, error) {
	if t.Dryrun != nil {
		return r.dry(dryrunSpec(t, at), t.Name, dir, at.opt)
	}
	taps, err := r.watch(t, at, dir)
	if err != nil {
		return nil, err
	}
	return r.measure(t, at, dir, since, taps)
}

// folder makes the folder of one run.
func (r *executor) folder(t *budget.Target, at side) (string, error) {
	if r.keep == "" {
		return r.temp.folder("run")
	}
	dir := filepath.Join(r.keep, t.Name, fmt.Sprintf("%s-%d", at.name, at.round))
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	// What an earlier check kept is not of this run.
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.Mkdir(dir, 0o755)
}

const watched = "footprint.jsonl"

// watch runs the workload to its end. Standard output is for the report: what the
// workload writes goes to standard error.
func (r *executor) watch(t *budget.Target, at side, dir string) (*collect.Collector, error) {
	out, err := os.Create(filepath.Join(dir, watched))
	if err != nil {
		return nil, err
	}
	defer out.Close()
	stderr := r.stderr()
	cfg := watch.Config{
		Argv: t.Run.Args, Dir: at.folder, Stdout: stderr, Stderr: stderr, Output: out, Interval: watch.DefaultInterval,
		PSS: watch.PSSAuto, GPU: watch.GPUPid, Linger: watch.DefaultLinger, Grace: watch.DefaultGrace,
		Log: r.s.Stderr, Terminal: r.s.Terminal, Quiet: r.quiet, Tool: "peakgate " + tool().Version,
		Env: workloadEnv(os.Environ()),
	}
	var taps *collect.Collector
	if r.capture {
		taps, err = collect.New(dir, collect.Options{Env: cfg.Env, Work: at.folder, Module: onlyModule(t)})
		if err != nil {
			return nil, err
		}
		defer taps.Close()
		cfg.Env, cfg.Printed = taps.Env(), taps
	}
	leave := r.temp.busy()
	result, err := watch.Run(cfg)
	if leave() {
		return taps, errInterrupted
	}
	switch {
	case err != nil:
		return taps, fmt.Errorf("%s: %w", strings.Join(t.Run.Args[:1], ""), err)
	case result.Lost != nil:
		return taps, fmt.Errorf("%s: is not whole: %w", watched, cause(result.Lost))
	}
	return taps, nil
}

// workloadEnv is the environment without what is for the step of the workflow alone:
// the workload is a stranger's code, and must not find our token or write the step's
// outputs. (One that looks for them elsewhere still can: the job's rights are its own.)
func workloadEnv(env []string) (kept []string) {
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		switch {
		case strings.HasPrefix(name, "PEAKGATE_"), strings.HasPrefix(name, "INPUT_"), strings.HasPrefix(name, "ACTIONS_"):
		case name == "GITHUB_TOKEN", name == "GITHUB_OUTPUT", name == "GITHUB_ENV", name == "GITHUB_PATH", name == "GITHUB_STATE", name == "GITHUB_STEP_SUMMARY":
		default:
			kept = append(kept, v)
		}
	}
	return kept
}

// onlyModule is the pattern of the one XLA module that all entries of a target ask
// for; empty where they ask for several, or for any.
func onlyModule(t *budget.Target) string {
	module := ""
	for i, e := range t.Budgets {
		pattern := string(e.Select["module"])
		if i > 0 && pattern != module {
			return ""
		}
		module = pattern
	}
	return module
}

// measure reads the footprint, what the workload wrote since its start of the target's
// captures, and what was collected.
func (r *executor) measure(t *budget.Target, at side, dir string, since time.Time, taps *collect.Collector) (*measure.Measurement, error) {
	footprint := filepath.Join(dir, watched)
	m, err := capture.Measure(t.Name, []string{footprint}, at.opt)
	if err != nil {
		return nil, err
	}
	broken := m.Facts.Watches[0].Broken()
	files, warnings, err := at.fresh(since)
	if err != nil && broken == "" {
		return nil, err
	}
	if taps != nil {
		more, notes := r.collected(taps, broken != "", since)
		if notes = append(notes, taps.Notes()...); python(t) && !taps.Hooked() {
			notes = append(notes, "nothing is collected from PyTorch: Python was kept from loading the hook (by -I, -E or -S, or by its own PYTHONPATH)")
		}
		files, warnings = append(files, more...), append(warnings, notes...)
	}
	if len(files) > 0 {
		all, err := capture.Measure(t.Name, append(files, footprint), at.opt)
		switch {
		case err == nil:
			m = all
		case broken == "":
			return nil, err
		}
	}
	m.Warnings = append(m.Warnings, warnings...)
	if failedOnly(m) {
		return nil, errors.New(broken)
	}
	return m, nil
}

// failedOnly tells of a run that failed by itself, and not for memory: its numbers
// are none of the workload's.
func failedOnly(m *measure.Measurement) bool {
	for _, f := range m.Facts.Watches {
		if f.Outcome == measure.OutcomeFailed || f.Outcome == measure.OutcomeSignal {
			return !ranOut(m)
		}
	}
	return false
}

// ranOut tells whether captures show that memory of a device ran out.
func ranOut(m *measure.Measurement) bool {
	for _, row := range m.Rows {
		if row.Name == "oom.events" && row.Kind == measure.Exact && row.Value != nil && row.Value.Float64() > 0 {
			return true
		}
	}
	return false
}

func python(t *budget.Target) bool {
	return strings.HasPrefix(filepath.Base(t.Run.Args[0]), "python")
}

// fresh finds the captures that the target names and that were written since a time.
// Each pattern must give one: an older file is of another run.
func (at side) fresh(since time.Time) (files, warnings []string, err error) {
	for _, pattern := range at.captures {
		found, warned, err := capture.Find(pattern)
		if err != nil {
			return nil, nil, fmt.Errorf("the run left no capture: %w", err)
		}
		if at.within != nil {
			if err := at.within.files(found); err != nil {
				return nil, nil, err
			}
		}
		kept := writtenSince(found, since)
		if len(kept) == 0 {
			return nil, nil, fmt.Errorf("%s: older than the run, which did not write it anew", found[0])
		}
		if n := len(found) - len(kept); n > 0 {
			warnings = append(warnings, fmt.Sprintf("%s: %s not read: older than the run", pattern, plural(n, "file")))
		}
		files, warnings = append(files, kept...), append(warnings, warned...)
	}
	return files, warnings, nil
}

func writtenSince(files []string, since time.Time) (kept []string) {
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && !info.ModTime().Before(since) {
			kept = append(kept, f)
		}
	}
	return kept
}

// collected finds what frameworks wrote. Nothing is no error: a workload may use none
// of them.
func (r *executor) collected(taps *collect.Collector, failed bool, since time.Time) (files, notes []string) {
	look := func(path string) []string {
		found, _, err := capture.Find(path) // XLA writes more than is read, which is known
		if none := new(capture.NotFoundError); err != nil {
			if !errors.As(err, &none) {
				notes = append(notes, err.Error())
			}
			return nil
		}
		return found
	}
	for _, path := range taps.Paths(failed) {
		files = append(files, look(path)...)
	}
	if foreign := taps.Foreign(); foreign != "" {
		files = append(files, writtenSince(look(foreign), since)...)
	}
	return files, notes
}

// rename names the files of a run by what they are, not by where they lay: a folder
// has another name each time.
func (at side) rename(err error, dir string) error {
	if errors.Is(err, errInterrupted) {
		return err
	}
	text := strings.ReplaceAll(err.Error(), dir+string(filepath.Separator), "run/")
	if at.tree != "" {
		text = strings.ReplaceAll(text, at.tree+string(filepath.Separator), "")
	}
	return errors.New(text)
}

func (at side) renameInputs(m *measure.Measurement, dir string) {
	for i := range m.Inputs {
		in := &m.Inputs[i]
		if rest, ok := strings.CutPrefix(in.Path, dir+string(filepath.Separator)); ok {
			in.Path = "run/" + filepath.ToSlash(rest)
		} else if rest, ok := strings.CutPrefix(in.Path, at.tree+string(filepath.Separator)); ok && at.tree != "" {
			in.Path = filepath.ToSlash(rest)
		}
		if at.commit != "" {
			in.Path += "@" + at.commit
		}
	}
	at.tidy(m, dir)
	for i, w := range m.Warnings {
		m.Warnings[i] = at.rename(errors.New(w), dir).Error()
	}
}
