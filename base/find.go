package base

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Base finds the commit to compare with. explicit is the ref that the user
// named, taken as it is; if it is empty, the workflow's event and then the
// default branch decide (see the package's comment for the order). A Commit
// without a SHA means that there is none; its How says why.
func (r *Repository) Base(explicit string) (Commit, error) {
	if explicit != "" {
		return r.named(explicit)
	}
	if r.head.SHA == "" {
		return Commit{How: r.head.How}, nil
	}
	e, err := readEvent(r.getenv)
	if err != nil {
		return Commit{}, err
	}
	if e != nil {
		// A submodule's commits are not those that the event speaks of.
		outer, err := r.git.output("rev-parse", "--show-superproject-working-tree")
		if err != nil {
			return Commit{}, err
		}
		if outer == "" {
			return r.fromEvent(e)
		}
	}
	return r.fromBranch("")
}

// named takes a ref as it is.
func (r *Repository) named(ref string) (Commit, error) {
	sha, err := r.resolve(ref)
	if err != nil {
		return Commit{}, err
	}
	if sha != "" {
		return Commit{SHA: sha, Ref: ref, How: "the named ref " + printable(ref)}, nil
	}
	shallow, err := r.shallow()
	if err != nil {
		return Commit{}, err
	}
	what := fmt.Sprintf("--base %s: neither a file nor a commit", quote(ref))
	if shallow == nil {
		return Commit{}, fmt.Errorf("%s; if it is on the server only, run `%s` first", what, r.fetchAll())
	}
	return Commit{}, fmt.Errorf("%s of this shallow clone; run `git fetch --unshallow %s %s`, or give actions/checkout `fetch-depth: 0`", what, quote(r.remote()), allBranches)
}

// fromEvent goes by the event of a workflow.
func (r *Repository) fromEvent(e *event) (Commit, error) {
	branch := e.pull(false).Ref
	if branch == "" {
		branch = r.getenv("GITHUB_BASE_REF")
	}
	switch {
	case e.PullRequest != nil && e.pull(false).SHA != "" || branch != "":
		return r.fromPull(e, branch)
	case e.group() != "":
		ref := strings.TrimPrefix(e.MergeGroup.BaseRef, "refs/heads/")
		return r.present(Commit{SHA: e.group(), Ref: ref, How: "the base of the merge group" + onto(ref)}, ref)
	case e.Before == "" || isZero(e.Before) || e.Forced:
		return r.fromBranch(e.Repository.DefaultBranch)
	}
	pushed := strings.TrimPrefix(r.getenv("GITHUB_REF"), "refs/heads/")
	before := Commit{SHA: e.Before, Ref: pushed, How: "the commit before the push" + onto(pushed)}
	if e.After == r.head.SHA {
		return r.present(before, pushed)
	}
	// Something other than what was pushed is checked out.
	if ok, err := r.isAncestor(before.SHA); err != nil {
		return Commit{}, err
	} else if ok {
		return before, nil
	}
	return r.fromBranch(e.Repository.DefaultBranch)
}

// fromPull finds the base of a pull request into a branch.
func (r *Repository) fromPull(e *event, branch string) (Commit, error) {
	parents, err := r.parents(r.head.SHA)
	if err != nil {
		return Commit{}, err
	}
	merged := r.getenv("GITHUB_SHA") == r.head.SHA && strings.HasPrefix(r.getenv("GITHUB_REF"), "refs/pull/") && strings.HasSuffix(r.getenv("GITHUB_REF"), "/merge")
	if len(parents) == 2 && (merged || parents[1] == e.pull(true).SHA) {
		return r.present(Commit{SHA: parents[0], Ref: branch, How: "the first parent of the pull request's merge commit" + onto(branch)}, branch)
	}
	tip := Commit{SHA: e.pull(false).SHA, Ref: branch}
	if tip.SHA == "" {
		if tip.SHA, err = r.tip("refs/remotes/origin/" + branch); err != nil {
			return Commit{}, err
		}
		if tip.SHA == "" {
			return Commit{}, fmt.Errorf("base: the pull request's base branch %s is not here; run `git fetch --deepen=200 %s %s`, or give actions/checkout `fetch-depth: 0`", printable(branch), quote(r.remote()), tracking(r.remote(), branch))
		}
	}
	if tip, err = r.present(tip, branch); err != nil {
		return Commit{}, err
	}
	c, err := r.mergeBase(tip, branch)
	if err == nil && c.SHA == r.head.SHA {
		return Commit{}, fmt.Errorf("base: HEAD %s lies on the pull request's base branch%s, not on its head; check out the pull request (pull_request_target does not do that by itself)", r.head.Short(), onto(branch))
	}
	return c, err
}

