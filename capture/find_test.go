package capture

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tree makes files from fixtures or, for a source that starts with "=", from
// the text behind it, and gives their folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, source := range files {
		data := []byte(strings.TrimPrefix(source, "="))
		if !strings.HasPrefix(source, "=") {
			var err error
			if data, err = os.ReadFile(filepath.Join("../fixtures", source)); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const plan, profile, snapshot, zipped = "xla/h100_donate.hlo.pb", "xla/cpu_donate.xplane.pb", "torch/pools.pickle", "steady/torch/base.pickle.gz"

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, pattern string
		files         map[string]string
		want          []string
		warning, err  string
	}{
		{"a file", "a.pb", map[string]string{"a.pb": plan}, []string{"a.pb"}, "", ""},
		{"a file of any kind is taken at its word", "note", map[string]string{"note": "=hello"}, []string{"note"}, "", ""},
		{"nothing there", "b.pb", nil, nil, "", "no such file or directory; make the capture first"},
		{"a pattern", "*/x.pb", map[string]string{"b/x.pb": plan, "a/x.pb": plan, "c/y.pb": plan}, []string{"a/x.pb", "b/x.pb"}, "", ""},
		{"a pattern of any depth", "**/*.pb", map[string]string{"x.pb": plan, "a/b/y.pb": plan, "z.txt": "=z"}, []string{"a/b/y.pb", "x.pb"}, "", ""},
		{"no match", "*.pickle", map[string]string{"a.pb": plan}, nil, "", "matches no file"},
		{"a directory is searched by content", "", map[string]string{"a.any": plan, "b/c.gz": zipped, "d.txt": "=text", ".git/e.pb": plan, "f": snapshot}, []string{"a.any", "b/c.gz", "f"}, "", ""},
		{"an interrupted dump is found, not passed over", "", map[string]string{"rank0.pickle": "="}, []string{"rank0.pickle"}, "", ""},
		{"a capture that cannot be read is found too", "", map[string]string{"rank0.pickle": snapshot, "rank1.pickle": "=\x00\x00\x00", "rank2.pickle.gz": "=x", "step.xplane.pb": "=version https://git-lfs"}, []string{"rank0.pickle", "rank1.pickle", "rank2.pickle.gz", "step.xplane.pb"}, "", ""},
		{"a newest run that is damaged", "", map[string]string{
			"log/plugins/profile/2026_01_01_00_00_00/h.xplane.pb": profile, "log/plugins/profile/2026_01_02_00_00_00/h.xplane.pb": "=\x00",
		}, []string{"log/plugins/profile/2026_01_02_00_00_00/h.xplane.pb"}, "only the newest", ""},
		{"a module named after a pass", "", map[string]string{"module_0001.jit_before_optimizations.cpu_after_optimizations.hlo.pb": plan}, []string{"module_0001.jit_before_optimizations.cpu_after_optimizations.hlo.pb"}, "", ""},
		{"a plan beside a profile that is no cache", "", map[string]string{"h.xplane.pb": profile, "big.hlo_proto.pb": plan}, []string{"big.hlo_proto.pb", "h.xplane.pb"}, "", ""},
		{"a brace bomb", strings.Repeat("{a,b}", 24), nil, nil, "", "more than 6 braces"},
		{"a depth bomb", strings.Repeat("**/", 100) + "x", nil, nil, "", "more than 4 **"},
		{"a directory without captures", "", map[string]string{"a.txt": "=a", "b/c.txt": "=c"}, nil, "", "holds no capture (2 files looked at)"},
		{"a pattern of directories", "rank*", map[string]string{"rank0/a": snapshot, "rank1/a": snapshot, "rank1/log": "=x"}, []string{"rank0/a", "rank1/a"}, "", ""},
		{"only the newest run", "", map[string]string{
			"log/plugins/profile/2026_01_01_00_00_00/h.xplane.pb": profile, "log/plugins/profile/2026_01_02_00_00_00/h.xplane.pb": profile,
		}, []string{"log/plugins/profile/2026_01_02_00_00_00/h.xplane.pb"}, "only the newest, 2026_01_02_00_00_00, is read", ""},
		{"caches beside a profile", "", map[string]string{"h.xplane.pb": profile, "jit_f(1).hlo_proto.pb": plan}, []string{"h.xplane.pb"}, "1 *.hlo_proto.pb files", ""},
		{"plans on their own", "", map[string]string{"jit_f(1).hlo_proto.pb": plan}, []string{"jit_f(1).hlo_proto.pb"}, "", ""},
		{"dumps of modules without a plan", "", map[string]string{"module_0000.jit_f.before_optimizations.hlo.pb": plan, "module_0000.jit_f.cpu_after_optimizations.hlo.pb": plan}, []string{"module_0000.jit_f.cpu_after_optimizations.hlo.pb"}, "", ""},
	} {
		dir := tree(t, c.files)
		files, warnings, err := Find(filepath.Join(dir, c.pattern))
		var got []string
		for _, f := range files {
			rel, relErr := filepath.Rel(dir, f)
			if relErr != nil {
				t.Fatal(relErr)
			}
			got = append(got, filepath.ToSlash(rel))
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if all := strings.Join(warnings, "\n"); !strings.Contains(all, c.warning) || c.warning == "" && all != "" {
			t.Errorf("%s: warnings %q, want %q", c.name, all, c.warning)
		}
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
	}
}

