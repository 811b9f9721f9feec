package base

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Worktree is a second working tree of the repository, at the base, for a
// workload that is to be run there. It lasts until Close.
type Worktree struct {
	// Folder is what the budget's paths are relative to in it.
	Folder string
	// Warnings tell what the working tree lacks.
	Warnings []string

	r        *Repository
	dir, top string
}

// Worktree checks the base out into a new temporary folder, detached: no branch
// moves. Hooks do not run, and no filter but those of Git LFS. Submodules stay
// empty. The caller closes it, also after an error of the workload.
func (t *Tree) Worktree() (*Worktree, error) {
	dir, err := os.MkdirTemp("", "peakgate-worktree-")
	if err != nil {
		return nil, fmt.Errorf("base: no folder for the working tree: %w", err)
	}
	w := &Worktree{r: t.r, dir: dir, top: filepath.Join(dir, "tree")}
	w.Folder = filepath.Join(w.top, filepath.FromSlash(t.folder))
	if err := w.fill(t); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Top is the top folder of the working tree.
func (w *Worktree) Top() string { return w.top }

func (w *Worktree) fill(t *Tree) error {
	g := *t.r.git
	var err error
	if g.env, err = withoutFilters(&g); err != nil {
		return err
	}
	if _, err := g.output("-c", "submodule.recurse=false", "worktree", "add", "--quiet", "--detach", w.top, t.commit.SHA); err != nil {
		if t.r.partial() {
			return fmt.Errorf("base: %w; in a partial clone, fetch the files first: `git archive --output=%s %s`", err, os.DevNull, t.commit.SHA)
		}
		return fmt.Errorf("base: %w", err)
	}
	if modules, err := t.list([]string{".gitmodules"}); err != nil {
		return err
	} else if len(modules) > 0 {
		w.Warnings = append(w.Warnings, "the repository has submodules; they are empty in the working tree of the base "+t.commit.Short())
	}
	if err := os.MkdirAll(w.Folder, 0o755); err != nil {
		return fmt.Errorf("base: %w", err)
	}
	return nil
}

// lfsFilters are the commands that `git lfs install` configures: the only
// filters that may run.
var lfsFilters = []string{"git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process", "git-lfs smudge --skip -- %f", "git-lfs filter-process --skip"}

// withoutFilters gives an environment whose configuration empties each filter of
// the repository. Variables take any name; -c would end it at an equals sign.
func withoutFilters(g *git) ([]string, error) {
	env := slices.Clone(g.env)
	n := 0
	if i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "GIT_CONFIG_COUNT=") }); i >= 0 {
		n, _ = strconv.Atoi(strings.TrimPrefix(env[i], "GIT_CONFIG_COUNT="))
		env = slices.Delete(env, i, i+1)
	}
	err := g.records(func(record []byte) error {
		key, value, _ := strings.Cut(string(record), "\n")
		if slices.Contains(lfsFilters, value) {
			return nil
		}
		if strings.HasSuffix(key, ".required") {
			if strings.EqualFold(key, "filter.lfs.required") {
				return nil
			}
			value = "false"
		} else {
			value = ""
		}
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", n, key), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, value))
		n++
		return nil
	}, "config", "-z", "--get-regexp", `^filter\..*\.(clean|smudge|process|required)$`)
	if err != nil && !exited(err, 1) { // 1: no filters
		return nil, err
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(n)), nil
}

// Close removes the working tree, whatever is in it, and git's note of it.
func (w *Worktree) Close() error {
	_, gitErr := w.r.git.output("worktree", "remove", "--force", "--force", w.top)
	err := os.RemoveAll(w.dir)
	if gitErr != nil {
		_, gitErr = w.r.git.output("worktree", "prune")
	}
	if err := errors.Join(err, gitErr); err != nil {
		return fmt.Errorf("base: the working tree %s cannot be removed: %w", w.dir, err)
	}
	return nil
}
