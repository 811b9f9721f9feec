package base

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	pathpkg "path"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	// maxBudget is the largest budget file that is read from a base, in bytes.
	maxBudget = 64 << 20
	// maxTotal is how much is taken from a base at once, in bytes.
	maxTotal = 256 << 30
)

// maxLinks is how many links one path may lead through.
const maxLinks = 8

// blob reads one file of the base into memory, through links inside the base.
func (t *Tree) blob(path string, limit int64) ([]byte, error) {
	return t.linked(path, limit, maxLinks)
}

func (t *Tree) linked(path string, limit int64, links int) ([]byte, error) {
	found, err := t.list([]string{path})
	if err != nil {
		return nil, err
	}
	if links > 0 && len(found) == 1 && found[0].path == path && found[0].mode == symlinkMode {
		var to []byte
		err := t.batch("--batch", found, func(_ entry, size int64, r *bufio.Reader) (err error) {
			to, err = io.ReadAll(io.LimitReader(r, min(size, 4096)))
			return err
		})
		if err != nil {
			return nil, err
		}
		next := pathpkg.Join(pathpkg.Dir(path), string(to))
		if pathpkg.IsAbs(string(to)) || next == ".." || strings.HasPrefix(next, "../") {
			return nil, fmt.Errorf("%s: a link that leads outside of the repository", t.at(path))
		}
		return t.linked(next, limit, links-1)
	}
	if len(found) != 1 || found[0].path != path || found[0].mode == symlinkMode || found[0].mode == submoduleMode {
		return nil, fmt.Errorf("%s: not a file", t.at(path))
	}
	var data []byte
	err = t.contents(found, limit, func(_ entry, _ int64, r io.Reader) (err error) {
		data, err = io.ReadAll(r)
		return err
	})
	return data, err
}

// contents hands the content of each entry to sink, in order: the blob or, where
// that is a pointer of Git LFS, the object that it points to. limit bounds the
// sum of sizes. That an object is missing is found before the first sink.
func (t *Tree) contents(entries []entry, limit int64, sink func(e entry, size int64, r io.Reader) error) error {
	if err := t.check(entries, limit); err != nil {
		return err
	}
	return t.batch("--batch", entries, func(e entry, size int64, r *bufio.Reader) error {
		blob := &io.LimitedReader{R: r, N: size}
		var content io.Reader = blob
		var pointed *pointer
		if size < maxPointer {
			data, err := io.ReadAll(blob)
			if err != nil {
				return err
			}
			content, pointed = bytes.NewReader(data), parsePointer(data)
		}
		var err error
		if pointed != nil {
			if limit -= pointed.size; limit < 0 {
				return fmt.Errorf("%s: too much to read with its %d bytes", t.at(e.path), pointed.size)
			}
			err = t.lfs(e, *pointed, sink)
		} else {
			err = sink(e, size, content)
		}
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, blob); err != nil {
			return err
		}
		if end, err := r.ReadByte(); err != nil || blob.N > 0 || end != '\n' {
			return io.ErrUnexpectedEOF
		}
		return nil
	})
}

// check looks that all objects are here, and how large they are.
func (t *Tree) check(entries []entry, limit int64) error {
	var total int64
	var missing []string
	seen := 0
	err := t.batch("--batch-check", entries, func(e entry, size int64, r *bufio.Reader) error {
		seen++
		if size < 0 {
			missing = append(missing, e.path)
			return nil
		}
		if total += size; total > limit || total < 0 {
			return fmt.Errorf("%s: more than %d bytes to read", t.at(e.path), limit)
		}
		return nil
	})
	if failed := new(gitError); errors.As(err, &failed) && seen < len(entries) && t.r.partial() {
		// A git older than 2.45 tries to fetch, and dies when it may not.
		missing, err = append(missing, entries[seen].path), nil
	}
	if err != nil || len(missing) == 0 {
		return err
	}
	if !t.r.partial() {
		return fmt.Errorf("%s: its object is missing: the repository is damaged; see `git fsck`", t.at(missing[0]))
	}
	if len(missing) > maxExamples {
		missing = missing[:maxExamples]
	}
	command := "git archive --output=" + os.DevNull + " " + t.commit.SHA + " --"
	for _, m := range missing {
		command += " " + quote(m)
	}
	return fmt.Errorf("%s is not in this partial clone; run `%s`, which fetches it, or clone without --filter", t.at(quote(missing[0])), command)
}

