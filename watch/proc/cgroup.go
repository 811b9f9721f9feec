package proc

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Cgroup is the memory control group of a process.
type Cgroup struct {
	Dir string
	V1  bool
}

// Counters is what a control group tells; nil is not told.
type Counters struct {
	// Held is anon + shmem: the kernel's memory and page cache left out, which
	// memory.current and the peak count.
	Held *int64
	// Usage is all that is charged to the group, and Peak the most that was.
	Usage *int64
	Peak  *int64
	Swap  *int64
	// Kills counts processes of the group that the kernel killed for memory.
	Kills *int64
}

// Cgroup finds the control group of a process that has a memory controller. The
// mount points are those of /proc/PID/mountinfo, below sysroot (empty: none).
func (fs FS) Cgroup(pid int, sysroot string) (Cgroup, error) {
	groups, err := readFile(fs.path(pid, "cgroup"))
	if err != nil {
		return Cgroup{}, err
	}
	mounts, err := readFile(fs.path(pid, "mountinfo"))
	if err != nil {
		return Cgroup{}, err
	}
	for _, v1 := range []bool{true, false} { // where v1 has the controller, v2 has not
		path, ok := groupPath(groups, v1)
		if !ok {
			continue
		}
		point, root, ok := mountPoint(mounts, v1)
		if !ok {
			continue
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || strings.Contains(path, "..") || strings.HasPrefix(rel, "..") {
			rel = "." // seen from another name space: the mount is the group
		}
		c := Cgroup{Dir: filepath.Join(sysroot, point, rel), V1: v1}
		if _, err := os.Stat(filepath.Join(c.Dir, c.events())); err == nil {
			return c, nil
		}
	}
	return Cgroup{}, fmt.Errorf("%s: no control group with a memory controller is mounted", fs.path(pid, "cgroup"))
}

func (c Cgroup) events() string {
	if c.V1 {
		return "memory.oom_control"
	}
	return "memory.events"
}

// groupPath finds "0::/path" (v2) or "N:...,memory,...:/path" (v1).
func groupPath(groups []byte, v1 bool) (string, bool) {
	for line := range strings.Lines(string(groups)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		if !v1 && f[0] == "0" && f[1] == "" || v1 && hasWord(f[1], "memory") {
			return f[2], true
		}
	}
	return "", false
}

// mountPoint finds where the hierarchy is mounted, and which of its groups is
// there: "ID PARENT MAJ:MIN ROOT POINT OPTIONS … - TYPE SOURCE SUPEROPTIONS".
func mountPoint(mounts []byte, v1 bool) (point, root string, ok bool) {
	lines := bufio.NewScanner(bytes.NewReader(mounts))
	lines.Buffer(nil, maxFile)
	for lines.Scan() {
		before, after, found := strings.Cut(lines.Text(), " - ")
		b, a := strings.Fields(before), strings.Fields(after)
		if !found || len(b) < 5 || len(a) < 3 {
			continue
		}
		if !v1 && a[0] == "cgroup2" || v1 && a[0] == "cgroup" && hasWord(a[2], "memory") {
			return b[4], b[3], true
		}
	}
	return "", "", false
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// Read reads the counters; what a kernel does not tell is nil.
func (c Cgroup) Read() Counters {
	var k Counters
	usage := "memory.current"
	if c.V1 {
		usage = "memory.usage_in_bytes"
	}
	k.Usage = c.number(usage) // before the rest: memory that comes between is not taken for page cache
	stat := c.table("memory.stat")
	anon, shmem := "anon", "shmem"
	if c.V1 {
		anon, shmem = "total_rss", "total_shmem"
		k.Peak = c.number("memory.max_usage_in_bytes")
		if n, ok := stat["total_swap"]; ok {
			k.Swap = &n
		}
	} else {
		k.Peak = c.number("memory.peak")
		k.Swap = c.number("memory.swap.current")
	}
	if a, ok := stat[anon]; ok {
		held := a + stat[shmem]
		k.Held = &held
	}
	if n, ok := c.table(c.events())["oom_kill"]; ok {
		k.Kills = &n
	}
	return k
}

// Kills reads only how many processes were killed for memory.
func (c Cgroup) Kills() *int64 {
	if n, ok := c.table(c.events())["oom_kill"]; ok {
		return &n
	}
	return nil
}

func (c Cgroup) number(name string) *int64 {
	b, err := readFile(filepath.Join(c.Dir, name))
	if err != nil {
		return nil
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil || n < 0 {
		return nil
	}
	return &n
}

// table reads lines of a name and a number, in any order.
func (c Cgroup) table(name string) map[string]int64 {
	b, err := readFile(filepath.Join(c.Dir, name))
	if err != nil {
		return nil
	}
	t := map[string]int64{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) == 2 {
			if n, err := strconv.ParseInt(f[1], 10, 64); err == nil && n >= 0 {
				t[f[0]] = n
			}
		}
	}
	return t
}
