package arch

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFixturesAreDescribed holds fixtures/README.md to the folder: each file is
// named in the first column of a table (as itself, by a pattern, or by a folder
// that ends in a slash), and each name there is a file.
func TestFixturesAreDescribed(t *testing.T) {
	const root = "../../fixtures"
	readme, err := os.ReadFile(root + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	quoted := regexp.MustCompile("`([^`]+)`")
	for line := range strings.Lines(string(readme)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && cells[0] == "" {
			for _, m := range quoted.FindAllStringSubmatch(cells[1], -1) {
				used[m[1]] = false
			}
		}
	}
	if len(used) == 0 {
		t.Fatal("no table found in fixtures/README.md")
	}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		described := rel == "README.md"
		for pattern := range used {
			if ok, err := path.Match(pattern, rel); err != nil {
				return err
			} else if ok || strings.HasSuffix(pattern, "/") && strings.HasPrefix(rel, pattern) {
				described, used[pattern] = true, true
			}
		}
		if !described {
			t.Errorf("fixtures/%s is not described in fixtures/README.md: say what it is and how it was made", rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pattern, ok := range used {
		if !ok {
			t.Errorf("fixtures/README.md describes %s, which is not there", pattern)
		}
	}
}
