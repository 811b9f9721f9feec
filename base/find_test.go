package base

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/peakgate/peakgate/capture"
)

// forked makes main with three commits and feature with two, from main's second.
// It leaves feature checked out.
func forked(t *testing.T) (r *repo, fork, main, feature string) {
	r = newRepo(t)
	r.commit("1", "peakgate.yml", "version: 1\n")
	fork = r.commit("2", "a", "2")
	r.git("checkout", "-q", "-b", "feature")
	r.commit("f1", "f", "1")
	feature = r.commit("f2", "f", "2")
	r.git("checkout", "-q", "main")
	main = r.commit("3", "a", "3")
	r.git("checkout", "-q", "feature")
	return r, fork, main, feature
}

// mergeRef makes what GitHub makes of a pull request, and checks it out.
func (r *repo) mergeRef(base, head string) string {
	r.git("checkout", "-q", "--detach", base)
	r.git("merge", "-q", "--no-ff", "-m", "Merge "+head+" into "+base, head)
	r.git("update-ref", "refs/pull/7/merge", "HEAD")
	r.git("update-ref", "refs/pull/7/head", head)
	return r.sha("HEAD")
}

func TestBaseLocally(t *testing.T) {
	t.Parallel()
	r, fork, main, feature := forked(t)
	r.want(fork, "the merge base of HEAD and main")
	if h := r.open().Head(); h.SHA != feature || h.Ref != "feature" {
		t.Errorf("head is %+v", h)
	}
	r.git("checkout", "-q", "--detach", "feature")
	r.want(fork, "the merge base of HEAD and main")
	if h := r.open().Head(); h.SHA != feature || h.Ref != "" {
		t.Errorf("detached head is %+v", h)
	}
	r.git("checkout", "-q", "main")
	r.want(fork, "the first parent of HEAD, which is on main")

	// A remote's branch wins over a local one, and its HEAD over its main.
	r.git("update-ref", "refs/remotes/origin/main", fork)
	r.want(fork, "the merge base of HEAD and origin/main")
	r.git("update-ref", "refs/remotes/origin/trunk", main)
	r.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
	r.want(fork, "the first parent of HEAD, which is on origin/trunk")

	// A rebased branch begins where it was put.
	r.git("checkout", "-q", "feature")
	r.want(fork, "the merge base of HEAD and origin/trunk")
	r.git("rebase", "-q", "main")
	r.want(main, "the merge base of HEAD and origin/trunk")
}

func TestBaseOfFirstCommits(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.want("", "none: the repository has no commit yet")
	r.commit("1", "peakgate.yml", "")
	r.want("", "none: HEAD is the first commit")
	r.git("branch", "-m", "trunk")
	r.want("", "none: no remote, and no branch main or master; name a base with --base")
	r.git("remote", "add", "origin", "https://example.org/x")
	r.wantError("the default branch is not here")
}

func TestBaseNamed(t *testing.T) {
	t.Parallel()
	r, fork, main, feature := forked(t)
	r.git("tag", "-a", "v1", "-m", "v1", fork)
	r.event("pull_request", pull(feature, main)) // an explicit ref wins
	for ref, want := range map[string]string{"main": main, "HEAD~1": r.sha("HEAD~1"), fork: fork, fork[:8]: fork, "v1": fork, "@": feature, "refs/heads/main": main} {
		c, err := r.open().Base(ref)
		if err != nil || c.SHA != want || c.Ref != ref || c.How != "the named ref "+ref {
			t.Errorf("--base %s: %+v, %v; want %s", ref, c, err, want)
		}
	}
	marker := filepath.Join(t.TempDir(), "ran")
	for _, ref := range []string{
		"--upload-pack=touch " + marker, "-", "--", "--all", "--git-dir=/", "--output=" + marker, "-n1", "^main", "main..feature", "main...feature",
		"main\nfeature", "main feature", "", "nothing", "a", "HEAD:a", "HEAD^{tree}", "refs/heads/*", "$(touch " + marker + ")", "\x00", "main\x00", strings.Repeat("x", 100_000), "../../etc/passwd", "\u202emain",
	} {
		if ref == "" {
			continue // no ref: the event decides
		}
		c, err := r.open().Base(ref)
		if err == nil {
			t.Errorf("--base %.40q: %+v; want an error", ref, c)
			continue
		}
		wantLine(t, err, "neither a file nor a commit")
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a ref was executed or written")
	}
}

