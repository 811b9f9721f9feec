package cli

import (
	"cmp"
	"encoding/json"
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

// This file tells what a change does to its own gate: to the budget, to the base
// that it is compared with, and by not measuring again.

// event is what a workflow runs for.
type event struct {
	labels []string // of the pull request
	merged bool     // a merge queue or a push: the pull request was judged before
}

func readEvent(s Streams) event {
	e := event{merged: slices.Contains([]string{"merge_group", "push"}, s.Getenv("GITHUB_EVENT_NAME"))}
	f, err := os.Open(s.Getenv("GITHUB_EVENT_PATH"))
	if err != nil {
		return e
	}
	defer f.Close()
	var payload struct {
		PullRequest struct {
			Labels []struct {
				Name string `json:"name"`
			} `json:"labels"`
		} `json:"pull_request"`
	}
	if err := json.NewDecoder(f).Decode(&payload); err != nil {
		return e
	}
	for _, l := range payload.PullRequest.Labels {
		e.labels = append(e.labels, l.Name)
	}
	return e
}

// loosened is the verdict on a change that lets more pass, or has other rows and
// files judged: the strictest of what the policies of base and head say. A label
// can only be seen on the pull request; what comes after it was judged there.
func (b *bases) loosened() compare.Verdict {
	for _, p := range b.policies {
		label := p.Label()
		if p.Trust.Value == "base" || p.Loosen.Value == "fail" || label != "" && !b.event.merged && !slices.Contains(b.event.labels, label) {
			return compare.Fail
		}
	}
	return compare.Warn
}

// previous reads the budget of the run's base and compares it with the head's.
// What cannot be seen is a warning (a shallow clone is the default of
// actions/checkout, and an old error must not block its own repair), unless the
// policy is that nothing may be loosened.
func (b *bases) previous(file *budget.File) (notices []compare.Notice, warnings []string) {
	b.policies = []budget.Policy{file.Policy}
	if b.repo == nil {
		return nil, nil
	}
	f := b.at("")
	err := f.err
	if err == nil && f.tree != nil {
		b.old, err = b.budgetAt(f.tree)
	}
	switch {
	case err != nil:
		text := "whether this change loosens its own budget cannot be seen: " + strings.ReplaceAll(err.Error(), "\n", "; ")
		if b.loosened() == compare.Warn {
			return nil, []string{text}
		}
		return []compare.Notice{b.onBudget("loosens", text)}, nil
	case b.old != nil:
		b.policies = append(b.policies, b.old.Policy)
		return b.changes(file), nil
	case f.tree != nil && b.tracked(f, filepath.Base(b.config)):
		return []compare.Notice{b.onBudget("reshapes", fmt.Sprintf("there is no %s at the base (commit %s): all of its limits are new", filepath.ToSlash(b.config), f.commit.Short()))}, nil
	}
	return nil, nil
}

// onBudget is a notice about the budget file as a whole.
func (b *bases) onBudget(effect, text string) compare.Notice {
	return compare.Notice{Verdict: b.loosened(), Effect: effect, Text: text, File: filepath.ToSlash(b.config), Line: 1, Column: 1}
}

// tracked tells whether the head's commit holds a path, from the budget's folder.
func (b *bases) tracked(f found, name string) bool {
	head, err := b.repo.At(b.repo.Head())
	if err != nil {
		return false
	}
	files, err := head.Files([]string{name})
	if err != nil || files == nil {
		return err != nil // it is there, and cannot be read
	}
	files.Close()
	return true
}

// budgetAt reads the base's budget with what it includes there; nil where the
// base has none. Its policy, or that of the usual budget file beside it, counts
// even where the rest cannot be read.
func (b *bases) budgetAt(tree *base.Tree) (*budget.File, error) {
	data, name, err := tree.Budget()
	if err != nil {
		return nil, err
	}
	if name == "" {
		for _, usual := range []string{"peakgate.yml", path.Join(filepath.ToSlash(b.fromRoot()), "peakgate.yml")} {
			if data, err := tree.Read(usual); err == nil {
				if p, ok := budget.PolicyOf(data, usual); ok {
					b.policies = append(b.policies, p)
				}
			}
		}
		return nil, nil
	}
	if p, ok := budget.PolicyOf(data, name); ok {
		b.policies = append(b.policies, p)
	}
	return budget.Load(name, func(p string) ([]byte, error) {
		if p == name {
			return data, nil
		}
		return tree.Read(p)
	})
}

// fromRoot is the budget's folder from the repository's top.
func (b *bases) fromRoot() string {
	folder, err := resolved(filepath.Dir(b.config))
	if err != nil {
		return "."
	}
	top, err := resolved(repositoryRoot(b.config))
	if err != nil {
		return "."
	}
	rel, err := filepath.Rel(top, folder)
	if err != nil {
		return "."
	}
	return rel
}

// changes tells how the budget differs from that of the base. Where the base's
// budget decides, a change has no effect yet.
func (b *bases) changes(file *budget.File) []compare.Notice {
	var notices []compare.Notice
	commit := b.at("").commit
	for _, c := range budget.Changes(b.old, b.fromTop(file)) {
		n := compare.Notice{Verdict: compare.Pass, Effect: string(c.Effect), Text: c.Text, Bytes: c.Bytes, File: c.Pos.File, Line: c.Pos.Line, Column: c.Pos.Column}
		if n.File == "" {
			n.File = filepath.ToSlash(b.config)
		}
		if c.InBase {
			n.File += "@" + commit.Short()
		}
		switch {
		case trustsBase(b.old):
			n.Text += "; this has no effect before it is merged"
		case c.Effect == budget.Loosens || c.Effect == budget.Reshapes:
			n.Verdict = b.loosened()
		}
		notices = append(notices, n)
	}
	return notices
}

func trustsBase(old *budget.File) bool { return old != nil && old.Policy.Trust.Value == "base" }

// fromTop reads the head's budget by its path from the repository's top, as that
// of the base is: then paths in the two compare, wherever the command runs.
func (b *bases) fromTop(file *budget.File) *budget.File {
	top := repositoryRoot(b.config)
	again, err := budget.Load(path.Join(filepath.ToSlash(b.fromRoot()), filepath.Base(b.config)), func(p string) ([]byte, error) {
		return os.ReadFile(filepath.Join(top, filepath.FromSlash(p)))
	})
	if err != nil {
		return file
	}
	return again
}

// notice is a warning at the target's place.
func (b *bases) notice(w *compare.Workload, effect, text string) compare.Notice {
	return compare.Notice{Verdict: compare.Warn, Effect: effect, Text: text, File: cmp.Or(w.Target.Pos.File, filepath.ToSlash(b.config)), Line: w.Target.Pos.Line, Column: w.Target.Pos.Column}
}

// edited says so where the base that a target names was changed since the run's
// base commit: a change must not move what it is compared with unseen. A base
// that is in no commit (made in CI, say) is no part of a change.
func (b *bases) edited(w *compare.Workload) {
	f := b.at("")
	if f.tree == nil || len(w.Runs) == 0 {
		return
	}
	patterns, commit := b.relative(w.Target, w.Target.Base), fmt.Sprintf("commit %s (%s)", f.commit.Short(), f.commit.How)
	files, err := f.tree.Files(patterns)
	text := ""
	switch {
	case err != nil:
		text = "whether the base that the target names is that of " + commit + " cannot be seen: " + err.Error()
	case files == nil:
		head, err := b.repo.At(b.repo.Head())
		if err != nil {
			return
		}
		if now, err := head.Files(patterns); err == nil && now == nil {
			return
		} else if err == nil {
			now.Close()
		}
		text = "the base that the target names is new: it was not there at " + commit
	default:
		defer files.Close()
		same, err := files.Same(inputPaths(w.Runs[len(w.Runs)-1]))
		if same {
			return
		}
		text = "the base that the target names is not what it was at " + commit
		if err != nil {
			text += ": " + err.Error()
		}
	}
	n := b.notice(w, "reshapes", text)
	n.Verdict = b.loosened()
	w.Notices = append(w.Notices, n)
}

// inputPaths are the files that a measurement was read from. What a measurement
// file lists was read when that was made.
func inputPaths(m *measure.Measurement) []string {
	var paths []string
	for _, in := range m.Inputs {
		if paths = append(paths, in.Path); in.Format == capture.MeasurementFormat {
			break
		}
	}
	return paths
}

// committed tells where a change writes the committed base, which counts from the
// next commit on: what it says must be what was measured.
func (b *bases) committed(w *compare.Workload, f found) {
	if w.Head == nil {
		return
	}
	name := base.FileName(w.Target.Name)
	data, err := os.ReadFile(filepath.Join(filepath.Dir(b.config), filepath.FromSlash(name)))
	if err != nil {
		return
	}
	before, err := f.tree.Read(path.Join(filepath.ToSlash(b.fromRoot()), name))
	if err != nil || string(before) == string(data) {
		return // it is new, or as it was
	}
	n := b.notice(w, "reshapes", "this change writes the committed base, which counts from the next commit on; it is what was measured here")
	n.Verdict = compare.Pass
	runs, err := base.DecodeRuns(strings.NewReader(string(data)), name)
	if err != nil || !sameValues(runs.Runs[len(runs.Runs)-1], w.Head, w.Target) {
		n.Verdict, n.Text = b.loosened(), "this change writes the committed base, which counts from the next commit on, and it is not what was measured here; write it with peakgate check --update-base"
	}
	w.Notices = append(w.Notices, n)
}

// sameValues tells whether two measurements agree on every row that the target's
// budgets judge.
func sameValues(a, b *measure.Measurement, t *budget.Target) bool {
	values := func(m *measure.Measurement) map[string]measure.Value {
		out := map[string]measure.Value{}
		for _, r := range m.Rows {
			if r.Value != nil && slices.ContainsFunc(t.Budgets, func(e *budget.Entry) bool { return e.Metric.Name == r.Name }) {
				out[r.Name+"\x00"+r.Labels.Key("program", "host")] = *r.Value
			}
		}
		return out
	}
	before, now := values(a), values(b)
	for k, v := range now {
		if w, ok := before[k]; !ok || w.Cmp(v) != 0 {
			return false
		}
	}
	return len(before) == len(now)
}

// stale says so where the head's captures are byte for byte those of the base
// although other tracked files changed: then nothing was measured anew. (A target
// that names its base as files of its own may well keep both in git.)
func (b *bases) stale(w *compare.Workload, f found, files *base.Files) {
	if w.Head == nil {
		return
	}
	paths := inputPaths(w.Head)
	same, err := files.Among(paths)
	if err != nil || !same {
		return
	}
	// The captures themselves, not all that their patterns match: a pattern may
	// be the whole folder.
	var own []string
	for _, p := range paths {
		if rel, err := filepath.Rel(filepath.Dir(b.config), p); err == nil {
			own = append(own, escaped(filepath.ToSlash(rel)))
		}
	}
	changed, examples, err := f.tree.Changed(own)
	if err != nil || changed == 0 {
		return
	}
	n := b.notice(w, "stale", "")
	if slices.ContainsFunc(b.policies, func(p budget.Policy) bool { return p.Stale.Value == "fail" }) {
		n.Verdict = compare.Fail
	}
	n.Text = fmt.Sprintf("not measured again: the captures are those of the base, byte for byte, though %s changed (%s)", plural(changed, "other file"), strings.Join(examples[:min(len(examples), 3)], ", "))
	w.Notices = append(w.Notices, n)
}

// escaped is a path as a pattern that matches just it.
func escaped(p string) string {
	return strings.NewReplacer("*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(p)
}