// onto names a branch at the end of a phrase.
func onto(branch string) string {
	if branch == "" {
		return ""
	}
	return " (" + printable(branch) + ")"
}

// defaults are the names that are tried for the default branch.
var defaults = []string{"refs/remotes/origin/HEAD", "refs/remotes/origin/main", "refs/remotes/origin/master", "refs/heads/main", "refs/heads/master"}

// fromBranch goes by the default branch; known is its name where an event tells.
func (r *Repository) fromBranch(known string) (Commit, error) {
	tip, err := r.defaultBranch(known)
	if err != nil || tip.SHA == "" {
		return tip, err
	}
	branch := strings.TrimPrefix(tip.Ref, "origin/")
	c, err := r.mergeBase(tip, branch)
	if err != nil || c.SHA != r.head.SHA {
		return c, err
	}
	parents, err := r.parents(r.head.SHA)
	if err != nil {
		return Commit{}, err
	}
	if len(parents) == 0 {
		return Commit{How: "none: HEAD is the first commit"}, nil
	}
	return r.present(Commit{SHA: parents[0], Ref: tip.Ref, How: "the first parent of HEAD, which is on " + printable(tip.Ref)}, branch)
}

// defaultBranch finds the tip of the default branch.
func (r *Repository) defaultBranch(known string) (Commit, error) {
	candidates := defaults
	if known != "" {
		candidates = append([]string{"refs/remotes/origin/" + known}, defaults...)
	}
	for _, name := range candidates {
		sha, err := r.tip(name)
		if err != nil {
			return Commit{}, err
		}
		if sha == "" {
			continue
		}
		if target, err := r.git.output("symbolic-ref", "--quiet", name); err == nil {
			name = target // origin/HEAD: say which branch it is
		}
		return Commit{SHA: sha, Ref: strings.TrimPrefix(strings.TrimPrefix(name, "refs/remotes/"), "refs/heads/")}, nil
	}
	remotes, err := r.git.output("remote")
	if err != nil {
		return Commit{}, err
	}
	if remotes == "" {
		return Commit{How: "none: no remote, and no branch main or master; name a base with --base"}, nil
	}
	return Commit{}, fmt.Errorf("base: the default branch is not here (looked for origin/HEAD, origin/main, origin/master, main, master); run `%s && git remote set-head %s --auto`, or name the base with --base", r.fetchAll(), quote(r.remote()))
}

// mergeBase finds where HEAD left a branch whose tip is given.
func (r *Repository) mergeBase(tip Commit, branch string) (Commit, error) {
	name := tip.Ref
	if name == "" {
		name = tip.Short()
	}
	out, err := r.git.output("merge-base", "--all", r.head.SHA, tip.SHA)
	if err != nil && !exited(err, 1) { // 1: none
		return Commit{}, err
	}
	bases := strings.Fields(out)
	shallow, err := r.shallow()
	if err != nil {
		return Commit{}, err
	}
	if shallow != nil {
		certain := len(bases) > 0
		if certain {
			if certain, err = r.certain(tip.SHA, bases, shallow); err != nil {
				return Commit{}, err
			}
		}
		if !certain {
			return Commit{}, r.cutOff(fmt.Sprintf("the merge base of HEAD %s and %s %s", r.head.Short(), printable(name), tip.Short()), branch)
		}
	}
	if len(bases) == 0 {
		return Commit{}, fmt.Errorf("base: HEAD %s and %s %s have no common ancestor; name the base with --base", r.head.Short(), printable(name), tip.Short())
	}
	c := Commit{SHA: bases[0], Ref: tip.Ref, How: "the merge base of HEAD and " + printable(name)}
	if len(bases) > 1 {
		c.How += fmt.Sprintf(" (the first of %d)", len(bases))
	}
	return c, nil
}