// batch runs git cat-file with --batch or --batch-check for the entries. A size
// of -1 is a missing object. With --batch, each reads size bytes and a line end.
func (t *Tree) batch(mode string, entries []entry, each func(e entry, size int64, r *bufio.Reader) error) error {
	var ids strings.Builder
	for _, e := range entries {
		ids.WriteString(e.id)
		ids.WriteByte('\n')
	}
	return t.r.git.stream(strings.NewReader(ids.String()), func(r *bufio.Reader) error {
		for _, e := range entries {
			// "<id> blob <size>" or "<id> missing" (git-cat-file(1), "BATCH OUTPUT").
			line, err := r.ReadSlice('\n')
			if err == io.EOF {
				return io.ErrUnexpectedEOF
			}
			if err != nil {
				return err
			}
			fields := strings.Fields(string(line))
			size := int64(-1)
			if len(fields) == 3 && fields[0] == e.id && fields[1] == "blob" {
				size, err = strconv.ParseInt(fields[2], 10, 64)
			} else if len(fields) != 2 || fields[0] != e.id || fields[1] != "missing" || mode == "--batch" {
				err = errors.New("not a blob")
			}
			if err != nil {
				return fmt.Errorf("git cat-file: want a blob and its size, got %.80q", line)
			}
			if err := each(e, size, r); err != nil {
				return err
			}
		}
		return nil
	}, "cat-file", mode)
}

// partial tells whether the clone leaves objects on a server.
func (r *Repository) partial() bool {
	out, err := r.git.output("config", "--get-regexp", `^(remote\..*\.(promisor|partialclonefilter)|extensions\.partialclone)$`)
	return err == nil && out != ""
}

// maxPointer is the size that a pointer of Git LFS stays under, in bytes
// (docs/spec.md, "The Pointer").
const maxPointer = 1024

// pointer is a file of Git LFS that is stored elsewhere.
type pointer struct {
	oid  string // SHA-256 of the content
	size int64  // bytes
}

// parsePointer gives nil for what is no pointer.
func parsePointer(data []byte) *pointer {
	if !bytes.HasPrefix(data, []byte("version https://git-lfs.github.com/spec/v1\n")) {
		return nil
	}
	p := &pointer{size: -1}
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "oid":
			p.oid, _ = strings.CutPrefix(value, "sha256:")
		case "size":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				p.size = n
			}
		}
	}
	if len(p.oid) != 64 || !isSHA(p.oid) || p.size < 0 {
		return nil
	}
	return p
}

// lfs hands the object of a pointer to sink.
func (t *Tree) lfs(e entry, p pointer, sink func(entry, int64, io.Reader) error) error {
	store := filepath.Join(t.r.common, "lfs")
	if elsewhere, err := t.r.git.output("config", "--type=path", "--get", "lfs.storage"); err == nil && elsewhere != "" {
		if store = filepath.FromSlash(elsewhere); !filepath.IsAbs(store) {
			store = filepath.Join(t.r.common, store)
		}
	}
	f, err := os.Open(filepath.Join(store, "objects", p.oid[:2], p.oid[2:4], p.oid))
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is a pointer of Git LFS whose %d bytes are not here; run `git lfs fetch %s %s`, or give actions/checkout `lfs: true` and fetch the base", t.at(quote(e.path)), p.size, quote(t.r.remote()), t.commit.SHA)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != p.size {
		return fmt.Errorf("%s: the Git LFS object %s is damaged: want a file of %d bytes; see `git lfs fsck`", t.at(quote(e.path)), p.oid, p.size)
	}
	e.id, e.lfs = p.oid, true
	sum := newDigest("", p.size)
	if err := sink(e, p.size, io.TeeReader(io.LimitReader(f, p.size), sum)); err != nil {
		return err
	}
	if sum.id() != p.oid {
		return fmt.Errorf("%s: the Git LFS object %s is damaged: its content has the SHA-256 %s; see `git lfs fsck`", t.at(quote(e.path)), p.oid, sum.id())
	}
	return nil
}
