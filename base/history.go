package base

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxOld is how much of old budget files is kept, in bytes.
const maxOld = 256 << 20

// Version is one commit that changed a budget, or what it includes.
type Version struct {
	Commit  string
	Parents []string // those that this clone holds
	Author  string
	Date    time.Time // when it was written, in the author's own zone
	Subject string
}

// History is the commits that made a budget what it is.
type History struct {
	Versions []Version // newest first; no commit stands before its descendants
	// Cut says where the history ends before its beginning, and what helps; it is
	// empty where nothing is missing.
	Cut string

	r     *Repository
	names []string // of the budget, the newest first
	// files has by path and commit the git object; blobs its content, nil where it
	// was not kept.
	files map[string]map[string]string
	blobs map[string][]byte
	kept  int
}

// History finds the commits, most of them at most, that changed the budget, under
// all names that git sees it had, or the other given files. Merges count only where
// they differ from all of their parents.
func (r *Repository) History(most int, others []string) (*History, error) {
	if r.partial() {
		return nil, fmt.Errorf("history: this partial clone does not hold old versions; clone without --filter")
	}
	h := &History{r: r, names: []string{r.budget}, files: map[string]map[string]string{}, blobs: map[string][]byte{}}
	if r.head.SHA == "" {
		return h, nil
	}
	if err := h.findNames(); err != nil {
		return nil, err
	}
	if err := h.findVersions(most, others); err != nil {
		return nil, err
	}
	shallow, err := r.shallow()
	if err != nil {
		return nil, err
	}
	// The oldest commits of a shallow clone seem to add all files.
	h.Versions = slices.DeleteFunc(h.Versions, func(v Version) bool {
		if shallow[v.Commit] {
			h.Cut = fmt.Sprintf("the history ends at %.12s: this clone is shallow; run `git fetch --unshallow %s`, or give actions/checkout `fetch-depth: 0`", v.Commit, quote(r.remote()))
		}
		return shallow[v.Commit]
	})
	return h, nil
}

// atTop is git run at the top of the working tree: log takes paths from where it runs.
func (r *Repository) atTop() *git {
	g := *r.git
	g.dir = r.top
	return &g
}

// findNames follows the renames of the budget back.
func (h *History) findNames() error {
	n := 0
	return h.r.atTop().records(func(record []byte) error {
		// "R100", the path before and the path after (git-log(1), "--name-status").
		if n++; n%3 == 2 && !slices.Contains(h.names, string(record)) && len(h.names) < maxPaths {
			h.names = append(h.names, string(record))
		}
		return nil
	}, "log", "--follow", "-M", "-l1000", "--diff-filter=R", "--name-status", "-z", "--no-ext-diff", "--no-textconv", "--format=", h.r.head.SHA, "--", h.r.budget)
}

// findVersions lists the commits, one more than wanted to see that there are more.
func (h *History) findVersions(most int, others []string) error {
	const fields = 5
	args := []string{"log", "--no-follow", "--topo-order", "-z", "--encoding=UTF-8", "--format=tformat:%H%x00%P%x00%an%x00%aI%x00%s", "-n", strconv.Itoa(most + 1), h.r.head.SHA, "--"}
	paths := append(slices.Clone(h.names), others...)
	if len(paths) > maxPaths {
		return fmt.Errorf("history: the budget and what it includes had more than %d names", maxPaths)
	}
	var record []string
	err := h.r.atTop().records(func(field []byte) error {
		if record = append(record, strings.ToValidUTF8(string(field), "\ufffd")); len(record) < fields {
			return nil
		}
		v := Version{Commit: record[0], Parents: strings.Fields(record[1]), Author: record[2], Subject: record[4]}
		if !isSHA(v.Commit) {
			return fmt.Errorf("git log: want a commit, got %.80q", v.Commit)
		}
		v.Date, _ = time.Parse(time.RFC3339, record[3]) // a damaged date is none
		h.Versions, record = append(h.Versions, v), nil
		return nil
	}, append(args, paths...)...)
	if len(h.Versions) > most {
		h.Versions = h.Versions[:most]
		h.Cut = fmt.Sprintf("only the newest %d versions are looked at, down to %.12s", most, h.Versions[most-1].Commit)
	}
	return err
}

