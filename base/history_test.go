package base

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// budgetText is long enough that git sees it again after a rename.
func budgetText(limit string) string {
	return "version: 1\n" + strings.Repeat("# one of many lines\n", 20) + "max: " + limit + "\n"
}

// told gives a history as its subjects, the newest first.
func told(t *testing.T, h *History) []string {
	t.Helper()
	var out []string
	for _, v := range h.Versions {
		out = append(out, v.Subject)
	}
	return out
}

func history(t *testing.T, r *repo, budget string, most int, others ...string) *History {
	t.Helper()
	h, err := r.openAt(budget).History(most, others)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHistory: the commits that touched the budget under all its names, and only
// those; contents are those of each commit.
func TestHistory(t *testing.T) {
	r := newRepo(t)
	if h := history(t, r, "peakgate.yml", 10); len(h.Versions) != 0 || h.Cut != "" {
		t.Errorf("without a commit: %+v", h)
	}
	first := r.commit("one", "peakgate.yml", budgetText("1"), "other.txt", "x")
	r.commit("elsewhere", "other.txt", "y")
	r.git("mv", "peakgate.yml", "b [x].yml")
	moved := r.commit("two")
	last := r.commit("three: "+strings.Repeat("ä", 3), "b [x].yml", budgetText("3"), "part.yml", "p")
	r.commit("four", "part.yml", "q")

	h := history(t, r, "b [x].yml", 10)
	if diff := cmp.Diff([]string{"three: äää", "two", "one"}, told(t, h)); diff != "" {
		t.Error(diff)
	}
	if h.Cut != "" {
		t.Errorf("cut: %s", h.Cut)
	}
	v := h.Versions[0]
	if v.Author != "A" || v.Date.IsZero() || len(v.Parents) != 1 || v.Parents[0] != moved || v.Commit != last {
		t.Errorf("version %+v", v)
	}
	for commit, want := range map[string]string{first: "peakgate.yml", moved: "b [x].yml", last: "b [x].yml"} {
		path, err := h.Budget(commit)
		if err != nil || path != want {
			t.Errorf("%.12s: budget %q, %v; want %q", commit, path, err, want)
		}
	}
	if data, err := h.Read(first, "peakgate.yml"); err != nil || string(data) != budgetText("1") {
		t.Errorf("read %q, %v", data, err)
	}
	for _, path := range []string{"b [x].yml", "none.yml", "a\nb", "..", "../a repo/b [x].yml", "./peakgate.yml/", "/etc/passwd", ""} {
		_, err := h.Read(first, path)
		wantLine(t, err, "not a file")
	}
	// Other files count where they are asked for, and a limit is told.
	h = history(t, r, "b [x].yml", 2, "part.yml")
	if diff := cmp.Diff([]string{"four", "three: äää"}, told(t, h)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(h.Cut, "only the newest 2 versions") {
		t.Errorf("cut %q", h.Cut)
	}
}

// TestHistoryMerges: a side branch counts, its merge does not.
func TestHistoryMerges(t *testing.T) {
	r := newRepo(t)
	r.commit("one", "peakgate.yml", budgetText("1"))
	r.git("checkout", "-q", "-b", "side")
	r.commit("side", "peakgate.yml", budgetText("2"))
	r.git("checkout", "-q", "main")
	r.commit("main", "other.txt", "x")
	r.git("merge", "-q", "-m", "merge", "side")
	if diff := cmp.Diff([]string{"side", "one"}, told(t, history(t, r, "peakgate.yml", 10))); diff != "" {
		t.Error(diff)
	}
}

// TestHistoryConfiguration: what a repository configures does not change it.
func TestHistoryConfiguration(t *testing.T) {
	r := newRepo(t)
	r.commit("one", "peakgate.yml", budgetText("1"))
	r.commit("two", "peakgate.yml", budgetText("2"))
	for _, c := range [][2]string{{"log.follow", "true"}, {"log.date", "relative"}, {"log.showSignature", "true"}, {"format.pretty", "oneline"}, {"diff.renames", "false"}, {"i18n.logOutputEncoding", "latin1"}, {"diff.noprefix", "true"}} {
		r.git("config", c[0], c[1])
	}
	r.git("mv", "peakgate.yml", "b.yml")
	r.commit("drei: ü")
	if diff := cmp.Diff([]string{"drei: ü", "two", "one"}, told(t, history(t, r, "b.yml", 10))); diff != "" {
		t.Error(diff)
	}
}

// TestHistoryCut: clones that lack old commits or contents say so.
func TestHistoryCut(t *testing.T) {
	r := newRepo(t)
	for i := range 4 {
		r.commit(fmt.Sprint("change ", i), "peakgate.yml", budgetText(fmt.Sprint(i)))
	}
	clone := r.beside("shallow")
	r.git("clone", "-q", "--depth", "2", "file://"+r.dir, clone.dir)
	h := history(t, clone, "peakgate.yml", 10)
	if diff := cmp.Diff([]string{"change 3"}, told(t, h)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(h.Cut, "this clone is shallow; run `git fetch --unshallow origin`") {
		t.Errorf("cut %q", h.Cut)
	}
	if data, err := h.Read(h.Versions[0].Parents[0], "peakgate.yml"); err != nil || string(data) != budgetText("2") {
		t.Errorf("the parent: %q, %v", data, err)
	}
	r.git("config", "uploadpack.allowFilter", "true")
	partial := r.beside("partial")
	r.git("clone", "-q", "--filter=blob:none", "file://"+r.dir, partial.dir)
	_, err := partial.open().History(10, nil)
	wantLine(t, err, "partial clone")
}
