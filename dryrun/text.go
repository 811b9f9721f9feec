package dryrun

import (
	"path/filepath"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Source is a line of the program, given relative to Dir, relative to Root where it is in it.
func (s *Spec) Source(p *measure.Source) *measure.Source {
	if p == nil || s.Root == "" {
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

// maxLine is how much of an error is told, in bytes.
const maxLine = 400

// FirstLine is the first line of an error, of bearable length.
func FirstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if len(text) > maxLine {
		text = strings.ToValidUTF8(text[:maxLine], "") + "…"
	}
	return text
}