// Budget gives the path of the budget at a version or a parent of one; empty where
// it is not there.
func (h *History) Budget(commit string) (string, error) {
	for _, name := range h.names {
		if err := h.look(name); err != nil {
			return "", err
		}
		if h.files[name][commit] != "" {
			return name, nil
		}
	}
	return "", nil
}

// Read gives a file at a version or a parent of one.
func (h *History) Read(commit, path string) ([]byte, error) {
	if err := h.look(path); err != nil {
		return nil, err
	}
	id := h.files[path][commit]
	if id == "" {
		return nil, fmt.Errorf("%s@%.12s: not a file", printable(path), commit)
	}
	data := h.blobs[id]
	if data == nil {
		return nil, fmt.Errorf("%s@%.12s: too large, or there is too much to read", printable(path), commit)
	}
	return data, nil
}

// look reads a path at all versions and their parents: two runs of git, however
// many commits there are. Contents that many commits share are read once.
func (h *History) look(path string) error {
	if h.files[path] != nil {
		return nil
	}
	found := map[string]string{}
	h.files[path] = found
	if strings.ContainsAny(path, "\n\x00") || !filepath.IsLocal(filepath.FromSlash(path)) {
		return nil // no line can ask for it; what is outside, git holds not
	}
	var commits []string
	seen := map[string]bool{}
	for _, v := range h.Versions {
		for _, c := range append([]string{v.Commit}, v.Parents...) {
			if !seen[c] && isSHA(c) {
				seen[c] = true
				commits = append(commits, c)
			}
		}
	}
	var ask strings.Builder
	for _, c := range commits {
		ask.WriteString(c + ":" + path + "\n")
	}
	var ids []string
	err := h.batch("--batch-check", ask.String(), len(commits), func(i int, id string, size int64, _ *bufio.Reader) error {
		found[commits[i]] = id
		if _, have := h.blobs[id]; !have && id != "" {
			h.blobs[id] = nil
			if size <= maxBudget && h.kept+int(size) <= maxOld {
				h.kept += int(size)
				ids = append(ids, id)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return h.batch("--batch", strings.Join(append(ids, ""), "\n"), len(ids), func(i int, id string, size int64, r *bufio.Reader) error {
		data, err := io.ReadAll(io.LimitReader(r, size))
		if err != nil || int64(len(data)) < size {
			return io.ErrUnexpectedEOF
		}
		h.blobs[ids[i]] = data
		_, err = r.Discard(1)
		return err
	})
}

// batch asks git cat-file count questions, one a line. The id is empty where there
// is no file.
func (h *History) batch(mode, ask string, count int, each func(i int, id string, size int64, r *bufio.Reader) error) error {
	if count == 0 {
		return nil
	}
	return h.r.git.stream(strings.NewReader(ask), func(r *bufio.Reader) error {
		for i := range count {
			line, err := r.ReadString('\n')
			if err == io.EOF {
				return io.ErrUnexpectedEOF
			}
			if err != nil {
				return err
			}
			// "<id> blob <size>", or the question and "missing" (git-cat-file(1), "BATCH OUTPUT").
			fields, id, size := strings.Fields(line), "", int64(0)
			if len(fields) == 3 && isSHA(fields[0]) && fields[1] == "blob" {
				id = fields[0]
				if size, err = strconv.ParseInt(fields[2], 10, 64); err != nil || size < 0 {
					return fmt.Errorf("git cat-file: want a size, got %.80q", line)
				}
			} else if mode == "--batch" {
				return fmt.Errorf("git cat-file: want a blob, got %.80q", line)
			}
			if err := each(i, id, size, r); err != nil {
				return err
			}
		}
		return nil
	}, "cat-file", mode)
}
