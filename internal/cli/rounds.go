package cli

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"github.com/peakgate/peakgate/base"
	"github.com/peakgate/peakgate/budget"
	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/report"
)

// rounds runs the targets that say how, as often as it takes to judge them.
type rounds struct {
	executor
	from *bases
	opt  capture.Options
	// trees are worktrees of bases, by their refs, made when a target needs one.
	trees map[string]*base.Worktree
}

// isRun tells that a target is run here to be measured.
func isRun(t *budget.Target) bool { return t.Run != nil || t.Dryrun != nil }

// newRounds prepares for the targets; finish removes what their runs need.
func newRounds(targets []*budget.Target, from *bases, opt capture.Options, e executor) (r *rounds, finish func(), err error) {
	r = &rounds{executor: e, from: from, opt: opt, trees: map[string]*base.Worktree{}}
	if !slices.ContainsFunc(targets, isRun) {
		return r, func() {}, nil
	}
	if r.keep, err = absolute(e.keep); err != nil {
		return nil, nil, err
	}
	r.temp = newTemporary(e.s.Getenv("RUNNER_TEMP"))
	return r, func() {
		if left := r.temp.close(); left != nil {
			report.Problem(e.s.Stderr, left)
		}
	}, nil
}

// measured measures a target once, without a verdict.
func (r *rounds) measured(t *budget.Target) (*measure.Measurement, error) {
	if isRun(t) {
		return r.run(t, r.head(t, 1))
	}
	return find(t.Name, r.from.resolve(t, t.Captures), r.opt, &r.from.within)
}

// judge runs a target and judges it. With base: run each round runs the base too, now
// before the head and now after it, so that what drifts on the machine meets both.
// Rounds go on while a failure is to be confirmed; each head is judged against all
// runs of the base.
func (r *rounds) judge(w compare.Workload) (result compare.TargetResult, first *measure.Measurement, err error) {
	t, needed := w.Target, 1
	if t.Confirm != nil {
		needed = int(t.Confirm.Value)
	}
	// A commit that --base names is run as the base of git is; files are read.
	ref, named := r.from.explicit[t.Name]
	both := t.BaseRun.Line > 0 && (!named || r.from.isRef(ref))
	var heads []compare.Workload
	for round := 1; ; round++ {
		head := w
		head.Notices = nil
		for i := range 2 {
			switch {
			case (i == 0) == (round%2 == 0):
				if head.Head, head.HeadErr = r.run(t, r.head(t, round)); head.Head != nil {
					head.Notices = r.exhausted(head)
				}
			case both && w.BaseErr == nil:
				r.runBase(&w, ref, round)
			}
			if errors.Is(head.HeadErr, errInterrupted) || errors.Is(w.BaseErr, errInterrupted) {
				return result, nil, errInterrupted
			}
		}
		if round == 1 {
			if first = head.Head; !both {
				w.Head = first // the committed base is held against it
				r.from.fill(&w, r.opt)
			}
		}
		heads = append(heads, head)
		var results []compare.TargetResult
		for _, head := range heads {
			head.Runs, head.BaseErr, head.Base = w.Runs, w.BaseErr, w.Base
			head.Notices = append(head.Notices, w.Notices...)
			results = append(results, judged(head))
		}
		var more bool
		if result, more = compare.Confirm(results, needed); !more {
			return result, first, nil
		}
	}
}

// head is where the target runs as it is checked out.
func (r *rounds) head(t *budget.Target, round int) side {
	folder := filepath.Join(r.from.prefix, filepath.FromSlash(t.Dir()))
	return side{
		name: "head", folder: folder, head: folder, captures: r.from.resolve(t, t.Captures),
		within: &r.from.within, opt: r.opt, round: round,
	}
}

// runBase adds one run of the base: the commit of ref, or git's where that is empty.
func (r *rounds) runBase(w *compare.Workload, ref string, round int) {
	f := r.from.at(ref)
	w.Base = compare.Base{Kind: "run", Ref: f.commit.Ref, Commit: f.commit.SHA, How: f.commit.How}
	if f.err != nil || f.tree == nil {
		w.Base.Kind, w.BaseErr = "none", f.err
		return
	}
	tree := r.trees[ref]
	if tree == nil {
		w.BaseErr = r.temp.make(func() (func() error, error) {
			made, err := f.tree.Worktree()
			if err != nil {
				return nil, err
			}
			tree, r.trees[ref] = made, made
			return made.Close, nil
		})
		if w.BaseErr != nil {
			return
		}
	}
	t, opt := w.Target, r.opt
	opt.Root = tree.Top()
	at := side{name: "base", folder: tree.Folder, head: r.head(t, round).folder, commit: f.commit.Short(), tree: tree.Top(), opt: opt, round: round}
	if sub, err := filepath.Rel(filepath.FromSlash(r.from.folder), filepath.FromSlash(t.Dir())); err == nil {
		at.folder = filepath.Join(at.folder, sub)
	}
	for _, p := range below(r.from.folder, t, t.Captures) {
		if !path.IsAbs(p) {
			p = filepath.Join(tree.Folder, filepath.FromSlash(p))
		}
		at.captures = append(at.captures, p)
	}
	m, err := r.run(t, at)
	if err != nil {
		if w.BaseErr = err; !errors.Is(err, errInterrupted) {
			w.BaseErr = fmt.Errorf("the run at commit %s: %w", f.commit.Short(), err)
		}
		return
	}
	if round == 1 {
		m.Warnings = append(m.Warnings, tree.Warnings...)
	}
	w.Runs = append(w.Runs, m)
}

// exhausted fails a run that ended badly and whose captures show that a device ran out
// of memory.
func (r *rounds) exhausted(w compare.Workload) []compare.Notice {
	for _, f := range w.Head.Facts.Watches {
		if broken := f.Broken(); broken != "" && ranOut(w.Head) {
			n := r.from.notice(&w, "incomplete", broken+", and its captures show that the memory of a device ran out")
			n.Verdict = compare.Fail
			return []compare.Notice{n}
		}
	}
	return nil
}