func TestBaseOfPullRequest(t *testing.T) {
	t.Parallel()
	r, fork, main, feature := forked(t)
	merge := r.mergeRef("main", "feature")
	// What is checked out contains main's third commit: it is on both sides.
	const how = "the first parent of the pull request's merge commit (main)"
	r.event("pull_request", pull(feature, fork), "GITHUB_REF", "refs/pull/7/merge", "GITHUB_SHA", merge, "GITHUB_BASE_REF", "main")
	r.want(main, how)
	r.env["GITHUB_SHA"] = feature // the parents tell it too
	r.want(main, how)

	// The head itself is checked out.
	r.git("checkout", "-q", feature)
	r.want(fork, "the merge base of HEAD and main")
	r.event("pull_request", pull(feature, main))
	r.want(fork, "the merge base of HEAD and main")

	// pull_request_target checks out the base.
	r.git("checkout", "-q", "main")
	r.wantError("lies on the pull request's base branch (main), not on its head")

	// A payload without the pull request: only the variable is there.
	r.git("checkout", "-q", feature)
	r.event("pull_request", object{}, "GITHUB_BASE_REF", "main")
	r.wantError("base branch main is not here; run `git fetch --deepen=200 origin main:refs/remotes/origin/main`")
	r.git("update-ref", "refs/remotes/origin/main", main)
	r.want(fork, "the merge base of HEAD and main")

	// The event is of another repository.
	r.event("pull_request", pull(feature, strings.Repeat("1a", 20)))
	r.wantError("commit 1a1a1a1a1a1a is not in this repository")
}

func TestBaseOfMergeGroup(t *testing.T) {
	t.Parallel()
	r, _, main, _ := forked(t)
	head := r.mergeRef("main", "feature")
	r.event("merge_group", object{"action": "checks_requested", "merge_group": object{
		"head_sha": head, "head_ref": "refs/heads/gh-readonly-queue/main/pr-7-" + main, "base_sha": main, "base_ref": "refs/heads/main"}})
	r.want(main, "the base of the merge group (main)")
}

func TestBaseOfPush(t *testing.T) {
	t.Parallel()
	r, fork, main, feature := forked(t)
	zeros := strings.Repeat("0", 40)
	push := func(before, after string, forced bool) {
		r.event("push", object{"before": before, "after": after, "forced": forced, "ref": "refs/heads/feature", "repository": object{"default_branch": "main"}}, "GITHUB_REF", "refs/heads/feature")
	}
	before := r.sha("feature~1")
	push(before, feature, false)
	r.want(before, "the commit before the push (feature)")
	push(zeros, feature, false)
	r.want(fork, "the merge base of HEAD and main")
	push(main, feature, true)
	r.want(fork, "the merge base of HEAD and main")
	push(strings.Repeat("1a", 20), feature, false)
	r.wantError("the commit before the push (feature), commit 1a1a1a1a1a1a, is not in this repository; run `git fetch origin 1a1a")

	// The workflow commits on top, or checks out something else.
	r.commit("bot", "bot", "1")
	push(before, feature, false)
	r.want(before, "the commit before the push (feature)")
	r.git("checkout", "-q", "main")
	r.want(fork, "the first parent of HEAD, which is on main")

	// The event names a default branch of its own.
	r.git("checkout", "-q", "feature~1")
	r.git("update-ref", "refs/remotes/origin/dev", fork)
	r.event("workflow_dispatch", object{"repository": object{"default_branch": "dev"}})
	r.want(fork, "the merge base of HEAD and origin/dev")
}

