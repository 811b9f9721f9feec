package cli

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// quietly runs peakgate in this process and gives its exit code and output.
func quietly(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := Main(args, Streams{Stdout: &out, Stderr: &out, Getenv: func(string) string { return "" }})
	return code, out.String()
}

// TestInitHolds: whatever folder of captures init takes, lint has nothing to say of
// its budget and check passes right away; and it takes a good part of them.
func TestInitHolds(t *testing.T) {
	for _, tt := range []struct {
		root string
		min  int // folders that give a budget
	}{{filepath.Join("..", "..", "fixtures"), 5}, {filepath.Join("..", "..", "..", "shared", "captures"), 15}} {
		t.Run(filepath.Base(tt.root), func(t *testing.T) {
			root, err := filepath.Abs(tt.root)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(root); err != nil {
				t.Skip("there are no captures at ../shared/captures")
			}
			config := filepath.Join(t.TempDir(), "peakgate.yml")
			made := 0
			for _, dir := range folders(t, root) {
				code, out := quietly(t, "budget", "init", dir, "-o", config, "--force", "--allow-path", root)
				if code == ExitNoData {
					continue
				}
				if code != ExitPass {
					t.Errorf("%s: init: exit code %d: %s", dir, code, out)
					continue
				}
				made++
				for _, command := range [][]string{{"budget", "lint"}, {"check"}, {"budget", "update", "--dry-run"}} {
					if code, out := quietly(t, append(command, "--config", config, "--allow-path", root)...); code != ExitPass {
						t.Errorf("%s: %v: exit code %d: %.2000s", dir, command, code, out)
					}
				}
			}
			if made < tt.min {
				t.Errorf("%d folders gave a budget, want at least %d", made, tt.min)
			}
		})
	}
}

// folders gives all folders that hold a file, the deepest first.
func folders(t *testing.T, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !slices.Contains(out, filepath.Dir(path)) {
			out = append(out, filepath.Dir(path))
		}
		return err
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%s: %d folders, %v", root, len(out), err)
	}
	slices.Reverse(out)
	return out
}

// TestUniqueNames: names are legal for a target, and no two are alike.
func TestUniqueNames(t *testing.T) {
	var groups []group
	for _, path := range []string{"a/xla", "b/xla", "a/x y.pickle.gz", "runs/*/t.pb", "runs/**", "*.pb", ".", "../..", "d/.hidden", "d/-x-", "d/é", "d/\xff", "d/" + strings.Repeat("é", 100), "b/./xla/", "module_0001.jit_f.hlo.pb"} {
		groups = append(groups, group{name: nameOf(path), captures: []string{path}})
	}
	names := uniqueNames(groups)
	for i, want := range []string{"a_xla", "b_xla", "x_y", "runs", "", "", "", "", "hidden", "x", "é", "", strings.Repeat("é", 20), "b_xla_2", "module_0001.jit_f"} {
		if want != "" && names[i] != want {
			t.Errorf("%q: %q, want %q", groups[i].captures[0], names[i], want)
		}
	}
	seen := map[string]bool{}
	for i, name := range names {
		if seen[name] || name == "" || len(name) > 100 || sanitize(name) == "target" && name != "target" {
			t.Errorf("%q: name %q", groups[i].captures[0], name)
		}
		seen[name] = true
	}
}

// TestHeadroom: percent as people write it, and nothing else.
func TestHeadroom(t *testing.T) {
	for text, want := range map[string]string{"5": "5", "5%": "5", "0": "0", "2.5%": "5/2", "1000": "1000"} {
		if r, err := parseHeadroom(text); err != nil || r.RatString() != want {
			t.Errorf("%q: %v, %v; want %s", text, r, err, want)
		}
	}
	for _, text := range []string{"", "-1", "1001", "1e3", "1/3", "5 %", "5%%", "nan", "0x5", ".5", "5."} {
		if r, err := parseHeadroom(text); err == nil {
			t.Errorf("%q: %v, want an error", text, r)
		}
	}
}
