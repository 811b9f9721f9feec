package cli

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/measure"
)

// TestOneScreen: an explanation of any capture of the stories fits a screen, and its
// lines fit a terminal; only paths of files and code to copy may be longer.
func TestOneScreen(t *testing.T) {
	captures := sharedCaptures(t)
	var files []string
	for _, folder := range []string{"lab/torch", "lab/tf", "lab/xla", "torch", "xla"} {
		err := filepath.WalkDir(filepath.Join(captures, folder), func(path string, _ fs.DirEntry, err error) error {
			for _, suffix := range []string{".pickle", ".xplane.pb", "plan.hlo.pb"} {
				if strings.HasSuffix(path, suffix) {
					files = append(files, path)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	files = append(files, filepath.Join(captures, "lab/torch/ranks_head"))
	total := 0
	for _, path := range files {
		var out, problems bytes.Buffer
		if code := Main([]string{"explain", "--quiet", path}, Streams{Stdout: &out, Stderr: &problems, Getenv: func(string) string { return "" }}); code != ExitPass {
			continue // some captures are broken on purpose: other tests say how
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		total++
		if len(lines) > 68 {
			t.Errorf("%s: %d lines", path, len(lines))
		}
		if i := slices.Index(lines, ""); i < 1 || i+1 >= len(lines) || strings.HasPrefix(lines[i+1], " ") {
			t.Errorf("%s: the first sentence is missing:\n%s", path, out.String())
		}
		for i, line := range lines {
			if n := len([]rune(line)); n > 120 && i > 0 && !strings.HasPrefix(line, "     | ") {
				t.Errorf("%s: %d columns: %s", path, n, line)
			}
		}
	}
	if total < 100 {
		t.Errorf("%d explanations", total)
	}
}

// TestSpare: a file that was read is not written over, also where its path lacks the
// user's name.
func TestSpare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.pb")
	if err := writeFile(path, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := spare(path, []measure.Input{{Path: "~/other"}, {Path: filepath.ToSlash(path)}}); err == nil {
		t.Error("a file that was read may be written over")
	}
	if err := spare(path, []measure.Input{{Path: "~/x.pb"}}); err != nil {
		t.Error(err)
	}
	if !redacted("/home/ann/x.pb", "~/x.pb") || redacted("/home/ann/x.pb", "x.pb") {
		t.Error("a redacted path is not told from another")
	}
}
