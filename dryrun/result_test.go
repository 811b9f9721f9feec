package dryrun

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

func TestSource(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "sub")
	for _, c := range []struct {
		root, file string
		line       int
		want       string
	}{
		{root, "train.py", 3, "sub/train.py"},
		{"", "train.py", 3, "train.py"},
		{dir, "a/b.py", 1, "a/b.py"},
		{root, "../other.py", 3, ""},
		{root, "/etc/passwd", 3, ""},
		{"", "/etc/passwd", 3, ""},
		{root, "a\nb.py", 3, ""},
		{root, "train.py", 0, ""},
		{root, "", 1, ""},
	} {
		s := Spec{Dir: dir, Root: c.root}
		got := s.Source(&measure.Source{File: c.file, Line: c.line})
		if file := ""; got != nil {
			if file = got.File; file != c.want || got.Line != c.line {
				t.Errorf("%q: %+v, want %q", c.file, got, c.want)
			}
		} else if c.want != "" {
			t.Errorf("%q: none, want %q", c.file, c.want)
		}
	}
	if (&Spec{}).Source(nil) != nil {
		t.Error("no line is a line")
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "report.json")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(path, 5); err != nil || string(data) != "12345" {
		t.Errorf("%q %v", data, err)
	}
	for path, want := range map[string]string{path: "report.json: more than 4 bytes", dir: "want a plain file", path + "x": "report.jsonx"} {
		if _, err := ReadFile(path, 4); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if err := os.Symlink(path, filepath.Join(dir, "link")); err == nil {
		if _, err := ReadFile(filepath.Join(dir, "link"), 9); err == nil || !strings.Contains(err.Error(), "link: want a plain file") {
			t.Errorf("a link: %v", err)
		}
	}
}

func TestFirstLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " a\nb": "a", "a\r\nb": "a", strings.Repeat("é", 300): strings.Repeat("é", 200) + "…", "a\x1b[31mb": "a\x1b[31mb",
	} {
		if got := FirstLine(text); got != want {
			t.Errorf("%.20q: %q", text, got)
		}
	}
}
