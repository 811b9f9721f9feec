package dryrun

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Source is a line of the program, given relative to Dir, relative to Root where it is in
// it. What is no such line is none.
func (s *Spec) Source(p *measure.Source) *measure.Source {
	if p == nil || p.Line < 1 || !filepath.IsLocal(p.File) || FirstLine(p.File) != p.File {
		return nil
	}
	if s.Root == "" {
		return p
	}
	dir, err := filepath.Abs(s.Dir)
	if err != nil {
		return p
	}
	rel, err := filepath.Rel(s.Root, filepath.Join(dir, p.File))
	if err != nil || !filepath.IsLocal(rel) {
		return p
	}
	return &measure.Source{File: filepath.ToSlash(rel), Line: p.Line}
}

// Margin is what a device of that memory may hold beside what a program asks for, in
// bytes: 1 GiB or 2.5 %, whichever is more.
func Margin(memory measure.Bytes) measure.Bytes { return max(1<<30, memory/40) }

// Open opens a file that the program may have written, or have put something else in the
// place of: a link, or a pipe, which would be waited for.
func Open(path string) (*os.File, int64, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: want a plain file", filepath.Base(path))
	}
	f, err := os.Open(path)
	return f, info.Size(), err
}

// ReadFile reads what Open opens, up to a number of bytes.
func ReadFile(path string, most int64) ([]byte, error) {
	f, _, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > most {
		return nil, fmt.Errorf("%s: more than %d bytes", filepath.Base(path), most)
	}
	return data, nil
}

// maxLine is how much of an error is told, in bytes.
const maxLine = 400

// FirstLine is the first line of an error, of bearable length.
func FirstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = strings.TrimSpace(text)
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	return text
}