// A link that leads above itself is not followed; one that has the name of a
// capture is found, whole or broken, and what is no file is not opened.
func TestFindLinks(t *testing.T) {
	dir := tree(t, map[string]string{"x/t.pickle": snapshot})
	for name, to := range map[string]string{"x/loop": ".", "x/linked.pickle": "t.pickle", "x/broken.pickle": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skip(err) // no rights to make links here
		}
	}
	for pattern, want := range map[string]int{"x/**/*.pickle": 3, "x": 3, "x/[t].pickle": 1} {
		if files, _, err := Find(filepath.Join(dir, pattern)); err != nil || len(files) != want {
			t.Errorf("%s: %q, %v; want %d files", pattern, files, err, want)
		}
	}
}

func TestFindUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		// Root reads everything; a broken link is unreadable for all.
		dir := tree(t, map[string]string{"a.pb": plan})
		if err := os.Symlink("nowhere", filepath.Join(dir, "b.pb")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Find(filepath.Join(dir, "b.pb")); err == nil {
			t.Error("a broken link was found")
		}
		return
	}
	dir := tree(t, map[string]string{"a.pb": plan})
	if err := os.Chmod(filepath.Join(dir, "a.pb"), 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Find(dir); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("error %v", err)
	}
}

// A page of trace_plot beside its snapshot is not counted twice, and is read
// where it is named.
func TestFindPage(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join("..", "fixtures", "torch", "forms_proto2.pickle"))
	if err != nil {
		t.Fatal(err)
	}
	html := `<html><script>add_local_files([{"name": "snapshot.pickle", "base64": "` + base64.StdEncoding.EncodeToString(data) + `"}], "")</script></html>`
	snapshot, page := filepath.Join(dir, "rank0.pickle"), filepath.Join(dir, "rank0.html")
	for path, content := range map[string][]byte{snapshot: data, page: []byte(html)} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, _, err := Find(dir)
	if err != nil || len(files) != 1 || files[0] != snapshot {
		t.Errorf("%q, %v; want the snapshot alone", files, err)
	}
	a, err := Open(snapshot, Options{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(page, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Rows) == 0 || len(a.Rows) != len(b.Rows) || b.Inputs[0].Format != "torch.snapshot" {
		t.Errorf("%d rows of the snapshot, %d of the page", len(a.Rows), len(b.Rows))
	}
}
