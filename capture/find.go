package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// A NotFoundError says that a path or pattern names no capture.
type NotFoundError struct {
	Pattern string
	Reason  string
}

func (e *NotFoundError) Error() string { return e.Pattern + ": " + e.Reason }

// Find gives the files that a path, a directory or a pattern (with *, ?, [a-z],
// {a,b} and ** for any depth) names, sorted. A directory is searched for files
// that some reader wants; of several profile runs in it only the newest is
// taken. What was passed over is told in warnings. Nothing found is an error.
func Find(pattern string) (files, warnings []string, err error) {
	info, err := os.Stat(pattern)
	switch {
	case err == nil && info.IsDir():
		return search(pattern)
	case err == nil:
		return []string{pattern}, nil, nil
	case !errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(pattern, "*?[{"):
		return nil, nil, pathError(err)
	case !strings.ContainsAny(pattern, "*?[{"):
		return nil, nil, &NotFoundError{pattern, "no such file or directory; make the capture first, or correct the path"}
	}
	if err := CheckPattern(pattern); err != nil {
		return nil, nil, err
	}
	// Links to folders are not followed: one may lead back above itself.
	matches, err := doublestar.FilepathGlob(pattern, doublestar.WithFailOnIOErrors(), doublestar.WithNoFollow())
	if err != nil {
		return nil, nil, pathError(err)
	}
	slices.Sort(matches)
	for _, m := range matches {
		if info, err := os.Stat(m); err == nil && info.IsDir() {
			// A pattern such as captures/* may name the folders of ranks.
			inner, w, err := search(m)
			var none *NotFoundError
			if err != nil && !errors.As(err, &none) {
				return nil, nil, err
			}
			files, warnings = append(files, inner...), append(warnings, w...)
			continue
		} else if err == nil && !info.Mode().IsRegular() {
			warnings = append(warnings, m+" is no regular file and is not read")
			continue
		}
		files = append(files, m)
	}
	if len(files) == 0 {
		return nil, nil, &NotFoundError{pattern, "the pattern matches no file; make the capture first, or correct the pattern"}
	}
	slices.Sort(files)
	files, dropped := dropCaches(slices.Compact(files))
	files, passed := preferPlans(files)
	return files, slices.Concat(warnings, dropped, passed), nil
}

// Limits of a pattern: each brace doubles the work of matching, and so does each
// ** on a deep tree. A pattern may come from a stranger's budget.
const (
	maxBraces = 6
	maxDepths = 4
)

// CheckPattern refuses a pattern that is malformed, or so complicated that
// matching it could take for ever.
func CheckPattern(pattern string) error {
	switch {
	case strings.Count(pattern, "{") > maxBraces:
		return &NotFoundError{pattern, fmt.Sprintf("more than %d braces in a pattern; write several patterns", maxBraces)}
	case strings.Count(pattern, "**") > maxDepths:
		return &NotFoundError{pattern, fmt.Sprintf("more than %d ** in a pattern; one stands for any depth", maxDepths)}
	case !doublestar.ValidatePathPattern(pattern):
		return &NotFoundError{pattern, "malformed pattern: unbalanced [ or {"}
	}
	return nil
}

// named tells whether a file has the name of a capture. In a folder that is
// searched such a file is never passed over: if it cannot be read, that is said.
func named(path string) bool {
	name := plainName(path)
	for _, ending := range []string{".xplane.pb", ".hlo.pb", ".hlo_proto.pb", ".pickle", ".pkl"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

// search walks a directory for captures. Hidden folders are passed over.
func search(dir string) (files, warnings []string, err error) {
	looked := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return pathError(err)
		}
		if d.IsDir() {
			if path != dir && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			if d.Type()&fs.ModeSymlink == 0 || !named(path) {
				return nil
			}
			if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
				return nil
			}
		}
		looked++
		if named(path) && !unplanned(path) {
			files = append(files, path)
			return nil
		}
		ok, err := wanted(path)
		if err != nil {
			return err
		}
		if ok {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	files, warnings = newestRun(files)
	files, dropped := dropCaches(files)
	files, passed := preferPlans(files)
	warnings = slices.Concat(warnings, dropped, passed)
	if len(files) == 0 {
		return nil, nil, &NotFoundError{dir, fmt.Sprintf("the directory holds no capture (%d files looked at); peakgate reads %s", looked, strings.Join(Formats(), ", "))}
	}
	return files, warnings, nil
}

// wanted tells whether some reader takes the file, from its first bytes.
func wanted(path string) (bool, error) {
	head, err := headOf(path)
	if p := new(fs.PathError); errors.As(err, &p) {
		return false, pathError(err)
	}
	if err != nil || unplanned(path) || isPage(head) {
		return false, nil
	}
	_, read := choose(head)
	return read != nil, nil
}

// headOf gives the first bytes of a file, those inside a layer of compression.
func headOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, _, err := unzipped(f)
	if err != nil {
		return nil, err
	}
	head, _, err := window(content)
	return head, err
}

