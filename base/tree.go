package base

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/peakgate/peakgate/capture"
)

const (
	// maxEntries is how many names of a tree or a difference are walked.
	maxEntries = 8 << 20
	// maxFiles is how many captures are taken from a base.
	maxFiles = 100_000
	// maxPaths is how many paths are given to one git on its command line.
	maxPaths = 500
	// maxExamples is how many changed files are named.
	maxExamples = 10
)

// Tree is the files of a base as git holds them.
type Tree struct {
	r      *Repository
	commit Commit
	budget string // the budget's path at the base; "" where it is not there
	folder string // what the budget's paths are relative to at the base
	moved  map[string]string
}

// entry is one file of a tree.
type entry struct {
	mode, id string
	path     string // at the base
	name     string // at the head: differs for a renamed file
	lfs      bool   // id is that of an object in Git LFS
}

// The modes of git's tree entries that are no files (gitformat-index(5)).
const (
	symlinkMode   = "120000"
	submoduleMode = "160000"
)

// At gives the files at a commit that Base found.
func (r *Repository) At(c Commit) (*Tree, error) {
	if !isSHA(c.SHA) {
		return nil, fmt.Errorf("base: no commit (%s)", c.How)
	}
	t := &Tree{r: r, commit: c, budget: r.budget, folder: r.folder}
	found, err := t.list([]string{r.budget})
	if err != nil || len(found) > 0 {
		return t, err
	}
	t.budget = ""
	moved, err := t.renames()
	if err != nil {
		return nil, err
	}
	for from, to := range moved {
		if to == r.budget {
			t.budget, t.folder = from, strings.TrimPrefix(path.Dir(from), ".")
		}
	}
	return t, nil
}

// Budget gives the budget file at the base, and its path there; both are empty
// where the base has none.
func (t *Tree) Budget() (data []byte, path string, err error) {
	if t.budget == "" {
		return nil, "", nil
	}
	data, err = t.blob(t.budget, maxBudget)
	return data, t.budget, err
}

// Read gives any file of the base by its path from the repository's top, for what
// the budget there includes; a file that is not there is an error.
func (t *Tree) Read(path string) ([]byte, error) {
	return t.blob(path, maxBudget)
}

// Changed counts the tracked files that differ between the base and HEAD, and
// names the first few. The budget, .peakgate and what the patterns of captures
// match do not count.
func (t *Tree) Changed(patterns []string) (count int, examples []string, err error) {
	globs, err := t.globs(t.r.folder, patterns)
	if err != nil {
		return 0, nil, err
	}
	there, err := t.globs(t.folder, patterns)
	if err != nil {
		return 0, nil, err
	}
	globs = append(globs, there...)
	err = t.diff(func(status string, paths []string) error {
		p := paths[0]
		for _, folder := range []string{t.r.folder, t.folder} {
			if strings.HasPrefix(p, path.Join(folder, ".peakgate")+"/") {
				return nil
			}
		}
		if p == t.r.budget || p == t.budget || matchesAny(globs, p) {
			return nil
		}
		if count++; len(examples) < maxExamples {
			examples = append(examples, p)
		}
		return nil
	}, "--no-renames")
	return count, examples, err
}

