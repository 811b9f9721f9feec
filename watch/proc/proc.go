package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// FS is a proc file system; the zero value is none.
type FS struct {
	root     string
	pageSize int64
}

// New gives the proc file system at root, usually "/proc".
func New(root string) FS { return FS{root, int64(os.Getpagesize())} }

// maxFile bounds what is read of one file: sizes in /proc are not to be trusted.
// A children file of 64 KiB names about 9,000 processes.
const maxFile = 1 << 16

func (fs FS) path(pid int, name ...string) string {
	return filepath.Join(append([]string{fs.root, strconv.Itoa(pid)}, name...)...)
}

// readFile reads a file that may lie about its size. It does without os.File, which
// asks of each file whether it can be waited for: five calls to the kernel more.
func readFile(path string) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	b := make([]byte, 0, 4<<10)
	for len(b) < maxFile {
		if len(b) == cap(b) {
			b = slices.Grow(b, len(b))
		}
		n, err := syscall.Read(fd, b[len(b):min(cap(b), maxFile)])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		case n <= 0:
			return b, nil
		}
		b = b[:len(b)+n]
	}
	return b, nil
}

// Gone tells that a read failed since the process is no more: it vanished before
// the open (ENOENT) or after it (ESRCH).
func Gone(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

// Stat is what is used of /proc/PID/stat.
type Stat struct {
	Comm    string
	State   byte
	PPID    int
	Threads int
	// Start is when the process began, in clock ticks since boot: with the pid it
	// names one process for ever.
	Start uint64
}

// Stat reads /proc/PID/stat.
func (fs FS) Stat(pid int) (Stat, error) {
	path := fs.path(pid, "stat")
	b, err := readFile(path)
	if err != nil {
		return Stat{}, err
	}
	s, err := parseStat(b)
	if err != nil {
		return Stat{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// parseStat finds the name by the last parenthesis: a name may hold any byte.
func parseStat(b []byte) (Stat, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 0 || end < open {
		return Stat{}, fmt.Errorf("want a name in parentheses, got %.40q", b)
	}
	f := bytes.Fields(b[end+1:])
	const first = 3 // the number that proc_pid_stat(5) gives the field after the name
	field := func(number int) string {
		if number-first < len(f) {
			return string(f[number-first])
		}
		return ""
	}
	s := Stat{Comm: string(b[open+1 : end])}
	if state := field(3); len(state) == 1 {
		s.State = state[0]
	}
	var errs [3]error
	s.PPID, errs[0] = strconv.Atoi(field(4))
	s.Threads, errs[1] = strconv.Atoi(field(20))
	s.Start, errs[2] = strconv.ParseUint(field(22), 10, 64)
	if err := errors.Join(errs[:]...); err != nil || s.State == 0 {
		return Stat{}, fmt.Errorf("want state, parent, threads and start time, got %.80q", b[end+1:])
	}
	return s, nil
}

// Children gives the direct children of all threads of a process. It may miss one
// that is born or reparented at that moment; the next walk sees it.
func (fs FS) Children(pid int) ([]int, error) {
	threads, err := numbers(fs.path(pid, "task"))
	if err != nil {
		return nil, err
	}
	var children []int
	for _, tid := range threads {
		b, err := readFile(fs.path(pid, "task", strconv.Itoa(tid), "children"))
		if err != nil {
			if _, gone := os.Stat(fs.path(pid, "task", strconv.Itoa(tid))); gone != nil {
				continue // the thread has ended
			}
			return nil, fmt.Errorf("%w (a kernel without CONFIG_PROC_CHILDREN?)", err)
		}
		for word := range strings.FieldsSeq(string(b)) {
			child, err := strconv.Atoi(word)
			if err != nil {
				return nil, fmt.Errorf("%s: children: want process ids, got %.40q", fs.path(pid), b)
			}
			children = append(children, child)
		}
	}
	return children, nil
}

// Parents reads every process's parent: the way to find children where the kernel
// does not list them.
func (fs FS) Parents() (map[int][]int, error) {
	pids, err := numbers(fs.root)
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, pid := range pids {
		if s, err := fs.Stat(pid); err == nil {
			children[s.PPID] = append(children[s.PPID], pid)
		}
	}
	return children, nil
}

// Threads gives the ids of a process's threads.
func (fs FS) Threads(pid int) ([]int, error) { return numbers(fs.path(pid, "task")) }

// numbers gives the entries of a folder that are numbers.
func numbers(dir string) ([]int, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	var list []int
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n > 0 {
			list = append(list, n)
		}
	}
	return list, err
}

// Descriptors counts the open descriptors of a process. Since Linux 6.2 the size
// of the folder is their number; before, it is 0 and the folder is read.
func (fs FS) Descriptors(pid int) (int64, error) {
	dir := fs.path(pid, "fd")
	info, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	if fs.root == "/proc" && info.Size() > 0 {
		return info.Size(), nil
	}
	open, err := numbers(dir)
	if err != nil {
		return 0, err
	}
	if _, err := os.Lstat(filepath.Join(dir, "0")); err == nil {
		return int64(len(open)) + 1, nil // numbers leaves 0 out
	}
	return int64(len(open)), nil
}

// LastPID reads the newest process id from /proc/loadavg: while it stays, no
// process and no thread was born.
func (fs FS) LastPID(f io.ReaderAt) (int, error) {
	var buf [128]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && err != io.EOF {
		return 0, err
	}
	fields := bytes.Fields(buf[:n])
	if len(fields) < 5 {
		return 0, fmt.Errorf("loadavg: want five fields, got %.60q", buf[:n])
	}
	return strconv.Atoi(string(fields[4]))
}
