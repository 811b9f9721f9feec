package watch

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/peakgate/peakgate/capture/footprint"
	"github.com/peakgate/peakgate/watch/mac"
)

// darwin follows the workload by proc_pid_rusage. Orphans are not reparented to
// us there, so members are found while their parents live, and stay.
type darwin struct {
	cfg     *Config
	helpers *helpers
	main    int
	members map[int]*darwinMember

	vmmap   *bucket
	cost    time.Duration // of the last vmmap
	sampled int64
	process int64
	upper   int64
}

type darwinMember struct {
	process
	start   uint64
	outside bool
	usage   mac.Usage
}

func newPlatform(cfg *Config, h *helpers) (platform, error) {
	d := &darwin{cfg: cfg, helpers: h, members: map[int]*darwinMember{}, vmmap: newBucket(0.01, time.Second), cost: 100 * time.Millisecond}
	for _, pid := range cfg.AlsoPIDs {
		if d.add(pid, 0, true) == nil {
			return nil, fmt.Errorf("process %d: not there, or not ours to read", pid)
		}
	}
	return d, nil
}

func (d *darwin) add(pid, parent int, outside bool) *darwinMember {
	if d.members[pid] != nil {
		return nil
	}
	u, err := mac.ReadUsage(pid)
	if err != nil {
		return nil
	}
	m := &darwinMember{process{pid: pid, ppid: parent}, u.Start, outside, u}
	if info, err := unix.SysctlKinfoProc("kern.proc.pid", pid); err == nil {
		m.comm = unix.ByteSliceToString(info.Proc.P_comm[:])
	}
	d.members[pid] = m
	return m
}

func (d *darwin) start(argv []string, attr *os.ProcAttr) (int, error) {
	p, err := os.StartProcess(argv[0], argv, attr)
	if err != nil {
		return 0, err
	}
	defer p.Release()
	d.main = p.Pid
	d.add(p.Pid, os.Getpid(), false)
	return p.Pid, nil
}

func (d *darwin) tick(now time.Duration, mark bool) (r reading) {
	for pid, m := range d.members {
		u, err := mac.ReadUsage(pid)
		if err != nil || u.Start != m.start {
			if pid != d.main { // that is reaped
				delete(d.members, pid)
				r.went = append(r.went, m.process)
			}
			continue
		}
		m.usage, m.highWater = u, max(m.highWater, u.Peak)
	}
	queue := []int{}
	for pid := range d.members {
		queue = append(queue, pid)
	}
	for len(queue) > 0 {
		parent := d.members[queue[0]]
		queue = queue[1:]
		for _, child := range mac.Children(parent.pid) {
			if m := d.add(child, parent.pid, parent.outside); m != nil {
				r.came = append(r.came, m.process)
				queue = append(queue, child)
			}
		}
	}
	var sum, rss, high int64
	for _, m := range d.members {
		sum += m.usage.Footprint
		rss += m.usage.Resident
		high += m.usage.Peak
		d.process = max(d.process, m.usage.Peak)
	}
	s := &r.sample
	s.Nproc = int64(len(d.members))
	s.Footprint, s.RSS, s.HighWater = footprint.Known(sum), footprint.Known(rss), footprint.Known(high)
	d.sampled, d.upper = max(d.sampled, sum), max(d.upper, high)
	if d.members[d.main] != nil && (d.cfg.Affon != nil || d.vmmap.admit(now, d.cost, 0)) {
		began := time.Now()
		var err error
		if r.regions, err = readRegions(d.helpers, d.main); err != nil {
			s.Regions = footprint.Unknown()
			s.Reasons = map[string]string{"regions": err.Error()}
		} else {
			s.Regions = footprint.Known(r.regions.graphics.Count)
			if n := r.regions.reclaimable; n != nil {
				s.LazyFree = footprint.Known(*n)
			}
		}
		d.cost = time.Since(began)
		d.vmmap.spend(d.cost)
	}
	return r
}

func (d *darwin) reap() (ended []exit) {
	d.helpers.mu.Lock()
	defer d.helpers.mu.Unlock()
	m := d.members[d.main]
	if m == nil {
		return nil
	}
	if u, err := mac.ReadUsage(d.main); err == nil { // its peak is lost by the wait
		m.highWater = max(m.highWater, u.Peak)
		d.process = max(d.process, u.Peak)
	}
	var status unix.WaitStatus
	var usage unix.Rusage
	got, err := unix.Wait4(d.main, &status, unix.WNOHANG, &usage)
	if err != nil || got != d.main || !status.Exited() && !status.Signaled() {
		return nil
	}
	delete(d.members, d.main)
	e := exit{process: m.process, code: status.ExitStatus()}
	if status.Signaled() {
		e.signal = status.Signal()
	}
	e.maxRSS = footprint.Known(usage.Maxrss) // bytes on this system
	return []exit{e}
}

func (d *darwin) living() (pids []int) {
	for pid, m := range d.members {
		if !m.outside {
			pids = append(pids, pid)
		}
	}
	return pids
}

func (d *darwin) kills() (int64, bool) { return 0, false }

func (d *darwin) header(h *footprint.Header) {
	h.Sources = map[string]string{
		"footprint_bytes":  "proc_pid_rusage ri_phys_footprint",
		"high_water_bytes": "proc_pid_rusage ri_lifetime_max_phys_footprint",
		"rss_bytes":        "proc_pid_rusage ri_resident_size",
		"regions":          "vmmap or footprint: IOAccelerator (graphics) of the first process",
	}
	h.Host.CPUs = int64(runtime.NumCPU())
	h.Host.Kernel, _ = unix.Sysctl("kern.osrelease")
	if n, err := unix.SysctlUint64("hw.memsize"); err == nil {
		h.Host.MemoryBytes = int64(n)
	}
}

func (d *darwin) summary(s *footprint.Summary) {
	if d.process > 0 {
		s.FootprintPeak, s.ProcessPeak = footprint.Known(d.sampled), footprint.Known(d.process)
		s.UpperPeak = footprint.Known(max(d.upper, d.sampled, d.process))
	}
	s.OOMKills = footprint.Unknown()
	s.Reasons["oom_kills"] = "macOS has no counter of them"
}

func (d *darwin) close() {}

func signalName(s os.Signal) string {
	if n, ok := s.(unix.Signal); ok {
		if name := unix.SignalName(n); name != "" {
			return name
		}
	}
	return strings.ToUpper(s.String())
}

var processStart = time.Now()

// threadTime stands for the processor time of this thread.
func threadTime() time.Duration { return time.Since(processStart) }