// certain tells whether the merge bases that were found in a shallow clone are
// those of the whole history. They are if no commit of either side that is no
// ancestor of theirs has parents that are hidden: a better common ancestor could
// only lie behind such a one.
func (r *Repository) certain(tip string, bases []string, shallow map[string]bool) (bool, error) {
	args := []string{"rev-list", r.head.SHA, tip}
	for _, b := range bases {
		args = append(args, "^"+b)
	}
	certain := true
	err := r.git.stream(nil, func(out *bufio.Reader) error {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if shallow[lines.Text()] {
				certain = false
				return errStop
			}
		}
		return lines.Err()
	}, args...)
	return certain, err
}

// maxShallow is the largest list of cut-off commits that is read, in bytes.
const maxShallow = 64 << 20

// shallow gives the commits whose parents this clone does not hold; nil if its
// history is whole.
func (r *Repository) shallow() (map[string]bool, error) {
	f, err := os.Open(filepath.Join(r.common, "shallow"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var set map[string]bool
	lines := bufio.NewScanner(io.LimitReader(f, maxShallow))
	for lines.Scan() {
		if set == nil {
			set = map[string]bool{}
		}
		set[strings.TrimSpace(lines.Text())] = true
	}
	return set, lines.Err()
}

// parents reads the parents out of the commit itself: in a shallow clone git
// hides those that it does not hold.
func (r *Repository) parents(sha string) ([]string, error) {
	var parents []string
	err := r.git.stream(nil, func(out *bufio.Reader) error {
		for {
			line, err := out.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) || err == io.EOF || len(line) == 1 {
				return errStop
			}
			if err != nil {
				return err
			}
			if p, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "parent "); ok && isSHA(p) {
				parents = append(parents, p)
			}
		}
	}, "cat-file", "commit", sha)
	return parents, err
}

// isAncestor tells whether a commit is here and HEAD descends from it.
func (r *Repository) isAncestor(sha string) (bool, error) {
	if have, err := r.resolve(sha); err != nil || have == "" {
		return false, err
	}
	_, err := r.git.output("merge-base", "--is-ancestor", sha, r.head.SHA)
	if exited(err, 1) {
		return false, nil
	}
	return err == nil, err
}

// present gives the commit back if the clone holds it.
func (r *Repository) present(c Commit, branch string) (Commit, error) {
	sha, err := r.resolve(c.SHA)
	if err != nil {
		return Commit{}, err
	}
	if sha == c.SHA {
		return c, nil
	}
	what := "commit " + c.Short()
	if c.How != "" {
		what = c.How + ", " + what + ","
	}
	shallow, err := r.shallow()
	if err != nil {
		return Commit{}, err
	}
	if shallow != nil {
		return Commit{}, r.cutOff(what, branch)
	}
	return Commit{}, fmt.Errorf("base: %s is not in this repository; run `git fetch %s %s`, or name the base with --base", what, quote(r.remote()), c.SHA)
}

// cutOff is the error of a clone that is too shallow.
func (r *Repository) cutOff(what, branch string) error {
	command := "git fetch --deepen=200 " + quote(r.remote())
	if branch != "" {
		command += " " + quote(branch)
	}
	return fmt.Errorf("base: %s is not in this shallow clone; run `%s`, or give actions/checkout `fetch-depth: 0`", what, command)
}

// allBranches is the refspec of a full clone from origin.
const allBranches = "'+refs/heads/*:refs/remotes/origin/*'"

func (r *Repository) fetchAll() string {
	return "git fetch " + quote(r.remote()) + " " + allBranches
}

func tracking(remote, branch string) string {
	return quote(branch + ":refs/remotes/" + remote + "/" + branch)
}

// remote is the remote that commands in messages name.
func (r *Repository) remote() string {
	out, err := r.git.output("remote")
	names := strings.Fields(out)
	if err != nil || len(names) == 0 {
		return "origin"
	}
	for _, n := range names {
		if n == "origin" {
			return n
		}
	}
	return names[0]
}