// unzipped gives the content of a file, without a layer of compression around it,
// and its size where that is known.
func unzipped(f *os.File) (content io.Reader, size int64, err error) {
	head, content, err := window(&counter{r: f, seeker: f})
	if err != nil {
		return nil, 0, err
	}
	content, err = unpack(packed(head), content)
	return content, -1, err
}

// isPage tells a page of trace_plot. The snapshot that it shows lies beside it
// mostly: in a directory it is passed over, and read where it is named.
func isPage(head []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(head), []byte("<")) }

// unplanned tells the name under which XLA dumps a module as it came in: it has
// no plan, and how it looked when its compilation ran out of memory. (A module's own
// name may hold the same words.)
func unplanned(path string) bool {
	name := plainName(path)
	return strings.HasSuffix(name, ".before_optimizations.hlo.pb") || strings.HasSuffix(name, "oom_intermediate_module.hlo.pb")
}

// newestRun keeps, of several runs below one plugins/profile folder, the newest:
// their names are times (YYYY_MM_DD_HH_MM_SS).
func newestRun(files []string) (kept, warnings []string) {
	newest := map[string]string{}
	for _, f := range files {
		if parent, run, ok := profileRun(f); ok && run > newest[parent] {
			newest[parent] = run
		}
	}
	older := map[string]bool{}
	for _, f := range files {
		parent, run, ok := profileRun(f)
		if ok && run != newest[parent] {
			older[parent] = true
			continue
		}
		kept = append(kept, f)
	}
	for parent := range older {
		warnings = append(warnings, fmt.Sprintf("%s holds several profile runs; only the newest, %s, is read", parent, newest[parent]))
	}
	slices.Sort(warnings)
	return kept, warnings
}

// profileRun splits …/plugins/profile/RUN/host.xplane.pb.
func profileRun(file string) (parent, run string, ok bool) {
	dir := filepath.Dir(file)
	parent, run = filepath.Dir(dir), filepath.Base(dir)
	return parent, run, strings.HasSuffix(filepath.ToSlash(parent), "plugins/profile")
}

// cacheName is how XProf names its caches: MODULE(PROGRAM).hlo_proto.pb.
var cacheName = regexp.MustCompile(`(\(\d+\)|^NO_MODULE)\.hlo_proto\.pb$`)

// dropCaches leaves out the *.hlo_proto.pb files that XProf writes beside an
// .xplane.pb: they may be stale, and the xplane holds the same modules.
func dropCaches(files []string) (kept, warnings []string) {
	profiles, dropped := map[string]bool{}, map[string]int{}
	for _, f := range files {
		if strings.HasSuffix(f, ".xplane.pb") {
			profiles[filepath.Dir(f)] = true
		}
	}
	for _, f := range files {
		if dir := filepath.Dir(f); profiles[dir] && cacheName.MatchString(filepath.Base(f)) {
			dropped[dir]++
			continue
		}
		kept = append(kept, f)
	}
	for dir, n := range dropped {
		warnings = append(warnings, fmt.Sprintf("%s: %d *.hlo_proto.pb files beside an .xplane.pb are XProf's caches and are not read", dir, n))
	}
	slices.Sort(warnings)
	return kept, warnings
}
