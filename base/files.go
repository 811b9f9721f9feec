package base

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/capture"
	"github.com/peakgate/peakgate/measure"
)

// Files are captures of a base, copied into a private folder until Close.
type Files struct {
	// Paths are the copies, sorted: what capture.Open reads.
	Paths []string
	// Names are the paths in the repository with the commit, one a copy.
	Names []string
	// Warnings tell what was passed over.
	Warnings []string

	dir   string
	blobs []blob
}

// blob identifies the content of one capture.
type blob struct {
	size int64
	id   string // git's name of it, or the SHA-256 of a file in Git LFS
	lfs  bool
}

// Files copies the captures that a budget's patterns name at the base out of
// git. Without a match it is nil: that is no error, the base may hold a
// measurement. The caller closes it.
func (t *Tree) Files(patterns []string) (*Files, error) {
	entries, globs, err := t.captures(patterns)
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "peakgate-base-")
	if err != nil {
		return nil, fmt.Errorf("base: no folder for the captures: %w", err)
	}
	f := &Files{dir: dir}
	if err := f.fill(t, entries, globs); err != nil {
		f.Close()
		return nil, err
	}
	if len(f.Paths) == 0 {
		return nil, f.Close()
	}
	return f, nil
}

// fill copies the entries, and keeps those that capture.Find would read.
func (f *Files) fill(t *Tree, entries []entry, globs []string) error {
	blobs, err := f.copy(t, entries)
	if err != nil {
		return err
	}
	var paths []string
	for _, g := range globs {
		found, warnings, err := capture.Find(filepath.Join(escapeFolder(f.dir), filepath.FromSlash(g)))
		if none := new(capture.NotFoundError); errors.As(err, &none) {
			f.Warnings = append(f.Warnings, fmt.Sprintf("%s names no capture at the base %s", printable(g), t.commit.Short()))
			continue
		}
		if err != nil {
			return f.rename(err)
		}
		paths = append(paths, found...)
		for _, w := range warnings {
			f.Warnings = append(f.Warnings, strings.ReplaceAll(w, f.dir+string(filepath.Separator), "")+" (at the base)")
		}
	}
	slices.Sort(paths)
	f.Paths = slices.Compact(paths)
	byPath := map[string]int{}
	for i, e := range entries {
		byPath[f.path(e)] = i
	}
	for _, p := range f.Paths {
		i, ok := byPath[p]
		if !ok {
			return fmt.Errorf("base: internal error: %s was not copied", p)
		}
		f.Names, f.blobs = append(f.Names, t.at(entries[i].path)), append(f.blobs, blobs[i])
	}
	return nil
}

func (f *Files) path(e entry) string { return filepath.Join(f.dir, filepath.FromSlash(e.name)) }

// copy writes the entries below the folder; os.Root keeps them there.
func (f *Files) copy(t *Tree, entries []entry) ([]blob, error) {
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var blobs []blob
	err = t.contents(entries, maxTotal, func(e entry, size int64, r io.Reader) error {
		name := filepath.FromSlash(e.name)
		if path.Clean(e.name) != e.name || !filepath.IsLocal(name) {
			return fmt.Errorf("base: %q is no path that can be written here", e.path)
		}
		if folder := filepath.Dir(name); folder != "." {
			if err := root.MkdirAll(folder, 0o700); err != nil {
				return fmt.Errorf("%s: cannot be copied: %w", t.at(e.path), err)
			}
		}
		out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("%s: cannot be copied: %w", t.at(e.path), err)
		}
		blobs = append(blobs, blob{size: size, id: e.id, lfs: e.lfs})
		n, err := io.Copy(out, r)
		if err == nil && n < size {
			err = io.ErrUnexpectedEOF
		}
		return errors.Join(err, out.Close())
	})
	return blobs, err
}

// Measure reads the captures into the measurement of a target. Its inputs, and
// its errors, name the files by their path and commit.
func (f *Files) Measure(target string, opt capture.Options) (*measure.Measurement, error) {
	if tell := opt.Progress; tell != nil {
		opt.Progress = func(path string, done, total int64) { tell(f.name(path), done, total) }
	}
	m, err := capture.Measure(target, f.Paths, opt)
	if err != nil {
		return nil, f.rename(err)
	}
	for i := range m.Inputs {
		m.Inputs[i].Path = f.name(m.Inputs[i].Path)
	}
	m.Warnings = append(m.Warnings, f.Warnings...)
	return m, nil
}

func (f *Files) name(path string) string {
	if i, ok := slices.BinarySearch(f.Paths, path); ok {
		return f.Names[i]
	}
	return path
}

// renamed is an error whose text names a copy by where it came from.
type renamed struct {
	error
	text string
}

func (e renamed) Error() string { return e.text }
func (e renamed) Unwrap() error { return e.error }

func (f *Files) rename(err error) error {
	text := err.Error()
	for i, p := range slices.Backward(f.Paths) { // a.pb.gz before a.pb
		text = strings.ReplaceAll(text, p, f.Names[i])
	}
	return renamed{err, strings.ReplaceAll(text, f.dir+string(filepath.Separator), "")}
}

// Same tells whether the given files hold exactly what these captures hold, file
// for file and byte for byte, whatever their names. It may be asked after Close.
// Contents are read only where the sizes agree.
func (f *Files) Same(paths []string) (bool, error) {
	if len(paths) != len(f.blobs) {
		return false, nil
	}
	return f.Among(paths)
}

// Among tells whether each of these captures is, byte for byte, one of the given
// files; there may be others. It may be asked after Close.
func (f *Files) Among(paths []string) (bool, error) {
	open, left := map[int64][]blob{}, len(f.blobs)
	for _, b := range f.blobs {
		open[b.size] = append(open[b.size], b)
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return false, err
		}
		candidates := open[info.Size()]
		ids := map[string]string{} // by the kind of digest
		for j, b := range candidates {
			kind := b.kind()
			if ids[kind] == "" {
				if ids[kind], err = fileDigest(p, kind, b.size); err != nil {
					return false, err
				}
			}
			if ids[kind] == b.id {
				open[info.Size()] = slices.Delete(slices.Clone(candidates), j, j+1)
				left--
				break
			}
		}
	}
	return left == 0, nil
}

// Close removes the copies.
func (f *Files) Close() error {
	if err := os.RemoveAll(f.dir); err != nil {
		return fmt.Errorf("%s: cannot be removed: %w", f.dir, err)
	}
	return nil
}

// digest names content as git or Git LFS do.
type digest struct{ hash.Hash }

func (d digest) id() string { return hex.EncodeToString(d.Sum(nil)) }

// newDigest makes a digest: of a git blob with SHA-1 ("sha1") or SHA-256
// ("sha256"), which begin with the size, or of the content alone ("").
func newDigest(kind string, size int64) digest {
	d := digest{sha256.New()}
	if kind == "sha1" {
		d = digest{sha1.New()}
	}
	if kind != "" {
		fmt.Fprintf(d, "blob %d\x00", size)
	}
	return d
}

func (b blob) kind() string {
	switch {
	case b.lfs:
		return ""
	case len(b.id) == 40:
		return "sha1"
	}
	return "sha256"
}

func fileDigest(path, kind string, size int64) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	d := newDigest(kind, size)
	if _, err := io.Copy(d, in); err != nil {
		return "", err
	}
	return d.id(), nil
}

// escapeFolder makes a folder's path safe within a pattern. On Windows a
// backslash escapes nothing, and the folder stays as it is.
func escapeFolder(dir string) string {
	if filepath.Separator == '\\' {
		return dir
	}
	return escapeGlob(dir)
}
