package watch

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/peakgate/peakgate/capture/footprint"
	"github.com/peakgate/peakgate/watch/proc"
)

// linux follows the workload through /proc.
type linux struct {
	cfg     *Config
	fs      proc.FS
	tree    *proc.Tree
	helpers *helpers
	self    int
	main    int

	group    proc.Cgroup
	grouped  bool   // group is known
	ownGroup string // its folder, where it is the workload's own
	killed0  int64  // kills that were counted before the run

	pss      *bucket
	perByte  float64 // seconds of a smaps_rollup read for a byte of RSS
	lastRoll time.Duration
	lastMark time.Duration
	ticks    int
	peaks    peaks
	gpu      *gpu
	pssError string // why PSS cannot be read at all
	left     bool   // a process of the workload is not in its control group
	below    int    // how often on end the group told less than PSS
}

func newPlatform(cfg *Config, h *helpers) (platform, error) {
	// Orphans of the workload become our children, so they are seen and reaped.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("cannot become the reaper of orphans: %w", err)
	}
	root := cfg.procRoot
	if root == "" {
		root = "/proc"
	}
	l := &linux{
		cfg: cfg, fs: proc.New(root), helpers: h, self: os.Getpid(),
		// 0.43 ms for 100 MiB of small pages; corrected by each read.
		pss: newBucket(0.002, 100*time.Millisecond), perByte: 0.43e-3 / (100 << 20),
		lastRoll: -time.Hour, lastMark: -time.Hour,
	}
	if _, err := l.fs.Stat(l.self); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", root, err)
	}
	if err := ownNamespace(root, l.self); err != nil {
		return nil, err
	}
	skip := func(pid int) bool { h.mu.Lock(); defer h.mu.Unlock(); return h.has(pid) }
	l.tree = proc.NewTree(l.fs, l.self, skip)
	for _, pid := range cfg.AlsoPIDs {
		if l.tree.Add(pid, true) == nil {
			return nil, fmt.Errorf("process %d: not there", pid)
		}
	}
	l.gpu = newGPU(cfg, h, l.fs)
	return l, nil
}

// ownNamespace tells whether a /proc is of another pid namespace: there, our own
// number is another process, whose children are none of ours.
func ownNamespace(root string, pid int) error {
	if self, err := os.Readlink(root + "/self"); err == nil && self != strconv.Itoa(pid) {
		return fmt.Errorf("%s is of another pid namespace: to it this is process %.20q, not %d; mount one of this namespace (unshare --mount-proc)", root, self, pid)
	}
	return nil
}

// start starts the workload, in a control group of its own where one can be made.
func (l *linux) start(argv []string, attr *os.ProcAttr) (int, error) {
	l.group, l.grouped = proc.Cgroup{}, false
	if c, err := l.fs.Cgroup(l.self, l.cfg.sysRoot); err == nil {
		l.group, l.grouped = c, true
	}
	leave := l.enterGroup(attr)
	if n := l.group.Kills(); l.grouped && n != nil {
		l.killed0 = *n
	}
	p, err := os.StartProcess(argv[0], argv, attr)
	leave()
	// Until exec the child runs in our memory, and wait4 will tell of that.
	if s, err := l.fs.Status(l.self); err == nil {
		l.peaks.self = s.HighWater
	}
	if err != nil {
		l.dropGroup()
		return 0, err
	}
	l.main = p.Pid
	defer p.Release()
	l.tree.Add(p.Pid, false)
	return p.Pid, nil
}

// enterGroup makes a control group below our own for the workload. In version 2
// it is cloned into the group; in version 1 this process enters it, so that what
// it starts is born there, and leaves again. Without the rights, or where the
// parent does not hand the memory controller down, there is none.
func (l *linux) enterGroup(attr *os.ProcAttr) (leave func()) {
	leave = func() {}
	if !l.grouped {
		return leave
	}
	own := proc.Cgroup{Dir: fmt.Sprintf("%s/peakgate-%d", l.group.Dir, l.self), V1: l.group.V1}
	if err := os.Mkdir(own.Dir, 0o755); err != nil {
		return leave
	}
	if own.Kills() == nil {
		os.Remove(own.Dir)
		return leave
	}
	if !own.V1 {
		dir, err := os.Open(own.Dir)
		if err != nil {
			os.Remove(own.Dir)
			return leave
		}
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(dir.Fd())
		leave = func() { dir.Close() }
	} else {
		parent := l.group.Dir
		if move(own.Dir) != nil {
			os.Remove(own.Dir)
			return leave
		}
		leave = func() { move(parent) }
	}
	l.group, l.ownGroup = own, own.Dir
	return leave
}

// move moves this process into a group.
func move(dir string) error {
	return os.WriteFile(dir+"/cgroup.procs", []byte("0"), 0)
}

