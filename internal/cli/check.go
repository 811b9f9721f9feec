package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/diagnose"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/report"
)

var checkCommand = command{
	name: "check", args: "[TARGET…]", summary: "measure what the budget names, compare, report",
	about: `Reads the captures of each target (all, unless some are named), holds them
against the budget and the base, and reports. The base of a target is the one of
--base, else the one of its base: key, else what git holds where the branch began:
its captures, or .peakgate/base/TARGET.json. A target with run: is run under the
watcher first, and judged by its footprint and what it writes.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		o := checkOptions{}
		f.StringVar(&o.config, "config", "peakgate.yml", "the budget `file`")
		f.Var((*list)(&o.bases), "base", "the base, `[TARGET=]X`: a capture, a directory or a measurement; may be given again for other targets")
		f.Var((*list)(&o.reports), "report", "also write a report, `FORMAT=FILE`: text, markdown, json, sarif, junit or html; may be given again")
		f.Var((*list)(&o.allowed), "allow-path", "a `folder` outside of the repository that the budget may name; may be given again")
		format := f.String("format", "text", "`text`, markdown, json, sarif, junit or html, on standard output")
		f.BoolVar(&o.updateBase, "update-base", false, "write what was measured as the committed base, .peakgate/base/TARGET.json, whatever the verdict is")
		f.IntVar(&o.runs, "runs", 1, "how many runs a base keeps, the newest `K`; with --update-base")
		f.StringVar(&o.keep, "keep", "", "keep the files of runs in this `folder`, TARGET/SIDE-N")
		f.StringVar(&o.capture, "capture", "auto", "`auto` or off: have JAX, PyTorch and Affon write their captures under run:")
		f.BoolVar(&o.quiet, "quiet", false, "no progress")
		o.read = declareRead(f)
		return func(args []string) (int, error) {
			o.targets = args
			if _, err := renderer(*format, nil); err != nil {
				return ExitUsage, err
			}
			if o.runs < 1 || o.runs > 1000 || o.runs > 1 && !o.updateBase {
				return ExitUsage, usagef("--runs %d: want 1 to 1000, together with --update-base", o.runs)
			}
			if err := o.read.validate(); err != nil {
				return ExitUsage, err
			}
			if o.capture != "auto" && o.capture != "off" {
				return ExitUsage, usagef("--capture %.40q: want auto or off", o.capture)
			}
			reports, err := o.parseReports()
			if err != nil {
				return ExitUsage, err
			}
			if *format == "html" || slices.ContainsFunc(reports, func(f reportFile) bool { return f.format == "html" }) {
				o.pages = newPages()
			}
			r, measured, err := o.check(s)
			if err != nil {
				return unchecked(err), err
			}
			code, err := o.publish(r, *format, reports, s)
			if o.updateBase {
				if unwritten := o.updateBases(measured, s); unwritten != nil {
					code, err = max(code, ExitNoData), errors.Join(err, unwritten)
				}
			}
			return code, err
		}
	},
}

// checkOptions are what `check` and `action` are asked for.
type checkOptions struct {
	config  string
	targets []string // empty: all
	bases   []string // [TARGET=]X
	reports []string // FORMAT=FILE
	allowed []string // folders outside of the repository that the budget may name
	quiet   bool
	read    *readOptions // nil: all of it, as it is
	keep    string       // where the files of runs stay
	capture string       // "off": frameworks write what they would without us

	pages      *pages // collects what the viewer shows; nil where it is not asked for
	updateBase bool
	runs       int // how many runs a base keeps
}

// publish writes the reports and gives the exit code of the verdict.
func (o checkOptions) publish(r *compare.Result, format string, reports []reportFile, s Streams) (int, error) {
	data, err := renderResult(r, format, o.pages)
	if err != nil {
		return ExitNoData, err
	}
	var failed []error
	for _, f := range reports {
		data, err := renderResult(r, f.format, o.pages)
		for _, t := range r.Targets {
			err = cmp.Or(err, spare(f.path, slices.Concat(t.Inputs, t.BaseInputs)))
		}
		if err == nil {
			err = writeFile(f.path, data)
		}
		failed = append(failed, err)
	}
	if _, err := s.Stdout.Write(data); err != nil {
		failed = append(failed, fmt.Errorf("standard output: cannot write: %w", cause(err)))
	}
	code := exitCode(r.Verdict)
	if err := errors.Join(failed...); err != nil {
		// A report that could not be written never turns red into green.
		return max(code, ExitNoData), err
	}
	return code, nil
}

func exitCode(v compare.Verdict) int {
	switch v {
	case compare.Pass, compare.Warn:
		return ExitPass
	case compare.Fail:
		return ExitFail
	}
	return ExitNoData
}

type reportFile struct{ format, path string }

func (o checkOptions) parseReports() ([]reportFile, error) {
	var out []reportFile
	for _, r := range o.reports {
		format, path, ok := strings.Cut(r, "=")
		if !ok || path == "" {
			return nil, usagef("--report %q: want FORMAT=FILE, for example markdown=report.md", r)
		}
		if _, err := renderer(format, nil); err != nil {
			return nil, err
		}
		if overwrites(path, o.config) {
			return nil, usagef("--report %s: this is the budget file itself", r)
		}
		out = append(out, reportFile{format, path})
	}
	return out, nil
}

// renderer gives what writes a result in a format; that of html needs pages.
func renderer(format string, p *pages) (func(io.Writer, *compare.Result) error, error) {
	switch format {
	case "text":
		return report.Text, nil
	case "markdown":
		return report.Markdown, nil
	case "sarif":
		return report.SARIF, nil
	case "junit":
		return report.JUnit, nil
	case "html":
		return p.write, nil
	case "json":
		return func(w io.Writer, r *compare.Result) error { return report.JSON(w, r) }, nil
	}
	return nil, usagef("unknown format %.40q; there are text, markdown, json, sarif, junit and html", format)
}

func renderResult(r *compare.Result, format string, p *pages) ([]byte, error) {
	write, err := renderer(format, p)
	if err != nil {
		return nil, err
	}
	return render(func(w io.Writer) error { return write(w, r) })
}

// maxConfig is the largest budget file that is read, in bytes; package budget
// refuses what is over its own, smaller limit.
const maxConfig = 64 << 20

// check measures and judges. Its error is one of use or of the budget file: a
// capture that cannot be read is a verdict, not an error. It also gives what was
// measured, by target.
func (o checkOptions) check(s Streams) (*compare.Result, map[string]*measure.Measurement, error) {
	within, err := newGuard(o.config, o.allowed, s)
	if err != nil {
		return nil, nil, err
	}
	file, sources, err := loadBudget(o.config, within)
	if err != nil {
		return nil, nil, err
	}
	from, err := openBases(o.config, s)
	if err != nil {
		return nil, nil, err
	}
	from.within = within
	changes, warnings := from.previous(file)
	root := repositoryRoot(o.config)
	if trustsBase(from.old) {
		file, from.folder, from.prefix = from.old, path.Dir(from.old.Path), relative(root)
	}
	targets, err := o.selectTargets(file)
	if err != nil {
		return nil, nil, err
	}
	if from.explicit, err = assign("--base", o.bases, targets, from.isRef); err != nil {
		return nil, nil, err
	}
	p := newProgress(s)
	defer p.done()
	opt := o.read.options(root)
	opt.Hash = true // a report names the very files that were judged
	if !o.quiet {
		opt.Progress = p.tell
	}
	if o.pages != nil {
		opt.Records = o.pages.note
	}
	today, measured := budget.DateOf(s.now().UTC()), map[string]*measure.Measurement{}
	var results []compare.TargetResult
	if err := from.confine(targets, sources); err != nil {
		return nil, nil, err
	}
	work, finish, err := newRounds(targets, from, opt, executor{s: s, quiet: o.quiet, capture: o.capture != "off", keep: o.keep})
	if err != nil {
		return nil, nil, err
	}
	defer finish()
	for _, t := range targets {
		w := compare.Workload{Target: t, Config: o.config, Budget: file, Today: today}
		if isRun(t) {
			result, m, err := work.judge(w)
			if err != nil {
				return nil, nil, err
			}
			if m != nil && measure.DryrunClass(m.Facts.Dryrun) != measure.DryrunDidNotRun {
				measured[t.Name] = m
			}
			o.pages.keep(&result)
			results = append(results, result)
			continue
		}
		w.Head, w.HeadErr = work.measured(t)
		if w.Head != nil {
			measured[t.Name] = w.Head
		}
		from.fill(&w, opt)
		result := judged(w)
		o.pages.keep(&result)
		results = append(results, result)
	}
	for _, d := range file.Devices {
		if len(o.targets) > 0 && slices.ContainsFunc(d.Targets, func(n budget.Name) bool { return !slices.Contains(o.targets, n.Text) }) {
			warnings = append(warnings, fmt.Sprintf("device %s was not judged: not all of its targets were asked for", d.Name))
			continue
		}
		results = append(results, compare.JudgeDevice(d, file, measured))
	}
	from.places(results)
	r := compare.Whole(results, changes)
	r.Tool, r.Config, r.Head, r.Warnings = tool(), filepath.ToSlash(o.config), located(from.head(), root, s), append(r.Warnings, warnings...)
	r.Day = string(today)
	o.read.hide(r)
	o.pages.hide(o.read)
	return r, measured, nil
}

// unchecked is the exit code of a check that came to no verdict.
func unchecked(err error) int {
	if errors.Is(err, errInterrupted) {
		return ExitNoData
	}
	return ExitUsage
}

// absolute is a path from the root; an empty one stays so.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

// judged holds a workload against its budgets and adds what may explain the verdict.
func judged(w compare.Workload) compare.TargetResult {
	t := compare.Judge(w)
	if len(t.Inputs) == 0 {
		return t // nothing was measured, or nothing that is this budget's
	}
	in := diagnose.Input{Head: w.Head}
	if len(t.BaseInputs) > 0 {
		in.Base = w.Runs[len(w.Runs)-1]
	}
	t.Findings = diagnose.Changed(in)
	return t
}

// loadBudget reads the budget file with all that it includes, and gives the text
// of each by its path.
func loadBudget(config string, within guard) (*budget.File, map[string][]byte, error) {
	sources := map[string][]byte{}
	file, err := budget.Load(filepath.ToSlash(config), func(path string) ([]byte, error) {
		if path != filepath.ToSlash(config) {
			if err := cmp.Or(within.pattern(path), within.files([]string{path})); err != nil {
				return nil, err
			}
		}
		f, err := os.Open(filepath.FromSlash(path))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, cause(err))
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxConfig))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, cause(err))
		}
		sources[path] = data
		return data, nil
	})
	var faults budget.Errors
	switch {
	case errors.As(err, &faults):
		return nil, nil, budgetError{faults, sources}
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, usagef("%v; name the budget file with --config, or write a first one with peakgate budget init CAPTURE…", err)
	case err != nil:
		return nil, nil, usagef("%v; name the budget file with --config", err)
	}
	return file, sources, nil
}

// budgetError shows the faults of a budget file with their lines.
type budgetError struct {
	faults  budget.Errors
	sources map[string][]byte // by the file's path
}

func (e budgetError) Error() string {
	var out strings.Builder
	for _, f := range e.faults {
		out.WriteString(budget.Errors{f}.Render(e.sources[f.File]))
	}
	return out.String()
}

// As lets a budget's fault count as a wrong use.
func (e budgetError) As(target any) bool {
	if u, ok := target.(*usageError); ok {
		*u = usageError{e.Error()}
		return true
	}
	return false
}

func (o checkOptions) selectTargets(file *budget.File) ([]*budget.Target, error) {
	if len(o.targets) == 0 {
		return file.Targets, nil
	}
	var names []string
	for _, t := range file.Targets {
		names = append(names, t.Name)
	}
	for _, want := range o.targets {
		if !slices.Contains(names, want) {
			return nil, usagef("%s: there is no target %.60q; there are %s", o.config, want, strings.Join(names, ", "))
		}
	}
	var out []*budget.Target
	for _, t := range file.Targets {
		if slices.Contains(o.targets, t.Name) {
			out = append(out, t)
		}
	}
	return out, nil
}

// assign gives each target the X of its flag [TARGET=]X. A bare X serves a single
// target, or several if it is a directory that holds TARGET.json or TARGET/ for
// each, or if all says that it holds everything, as a commit does.
func assign(flag string, values []string, targets []*budget.Target, all func(string) bool) (map[string]string, error) {
	out := map[string]string{}
	set := func(name, base string) error {
		if have, ok := out[name]; ok {
			return usagef("%s: target %s has two %ss, %s and %s", flag, name, strings.TrimPrefix(flag, "--"), have, base)
		}
		out[name] = base
		return nil
	}
	for _, arg := range values {
		name, base, named := strings.Cut(arg, "=")
		if named && base == "" {
			return nil, usagef("%s %q: want [TARGET=]X", flag, arg)
		}
		if i := slices.IndexFunc(targets, func(t *budget.Target) bool { return t.Name == name }); named && i >= 0 {
			if err := set(name, base); err != nil {
				return nil, err
			}
			continue
		}
		if named && !exists(arg) {
			return nil, usagef("%s %s: there is no target %.60q", flag, arg, name)
		}
		if len(targets) == 1 {
			if err := set(targets[0].Name, arg); err != nil {
				return nil, err
			}
			continue
		}
		for _, t := range targets {
			switch {
			case exists(filepath.Join(arg, t.Name+".json")):
				base = filepath.Join(arg, t.Name+".json")
			case exists(filepath.Join(arg, t.Name)):
				base = filepath.Join(arg, t.Name)
			case all(arg):
				base = arg
			default:
				return nil, usagef("%s %s: it cannot serve %d targets: there is no %s in it; say which target it is for: %s %s=%s", flag, arg, len(targets), t.Name+".json", flag, t.Name, arg)
			}
			if err := set(t.Name, base); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func patterns(ps []budget.Pattern) string {
	var out []string
	for _, p := range ps {
		out = append(out, p.Text)
	}
	return strings.Join(out, ", ")
}

// relative is a path from the working directory, if there is one.
func relative(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, err := filepath.Rel(wd, path); err == nil {
		return rel
	}
	return path
}

// repositoryRoot is the nearest folder above the budget file that holds .git;
// empty where there is none.
func repositoryRoot(config string) string {
	dir, err := filepath.Abs(filepath.Dir(config))
	if err != nil {
		return ""
	}
	for {
		if exists(filepath.Join(dir, ".git")) {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
