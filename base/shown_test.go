package base

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestShown(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("line %d", i+1))
	}
	text := func() string { return strings.Join(lines, "\n") + "\n" }
	odd := "src/a \"b\" é.py"
	base := r.commit("1", "src/peakgate.yml", "version: 1\n", "src/m.py", text(), odd, text(), "same.py", text(), "gone.py", text())
	lines[19] = "@@ -1,2 +3,4 @@ a line that looks like a hunk" + strings.Repeat(" and a long one", 9000)
	lines = slices.Delete(lines, 29, 30)
	r.git("rm", "-q", "gone.py")
	r.commit("2", "src/m.py", text(), odd, text(), "new.py", "one\n")
	tree := r.at("src/peakgate.yml", base)
	for file, want := range map[string]string{
		"src/m.py": "[{17 23} {27 32}]", odd: "[{17 23} {27 32}]", "new.py": "[{1 1}]", "same.py": "[]", "gone.py": "[]", "none.py": "[]", "src/*.py": "[]", "--cached": "[]",
	} {
		got, err := tree.Shown(file)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v %v, want %s", file, got, err, want)
		}
	}
	held, err := r.open().Tracked([]string{"src/m.py", odd, "same.py", "gone.py", "none.py", "../x", "src", "/etc/passwd"})
	if err != nil || !held["src/m.py"] || !held[odd] || !held["same.py"] || held["gone.py"] || held["none.py"] || held["src"] {
		t.Errorf("tracked %v, %v", held, err)
	}
}
