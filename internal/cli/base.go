package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/base"
	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// bases finds what each target is compared with. Git is asked once for the
// commit of the run, and only if some target needs it.
type bases struct {
	config string
	// folder is that of the budget that decides, in the terms of its targets'
	// Dir; prefix leads there from the working directory.
	folder, prefix string
	explicit       map[string]string // by target: the X of --base
	repo           *base.Repository  // nil where the budget is in no repository
	noRepo         string            // then says why
	within         guard             // of what the budget names
	old            *budget.File      // the budget at the run's base; nil where there is none
	labels         []string          // of the pull request
	trees          map[string]found  // by the ref that was asked for; "" is the run's own
}

// found is a commit to compare with, or why there is none.
type found struct {
	tree   *base.Tree
	commit base.Commit
	err    error
}

// openBases opens the repository of the budget, if there is one.
func openBases(config string, s Streams) (*bases, error) {
	b := &bases{config: config, labels: labels(s), folder: path.Dir(filepath.ToSlash(config)), trees: map[string]found{}}
	var err error
	b.repo, err = base.Open(config, s.Getenv)
	switch {
	case errors.Is(err, base.ErrNoGit):
		b.repo, b.noRepo = nil, "there is no git on PATH; name a base with base: or --base"
	case errors.Is(err, base.ErrNoRepository):
		b.repo, b.noRepo = nil, "the budget is in no git repository; name a base with base: or --base"
	case err != nil:
		return nil, usageError{err.Error()}
	}
	return b, nil
}

// head is the commit that is judged.
func (b *bases) head() compare.Revision {
	if b.repo == nil {
		return compare.Revision{}
	}
	return compare.Revision{Commit: b.repo.Head().SHA, Ref: b.repo.Head().Ref}
}

// at finds the commit of a ref, or of the run itself where ref is empty.
func (b *bases) at(ref string) found {
	if f, ok := b.trees[ref]; ok {
		return f
	}
	var f found
	if b.repo == nil {
		f.commit.How = b.noRepo
	} else if f.commit, f.err = b.repo.Base(ref); f.err == nil && f.commit.SHA != "" {
		f.tree, f.err = b.repo.At(f.commit)
	}
	b.trees[ref] = f
	return f
}

// fill gives a workload its base: that of --base, else the target's base: key,
// else what git holds at the run's base.
func (b *bases) fill(w *compare.Workload, opt capture.Options) {
	t := w.Target
	x, named := b.explicit[t.Name]
	switch {
	case named && b.isRef(x):
		b.fromGit(w, x, opt)
	case named:
		w.Base = compare.Base{Kind: "captures", Ref: filepath.ToSlash(x), How: "--base"}
		b.fromFiles(w, []string{x}, opt, nil)
	case len(t.Base) > 0:
		w.Base = compare.Base{Kind: "captures", Ref: patterns(t.Base), How: "the target's base"}
		b.fromFiles(w, b.resolve(t, t.Base), opt, &b.within)
		b.edited(w)
	default:
		b.fromGit(w, "", opt)
		return
	}
	b.staleAtBase(w)
}

// edited says so where the base that a target names was changed since the run's
// base commit: a change must not move what it is compared with unseen.
func (b *bases) edited(w *compare.Workload) {
	f := b.at("")
	m := w.Runs
	if f.tree == nil || len(m) == 0 {
		return
	}
	files, err := f.tree.Files(b.relative(w.Target, w.Target.Base))
	if err != nil || files == nil {
		return // it is not committed, or elsewhere: then it is no part of the change
	}
	defer files.Close()
	var paths []string
	for _, in := range m[len(m)-1].Inputs {
		if paths = append(paths, in.Path); in.Format == capture.MeasurementFormat {
			break
		}
	}
	same, err := files.Same(paths)
	if same {
		return
	}
	text := "the base that the target names is not what it was at commit " + f.commit.Short() + " (" + f.commit.How + ")"
	if err != nil {
		text += ": " + err.Error()
	}
	n := b.notice(w, "reshapes", text)
	n.Verdict = loosened([]budget.Policy{w.Budget.Policy}, b.labels)
	if b.old != nil {
		n.Verdict = loosened([]budget.Policy{w.Budget.Policy, b.old.Policy}, b.labels)
	}
	w.Notices = append(w.Notices, n)
}

