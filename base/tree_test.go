package base

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
)

func (r *repo) load(budget, rev string, patterns ...string) *Loaded {
	r.t.Helper()
	l, err := r.at(budget, rev).Load("train", patterns, capture.Options{})
	if err != nil {
		r.t.Fatal(err)
	}
	return l
}

// wantLoaded compares the kind, the values and the inputs.
func (l *Loaded) want(t *testing.T, kind, values, from string) {
	t.Helper()
	if l.Kind != kind {
		t.Fatalf("kind %q, want %q", l.Kind, kind)
	}
	if kind == "none" {
		if l.Runs != nil {
			t.Errorf("none with runs: %+v", l.Runs)
		}
		return
	}
	m := l.Runs.Runs[0]
	if got := peaks(m); got != values {
		t.Errorf("values %s, want %s", got, values)
	}
	if got := inputs(m); got != from {
		t.Errorf("inputs %s\nwant   %s", got, from)
	}
	if m.Target != "train" || l.Runs.Target != "train" {
		t.Errorf("target %q of %q", m.Target, l.Runs.Target)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("1", "ci/peakgate.yml", "version: 1\n")
	base := r.commit("2",
		"ci/captures/a.json", measured("", 1), "ci/captures/b.json", measured("", 2), "ci/captures/deep/er/c.json", measured("", 3),
		"ci/captures/notes.txt", "no capture", "ci/captures/.hidden/d.json", measured("", 4), "other/e.json", measured("", 5),
		"ci/.peakgate/base/train.json", measured("train", 6))
	at := "@" + base[:12]
	r.git("rm", "-q", "-r", "ci/captures", "other")
	r.commit("3")
	c := "ci/captures/"
	for _, test := range []struct{ patterns, kind, values, inputs string }{
		{"captures/a.json", "captures", "1", c + "a.json" + at},
		{"captures/*.json", "captures", "a.json=1 b.json=2", c + "a.json" + at + " " + c + "b.json" + at},
		{"captures/**/*.json", "captures", "d.json=4 a.json=1 b.json=2 c.json=3", ""},
		{"captures", "captures", "a.json=1 b.json=2 c.json=3", c + "a.json" + at + " " + c + "b.json" + at + " " + c + "deep/er/c.json" + at},
		{"./captures/de*", "captures", "3", c + "deep/er/c.json" + at},
		{"captures/{a,b}.json", "captures", "a.json=1 b.json=2", c + "a.json" + at + " " + c + "b.json" + at},
		{"captures/a.json|captures/*.json", "captures", "a.json=1 b.json=2", c + "a.json" + at + " " + c + "b.json" + at},
		{"../other/*.json", "captures", "5", "other/e.json" + at},
		{filepath.Join(r.dir, "other"), "captures", "5", "other/e.json" + at},
		{"captures/none.json|captures/b.json", "captures", "2", c + "b.json" + at},
		{"captures/none.json", "measurement", "6", "ci/.peakgate/base/train.json" + at},
		{"../../outside/*.json", "measurement", "6", "ci/.peakgate/base/train.json" + at},
		{"/tmp/outside/*.json", "measurement", "6", "ci/.peakgate/base/train.json" + at},
		{"", "measurement", "6", "ci/.peakgate/base/train.json" + at},
	} {
		patterns := strings.Split(test.patterns, "|")
		if test.patterns == "" {
			patterns = nil
		}
		l := r.load("ci/peakgate.yml", base, patterns...)
		if test.inputs == "" {
			test.inputs = inputs(l.Runs.Runs[0])
		}
		t.Run(test.patterns, func(t *testing.T) { l.want(t, test.kind, test.values, test.inputs) })
	}
	l := r.load("ci/peakgate.yml", base, "captures/none.json", "captures/b.json")
	if w := l.Runs.Runs[0].Warnings; len(w) != 1 || w[0] != "ci/captures/none.json names no capture at the base "+base[:12] {
		t.Errorf("warnings %q", w)
	}
	r.load("ci/peakgate.yml", first, "captures").want(t, "none", "", "")

	_, err := r.at("ci/peakgate.yml", base).Load("train", []string{"captures/[a"}, capture.Options{})
	wantLine(t, err, "malformed pattern")
	_, err = r.at("ci/peakgate.yml", base).Load("train", []string{"captures/*"}, capture.Options{})
	wantLine(t, err, "ci/captures/notes.txt@"+base[:12]+": not a capture")
	if e := new(capture.FormatError); !errors.As(err, &e) {
		t.Errorf("%T is no FormatError", err)
	}
	_, err = r.at("ci/peakgate.yml", base).Load("eval", nil, capture.Options{})
	if err != nil {
		t.Error(err)
	}
}

// The copies are what the captures were, private, and gone after Close. Real
// captures give the same measurement from git as from the disk.
func TestFilesOfRealCaptures(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("peakgate.yml", "version: 1\n")
	for _, name := range []string{"steady/torch/base.pickle.gz", "steady/xla/base.hlo.pb"} {
		data, err := os.ReadFile(filepath.Join("..", "fixtures", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		r.write("captures/"+filepath.Base(name), string(data))
	}
	base := r.commit("1")
	direct, err := capture.Measure("train", []string{filepath.Join(r.dir, "captures", "base.hlo.pb"), filepath.Join(r.dir, "captures", "base.pickle.gz")}, capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.git("rm", "-q", "-r", "captures")
	r.commit("2")
	f, err := r.at("peakgate.yml", base).Files([]string{"captures/*"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.Measure("train", capture.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Measure("train", capture.Options{Progress: func(path string, _, _ int64) {
		if path == "" || strings.Contains(path, f.dir) {
			t.Errorf("progress of %q", path)
		}
	}}); err != nil {
		t.Fatal(err)
	}
	for i := range direct.Inputs {
		direct.Inputs[i].Path = "captures/" + filepath.Base(direct.Inputs[i].Path) + "@" + base[:12]
	}
	var a, b bytes.Buffer
	if err := NewRuns("train", direct).Encode(&a); err != nil {
		t.Fatal(err)
	}
	if err := NewRuns("train", m).Encode(&b); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() || a.Len() < 1000 {
		t.Errorf("from git: %d bytes of JSON, from the disk: %d, and they differ", b.Len(), a.Len())
	}
	if info, err := os.Stat(f.dir); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the folder of copies: %v, %v; want it private", info.Mode(), err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(f.dir); !os.IsNotExist(err) {
		t.Errorf("after Close the copies are still there: %v", err)
	}
}

func TestRenamedCapture(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	big := strings.Repeat("x", 4000) // git pairs files that are at least half alike
	pad := func(bytes int64) string { return strings.Replace(measured(big, bytes), "}", "}", 1) }
	base := r.commit("1", "peakgate.yml", "", "c/old0.json", pad(1), "c/old1.json", pad(2), "kept.json", pad(3))
	r.git("mv", "c/old0.json", "c/new0.json")
	r.git("mv", "c/old1.json", "c/new1.json")
	r.commit("2", "c/new0.json", pad(100))
	at := "@" + base[:12]
	// Rows of several files get the label file: it is the head's name on both sides.
	r.load("peakgate.yml", base, "c/new*.json").want(t, "captures", "new0.json=1 new1.json=2", "c/old0.json"+at+" c/old1.json"+at)
	r.load("peakgate.yml", base, "c").want(t, "captures", "new0.json=1 new1.json=2", "c/old0.json"+at+" c/old1.json"+at)
	r.load("peakgate.yml", base, "c/old0.json").want(t, "captures", "1", "c/old0.json"+at)
	r.load("peakgate.yml", base, "c/other*.json").want(t, "none", "", "")
}

func TestRenamedBudget(t *testing.T) {
	t.Parallel()
	text := "version: 1\n# " + strings.Repeat("a comment that git recognises\n# ", 20) + "\n"
	r := newRepo(t)
	base := r.commit("1", "train/peakgate.yml", text+"old", "train/captures/a.json", measured("", 1), "train/.peakgate/base/eval.json", measured("eval", 9))
	at := "@" + base[:12]
	r.git("mv", "train", "ci")
	// The capture is another one altogether: git does not see it as moved.
	r.commit("2", "ci/peakgate.yml", text+"new", "ci/captures/a.json", "unlike", "ci/.peakgate/base/eval.json", "unlike too")
	tree := r.at("ci/peakgate.yml", base)
	data, path, err := tree.Budget()
	if err != nil || string(data) != text+"old" || path != "train/peakgate.yml" {
		t.Errorf("budget %q: %q, %v", path, data, err)
	}
	r.load("ci/peakgate.yml", base, "captures/*.json").want(t, "captures", "1", "train/captures/a.json"+at)
	l, err := tree.Load("eval", []string{"none/*.json"}, capture.Options{})
	if err != nil || l.Kind != "measurement" || peaks(l.Runs.Runs[0]) != "9" {
		t.Errorf("%+v, %v", l, err)
	}
	if n, names, err := tree.Changed([]string{"captures/*.json"}); err != nil || n != 0 {
		t.Errorf("changed: %d %q %v", n, names, err)
	}
	// A budget that is new.
	tree = r.at("new.yml", base)
	if data, path, err := tree.Budget(); data != nil || path != "" || err != nil {
		t.Errorf("a new budget at the base: %q, %q, %v", path, data, err)
	}
}

func TestSameAndChanged(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	a, b := measured("", 1), measured("", 2) // of one size
	base := r.commit("1", "peakgate.yml", "", "c/a.json", a, "c/b.json", b, "model.py", "1")
	check := func(want bool, files ...string) {
		t.Helper()
		l := r.load("peakgate.yml", base, "c/*.json")
		var paths []string
		for i, text := range files {
			name := fmt.Sprintf("head/%d.json", i)
			r.write(name, text)
			paths = append(paths, filepath.Join(r.dir, name))
		}
		if same, err := l.Files.Same(paths); same != want || err != nil {
			t.Errorf("%d files: same is %v, %v; want %v", len(files), same, err, want)
		}
	}
	check(true, a, b)
	check(true, b, a)
	check(false, a)
	check(false, a, b, b)
	check(false, a, a)
	check(false, a, measured("", 3))
	check(false, a, b+" ")
	if _, err := r.load("peakgate.yml", base, "c/*.json").Files.Same([]string{"/none", "/neither"}); err == nil {
		t.Error("files that are not there are the same")
	}

	changed := func(want int, names ...string) {
		t.Helper()
		n, got, err := r.at("peakgate.yml", base).Changed([]string{"c/*.json"})
		if err != nil || n != want || !slices.Equal(got, names) {
			t.Errorf("changed: %d %q, %v; want %d %q", n, got, err, want, names)
		}
	}
	if err := os.RemoveAll(filepath.Join(r.dir, "head")); err != nil {
		t.Fatal(err)
	}
	changed(0)
	r.commit("2", "peakgate.yml", "version: 1", ".peakgate/base/x.json", "x", "c/a.json", "new")
	changed(0)
	r.commit("3", "model.py", "2", "c/readme", "x")
	changed(2, "c/readme", "model.py")
	r.git("rm", "-q", "model.py")
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprintf("z%02d\n\"", i), "x")
	}
	r.commit("4", many...)
	n, names, err := r.at("peakgate.yml", base).Changed([]string{"c/*.json"})
	if err != nil || n != 22 || len(names) != maxExamples {
		t.Errorf("changed: %d, %d names, %v", n, len(names), err)
	}
}

func TestOddNames(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	names := []string{"-n", "--output=x", " space ", "new\nline", "tab\t", "ünïcode", "日本", "quote\"'`$(x)", "star*", "[a]", "{b}", "back\\slash", ":(top)x", "!x", "#", "a=b"}
	var files []string
	for _, n := range names {
		files = append(files, "odd/"+n+"/"+n+".json", measured("", 7))
	}
	base := r.commit("1", append(files, "odd/peakgate.yml", "")...)
	l := r.load("odd/peakgate.yml", base, "**/*.json")
	if got := len(l.Runs.Runs[0].Inputs); got != len(names) {
		t.Errorf("%d inputs, want %d: %q", got, len(names), inputs(l.Runs.Runs[0]))
	}
	for _, n := range names {
		// As a folder of the budget, and as a target.
		r.write("odd/"+n+"/"+FileName(n), measured(n, 8))
	}
	base = r.commit("2")
	for _, n := range names {
		tree := r.at("odd/"+n+"/peakgate.yml", base)
		l, err := tree.Load(n, []string{"*.json"}, capture.Options{})
		if err != nil || l.Kind != "captures" || peaks(l.Runs.Runs[0]) != "7" {
			t.Errorf("folder %q: %+v, %v", n, l, err)
		}
		l, err = tree.Load(n, nil, capture.Options{})
		if err != nil || l.Kind != "measurement" || peaks(l.Runs.Runs[0]) != "8" {
			t.Errorf("target %q: %+v, %v", n, l, err)
		}
	}
}

// pointerTo writes a pointer as git-lfs does.
func pointerTo(content string, size int) string {
	return fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%x\nsize %d\n", sha256.Sum256([]byte(content)), size)
}

func (r *repo) store(folder, content, as string) {
	oid := fmt.Sprintf("%x", sha256.Sum256([]byte(as)))
	r.write(filepath.Join(folder, "objects", oid[:2], oid[2:4], oid), content)
}

func TestLFS(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	content := measured("", 42)
	base := r.commit("1", "peakgate.yml", "", "c/a.json", pointerTo(content, len(content)), ".gitattributes", "*.json filter=lfs diff=lfs merge=lfs -text\n")
	load := func() (*Loaded, error) {
		return r.at("peakgate.yml", base).Load("train", []string{"c/*.json"}, capture.Options{})
	}
	_, err := load()
	wantLine(t, err, "c/a.json@"+base[:12]+" is a pointer of Git LFS whose "+fmt.Sprint(len(content))+" bytes are not here; run `git lfs fetch origin "+base+"`")

	r.store(".git/lfs", content+" ", content)
	_, err = load()
	wantLine(t, err, "want a file of")
	r.store(".git/lfs", strings.Replace(content, "42", "41", 1), content)
	_, err = load()
	wantLine(t, err, "is damaged: its content has the SHA-256")

	r.store(".git/lfs", content, content)
	l, err := load()
	if err != nil {
		t.Fatal(err)
	}
	l.want(t, "captures", "42", "c/a.json@"+base[:12])
	r.write("head.json", content)
	if same, err := l.Files.Same([]string{filepath.Join(r.dir, "head.json")}); !same || err != nil {
		t.Errorf("the head has what Git LFS has: %v, %v", same, err)
	}
	r.write("head.json", strings.Replace(content, "42", "43", 1))
	if same, err := l.Files.Same([]string{filepath.Join(r.dir, "head.json")}); same || err != nil {
		t.Errorf("another content is the same: %v, %v", same, err)
	}

	// The store may be elsewhere; a worktree shares it.
	if err := os.RemoveAll(filepath.Join(r.dir, ".git", "lfs")); err != nil {
		t.Fatal(err)
	}
	r.git("config", "lfs.storage", "big store")
	r.store(".git/big store", content, content)
	if _, err := load(); err != nil {
		t.Error(err)
	}
	r.git("worktree", "add", "-q", "--detach", "../tree")
	w := r.beside("tree")
	w.load("peakgate.yml", base, "c").want(t, "captures", "42", "c/a.json@"+base[:12])
}

func TestPointers(t *testing.T) {
	for _, text := range []string{
		"", "version https://git-lfs.github.com/spec/v1\n", "version https://git-lfs.github.com/spec/v1\noid sha256:../../../x\nsize 1\n",
		pointerTo("x", -1), strings.Replace(pointerTo("x", 1), "sha256", "md5", 1), strings.Replace(pointerTo("x", 1), "size 1", "size 99999999999999999999", 1),
		strings.ToUpper(pointerTo("x", 1)), strings.Repeat("a", 64),
	} {
		if p := parsePointer([]byte(text)); p != nil {
			t.Errorf("%q is a pointer: %+v", text, p)
		}
	}
	if p := parsePointer([]byte(pointerTo("x", 1))); p == nil || p.size != 1 {
		t.Errorf("no pointer: %+v", p)
	}
}

func TestSubmodulesAndLinks(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	inner := r.beside("inner")
	if err := os.Mkdir(inner.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	inner.git("init", "-q")
	inner.commit("1", "captures/a.json", measured("", 1))
	r.write("peakgate.yml", "")
	r.git("submodule", "--quiet", "add", "file://"+filepath.ToSlash(inner.dir), "third party")
	for name, target := range map[string]string{"link.json": "../../etc/passwd", "folder": "third party"} {
		if err := os.Symlink(target, filepath.Join(r.dir, name)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	base := r.commit("2")
	tree := r.at("peakgate.yml", base)
	for pattern, want := range map[string]string{
		"third party/captures/*.json": "'third party' is a submodule at " + base[:12] + ", whose files this repository does not hold",
		"third party/captures/a.json": "'third party' is a submodule",
		"third party":                 "'third party' is a submodule",
		"link.json":                   "link.json@" + base[:12] + " is a symbolic link; want a file",
		"*.json":                      "link.json@" + base[:12] + " is a symbolic link; want a file",
		"folder/captures/a.json":      "folder is a symbolic link at " + base[:12],
	} {
		_, err := tree.Load("train", []string{pattern}, capture.Options{})
		wantLine(t, err, want)
	}
	// A committed measurement serves instead.
	base = r.commit("3", ".peakgate/base/train.json", measured("train", 3))
	r.load("peakgate.yml", base, "third party/captures").want(t, "measurement", "3", ".peakgate/base/train.json@"+base[:12])
	// A measurement that is a link is refused.
	if err := os.Symlink("/etc/passwd", filepath.Join(r.dir, ".peakgate/base/eval.json")); err != nil {
		t.Fatal(err)
	}
	base = r.commit("4")
	_, err := r.at("peakgate.yml", base).Load("eval", nil, capture.Options{})
	wantLine(t, err, ".peakgate/base/eval.json@"+base[:12]+": a link that leads outside of the repository")
}

func TestPartialClone(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.git("config", "uploadpack.allowFilter", "true")
	r.git("config", "uploadpack.allowAnySHA1InWant", "true")
	pad := strings.Repeat("x", 2000)
	base := r.commit("1", "peakgate.yml", "", "c/a b.json", measured(pad, 1), "c/b.json", measured("", 2))
	r.git("mv", "c/a b.json", "c/c.json")
	r.commit("2", "c/c.json", measured(pad, 3), "model.py", "2")
	clone := r.beside("clone")
	r.git("clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+filepath.ToSlash(r.dir), clone.dir)
	clone.git("checkout", "-q", "main")
	tree := clone.at("peakgate.yml", base)
	objects := clone.git("count-objects", "-v")
	_, err := tree.Load("train", []string{"c/*.json"}, capture.Options{})
	wantLine(t, err, "c/a b.json'@"+base[:12]+" is not in this partial clone; run `git archive ")
	if got := clone.git("count-objects", "-v"); got != objects {
		t.Errorf("objects were fetched: %s\nbefore: %s", got, objects)
	}
	_, command, _ := strings.Cut(err.Error(), "run `")
	command, _, _ = strings.Cut(command, "`")
	clone.sh(command)
	if _, err := tree.Load("train", []string{"c/*.json"}, capture.Options{}); err != nil {
		// git lacked one at a time: the second is named next.
		_, command, _ := strings.Cut(err.Error(), "run `")
		command, _, _ = strings.Cut(command, "`")
		clone.sh(command)
	}
	if n, names, err := tree.Changed([]string{"c/*.json"}); err != nil || n != 1 {
		t.Errorf("changed: %d %q %v", n, names, err)
	}
	clone.load("peakgate.yml", base, "c/b.json").want(t, "captures", "2", "c/b.json@"+base[:12])
}

// A tree of many files, of which one matters.
func TestLargeTree(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	const files = 60_000
	r.fastImport(manyFiles(files))
	r.git("reset", "-q", "main")
	base := r.sha("main")
	r.load("peakgate.yml", base, "c/*.json").want(t, "captures", "5", "c/a.json@"+base[:12])
	r.load("peakgate.yml", base, "**/a.json").want(t, "captures", "5", "c/a.json@"+base[:12])
	tree := r.at("peakgate.yml", base)
	found, err := tree.matching([]string{"**/*.txt"}, nil)
	if err != nil || len(found) != files {
		t.Errorf("%d of %d files, %v", len(found), files, err)
	}
	if err := tree.check(found, 10); err == nil || !strings.Contains(err.Error(), "more than 10 bytes to read") {
		t.Errorf("no bound on the sum of sizes: %v", err)
	}
}

// manyFiles is a commit of a budget, a capture and many other files.
func manyFiles(files int) string {
	var in strings.Builder
	blob := func(name, text string) {
		fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", name, len(text), text)
	}
	fmt.Fprintf(&in, "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata 1\n1\n", zero)
	for i := range files {
		blob(fmt.Sprintf("big/%02d/%d.txt", i%50, i), "x")
	}
	blob("c/a.json", measured("", 5))
	blob("peakgate.yml", "")
	return in.String()
}

func (r *repo) fastImport(stream string) {
	r.t.Helper()
	cmd := exec.Command("git", "fast-import", "--quiet")
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(stream)
	for k, v := range r.env {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git fast-import: %v\n%s", err, out)
	}
}

// Of several profile runs only the newest is read, as at the head.
func TestProfileRuns(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("1", "peakgate.yml", "",
		"p/plugins/profile/2026_01_01_00_00_00/h.json", measured("", 1), "p/plugins/profile/2026_01_02_00_00_00/h.json", measured("", 2))
	l := r.load("peakgate.yml", base, "p")
	l.want(t, "captures", "2", "p/plugins/profile/2026_01_02_00_00_00/h.json@"+base[:12])
	w := l.Runs.Runs[0].Warnings
	if len(w) != 1 || !strings.HasPrefix(w[0], "p/plugins/profile holds several profile runs; only the newest") || !strings.HasSuffix(w[0], " (at the base)") {
		t.Errorf("warnings %q", w)
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		glob, file string
		want       bool
	}{
		{".", "a", true}, {".", "a/b", true}, {".", ".a", true}, {".", "a/.b/c", false}, {".", ".a/b", false},
		{"a", "a", true}, {"a", "a/b/c", true}, {"a", "a/.b/c", false}, {"a", "a/.c", true}, {"a", "ab", false}, {"a", "b/a", false},
		{"a/*", "a/b/c", true}, {"a/*", "a/.b/c", true}, {"a/**", "a/b/c/d", true}, {"**/x", "a/x/b", true}, {`\[a\]/*`, "[a]/b", true},
		{".a", ".a/b", true}, {"a/*.pb", "a/b/c.pb", false},
	} {
		if got := matches(test.glob, test.file); got != test.want {
			t.Errorf("matches(%q, %q) is %v", test.glob, test.file, got)
		}
	}
	for glob, want := range map[string]string{"a/b/c": "a/b/c", "a/b*/c": "a", "a/*": "a", "*": "", "a*": "", ".": "", `a/\[b/c`: "a"} {
		if got := literal(glob); got != want {
			t.Errorf("literal(%q) is %q, want %q", glob, got, want)
		}
	}
}

// The private folder may lie below names that mean something in a pattern.
func TestTemporaryFolderIsNoPattern(t *testing.T) {
	if filepath.Separator == '\\' {
		t.Skip("a backslash does not escape here")
	}
	odd := filepath.Join(t.TempDir(), `[a] {b,c} * \ ?`)
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	r := newRepo(t)
	base := r.commit("1", "peakgate.yml", "", "c/a.json", measured("", 1))
	t.Setenv("TMPDIR", odd)
	for _, pattern := range []string{"c/a.json", "c", "**/*.json"} {
		r.load("peakgate.yml", base, pattern).want(t, "captures", "1", "c/a.json@"+base[:12])
	}
	if left, err := os.ReadDir(odd); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