func TestHostileEvents(t *testing.T) {
	t.Parallel()
	r, _, main, feature := forked(t)
	for _, payload := range []object{
		pull(feature, "--upload-pack=touch x"), pull("HEAD", main), pull(feature, strings.ToUpper(main)), pull(feature, main[:39]),
		{"before": "-n"}, {"merge_group": object{"base_sha": "main"}}, {"before": main, "after": "HEAD\n"},
	} {
		r.event("x", payload)
		r.wantError("want the full name of a commit")
	}
	r.env["GITHUB_BASE_REF"] = "--upload-pack=touch x"
	r.event("x", object{})
	r.wantError("base branch --upload-pack=touch x is not here")
	delete(r.env, "GITHUB_BASE_REF")
	for _, text := range []string{"", "[", "[]", `{"before":1}`, strings.Repeat("[", 100_000)} {
		r.event("x", object{})
		if err := os.WriteFile(r.env["GITHUB_EVENT_PATH"], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.wantError("event: ")
	}
	r.env["GITHUB_EVENT_PATH"] = "/nothing/here"
	r.wantError("GITHUB_EVENT_PATH: ")
}

func TestBaseNeedsACommonAncestor(t *testing.T) {
	t.Parallel()
	r, _, main, _ := forked(t)
	r.git("checkout", "-q", "--orphan", "alone")
	alone := r.commit("alone")
	r.wantError("HEAD " + alone[:12] + " and main " + main[:12] + " have no common ancestor")
	r.event("pull_request", pull(alone, main))
	r.wantError("no common ancestor")
}

func TestBaseSaysThatThereAreSeveral(t *testing.T) {
	t.Parallel()
	r, _, main, feature := forked(t)
	r.git("merge", "-q", "-m", "m", main)
	r.git("checkout", "-q", "main")
	r.git("merge", "-q", "--no-ff", "-m", "m", feature)
	r.git("checkout", "-q", "feature")
	c, err := r.open().Base("")
	if err != nil || c.SHA != main && c.SHA != feature || c.How != "the merge base of HEAD and main (the first of 2)" {
		t.Errorf("criss-cross: %+v, %v", c, err)
	}
}

// shallow makes a clone as actions/checkout does, of one ref and to a depth.
func (r *repo) shallow(depth, ref string) *repo {
	r.t.Helper()
	c := r.beside("clone " + filepath.Base(r.t.TempDir()))
	if err := os.RemoveAll(c.dir); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		r.t.Fatal(err)
	}
	c.git("init", "-q")
	c.git("remote", "add", "origin", "file://"+filepath.ToSlash(r.dir))
	c.git("fetch", "-q", "--no-tags", "--depth="+depth, "origin", "+"+r.sha(ref)+":refs/remotes/pull/7/merge")
	c.git("checkout", "-q", "--detach", "refs/remotes/pull/7/merge")
	return c
}