// notice is a warning at the target's place.
func (b *bases) notice(w *compare.Workload, effect, text string) compare.Notice {
	return compare.Notice{Verdict: compare.Warn, Effect: effect, Text: text, File: cmp.Or(w.Target.Pos.File, filepath.ToSlash(b.config)), Line: w.Target.Pos.Line, Column: w.Target.Pos.Column}
}

// staleAtBase is stale for a target whose base is not read from git.
func (b *bases) staleAtBase(w *compare.Workload) {
	f := b.at("")
	if f.tree == nil || w.Head == nil {
		return
	}
	files, err := f.tree.Files(b.relative(w.Target, w.Target.Captures))
	if err != nil || files == nil {
		return
	}
	defer files.Close()
	b.stale(w, f, files)
}

// isRef tells whether X names a commit: it is no path, and git knows it.
func (b *bases) isRef(x string) bool {
	if b.repo == nil || exists(x) || strings.ContainsAny(x, "*?[{") {
		return false
	}
	return b.at(x).err == nil
}

func (b *bases) fromFiles(w *compare.Workload, patterns []string, opt capture.Options, within *guard) {
	if len(patterns) == 1 {
		if within != nil {
			if err := within.files(patterns); err != nil {
				w.BaseErr = err
				return
			}
		}
		if runs := openRuns(patterns[0]); runs != nil {
			w.Base.Kind, w.Runs = "measurement", runs.Runs
			return
		}
	}
	m, err := find(w.Target.Name, patterns, opt, within)
	if err != nil {
		w.BaseErr = err
		return
	}
	w.Runs = []*measure.Measurement{m}
	if len(m.Inputs) > 0 && m.Inputs[0].Format == capture.MeasurementFormat {
		w.Base.Kind = "measurement"
	}
}

// openRuns reads a base of several runs; nil where the file is none, and is for
// the capture readers to explain.
func openRuns(path string) *base.Runs {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(path, ".json") {
		return nil
	}
	runs, err := base.DecodeRuns(f, path)
	if err != nil {
		return nil
	}
	for _, m := range runs.Runs {
		m.Inputs = append([]measure.Input{{Path: filepath.ToSlash(path), Format: capture.MeasurementFormat}}, m.Inputs...)
	}
	return runs
}

func (b *bases) fromGit(w *compare.Workload, ref string, opt capture.Options) {
	f := b.at(ref)
	w.Base = compare.Base{Kind: "none", Ref: f.commit.Ref, Commit: f.commit.SHA, How: strings.TrimPrefix(f.commit.How, "none: ")}
	if f.err != nil || f.tree == nil {
		w.BaseErr = f.err
		return
	}
	loaded, err := f.tree.Load(w.Target.Name, b.relative(w.Target, w.Target.Captures), opt)
	if err == nil && loaded.Kind == "none" && b.old != nil {
		// The change may have other captures: then those of the base's own budget.
		if before := b.old.Target(w.Target.Name); before != nil {
			loaded, err = f.tree.Load(w.Target.Name, below(path.Dir(b.old.Path), before, before.Captures), opt)
		}
	}
	if err != nil {
		w.BaseErr = err
		return
	}
	w.Base.Kind = loaded.Kind
	if loaded.Kind == "none" {
		w.Base.How = fmt.Sprintf("commit %s (%s) holds neither the captures nor %s", f.commit.Short(), f.commit.How, base.FileName(w.Target.Name))
		return
	}
	w.Runs = loaded.Runs.Runs
	if loaded.Files != nil {
		b.stale(w, f, loaded.Files)
	}
}