// diff runs git diff-tree from the base to HEAD and calls each for every file
// that differs, with its status and its path (two paths for a rename).
func (t *Tree) diff(each func(status string, paths []string) error, options ...string) error {
	if t.r.head.SHA == "" {
		return nil
	}
	var status string
	var paths []string
	n := 0
	args := append([]string{"diff-tree", "-r", "-z", "--raw", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"}, options...)
	return t.r.git.records(func(record []byte) error {
		if n++; n > maxEntries {
			return fmt.Errorf("base: more than %d files differ between %s and HEAD", maxEntries, t.commit.Short())
		}
		if status == "" {
			// ":100644 100644 <id> <id> M", then the paths (git-diff-tree(1), "RAW OUTPUT FORMAT").
			fields := strings.Fields(string(record))
			if len(fields) != 5 || record[0] != ':' {
				return fmt.Errorf("git diff-tree: want a line of the raw format, got %.80q", record)
			}
			status = fields[4]
			return nil
		}
		paths = append(paths, string(record))
		if len(paths) == 1 && (status[0] == 'R' || status[0] == 'C') {
			return nil
		}
		s, p := status, paths
		status, paths = "", nil
		return each(s, p)
	}, append(args, t.commit.SHA, t.r.head.SHA)...)
}

// renames gives the files that have another name at HEAD: from base to head.
func (t *Tree) renames() (map[string]string, error) {
	if t.moved != nil {
		return t.moved, nil
	}
	find := func(similarity string) (map[string]string, error) {
		moved := map[string]string{}
		err := t.diff(func(_ string, paths []string) error {
			if len(paths) == 2 {
				moved[paths[0]] = paths[1]
			}
			return nil
		}, similarity, "-l1000", "--diff-filter=R")
		return moved, err
	}
	moved, err := find("-M")
	if failed := new(gitError); errors.As(err, &failed) {
		// A partial clone lacks the contents: only equal ones can be paired.
		moved, err = find("-M100%")
	}
	if err != nil {
		return nil, err
	}
	t.moved = moved
	return moved, nil
}

// list gives the entries at or below the given paths; no paths are the whole tree.
func (t *Tree) list(paths []string) ([]entry, error) {
	var out []entry
	err := t.walk(paths, func(e entry) error {
		if out = append(out, e); len(out) > maxFiles {
			return fmt.Errorf("base: more than %d files", maxFiles)
		}
		return nil
	}, "-r")
	return out, err
}

// walk calls each for the entries at the given paths and, with "-r", below them.
func (t *Tree) walk(paths []string, each func(entry) error, options ...string) error {
	n := 0
	args := append([]string{"ls-tree", "-z", "--full-tree"}, options...)
	args = append(append(args, t.commit.SHA, "--"), paths...)
	err := t.r.git.records(func(record []byte) error {
		if n++; n > maxEntries {
			return fmt.Errorf("base: the tree of %s has more than %d files", t.commit.Short(), maxEntries)
		}
		// "<mode> <type> <id>\t<path>" (git-ls-tree(1), "OUTPUT FORMAT").
		meta, name, ok := bytes.Cut(record, []byte{'\t'})
		fields := strings.Fields(string(meta))
		if !ok || len(fields) != 3 || !isSHA(fields[2]) {
			return fmt.Errorf("git ls-tree: want mode, type, id and path, got %.80q", record)
		}
		return each(entry{mode: fields[0], id: fields[2], path: string(name), name: string(name)})
	}, args...)
	if failed := new(gitError); errors.As(err, &failed) && t.r.partial() {
		return fmt.Errorf("base: the tree of %s is not in this partial clone: %s; run `git ls-tree -r %s > /dev/null`, which fetches it, or clone without --filter", t.commit.Short(), failed.message(), t.commit.SHA)
	}
	return err
}

// captures gives the files that patterns name at the base, under their names at
// the head, and the patterns from the top of the repository.
func (t *Tree) captures(patterns []string) (found []entry, globs []string, err error) {
	globs, err = t.globs(t.r.folder, patterns)
	if err != nil || len(globs) == 0 {
		return nil, nil, err
	}
	moved, err := t.movedCaptures(globs)
	if err != nil {
		return nil, nil, err
	}
	if found, err = t.matching(globs, moved); err != nil || len(found) > 0 || t.folder == t.r.folder {
		return found, globs, err
	}
	// The budget's folder moved, and its captures changed too much for git to
	// see them as moved.
	if globs, err = t.globs(t.folder, patterns); err != nil {
		return nil, nil, err
	}
	found, err = t.matching(globs, nil)
	return found, globs, err
}

// movedCaptures gives the renames whose new name is a capture. Renames are
// looked for only if a capture is new.
func (t *Tree) movedCaptures(globs []string) (map[string]string, error) {
	added := false
	err := t.diff(func(_ string, paths []string) error {
		if matchesAny(globs, paths[0]) {
			added = true
			return errStop
		}
		return nil
	}, "--no-renames", "--diff-filter=A")
	if err != nil || !added {
		return nil, err
	}
	all, err := t.renames()
	moved := map[string]string{}
	for from, to := range all {
		if matchesAny(globs, to) {
			moved[from] = to
		}
	}
	return moved, err
}

// matching lists the files that globs name, and the moved ones.
func (t *Tree) matching(globs []string, moved map[string]string) ([]entry, error) {
	if err := t.passable(globs); err != nil {
		return nil, err
	}
	var roots []string
	for _, g := range globs {
		roots = append(roots, literal(g))
	}
	for from := range moved {
		roots = append(roots, from)
	}
	slices.Sort(roots)
	roots = slices.Compact(roots)
	if len(roots) > maxPaths || roots[0] == "" {
		roots = nil
	}
	var found []entry
	err := t.walk(roots, func(e entry) error {
		if to, ok := moved[e.path]; ok {
			e.name = to
		} else if e.mode == submoduleMode || !matchesAny(globs, e.path) {
			return nil
		}
		if e.mode == symlinkMode {
			return notFiles("base: %s is a symbolic link; want a file", t.at(e.path))
		}
		if found = append(found, e); len(found) > maxFiles {
			return fmt.Errorf("base: the patterns match more than %d files at %s", maxFiles, t.commit.Short())
		}
		return nil
	}, "-r")
	return found, err
}

// passable looks for submodules and symbolic links on the way to what globs name.
func (t *Tree) passable(globs []string) error {
	var ways []string
	for _, g := range globs {
		for way := literal(g); way != "" && way != "." && len(ways) < maxPaths; way = strings.TrimPrefix(path.Dir(way), ".") {
			ways = append(ways, way)
		}
	}
	if len(ways) == 0 {
		return nil
	}
	slices.Sort(ways)
	return t.walk(slices.Compact(ways), func(e entry) error {
		switch {
		case e.mode == submoduleMode:
			return notFiles("base: %s is a submodule at %s, whose files this repository does not hold; keep the captures or .peakgate/base in this repository, or name the base with --base", quote(e.path), t.commit.Short())
		case e.mode == symlinkMode && !slices.ContainsFunc(globs, func(g string) bool { return g == e.path }):
			return notFiles("base: %s is a symbolic link at %s; name the folder that it leads to", quote(e.path), t.commit.Short())
		}
		return nil
	})
}

// notFilesError says that patterns name what git knows, but not the content of.
type notFilesError struct{ text string }

func (e *notFilesError) Error() string { return e.text }

func notFiles(format string, args ...any) error {
	return &notFilesError{fmt.Sprintf(format, args...)}
}

// at names a file of the base for people.
func (t *Tree) at(path string) string { return path + "@" + t.commit.Short() }

// globs makes the patterns of a budget in a folder relative to the top. Those
// that lead out of the repository are left out: git holds nothing there.
func (t *Tree) globs(folder string, patterns []string) ([]string, error) {
	var out []string
	for _, p := range patterns {
		text := path.Join(escapeGlob(folder), filepath.ToSlash(p))
		if filepath.IsAbs(p) {
			text = t.r.fromTop(p)
		}
		if err := capture.CheckPattern(text); err != nil {
			return nil, err
		}
		switch {
		case text == ".." || strings.HasPrefix(text, "../"):
			continue
		}
		out = append(out, text)
	}
	return out, nil
}

// fromTop makes an absolute path relative to the top of the repository: by the
// budget's folder as it was named, else by the top with all links followed.
func (r *Repository) fromTop(absolute string) string {
	outside := func(p string) bool { return p == ".." || strings.HasPrefix(p, "../") }
	if p, err := filepath.Rel(r.git.dir, absolute); err == nil {
		if p = path.Join(r.folder, filepath.ToSlash(p)); !outside(p) {
			return p
		}
	}
	p, err := filepath.Rel(r.top, absolute)
	if err != nil {
		return ".." // another drive
	}
	return filepath.ToSlash(p)
}

const globChars = `*?[]{}\`

// escapeGlob makes a pattern that matches a path and nothing else.
func escapeGlob(path string) string {
	var out strings.Builder
	for i := range len(path) {
		switch {
		case path[i] == '\\':
			out.WriteString(`[\\]`) // in the literal start of a pattern, doublestar does not take `\\` for one
			continue
		case strings.IndexByte(globChars, path[i]) >= 0:
			out.WriteByte('\\')
		}
		out.WriteByte(path[i])
	}
	return out.String()
}

// literal is the folders (and perhaps the file) that start a pattern; "" if the
// pattern may match anywhere.
func literal(glob string) string {
	if glob == "." {
		return ""
	}
	at := strings.IndexAny(glob, globChars)
	if at < 0 {
		return glob
	}
	return glob[:max(0, strings.LastIndexByte(glob[:at], '/'))]
}

// matchesAny tells whether a pattern names a file, or a folder above it: a named
// folder is searched, but for hidden folders in it.
func matchesAny(globs []string, file string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return matches(g, file) })
}

func matches(glob, file string) bool {
	if ok, _ := doublestar.Match(glob, file); ok {
		return true
	}
	folders := strings.Split(file, "/")
	folders = folders[:len(folders)-1]
	for n := len(folders); n >= 0; n-- {
		if n < len(folders) && strings.HasPrefix(folders[n], ".") {
			return false
		}
		named := glob == "." && n == 0
		if n > 0 {
			named, _ = doublestar.Match(glob, strings.Join(folders[:n], "/"))
		}
		if named {
			return true
		}
	}
	return false
}