func (l *linux) dropGroup() {
	if l.ownGroup != "" {
		os.Remove(l.ownGroup) // refused while a process is in it
	}
}

func (l *linux) reap() (ended []exit) {
	l.helpers.mu.Lock()
	defer l.helpers.mu.Unlock()
	candidates, _ := l.fs.Children(l.self)
	for _, m := range l.tree.Members() {
		candidates = append(candidates, m.PID)
	}
	for _, pid := range candidates {
		if l.helpers.has(pid) {
			continue
		}
		var status unix.WaitStatus
		var usage unix.Rusage
		// By its id, never by -1: others in this process wait for children too.
		got, err := unix.Wait4(pid, &status, unix.WNOHANG, &usage)
		if err != nil || got != pid || !status.Exited() && !status.Signaled() {
			continue
		}
		e := exit{process: process{pid: pid}, code: status.ExitStatus()}
		if status.Signaled() {
			e.signal = status.Signal()
		}
		e.maxRSS = footprint.Known(usage.Maxrss << 10)
		if m := l.tree.Get(pid); m != nil {
			e.process = seen(m)
			l.tree.Remove(m)
		}
		l.peaks.reaped(usage.Maxrss << 10)
		ended = append(ended, e)
	}
	return ended
}

func seen(m *proc.Member) process {
	return process{pid: m.PID, ppid: m.PPID, comm: m.Comm, highWater: m.HighWater}
}

// living leaves out zombies: they hold nothing, and only their parent can end them.
func (l *linux) living() (pids []int) {
	for _, m := range l.tree.Members() {
		if m.Outside {
			continue
		}
		if m.RSS == 0 {
			if s, err := l.fs.Stat(m.PID); err != nil || s.State == 'Z' && s.Threads <= 1 {
				continue
			}
		}
		pids = append(pids, m.PID)
	}
	return pids
}

func (l *linux) kills() (int64, bool) {
	if !l.grouped {
		return 0, false
	}
	n := l.group.Kills()
	if n == nil || *n < l.killed0 {
		return 0, false
	}
	return *n - l.killed0, true
}

func (l *linux) header(h *footprint.Header) {
	h.Sources = map[string]string{
		"footprint_bytes":  "smaps_rollup PSS + SwapPss; where no memory is shared RssAnon + RssShmem + VmSwap of status and the last Pss_File",
		"rss_bytes":        "statm",
		"high_water_bytes": "status VmHWM",
		"descriptors":      "/proc/PID/fd",
	}
	if l.cfg.PSS == PSSOff {
		h.Sources["footprint_bytes"] = "status RssAnon + RssShmem + VmSwap"
	}
	if l.wholeGroup() {
		h.Sources["footprint_bytes"] += "; where memory is shared and PSS is not read, anon + shmem + swap of memory.stat and the last Pss_File"
	}
	if l.grouped {
		h.Sources["cgroup_bytes"] = "memory.stat"
		if l.ownGroup == "" {
			h.Sources["cgroup_bytes"] += " of a control group that the workload shares with others"
		}
	}
	l.gpu.header(h)
	h.Host.CPUs = int64(onlineCPUs())
	var uts unix.Utsname
	if unix.Uname(&uts) == nil {
		h.Host.Kernel = unix.ByteSliceToString(uts.Release[:])
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		h.Host.MemoryBytes = int64(uint64(info.Totalram) * uint64(info.Unit))
	}
	if l.ownGroup != "" {
		h.Host.Cgroup = "v2"
		if l.group.V1 {
			h.Host.Cgroup = "v1"
		}
	}
}

func (l *linux) summary(s *footprint.Summary) {
	if l.ownGroup != "" {
		if k := l.group.Read(); k.Peak != nil {
			s.CgroupPeak = footprint.Known(*k.Peak)
			if l.wholeGroup() {
				l.peaks.bound(*k.Peak)
			}
		}
	}
	l.peaks.summary(s)
	if n, ok := l.kills(); ok {
		s.OOMKills = footprint.Known(n)
		if l.ownGroup == "" && n > 0 {
			s.Reasons["oom_kills"] = "counted in a control group that the workload shares with others"
		}
	} else {
		s.OOMKills = footprint.Unknown()
		s.Reasons["oom_kills"] = "no control group with a memory controller"
	}
}

func (l *linux) close() {
	l.gpu.close()
	l.tree.Close()
	l.dropGroup()
}

func onlineCPUs() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return 0
	}
	return set.Count()
}

// signalName is the name of a signal, SIGKILL.
func signalName(s os.Signal) string {
	if n, ok := s.(syscall.Signal); ok {
		if name := unix.SignalName(n); name != "" {
			return name
		}
		return fmt.Sprintf("SIG%d", int(n))
	}
	return strings.ToUpper(s.String())
}

// threadTime is the processor time of this thread. On a busy machine the time on
// the wall is that of others.
func threadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