// Each command that an error of a shallow clone names makes the base appear.
func TestShallowClones(t *testing.T) {
	t.Parallel()
	r, fork, main, feature := forked(t)
	merge := r.mergeRef("main", "feature")

	t.Run("merge commit", func(t *testing.T) {
		c := r.shallow("1", "refs/pull/7/merge")
		c.event("pull_request", pull(feature, main), "GITHUB_REF", "refs/pull/7/merge", "GITHUB_SHA", merge)
		command := c.wantError("`fetch-depth: 0`")
		if command != "git fetch --deepen=200 origin main" {
			t.Errorf("the command is %q", command)
		}
		c.sh(command)
		c.want(main, "the first parent of the pull request's merge commit (main)")
		c = r.shallow("2", "refs/pull/7/merge")
		c.event("pull_request", pull(feature, main), "GITHUB_REF", "refs/pull/7/merge", "GITHUB_SHA", merge)
		c.want(main, "the first parent of the pull request's merge commit (main)")
	})
	t.Run("head", func(t *testing.T) {
		for _, depth := range []string{"1", "2"} {
			c := r.shallow(depth, "feature")
			c.event("pull_request", pull(feature, main))
			c.sh(c.wantError("is not in this shallow clone"))
			c.want(fork, "the merge base of HEAD and main")
		}
		c := r.shallow("3", "feature") // main's tip is missing, and then all is there
		c.event("pull_request", pull(feature, main))
		c.sh(c.wantError("commit " + main[:12] + " is not in this shallow clone"))
		c.want(fork, "the merge base of HEAD and main")
	})
	t.Run("both tips", func(t *testing.T) {
		c := r.shallow("1", "feature")
		c.git("fetch", "-q", "--depth=1", "origin", "main:refs/remotes/origin/main")
		c.event("pull_request", pull(feature, main))
		c.sh(c.wantError("the merge base of HEAD " + feature[:12] + " and main " + main[:12] + " is not in this shallow clone"))
		c.want(fork, "the merge base of HEAD and main")
	})
	t.Run("push", func(t *testing.T) {
		c := r.shallow("1", "feature")
		before := r.sha("feature~1")
		c.event("push", object{"before": before, "after": feature}, "GITHUB_REF", "refs/heads/feature")
		c.sh(c.wantError("the commit before the push (feature), commit " + before[:12] + ", is not in this shallow clone"))
		c.want(before, "the commit before the push (feature)")
	})
	t.Run("first parent", func(t *testing.T) {
		c := r.shallow("1", "main")
		c.git("update-ref", "refs/remotes/origin/main", main)
		// git itself says that this commit has no parent.
		if out, err := c.tryGit("rev-parse", "HEAD^1"); err == nil {
			t.Fatalf("HEAD^1 is %s; want a shallow clone", out)
		}
		c.sh(c.wantError("the first parent of HEAD, which is on origin/main, commit " + fork[:12] + ", is not in this shallow clone"))
		c.want(fork, "the first parent of HEAD, which is on origin/main")
	})
	t.Run("no branch", func(t *testing.T) {
		r.git("checkout", "-q", "main") // what a server's HEAD is
		c := r.shallow("1", "feature")
		c.sh(c.wantError("the default branch is not here"))
		c.sh(c.wantError("shallow clone"))
		c.want(fork, "the merge base of HEAD and origin/main")
	})
	t.Run("named", func(t *testing.T) {
		c := r.shallow("1", "feature")
		_, err := c.open().Base("HEAD~2")
		wantLine(t, err, "git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*'")
		c.sh("git fetch --unshallow origin '+refs/heads/*:refs/remotes/origin/*'")
		got, err := c.open().Base("HEAD~2")
		if err != nil || got.SHA != fork {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// A shallow clone may show a common ancestor that is not the best one: the best
// is hidden behind the cut. It must not be taken.
func TestShallowCloneHidesTheMergeBase(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	old := r.commit("old", "peakgate.yml", "")
	best := r.commit("best", "a", "1")
	// Both tips reach old by a short way, and best by a long one only.
	tip := func(branch string) string {
		r.git("checkout", "-q", "-B", branch, best)
		for i := range 3 {
			r.commit(branch + string(rune('1'+i)))
		}
		long := r.sha("HEAD")
		tree := r.sha("HEAD^{tree}")
		sha := r.git("commit-tree", "-p", old, "-p", long, "-m", branch, tree)
		r.git("update-ref", "refs/heads/"+branch, sha)
		return sha
	}
	feature, main := tip("feature"), tip("main")
	if got := r.git("merge-base", "--all", feature, main); got != best {
		t.Fatalf("the test is wrong: the merge base is %s", got)
	}
	c := r.shallow("2", "feature")
	c.git("fetch", "-q", "--depth=2", "origin", "main:refs/remotes/origin/main")
	if got := c.git("merge-base", "--all", feature, main); got != old {
		t.Fatalf("the test is wrong: git gives %s in the shallow clone", got)
	}
	c.sh(c.wantError("is not in this shallow clone"))
	c.want(best, "the merge base of HEAD and origin/main")
}

func TestOpenFindsTheRepository(t *testing.T) {
	t.Parallel()
	r, fork, _, feature := forked(t)
	// A worktree has a .git file.
	r.git("worktree", "add", "-q", "--detach", "../tree", feature)
	w := r.beside("tree")
	w.want(fork, "the merge base of HEAD and main")
	// A submodule too; its commits are not those of the outer event.
	r.git("checkout", "-q", "main") // what a server's HEAD is
	outer := r.beside("outer")
	if err := os.Mkdir(outer.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	outer.git("init", "-q")
	outer.git("submodule", "--quiet", "add", "-b", "main", "file://"+filepath.ToSlash(r.dir), "sub")
	top := outer.commit("sub")
	outer.event("push", object{"before": top, "after": top})
	sub := &repo{t, filepath.Join(outer.dir, "sub"), outer.env}
	sub.git("checkout", "-q", feature)
	sub.want(fork, "the merge base of HEAD and origin/main")
	// A folder below the top, reached through a symbolic link.
	r.write("deep/er/peakgate.yml", "")
	if err := os.Symlink(filepath.Join(r.dir, "deep"), filepath.Join(filepath.Dir(r.dir), "link")); err == nil {
		got := r.openAt("../link/er/peakgate.yml")
		if got.budget != "deep/er/peakgate.yml" || got.head.SHA != r.sha("main") {
			t.Errorf("through a link: %+v", got)
		}
	}
	// SHA-256.
	s := r.beside("sha256")
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.git("init", "-q", "--object-format=sha256")
	first := s.commit("1", "peakgate.yml", "")
	s.commit("2")
	s.want(first, "the first parent of HEAD, which is on main")
}

func TestOpenErrors(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	_, err := Open(filepath.Join(t.TempDir(), "peakgate.yml"), r.getenv)
	wantLine(t, err, "not in a git repository")
	if !errors.Is(err, ErrNoRepository) {
		t.Errorf("%v is not ErrNoRepository", err)
	}
	_, err = Open(filepath.Join(r.dir, "no", "peakgate.yml"), r.getenv)
	wantLine(t, err, "no such folder")
	_, err = Open(filepath.Join(r.dir, ".git", "peakgate.yml"), r.getenv)
	wantLine(t, err, "bare git repository")

	// The current folder is no place for git, even if PATH says so.
	for _, path := range []string{"", t.TempDir(), ".", "bin"} {
		_, err = Open(filepath.Join(r.dir, "peakgate.yml"), func(name string) string {
			if name == "PATH" {
				return path
			}
			return r.env[name]
		})
		wantLine(t, err, "git: not found on PATH")
		if !errors.Is(err, ErrNoGit) {
			t.Errorf("%v is not ErrNoGit", err)
		}
	}

	g, err := newGit(r.dir, r.getenv)
	if err != nil {
		t.Fatal(err)
	}
	g.env = append(g.env, "GIT_TEST_ASSUME_DIFFERENT_OWNER=1") // git's own switch for its own tests
	_, err = open(g, "peakgate.yml", r.getenv)
	wantLine(t, err, "belongs to another user; run `git config --global --add safe.directory ")
	_, command, _ := strings.Cut(err.Error(), "run `")
	r.sh(strings.TrimSuffix(command, "`"))
	if _, err = open(g, "peakgate.yml", r.getenv); err != nil {
		t.Errorf("after the advised command: %v", err)
	}
}

// A ref that leads nowhere is not passed over for the next candidate.
func TestDamagedRefs(t *testing.T) {
	t.Parallel()
	r, fork, _, _ := forked(t)
	r.write(".git/refs/remotes/origin/main", strings.Repeat("1a", 20)+"\n")
	r.wantError("refs/remotes/origin/main names 1a1a1a1a1a1a, which is no commit of this repository")
	r.write(".git/refs/remotes/origin/main", "junk\n")
	r.wantError("ignoring broken ref refs/remotes/origin/main")
	if err := os.Remove(filepath.Join(r.dir, ".git/refs/remotes/origin/main")); err != nil {
		t.Fatal(err)
	}
	r.want(fork, "the merge base of HEAD and main")
	r.write(".git/refs/heads/feature", strings.Repeat("1a", 20)+"\n")
	_, err := Open(filepath.Join(r.dir, "peakgate.yml"), r.getenv)
	wantLine(t, err, "HEAD names 1a1a1a1a1a1a, which is no commit")
}

// Finding a base and reading a capture from it, in a repository of 60,000 files.
func BenchmarkLoad(b *testing.B) {
	r := newRepo(b)
	r.fastImport(manyFiles(60_000))
	r.git("reset", "-q", "main")
	r.git("commit", "-q", "--allow-empty", "-m", "2")
	b.ReportAllocs()
	for b.Loop() {
		repository, err := Open(filepath.Join(r.dir, "peakgate.yml"), r.getenv)
		if err != nil {
			b.Fatal(err)
		}
		c, err := repository.Base("")
		if err != nil {
			b.Fatal(err)
		}
		tree, err := repository.At(c)
		if err != nil {
			b.Fatal(err)
		}
		l, err := tree.Load("train", []string{"c/*.json"}, capture.Options{})
		if err != nil || l.Kind != "captures" {
			b.Fatal(l, err)
		}
	}
}
