package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// guard keeps what a budget names inside of its repository: a budget may come
// from a stranger's pull request, and a path in it must not reach other files of
// the machine. Paths that the user gives on the command line are not guarded.
type guard struct {
	roots []string // absolute, links resolved
}

// newGuard allows the repository of the budget file (outside of git, its
// folder), the runner's temporary folder, and the folders of --allow-path.
func newGuard(config string, allowed []string, s Streams) (guard, error) {
	root := repositoryRoot(config)
	if root == "" {
		root = filepath.Dir(config)
	}
	folders := []string{root}
	if temp := s.Getenv("RUNNER_TEMP"); temp != "" {
		folders = append(folders, temp)
	}
	var g guard
	for i, folder := range append(folders, allowed...) {
		resolved, err := resolved(folder)
		if err != nil {
			if i < len(folders) {
				continue
			}
			return g, usagef("--allow-path %s: %v", folder, cause(err))
		}
		g.roots = append(g.roots, resolved)
	}
	return g, nil
}

// resolved is the absolute path with all links followed.
func resolved(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

func (g guard) holds(path string) bool {
	for _, root := range g.roots {
		if rest, err := filepath.Rel(root, path); err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

const leaves = "leads outside of the repository of the budget file; keep it inside, or allow the folder with --allow-path"

// pattern refuses a path or pattern whose fixed beginning leads outside: then
// nothing there is even looked at.
func (g guard) pattern(pattern string) error {
	if path, err := resolved(pattern); err == nil && g.holds(path) {
		return nil // also an allowed folder itself, whose parent is not allowed
	}
	base, _ := doublestar.SplitPattern(filepath.ToSlash(pattern))
	if base, err := filepath.Abs(filepath.FromSlash(base)); err != nil || !g.holds(existing(base)) {
		return fmt.Errorf("%s %s", pattern, leaves)
	}
	return nil
}

// existing resolves the links of the part of a path that is there.
func existing(path string) string {
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(existing(parent), filepath.Base(path))
}

// files refuses a file that leads outside through a link, and pipes and devices.
func (g guard) files(files []string) error {
	for _, f := range files {
		path, err := resolved(f)
		if os.IsNotExist(err) {
			continue // its reader says so
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f, cause(err))
		}
		if !g.holds(path) {
			return fmt.Errorf("%s %s", f, leaves)
		}
		// A pipe that a budget names could be waited for without end. A base may be a directory.
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return fmt.Errorf("%s is no regular file", f)
		}
	}
	return nil
}
