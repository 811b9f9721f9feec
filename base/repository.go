package base

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

var (
	// ErrNoGit says that there is no git binary on PATH.
	ErrNoGit = errors.New("not found on PATH")
	// ErrNoRepository says that a budget file lies in no git repository.
	ErrNoRepository = errors.New("not in a git repository")
)

// Repository is the git repository of one budget file.
type Repository struct {
	git    *git
	getenv func(string) string
	top    string // the working tree's top folder, absolute
	folder string // the budget's folder from the top, with slashes; "" is the top
	budget string // the budget's path from the top, with slashes
	common string // the git folder that all worktrees share, absolute
	head   Commit
}

// Commit is one side of a comparison.
type Commit struct {
	// SHA is the full name of the commit; empty where there is none.
	SHA string
	// Ref is what the commit is known by: a branch, a tag, or as the user named
	// it. Empty for a detached HEAD.
	Ref string
	// How says in words how the commit was found or, without a SHA, why there
	// is none.
	How string
}

// Short is the start of the SHA, for people.
func (c Commit) Short() string { return c.SHA[:min(len(c.SHA), 12)] }

// Open finds the repository of a budget file. The environment is that of the
// caller: it holds PATH and what a workflow says of its event.
func Open(budget string, getenv func(string) string) (*Repository, error) {
	absolute, err := filepath.Abs(budget)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", budget, err)
	}
	if info, err := os.Stat(filepath.Dir(absolute)); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s: no such folder; name the budget file with --config", filepath.Dir(budget))
	}
	g, err := newGit(filepath.Dir(absolute), getenv)
	if err != nil {
		return nil, err
	}
	return open(g, filepath.Base(absolute), getenv)
}

func open(g *git, file string, getenv func(string) string) (*Repository, error) {
	r := &Repository{git: g, getenv: getenv}
	var err error
	if r.top, err = g.output("rev-parse", "--show-toplevel"); err != nil {
		return nil, openError(g, err)
	}
	r.top = filepath.FromSlash(r.top)
	if r.folder, err = g.output("rev-parse", "--show-prefix"); err != nil {
		return nil, err
	}
	r.folder = strings.TrimSuffix(r.folder, "/")
	r.budget = path.Join(r.folder, file)
	if r.common, err = g.output("rev-parse", "--git-common-dir"); err != nil {
		return nil, err
	}
	if r.common = filepath.FromSlash(r.common); !filepath.IsAbs(r.common) {
		r.common = filepath.Join(g.dir, r.common)
	}
	ref, err := g.output("symbolic-ref", "--quiet", "HEAD")
	if err != nil && !exited(err, 1) { // 1: detached
		return nil, err
	}
	r.head.Ref = strings.TrimPrefix(ref, "refs/heads/")
	if r.head.SHA, err = r.tip("HEAD"); err != nil {
		return nil, err
	}
	r.head.How = "HEAD"
	if r.head.SHA == "" {
		r.head.How = "none: the repository has no commit yet"
	}
	return r, nil
}

// openError says in our words why git takes a folder for no repository.
func openError(g *git, err error) error {
	var e *gitError
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case strings.Contains(e.stderr, "dubious ownership"), strings.Contains(e.stderr, "unsafe repository"):
		// The folder that git wants to see listed is in its own advice.
		folder := g.dir
		if _, rest, ok := strings.Cut(e.stderr, "safe.directory "); ok {
			folder, _, _ = strings.Cut(rest, "\n")
		} else {
			folder = quote(folder)
		}
		return fmt.Errorf("%s: git refuses this repository, since it belongs to another user; run `git config --global --add safe.directory %s`", printable(g.dir), printable(strings.TrimSpace(folder)))
	case strings.Contains(e.stderr, "cannot use bare repository"), strings.Contains(e.stderr, "must be run in a work tree"):
		return fmt.Errorf("%s: a bare git repository; want a working tree with the budget file in it", printable(g.dir))
	case strings.Contains(e.stderr, "not a git repository"):
		return fmt.Errorf("%s: %w; name a base with --base", printable(g.dir), ErrNoRepository)
	}
	return fmt.Errorf("%s: %w", printable(g.dir), err)
}

// Head is the commit that is checked out; without a SHA in a repository that
// has no commit yet.
func (r *Repository) Head() Commit { return r.head }

// resolve gives the commit that a revision names, empty if there is none here.
func (r *Repository) resolve(revision string) (string, error) {
	if revision == "" || strings.HasPrefix(revision, "-") || strings.ContainsRune(revision, 0) {
		return "", nil // git has no such names: they are options, or cut off
	}
	sha, err := r.git.output("rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	var e *gitError
	switch {
	case errors.As(err, &e) && (e.code == 1 || e.code == 128):
		return "", nil
	case err != nil:
		return "", err
	case !isSHA(sha): // "^x" resolves to "^<sha>", "a..b" to two
		return "", nil
	}
	return sha, nil
}

// tip gives the commit of a full ref, empty if there is no such ref. A ref that is
// there and leads nowhere is an error: another base must not take its place.
func (r *Repository) tip(ref string) (string, error) {
	id, err := r.git.output("rev-parse", "--verify", "--quiet", "--end-of-options", ref)
	var e *gitError
	if errors.As(err, &e) && e.code == 1 && e.stderr == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	sha, err := r.resolve(ref)
	if err == nil && sha == "" {
		err = fmt.Errorf("base: %s names %.12s, which is no commit of this repository: it is damaged; see `git fsck`", printable(ref), id)
	}
	return sha, err
}

// isSHA tells whether s is a full object name, SHA-1 or SHA-256.
func isSHA(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}
