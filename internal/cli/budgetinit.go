package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/compare"
)

var initCommand = command{
	name: "init", args: "[CAPTURE…]", summary: "write a first budget from captures",
	about: `Measures captures and writes a budget with comments: for each target what to budget
first, with headroom over what is measured. Each CAPTURE (file, directory or
pattern) is one target; without any the current folder is searched, and each
directory that holds captures is a target. What cannot be read, or would not pass
its own budget, is an error for a CAPTURE and passed over in a search.

With --runs K the captures of each target are K runs of one program: K files, or K
sub-folders. The headroom then comes from how much they differ.`,
	exits: `Exit codes: 0 written; 2 wrong use, or the file exists; 3 no data: nothing was
written, or peakgate itself failed.`,
	setup: func(f *flag.FlagSet, s Streams) func([]string) (int, error) {
		b := beginner{}
		b.declare(f)
		f.IntVar(&b.runs, "runs", 1, "the captures of each target are `K` runs of one program")
		output := f.String("o", "", "write to this `file`, not to that of --config")
		force := f.Bool("force", false, "replace the file if it is there")
		return func(args []string) (int, error) {
			if b.runs < 1 || b.runs > 1000 {
				return ExitUsage, usagef("--runs %d: want 1 to 1000", b.runs)
			}
			b.config = cmp.Or(*output, b.config)
			if !exists(filepath.Dir(b.config)) {
				return ExitUsage, usagef("%s: there is no such folder to write in", b.config)
			}
			if exists(b.config) && !*force {
				return ExitUsage, usagef("%s: is there already; write elsewhere with -o FILE, or replace it with --force", b.config)
			}
			if code, err := b.begin(args, s); err != nil {
				return code, err
			}
			data, err := budget.Init(b.starts)
			if err != nil {
				return ExitNoData, err
			}
			if err := writeFile(b.config, data); err != nil {
				return ExitNoData, err
			}
			for _, start := range b.starts {
				fmt.Fprintf(s.Stdout, "%s: %s in %s\n", start.Name, plural(len(start.Runs), "run"), clean(few(start.Captures)))
			}
			fmt.Fprintf(s.Stdout, "%s: %s; next: peakgate check --config %s\n", clean(filepath.ToSlash(b.config)), plural(len(b.starts), "target"), clean(filepath.ToSlash(b.config)))
			return ExitPass, nil
		}
	},
}

// beginner finds workloads and measures them.
type beginner struct {
	budgetOptions
	runs   int
	within guard
	reader capture.Options
	starts []budget.Start
}

// group is the captures of one target.
type group struct {
	name     string   // before it is made unique
	captures []string // what the budget names, from the working directory
	files    []string
}

// begin fills starts. The exit code is for the error.
func (b *beginner) begin(args []string, s Streams) (int, error) {
	var err error
	if b.within, err = newGuard(b.config, b.allowed, s); err != nil {
		return ExitUsage, err
	}
	var done func()
	b.reader, done = b.reading(s)
	defer done()
	var groups []group
	for i, arg := range args {
		if slices.Contains(args[:i], arg) {
			return ExitUsage, usagef("budget init: %s is named twice", arg)
		}
		if err := b.within.pattern(arg); err != nil {
			return ExitUsage, usageError{err.Error()}
		}
		files, _, err := capture.Find(arg)
		if err != nil {
			return ExitNoData, err
		}
		groups = append(groups, group{name: nameOf(arg), captures: []string{arg}, files: files})
	}
	if len(args) == 0 {
		files, _, err := capture.Find(".")
		if err != nil {
			return ExitNoData, err
		}
		groups = searched(files, b.runs)
	}
	for i, name := range uniqueNames(groups) {
		g := groups[i]
		start, err := b.start(name, g)
		if err == nil {
			b.starts = append(b.starts, start)
			continue
		}
		if len(args) > 0 {
			return ExitNoData, fmt.Errorf("%s: %w", few(g.captures), err)
		}
		fmt.Fprintf(s.Stderr, "passed over %s: %s\n", clean(few(g.captures)), clean(err.Error()))
	}
	if len(b.starts) == 0 {
		return ExitNoData, errors.New("nothing was written: no capture here gives what a first budget limits")
	}
	return ExitPass, nil
}

// few names the first of many paths.
func few(paths []string) string {
	const most = 3
	if len(paths) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
	}
	return strings.Join(paths, ", ")
}

// start measures one target, and tries whether a budget can be made of it.
func (b *beginner) start(name string, g group) (budget.Start, error) {
	start := budget.Start{Name: name}
	if err := b.within.files(g.files); err != nil {
		return start, err
	}
	for _, c := range g.captures {
		path, err := relativeTo(filepath.Dir(b.config), c)
		if err != nil {
			return start, err
		}
		start.Captures = append(start.Captures, path)
	}
	runs, err := split(g.files, b.runs)
	if err != nil {
		return start, err
	}
	for _, files := range runs {
		m, err := capture.Measure(name, files, b.reader)
		if err != nil {
			return start, err
		}
		start.Runs = append(start.Runs, m)
	}
	return start, b.try(start, g.files)
}

