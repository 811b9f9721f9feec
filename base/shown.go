package base

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Lines is a range of lines of a file, from 1 on, both ends included.
type Lines struct{ From, To int }

// shownAround is how many lines a pull request's page shows around an edited one.
const shownAround = 3

// maxHunks is how many edited places of one file are told.
const maxHunks = 10_000

// Tracked tells which of the files HEAD holds, by their paths from the repository's
// top. Folders, symbolic links and submodules are none.
func (r *Repository) Tracked(files []string) (map[string]bool, error) {
	var inside []string
	for _, f := range files {
		if f != "." && path.Clean(f) == f && filepath.IsLocal(filepath.FromSlash(f)) && len(inside) < maxPaths {
			inside = append(inside, f)
		}
	}
	if r.head.SHA == "" || len(inside) == 0 {
		return nil, nil
	}
	held := map[string]bool{}
	head := &Tree{r: r, commit: r.head}
	err := head.walk(inside, func(e entry) error {
		held[e.path] = e.mode != symlinkMode && e.mode != submoduleMode
		return nil
	}, "-r")
	return held, err
}

// Shown gives the lines of a file of HEAD that the change since the base shows:
// edited ones and a few around them, as a pull request's page does.
func (t *Tree) Shown(file string) (lines []Lines, err error) {
	if t.r.head.SHA == "" {
		return nil, nil
	}
	err = t.r.atTop().stream(nil, func(r *bufio.Reader) error {
		for {
			line, rest, err := r.ReadLine()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if l, ok := hunk(string(line)); ok && len(lines) < maxHunks {
				lines = append(lines, l)
			}
			for rest && err == nil { // a long line of the file
				_, rest, err = r.ReadLine()
			}
		}
	}, "diff-tree", "-r", "-p", fmt.Sprintf("-U%d", shownAround), "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--src-prefix=a/", "--dst-prefix=b/",
		t.commit.SHA, t.r.head.SHA, "--", file)
	return lines, err
}

// hunk reads the head's lines of "@@ -1,7 +1,9 @@" (git-diff(1), "GENERATING PATCH
// TEXT"); lines of the file begin with a blank, a sign or a backslash.
func hunk(line string) (l Lines, ok bool) {
	rest, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return l, false
	}
	_, rest, _ = strings.Cut(rest, " +")
	span, _, ok := strings.Cut(rest, " @@")
	from, many, several := strings.Cut(span, ",")
	first, err := strconv.Atoi(from)
	n, err2 := 1, error(nil)
	if several {
		n, err2 = strconv.Atoi(many)
	}
	return Lines{first, first + n - 1}, ok && err == nil && err2 == nil && n > 0
}
