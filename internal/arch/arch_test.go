package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestImports holds on each system: some files are built on one of them only.
func TestImports(t *testing.T) {
	touchSources(t)
	for _, system := range []string{"linux", "darwin", "windows"} {
		t.Run(system, func(t *testing.T) {
			edges := imports(t, system)
			if len(edges) == 0 {
				t.Fatal("no imports found: the test sees nothing")
			}
			for _, fault := range forbidden(edges) {
				t.Error(fault)
			}
		})
	}
}

// touchSources looks at every Go file, so that the go command does not answer
// with a kept result of this test after one has changed: it does not see what
// a child process reads.
func touchSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// imports asks the go command for the imports between our packages, without
// those of tests. A package without any gives an edge to itself, so that its
// room is checked.
func imports(t *testing.T, system string) (edges []edge) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports", module+"/...")
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return edges
		} else if err != nil {
			t.Fatal(err)
		}
		if !ours(p.ImportPath) {
			continue
		}
		edges = append(edges, edge{p.ImportPath, p.ImportPath})
		for _, to := range p.Imports {
			if ours(to) {
				edges = append(edges, edge{p.ImportPath, to})
			}
		}
	}
}

func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

func TestForbidden(t *testing.T) {
	in := func(room string) string { return strings.TrimSuffix(module+"/"+room, "/") }
	for _, tt := range []struct{ name, from, to, want string }{
		{"down", "compare", "measure", ""},
		{"main calls the command line", "", "internal/cli", ""},
		{"the command line may call all", "internal/cli", "post", ""},
		{"within a room", "capture/torch/pickle", "capture/torch", ""},
		{"of a room's inner package", "capture/torch/pickle", "measure", ""},
		{"back up", "measure", "compare", in("measure") + " imports " + in("compare") + ": measure may import nothing of ours"},
		{"a reader sideways", "capture/xla", "capture/torch", in("capture/xla") + " imports " + in("capture/torch") + ": capture/xla may import measure, growth"},
		{"a reader back up", "capture/xla", "capture", in("capture/xla") + " imports " + in("capture") + ": capture/xla may import measure, growth"},
		{"past the measurement", "report", "capture", in("report") + " imports " + in("capture") + ": report may import measure, compare, diagnose, page"},
		{"post knows nothing", "post", "report", in("post") + " imports " + in("report") + ": post may import nothing of ours"},
		{"main past the command line", "", "report", in("") + " imports " + in("report") + ": main may import internal/cli"},
		{"a room that is none", "util", "measure", in("util") + ": in no room; add one to the table, with its reason"},
		{"an import of none", "compare", "internal/common", in("internal/common") + ": in no room; add one to the table, with its reason"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(forbidden([]edge{{in(tt.from), in(tt.to)}}), "\n"); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestTableHasNoRing takes rooms that import nothing more until none is left.
func TestTableHasNoRing(t *testing.T) {
	left := maps.Clone(rooms)
	delete(left, "")
	delete(left, "internal/cli")
	for len(left) > 0 {
		var free []string
		for room, may := range left {
			if !slices.ContainsFunc(may, func(to string) bool { _, waits := left[to]; return waits }) {
				free = append(free, room)
			}
		}
		if len(free) == 0 {
			t.Fatalf("these rooms import each other in a ring: %v", slices.Sorted(maps.Keys(left)))
		}
		for _, room := range free {
			delete(left, room)
		}
	}
	for room, may := range rooms {
		for _, to := range may {
			if _, ok := rooms[to]; !ok && to != all {
				t.Errorf("%s may import %s, which is no room", name(room), to)
			}
		}
	}
}