// try holds the captures against the budget that they give: what is not kept right
// away is no first budget.
func (b *beginner) try(start budget.Start, files []string) error {
	data, err := budget.Init([]budget.Start{start})
	if err != nil {
		return err
	}
	file, err := budget.Parse(data, b.config)
	if err != nil {
		return err
	}
	head := start.Runs[0]
	if len(start.Runs) > 1 {
		if head, err = capture.Measure(start.Name, files, b.reader); err != nil {
			return err
		}
	}
	result := compare.Judge(compare.Workload{Target: file.Targets[0], Config: b.config, Budget: file, Head: head})
	if exitCode(result.Verdict) == ExitPass {
		return nil
	}
	for _, c := range result.Checks {
		if c.Verdict == result.Verdict {
			return fmt.Errorf("%s: %s; a first budget of it would be %s at once: leave it out, or write its limits by hand", c.Metric, c.Reason, result.Verdict)
		}
	}
	return fmt.Errorf("a first budget would be %s at once", result.Verdict)
}

// relativeTo is a path or pattern as a budget file in a folder names it. An absolute
// one that lies elsewhere stays.
func relativeTo(folder, path string) (string, error) {
	from, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(from, to)
	if filepath.IsAbs(path) && (err != nil || strings.HasPrefix(rel, "..")) {
		return filepath.ToSlash(path), nil
	}
	return filepath.ToSlash(rel), err
}

// split parts the files of a target into its runs: by the names that follow the
// folder that all of them share.
func split(files []string, runs int) ([][]string, error) {
	if runs == 1 {
		return [][]string{files}, nil
	}
	shared := filepath.Dir(files[0])
	for _, f := range files {
		for shared != "." && !strings.HasPrefix(f, strings.TrimSuffix(shared, string(filepath.Separator))+string(filepath.Separator)) {
			shared = filepath.Dir(shared)
		}
	}
	var order []string
	parts := map[string][]string{}
	for _, f := range files {
		rest, err := filepath.Rel(shared, f)
		if err != nil {
			return nil, err
		}
		unit, _, _ := strings.Cut(rest, string(filepath.Separator))
		if parts[unit] == nil {
			order = append(order, unit)
		}
		parts[unit] = append(parts[unit], f)
	}
	if len(order) != runs {
		return nil, fmt.Errorf("%s holds %s, want %d: as many files, or as many sub-folders", filepath.ToSlash(shared), plural(len(order), "run"), runs)
	}
	var out [][]string
	for _, unit := range order {
		out = append(out, parts[unit])
	}
	return out, nil
}

// searched makes a target of each directory that holds captures. Of a JAX profile
// that is its log folder: what lies below has the time in its name. Where a target
// has several runs and a directory not as many files, it is one run of its parent.
func searched(files []string, runs int) []group {
	folder := func(f string) string {
		dir := filepath.Dir(f)
		if above := filepath.Dir(dir); strings.HasSuffix("/"+filepath.ToSlash(above), "/plugins/profile") {
			return filepath.Dir(filepath.Dir(above))
		}
		return dir
	}
	count := map[string]int{}
	for _, f := range files {
		count[folder(f)]++
	}
	owners, of := []string{}, map[string][]string{}
	for _, f := range files {
		dir := folder(f)
		if runs > 1 && count[dir] != runs {
			dir = filepath.Dir(dir)
		}
		if of[dir] == nil {
			owners = append(owners, dir)
		}
		of[dir] = append(of[dir], f)
	}
	slices.Sort(owners)
	var out []group
	for _, dir := range owners {
		g := group{name: nameOf(dir), captures: []string{dir}, files: of[dir]}
		inside := func(f string) bool {
			return dir == "." || strings.HasPrefix(f, dir+string(filepath.Separator))
		}
		// The folder names what lies in it at any depth; where that is more than this
		// target, its files are named one by one.
		if slices.ContainsFunc(files, func(f string) bool { return inside(f) && !slices.Contains(g.files, f) }) {
			g.captures = g.files
		}
		out = append(out, g)
	}
	return out
}

// suffixes are what names of captures end with, the outermost first.
var suffixes = []string{".gz", ".pb", ".pickle", ".pkl", ".json", ".xplane", ".hlo_proto", ".hlo"}

// nameOf makes the name of a target from a path or pattern: the last element that
// is no pattern, without what says only its format.
func nameOf(path string) string {
	name := ""
	for part := range strings.SplitSeq(filepath.ToSlash(filepath.Clean(path)), "/") {
		if strings.ContainsAny(part, "*?[{") {
			break
		}
		name = part
	}
	if name == "." || name == ".." || name == "" {
		if absolute, err := filepath.Abs(filepath.Clean(path)); err == nil && !strings.ContainsAny(absolute, "*?[{") {
			name = filepath.Base(absolute)
		}
	}
	for _, suffix := range suffixes {
		name = strings.TrimSuffix(name, suffix)
	}
	return sanitize(name)
}

// sanitize leaves what the name of a target may hold.
func sanitize(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.-", r) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	const most = 40 // bytes: two of them make a name
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "")
	}
	return cmp.Or(strings.Trim(name, "._-"), "target")
}

// uniqueNames gives each group a name of its own: with that of the folder above
// where two are alike, and numbered where that does not help.
func uniqueNames(groups []group) []string {
	alike := map[string]int{}
	for _, g := range groups {
		alike[g.name]++
	}
	used, out := map[string]bool{}, []string{}
	for _, g := range groups {
		name := g.name
		if above := filepath.Base(filepath.Dir(filepath.Clean(g.captures[0]))); alike[name] > 1 && sanitize(above) != "target" {
			name = sanitize(above) + "_" + name
		}
		unique := name
		for n := 2; used[unique]; n++ {
			unique = fmt.Sprintf("%s_%d", name, n)
		}
		used[unique] = true
		out = append(out, unique)
	}
	return out
}
