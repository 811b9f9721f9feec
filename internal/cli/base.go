package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
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
	policies       []budget.Policy   // of the head and, where it can be read, of the base
	event          event             // what the workflow runs for
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
	b := &bases{config: config, event: readEvent(s), folder: path.Dir(filepath.ToSlash(config)), trees: map[string]found{}}
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
	}
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
	// Only what says so at its start: the file may as well be a capture in JSON,
	// of any size.
	head := make([]byte, 4096)
	n, _ := io.ReadFull(f, head)
	if !strings.Contains(string(head[:n]), `"peakgate.base/`) && !strings.Contains(string(head[:n]), `"peakgate.measurement/`) {
		return nil
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
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
	f, t := b.at(ref), w.Target
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
		w.Base.How = fmt.Sprintf("commit %s (%s) holds neither the captures nor %s, which peakgate check --update-base writes, to be committed", f.commit.Short(), f.commit.How, base.FileName(w.Target.Name))
		return
	}
	w.Runs = loaded.Runs.Runs
	if loaded.Files != nil && !isRun(t) {
		b.stale(w, f, loaded.Files)
	}
	b.committed(w, f)
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
			out[i] = escaped(out[i])
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
