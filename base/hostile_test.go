package base

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
)

// Whatever a repository's configuration, attributes, hooks and environment say,
// no command of theirs runs: each of them would leave a file behind.
func TestNothingIsExecuted(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the trap is a shell script")
	}
	r := newRepo(t)
	ran := filepath.Join(t.TempDir(), "ran")
	if err := os.Mkdir(ran, 0o755); err != nil {
		t.Fatal(err)
	}
	trap := filepath.Join(t.TempDir(), "trap")
	script := "#!/bin/sh\n: > '" + ran + "'/\"$(basename \"$0\")-$1-$$\"\ncat 2>/dev/null\n"
	if err := os.WriteFile(trap, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	pad := strings.Repeat("x", 2000)
	base := r.commit("1", "peakgate.yml", "", "c/a.json", measured(pad, 1), "model.py", "1", ".peakgate/base/eval.json", measured("eval", 2))
	r.git("checkout", "-q", "-b", "feature")
	r.git("mv", "c/a.json", "c/b.json")
	r.commit("2", "c/b.json", measured(pad, 3), "model.py", "2")

	// From here on, the test's own git would run the traps.
	r.write(".gitattributes", "* filter=evil diff=evil merge=evil\n")
	r.write(".git/info/attributes", "* filter=evil diff=evil\n*.json filter=lfs\n")
	var config strings.Builder
	config.WriteString("[core]\n")
	for _, key := range []string{"fsmonitor", "pager", "editor", "sshCommand", "gitProxy", "askPass", "alternateRefsCommand"} {
		fmt.Fprintf(&config, "\t%s = %s %s\n", key, trap, key)
	}
	fmt.Fprintf(&config, "\thooksPath = %s\n", filepath.Join(r.dir, "hooks"))
	fmt.Fprintf(&config, "[diff]\n\texternal = %[1]s external\n[diff \"evil\"]\n\ttextconv = %[1]s textconv\n\tcommand = %[1]s command\n\tcachetextconv = true\n", trap)
	fmt.Fprintf(&config, "[filter \"evil\"]\n\tsmudge = %[1]s smudge\n\tclean = %[1]s clean\n\tprocess = %[1]s process\n\trequired = true\n", trap)
	fmt.Fprintf(&config, "[filter \"lfs\"]\n\tsmudge = %[1]s lfs\n\tclean = %[1]s lfs\n", trap)
	fmt.Fprintf(&config, "[filter \"a=b.c\"]\n\tsmudge = %[1]s named\n", trap)
	for _, command := range []string{"rev-parse", "ls-tree", "cat-file", "diff-tree", "merge-base", "rev-list"} {
		fmt.Fprintf(&config, "[alias]\n\t%s = !%s alias\n[pager]\n\t%s = %s pager\n", command, trap, command, trap)
	}
	fmt.Fprintf(&config, "[credential]\n\thelper = %[1]s\n[gpg]\n\tprogram = %[1]s\n[log]\n\tshowSignature = true\n[uploadpack]\n\tpackObjectsHook = %[1]s\n", trap)
	fmt.Fprintf(&config, "[remote \"origin\"]\n\turl = ext::%s ext\n\tpromisor = true\n\tpartialclonefilter = blob:none\n\tuploadpack = %s\n", trap, trap)
	config.WriteString("[protocol]\n\tallow = always\n[protocol \"ext\"]\n\tallow = always\n[include]\n\tpath = more\n")
	existing, err := os.ReadFile(filepath.Join(r.dir, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	r.write(".git/config", string(existing)+config.String())
	r.write(".git/more", "[core]\n\tfsmonitor = "+trap+" included\n")
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman", "post-merge"} {
		for _, folder := range []string{"hooks", ".git/hooks"} {
			r.write(folder+"/"+hook, script)
			if err := os.Chmod(filepath.Join(r.dir, folder, hook), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"GIT_PAGER", "GIT_EDITOR", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_PROXY_COMMAND", "GIT_EXTERNAL_DIFF", "PAGER", "EDITOR"} {
		r.env[name] = trap
	}
	r.env["GIT_TRACE"] = filepath.Join(ran, "trace")
	r.env["GIT_CONFIG_COUNT"], r.env["GIT_CONFIG_KEY_0"], r.env["GIT_CONFIG_VALUE_0"] = "1", "core.fsmonitor", trap

	none := func(after string) {
		t.Helper()
		found, err := os.ReadDir(ran)
		if err != nil || len(found) > 0 {
			t.Fatalf("after %s: %v ran, %v", after, found, err)
		}
	}
	repository := r.open()
	c, err := repository.Base("")
	if err != nil || c.SHA != base {
		t.Fatalf("%+v, %v", c, err)
	}
	none("Base")
	if _, err := repository.Base("ext::" + trap + " x"); err == nil {
		t.Error("a transport is a ref")
	}
	tree, err := repository.At(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"train", "eval"} {
		l, err := tree.Load(target, []string{"c/b.json"}, capture.Options{})
		if err != nil || peaks(l.Runs.Runs[0]) != "1" {
			t.Fatalf("%+v, %v", l, err)
		}
	}
	if l, err := tree.Load("eval", nil, capture.Options{}); err != nil || peaks(l.Runs.Runs[0]) != "2" {
		t.Fatalf("%+v, %v", l, err)
	}
	if _, _, err := tree.Budget(); err != nil {
		t.Fatal(err)
	}
	if n, _, err := tree.Changed([]string{"c/*"}); err != nil || n != 1 {
		t.Fatalf("changed: %d, %v", n, err)
	}
	none("Load")
	// An object that is missing is not fetched from the remote.
	if err := tree.check([]entry{{id: strings.Repeat("1a", 20), path: "x"}}, 1); err == nil || !strings.Contains(err.Error(), "not in this partial clone") {
		t.Errorf("a missing object: %v", err)
	}
	none("a missing object")
	w, err := tree.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(filepath.Join(w.Folder, "model.py")); err != nil || string(data) != "1" {
		t.Errorf("model.py in the worktree: %q, %v", data, err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	none("Worktree")

	// The traps do work: the test's own git springs them.
	r.tryGit("status")
	if found, err := os.ReadDir(ran); err != nil || len(found) == 0 {
		t.Errorf("the traps are no traps: %v, %v", found, err)
	}
}

// A repository whose files lie in a tracked folder must not pose as the real one.
func TestEmbeddedBareRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("1", "ci/peakgate.yml", "", "ci/HEAD", "ref: refs/heads/main\n", "ci/objects/x", "", "ci/refs/x", "",
		"ci/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n")
	_, err := Open(filepath.Join(r.dir, "ci", "peakgate.yml"), r.getenv)
	wantLine(t, err, "a bare git repository")
}

// Replaced objects and grafts do not change what a commit is.
func TestReplacedHistory(t *testing.T) {
	t.Parallel()
	r, fork, main, feature := forked(t)
	r.git("replace", "--graft", feature, main)
	r.write(".git/info/grafts", feature+" "+main+"\n")
	if got, _ := r.tryGit("merge-base", "feature", "main"); !strings.HasSuffix(got, main) {
		t.Fatalf("the test is wrong: git gives %s", got)
	}
	r.want(fork, "the merge base of HEAD and main")
}

// A tree may hold names that no git would write; none leads out of the folder.
func TestHostileTree(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("1", "peakgate.yml", "", "a.json", measured("", 1))
	blob := r.sha("HEAD:a.json")
	tree := func(name, mode, id string) string {
		path := filepath.Join(t.TempDir(), "tree")
		raw := make([]byte, 20)
		if _, err := fmt.Sscanf(id, "%x", &raw); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, append([]byte(mode+" "+name+"\x00"), raw...), 0o600); err != nil {
			t.Fatal(err)
		}
		return r.git("hash-object", "-w", "-t", "tree", "--literally", path)
	}
	outside := filepath.Join(os.TempDir(), "peakgate-escaped.json")
	for _, names := range [][]string{{"..", "..", "peakgate-escaped.json"}, {"c", "..", "..", "peakgate-escaped.json"}, {".", "x.json"}, {"c", "a/../../../peakgate-escaped.json"}, {"c", "", "x.json"}, {outside[1:], "x.json"}} {
		id, mode := blob, "100644"
		for i := len(names) - 1; i >= 0; i-- {
			id, mode = tree(names[i], mode, id), "40000"
		}
		sha := r.git("commit-tree", "-m", "x", id)
		for _, pattern := range []string{"**/*.json", "c/**", "."} {
			tree, err := r.open().At(Commit{SHA: sha})
			if err != nil { // git itself refuses some
				wantLine(t, err, "git ")
				continue
			}
			f, err := tree.Files([]string{pattern})
			if err == nil && f != nil {
				for _, p := range f.Paths {
					if !strings.HasPrefix(p, f.dir+string(filepath.Separator)) {
						t.Errorf("%q with %s: %s", names, pattern, p)
					}
				}
				f.Close()
			}
			if _, err := os.Lstat(outside); err == nil {
				os.Remove(outside)
				t.Fatalf("%q with %s: a file outside of the folder", names, pattern)
			}
		}
	}
}

// A capture that is damaged at the base is an error that names it, and nothing
// stays behind.
func TestDamagedCapture(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	base := r.commit("1", "peakgate.yml", "", "c/a.json", measured("", 1)[:60], "c/b.json", "", ".peakgate/base/eval.json", `{"schema":"peakgate.base/1","target":"eval","runs":[]}`,
		".peakgate/base/train.json", measured("eval", 1))
	tree := r.at("peakgate.yml", base)
	for pattern, want := range map[string]string{
		"c/a.json": "c/a.json@" + base[:12] + ": line 1, column ",
		"c/b.json": "c/b.json@" + base[:12] + ": empty file",
		"none":     ".peakgate/base/train.json@" + base[:12] + `: a base of "eval", want one of "train"`,
	} {
		_, err := tree.Load("train", []string{pattern}, capture.Options{})
		wantLine(t, err, want)
	}
	_, err := tree.Load("eval", nil, capture.Options{})
	wantLine(t, err, ".peakgate/base/eval.json@"+base[:12]+": no runs: nothing was measured")
}
