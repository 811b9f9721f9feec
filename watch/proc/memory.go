package proc

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
)

// Statm reads the resident bytes from an open /proc/PID/statm. The kernel keeps
// this number per processor, so it may be some pages off; after the first thread
// has ended it is 0 although other threads hold memory.
func (fs FS) Statm(f io.ReaderAt) (rss int64, err error) {
	var buf [128]byte
	n, err := f.ReadAt(buf[:], 0)
	if err != nil && err != io.EOF {
		return 0, err
	}
	fields := bytes.Fields(buf[:n])
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm: want seven numbers, got %.60q", buf[:n])
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil || pages < 0 || pages > 1<<50 {
		return 0, fmt.Errorf("statm: want a number of pages, got %.40q", fields[1])
	}
	return pages * fs.pageSize, nil
}

// OpenStatm opens the file for [FS.Statm]. The descriptor stays with this one
// process: once that is gone it reads ESRCH, also when the pid is used again.
func (fs FS) OpenStatm(pid int) (*os.File, error) { return os.Open(fs.path(pid, "statm")) }

// Status is what is used of /proc/PID/status. The kernel leaves the lines out for
// a process without memory of its own (a zombie): Memory tells which.
type Status struct {
	Name   string
	Memory bool
	RSS    int64 // VmRSS
	// HighWater is VmHWM, the largest RSS of this program image: exec begins a new
	// one, and a fork begins with the pages that it shares.
	HighWater int64
	Anon      int64 // RssAnon
	File      int64 // RssFile
	Shmem     int64 // RssShmem
	Swap      int64 // VmSwap
}

// Unshared is what PSS and swap would say of a process that shares no memory but
// its files.
func (s Status) Unshared() int64 { return s.Anon + s.Shmem + s.Swap }

// Status reads /proc/PID/status.
func (fs FS) Status(pid int) (Status, error) {
	path := fs.path(pid, "status")
	b, err := readFile(path)
	if err != nil {
		return Status{}, err
	}
	var s Status
	err = keyed(b, func(key, value []byte) error {
		var into *int64
		switch string(key) {
		case "Name":
			s.Name = string(value)
			return nil
		case "VmRSS":
			into = &s.RSS
		case "VmHWM":
			into = &s.HighWater
		case "RssAnon":
			into = &s.Anon
		case "RssFile":
			into = &s.File
		case "RssShmem":
			into = &s.Shmem
		case "VmSwap":
			into = &s.Swap
		default:
			return nil
		}
		s.Memory = true
		return kibibytes(key, value, into)
	})
	if err != nil {
		return Status{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Rollup is what is used of /proc/PID/smaps_rollup: the sums over all mappings.
type Rollup struct {
	RSS, PSS int64
	// PSSAnon, PSSFile and PSSShmem split PSS; Split tells that the kernel (5.4 and
	// later) gives them.
	PSSAnon, PSSFile, PSSShmem int64
	Split                      bool
	Anon                       int64 // Anonymous: anonymous pages, shared ones whole
	Private                    int64 // Private_Clean + Private_Dirty: USS
	Swap, SwapPSS              int64
	LazyFree                   int64
}

// Rollup reads /proc/PID/smaps_rollup. It is not there for a process without
// memory of its own (ESRCH).
func (fs FS) Rollup(pid int) (Rollup, error) {
	path := fs.path(pid, "smaps_rollup")
	b, err := readFile(path)
	if err != nil {
		return Rollup{}, err
	}
	var r Rollup
	seen := false
	err = keyed(b, func(key, value []byte) error {
		var n int64
		into := &n
		switch string(key) {
		case "Rss":
			into = &r.RSS
		case "Pss":
			into, seen = &r.PSS, true
		case "Pss_Anon":
			into, r.Split = &r.PSSAnon, true
		case "Pss_File":
			into = &r.PSSFile
		case "Pss_Shmem":
			into = &r.PSSShmem
		case "Anonymous":
			into = &r.Anon
		case "Swap":
			into = &r.Swap
		case "SwapPss":
			into = &r.SwapPSS
		case "LazyFree":
			into = &r.LazyFree
		case "Private_Clean", "Private_Dirty":
			err := kibibytes(key, value, into)
			r.Private += n
			return err
		default:
			return nil
		}
		return kibibytes(key, value, into)
	})
	if err == nil && !seen {
		err = fmt.Errorf("want a line Pss, got %.60q", b)
	}
	if err != nil {
		return Rollup{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// keyed calls fn for each line "Key: value".
func keyed(b []byte, fn func(key, value []byte) error) error {
	for line := range bytes.Lines(b) {
		key, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			continue // the first line of smaps_rollup is an address range
		}
		if err := fn(key, bytes.TrimSpace(value)); err != nil {
			return err
		}
	}
	return nil
}

// kibibytes reads "123 kB", of which the kernel means KiB.
func kibibytes(key, value []byte, into *int64) error {
	number, unit, _ := bytes.Cut(value, []byte(" "))
	n, err := strconv.ParseInt(string(number), 10, 64)
	if err != nil || n < 0 || n > 1<<53 || string(bytes.TrimSpace(unit)) != "kB" {
		return fmt.Errorf("%s: want a number of kB, got %.40q", key, value)
	}
	*into = n << 10
	return nil
}
