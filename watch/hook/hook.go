package hook

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

//go:embed sitecustomize.py
var source []byte

// maxNotes is how many lines of the hook are told.
const maxNotes = 8

// Hook is the hook of one run, and what it wrote.
type Hook struct {
	// Python is the folder to put first in PYTHONPATH, Dir the one that snapshots go
	// to; the variable Variable names it to the hook.
	Python, Dir string
	// Name is that of the framework, which is put before each note.
	Name string
}

// Variable names Hook.Dir to the hook, Module the module whose import begins it where an
// extension is for another one than torch.
const (
	Variable = "PEAKGATE_CAPTURE_DIR"
	Module   = "PEAKGATE_CAPTURE_MODULE"
)

// Install writes the hook into a folder. extension may be nil.
func Install(dir string, extension []byte) (*Hook, error) {
	h := &Hook{Python: filepath.Join(dir, "python"), Dir: filepath.Join(dir, "torch"), Name: "PyTorch"}
	for _, dir := range []string{h.Python, h.Dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if extension != nil {
		if err := os.WriteFile(filepath.Join(h.Python, "extension.py"), extension, 0o600); err != nil {
			return nil, err
		}
	}
	return h, os.WriteFile(filepath.Join(h.Python, "sitecustomize.py"), source, 0o600)
}

// Path is PYTHONPATH with the hook before what is there already.
func (h *Hook) Path(path string) string {
	if path == "" {
		return h.Python
	}
	return h.Python + string(filepath.ListSeparator) + path
}

// Process is a process that used a device.
type Process struct {
	Snapshot string // path
	// ID is the process's own name in files that it wrote: pid7, rank0-pid7.
	ID string
	// OutOfMemory tells that the snapshot is of the moment when memory ran out.
	OutOfMemory bool
}

// written is the name of a snapshot, or of an extension's profile, as the hook writes it:
// oom- where memory ran out, then the rank, if the process has one, and the process.
var written = regexp.MustCompile(`^(oom-)?((?:rank(\d+)-)?pid(\d+))(\.pickle|\.xplane\.pb)$`)

// Processes are those with a snapshot to read: when memory ran out and the run failed,
// what was written at that moment, and else what each process wrote at its end. The
// snapshots are renamed, so that those of two runs have the same names: by rank or, in
// the order of the processes, by number.
func (h *Hook) Processes(failed bool) (list []Process) {
	type snapshot struct {
		name, id, rank, kind string
		pid                  int
	}
	var plain, oom []snapshot
	entries, _ := os.ReadDir(h.Dir)
	for _, e := range entries {
		name := e.Name()
		m := written.FindStringSubmatch(name)
		if m == nil {
			continue
		}
		pid, _ := strconv.Atoi(m[4])
		if s := (snapshot{name, m[2], m[3], m[5], pid}); m[1] != "" {
			oom = append(oom, s)
		} else {
			plain = append(plain, s)
		}
	}
	out := failed && len(oom) > 0
	if out {
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
		path := filepath.Join(h.Dir, name+s.kind)
		if os.Rename(filepath.Join(h.Dir, s.name), path) == nil {
			list = append(list, Process{Snapshot: path, ID: s.id, OutOfMemory: out})
		}
	}
	return list
}

// Loaded tells that some Python has run the hook.
func (h *Hook) Loaded() bool {
	_, err := os.Stat(filepath.Join(h.Dir, "loaded"))
	return err == nil
}

// Notes are what the hook has to say of its own faults.
func (h *Hook) Notes() (notes []string) {
	entries, _ := os.ReadDir(h.Dir)
	for _, e := range entries {
		// The program could have put a link in its place, or a pipe, which would be waited for.
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".log") || len(notes) >= maxNotes {
			continue
		}
		f, err := os.Open(filepath.Join(h.Dir, e.Name()))
		if err != nil {
			continue
		}
		lines := bufio.NewScanner(io.LimitReader(f, 64<<10))
		for lines.Scan() && len(notes) < maxNotes {
			notes = append(notes, h.Name+": "+lines.Text())
		}
		f.Close()
	}
	return notes
}
