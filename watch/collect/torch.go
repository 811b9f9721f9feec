package collect

import (
	"bufio"
	"cmp"
	_ "embed"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed hook/sitecustomize.py
var hook []byte

// maxNotes is how many lines of the hook are told.
const maxNotes = 8

func (c *Collector) hookDir() string  { return filepath.Join(c.dir, "python") }
func (c *Collector) torchDir() string { return filepath.Join(c.dir, "torch") }

// torch puts the hook before all else that Python imports.
func (c *Collector) torch() error {
	for _, dir := range []string{c.hookDir(), c.torchDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(c.hookDir(), "sitecustomize.py"), hook, 0o600); err != nil {
		return err
	}
	path := c.hookDir()
	if user := c.get("PYTHONPATH"); user != "" {
		path += string(filepath.ListSeparator) + user
	}
	c.set("PYTHONPATH", path)
	c.set("PEAKGATE_CAPTURE_DIR", c.torchDir())
	return nil
}

// written is the name of a snapshot as the hook writes it: oom- where memory ran out,
// then the rank, if the process has one, and the process.
var written = regexp.MustCompile(`^(oom-)?(?:rank(\d+)-)?pid(\d+)\.pickle$`)

// snapshots are those to read: when memory ran out and the run failed, what was
// written at that moment, and else what each process wrote at its end. They are
// renamed, so that those of two runs have the same names: by rank or, in the order of
// the processes, by number.
func (c *Collector) snapshots(failed bool) (paths []string) {
	type snapshot struct {
		name, rank string
		pid        int
	}
	var plain, oom []snapshot
	for _, name := range names(c.torchDir()) {
		m := written.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		pid, _ := strconv.Atoi(m[3])
		if s := (snapshot{name, m[2], pid}); m[1] != "" {
			oom = append(oom, s)
		} else {
			plain = append(plain, s)
		}
	}
	if failed && len(oom) > 0 {
		plain = oom
	}
	slices.SortFunc(plain, func(a, b snapshot) int { return cmp.Compare(a.pid, b.pid) })
	number := map[string]int{}
	for _, s := range plain {
		name := "process"
		if s.rank != "" {
			name = "rank" + s.rank
		}
		n := number[name]
		number[name]++
		switch {
		case s.rank == "":
			name += strconv.Itoa(n)
		case n > 0:
			name += "-process" + strconv.Itoa(n)
		}
		path := filepath.Join(c.torchDir(), name+".pickle")
		if os.Rename(filepath.Join(c.torchDir(), s.name), path) == nil {
			paths = append(paths, path)
		}
	}
	return paths
}

// Hooked tells that some Python has run the hook.
func (c *Collector) Hooked() bool { return exists(filepath.Join(c.torchDir(), "loaded")) }

// hookNotes are what the hook has to say of its own faults.
func (c *Collector) hookNotes() (notes []string) {
	for _, name := range names(c.torchDir()) {
		if !strings.HasSuffix(name, ".log") || len(notes) >= maxNotes {
			continue
		}
		f, err := os.Open(filepath.Join(c.torchDir(), name))
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(io.LimitReader(f, 64<<10))
		for lines.Scan() && len(notes) < maxNotes {
			notes = append(notes, "PyTorch: "+lines.Text())
		}
		f.Close()
	}
	return notes
}

func names(dir string) (list []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}