// stale says so where the head's captures are byte for byte those of the base
// although other tracked files changed: then nothing was measured anew.
func (b *bases) stale(w *compare.Workload, f found, files *base.Files) {
	if w.Head == nil {
		return
	}
	var paths []string
	for _, in := range w.Head.Inputs {
		paths = append(paths, in.Path)
	}
	same, err := files.Among(paths)
	if err != nil || !same {
		return
	}
	changed, examples, err := f.tree.Changed(b.relative(w.Target, w.Target.Captures))
	if err != nil || changed == 0 {
		return
	}
	n := b.notice(w, "stale", "")
	if w.Budget.Policy.Stale.Value == "fail" || b.old != nil && b.old.Policy.Stale.Value == "fail" {
		n.Verdict = compare.Fail
	}
	n.Text = fmt.Sprintf("not measured again: the captures are those of the base, byte for byte, though %s changed (%s)", plural(changed, "other file"), strings.Join(examples[:min(len(examples), 3)], ", "))
	w.Notices = append(w.Notices, n)
}

// previous is the budget of the run's base; nil where there is none. That it
// cannot be read is a warning (an old error must not block its own repair, and a
// shallow clone is the default of actions/checkout), unless the policy is that
// nothing may be loosened: then what cannot be seen is not let through.
func (b *bases) previous(file *budget.File) (old *budget.File, unseen []compare.Notice, warnings []string) {
	if b.repo == nil {
		return nil, nil, nil
	}
	f := b.at("")
	err := f.err
	if err == nil && f.tree != nil {
		old, err = b.budgetAt(f.tree)
	}
	if err == nil {
		return old, nil, nil
	}
	text := "whether this change loosens its own budget cannot be seen: " + err.Error()
	at := file.Policy.Loosen.Pos
	if file.Policy.Trust.Value == "base" {
		at = file.Policy.Trust.Pos
	} else if file.Policy.Loosen.Value == "warn" {
		return nil, nil, []string{text}
	}
	return nil, []compare.Notice{{Verdict: compare.Fail, Effect: "loosens", Text: text, File: cmp.Or(at.File, filepath.ToSlash(b.config)), Line: at.Line, Column: at.Column}}, nil
}

// changes tells how the budget differs from that of the base. The stricter of
// the two policies decides what a change is that lets more pass, or has other
// rows and files judged: a pull request cannot relax it for itself. Where the
// base's budget decides, a change has no effect yet.
func (b *bases) changes(old, file *budget.File) []compare.Notice {
	var notices []compare.Notice
	commit := b.at("").commit
	for _, c := range budget.Changes(old, b.fromTop(file)) {
		n := compare.Notice{Verdict: compare.Pass, Effect: string(c.Effect), Text: c.Text, Bytes: c.Bytes, File: c.Pos.File, Line: c.Pos.Line, Column: c.Pos.Column}
		if n.File == "" {
			n.File = filepath.ToSlash(b.config)
		}
		if c.InBase {
			n.File += "@" + commit.Short()
		}
		switch {
		case trustsBase(old):
			n.Text += "; this has no effect before it is merged"
		case c.Effect == budget.Loosens || c.Effect == budget.Reshapes:
			n.Verdict = loosened([]budget.Policy{old.Policy, file.Policy}, b.labels)
		}
		notices = append(notices, n)
	}
	return notices
}

// fromTop reads the head's budget by its path from the repository's top, as that
// of the base is: then paths in the two compare, wherever the command runs.
func (b *bases) fromTop(file *budget.File) *budget.File {
	root := repositoryRoot(b.config)
	config, err := resolved(b.config)
	if err != nil {
		return file
	}
	top, err := resolved(root)
	if err != nil {
		return file
	}
	name, err := filepath.Rel(top, config)
	if err != nil {
		return file
	}
	again, err := budget.Load(filepath.ToSlash(name), func(p string) ([]byte, error) {
		return os.ReadFile(filepath.Join(top, filepath.FromSlash(p)))
	})
	if err != nil {
		return file
	}
	return again
}

func trustsBase(old *budget.File) bool { return old != nil && old.Policy.Trust.Value == "base" }

// loosened is the verdict on a loosened limit: the stricter of what the base's
// policy and the head's say.
func loosened(policies []budget.Policy, labels []string) compare.Verdict {
	for _, p := range policies {
		if p.Trust.Value == "base" || p.Loosen.Value == "fail" || p.Label() != "" && !slices.Contains(labels, p.Label()) {
			return compare.Fail
		}
	}
	return compare.Warn
}

// budgetAt reads the base's budget with what it includes there; nil where the
// base has none.
func (b *bases) budgetAt(tree *base.Tree) (*budget.File, error) {
	data, path, err := tree.Budget()
	if err != nil || path == "" {
		return nil, err
	}
	return budget.Load(path, func(p string) ([]byte, error) {
		if p == path {
			return data, nil
		}
		return tree.Read(p)
	})
}

// labels gives the labels of the pull request that a workflow runs for.
func labels(s Streams) []string {
	path := s.Getenv("GITHUB_EVENT_PATH")
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	var event struct {
		PullRequest struct {
			Labels []struct {
				Name string `json:"name"`
			} `json:"labels"`
		} `json:"pull_request"`
	}
	if err := json.NewDecoder(f).Decode(&event); err != nil {
		return nil
	}
	var out []string
	for _, l := range event.PullRequest.Labels {
		out = append(out, l.Name)
	}
	return out
}

// confine refuses targets whose paths lead where the budget may not, each on its
// own place in the budget.
func (b *bases) confine(targets []*budget.Target, sources map[string][]byte) error {
	var faults budget.Errors
	for _, t := range targets {
		for _, key := range []struct {
			name     string
			patterns []budget.Pattern
		}{{"captures", t.Captures}, {"base", t.Base}} {
			for i, full := range b.resolve(t, key.patterns) {
				if err := b.within.pattern(full); err != nil {
					p := key.patterns[i]
					file := p.Pos.File
					if file == "" {
						file = b.config
					}
					faults = append(faults, &budget.Error{File: file, Line: p.Pos.Line, Column: p.Pos.Column, Path: "targets." + t.Name + "." + key.name, Message: fmt.Sprintf("%q %s", p.Text, leaves), Rule: "path"})
				}
			}
		}
	}
	if len(faults) > 0 {
		return budgetError{faults, sources}
	}
	return nil
}

// resolve makes the patterns of a target relative to the working directory.
func (b *bases) resolve(t *budget.Target, ps []budget.Pattern) []string {
	var out []string
	for _, p := range ps {
		path := filepath.FromSlash(p.Text)
		if !filepath.IsAbs(path) {
			path = filepath.Join(b.prefix, filepath.FromSlash(t.Dir()), path)
		}
		out = append(out, path)
	}
	return out
}

// relative gives paths of a target relative to the folder of the budget file
// itself: a target may come from a file that it includes elsewhere. A path that
// is there as it is written is no pattern, whatever characters it has.
func (b *bases) relative(t *budget.Target, ps []budget.Pattern) []string {
	out := below(b.folder, t, ps)
	for i, full := range b.resolve(t, ps) {
		if strings.ContainsAny(out[i], "*?[]{}") && exists(full) {
			out[i] = strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(out[i])
		}
	}
	return out
}

// below gives paths of a target relative to a folder, in the terms of its Dir.
func below(folder string, t *budget.Target, ps []budget.Pattern) []string {
	sub, err := filepath.Rel(filepath.FromSlash(folder), filepath.FromSlash(t.Dir()))
	if err != nil {
		sub = "."
	}
	var out []string
	for _, p := range ps {
		text := p.Text
		if !path.IsAbs(text) {
			text = path.Join(filepath.ToSlash(sub), text)
		}
		out = append(out, text)
	}
	return out
}
