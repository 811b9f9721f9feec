package watch

import (
	"time"

	"github.com/peakgate/peakgate/capture/footprint"
	"github.com/peakgate/peakgate/watch/proc"
)

const (
	// statusEvery is how often status, between marks, and the counters are read.
	statusEvery = time.Second
	// unsharedEvery is how often PSS is read where status says the same.
	unsharedEvery = 10 * time.Second
	// longestRead bounds a read of smaps_rollup while which one process cannot map
	// memory, where status can stand in for it.
	longestRead = 20 * time.Millisecond
	// steppingFor is how long after a mark half of the bucket is kept for the next one.
	steppingFor = 10 * time.Second
	// sharedSlack is what counts as nothing shared, and fileSlack what a process may
	// map of files before its PSS is read again.
	sharedSlack = 64 << 10
	fileSlack   = 1 << 20
)

func (l *linux) tick(now time.Duration, mark bool) reading {
	var r reading
	l.ticks++
	came, went := l.tree.Tick()
	for _, m := range came {
		r.came = append(r.came, seen(m))
	}
	for _, m := range went {
		r.went = append(r.went, seen(m))
	}
	members := l.tree.Members()
	perSecond := max(1, int(statusEvery/l.cfg.Interval))
	slow := l.ticks%perSecond == 1 || perSecond == 1
	for _, m := range members {
		// A mark that rises is read at once: it is lost with a process that ends.
		if slow || mark || len(came) > 0 || l.peaks.pending() || m.RSS > m.HighWater {
			l.tree.ReadStatus(m)
		}
	}
	members = l.holding(members, came)
	s := &r.sample
	if mark {
		l.lastMark = now
	}
	l.memory(s, members, now, mark)
	if slow {
		l.counters(s, members)
	}
	l.gpu.sample(s, now, mark, members)
	l.peaks.tick(members, came, went, *s)
	return r
}

// holding leaves out members that hold no memory of their own: zombies, and
// newcomers that still run in their parent's memory, between vfork and exec: all
// their numbers are the parent's.
func (l *linux) holding(members, came []*proc.Member) (list []*proc.Member) {
	borrowed := map[*proc.Member]bool{}
	for _, m := range came {
		p := l.tree.Get(m.PPID)
		if p == nil || !m.Fresh || !p.Fresh {
			continue
		}
		a, b := m.Status, p.Status
		a.Name, b.Name = "", ""
		borrowed[m] = a == b && a.Anon > 0
	}
	for _, m := range members {
		if m.RSS > 0 && !borrowed[m] {
			list = append(list, m)
		}
	}
	return list
}

// memory reads RSS, and the footprint as well as the costs allow.
func (l *linux) memory(s *footprint.Sample, members []*proc.Member, now time.Duration, mark bool) {
	var rss, swap, high, files int64
	fresh := len(members) > 0
	s.Nproc = int64(len(members))
	for _, m := range members {
		rss += m.RSS
		fresh = fresh && m.Fresh
		swap += m.Status.Swap
		high += max(m.HighWater, m.RSS)
		files += m.Status.File
	}
	l.peaks.files, l.peaks.swap = max(l.peaks.files, files), max(l.peaks.swap, swap)
	s.RSS = footprint.Known(rss)
	if fresh {
		s.Swap, s.HighWater = footprint.Known(swap), footprint.Known(high)
	}
	unshared := l.unshared(members)
	if l.wantPSS(members, unshared, rss, now, mark) && l.readPSS(s, members, now) {
		return
	}
	if l.pssError != "" {
		s.PSS = footprint.Unknown()
		because(s, "pss_bytes", l.pssError)
	}
	if !unshared {
		if n, ok := l.groupFootprint(s, members); ok {
			s.Footprint = footprint.Known(n)
			return
		}
		if l.cfg.PSS != PSSOff && l.pssError == "" {
			return // only PSS would be right, and it was not affordable now
		}
	}
	if fresh {
		var n int64
		for _, m := range members {
			n += m.Status.Unshared()
			if m.Rolled != nil {
				n += m.Rolled.PSSFile
			}
		}
		s.Footprint = footprint.Known(n)
	}
}

// wantPSS decides about a read of smaps_rollup of the whole tree.
func (l *linux) wantPSS(members []*proc.Member, unshared bool, rss int64, now time.Duration, mark bool) bool {
	switch {
	case l.cfg.PSS == PSSOff || l.pssError != "" || len(members) == 0:
		return false
	case l.cfg.PSS == PSSAlways:
		return true
	}
	settled := unshared
	for _, m := range members {
		settled = settled && m.Rolled != nil && abs(m.Status.File-m.FileThen) <= fileSlack
	}
	estimate := time.Duration(l.perByte * float64(rss) * float64(time.Second))
	switch {
	case settled && now-l.lastRoll < unsharedEvery:
		return false
	case unshared && estimate > longestRead:
		return false
	}
	reserve := time.Duration(0)
	if !mark && now-l.lastMark < steppingFor {
		reserve = l.pss.burst / 2 // for the next mark
	}
	return l.pss.admit(now, estimate, reserve)
}

// readPSS reads smaps_rollup of all members; one that ends meanwhile counts for
// nothing.
func (l *linux) readPSS(s *footprint.Sample, members []*proc.Member, now time.Duration) bool {
	began := threadTime()
	var sum proc.Rollup
	read := 0
	var failed error
	for _, m := range members {
		l.tree.ReadStatus(m)
		if err := l.tree.ReadRollup(m); err != nil {
			m.Rolled = nil
			if !proc.Gone(err) {
				failed = err
			}
			continue
		}
		read++
		sum.RSS += m.Rolled.RSS
		sum.PSS += m.Rolled.PSS
		sum.Private += m.Rolled.Private
		sum.SwapPSS += m.Rolled.SwapPSS
		sum.LazyFree += m.Rolled.LazyFree
	}
	cost := threadTime() - began
	l.pss.spend(cost)
	l.lastRoll = now
	if sum.RSS > 1<<20 {
		l.perByte = (l.perByte + cost.Seconds()/float64(sum.RSS)) / 2
	}
	if failed != nil {
		// Another user's process, or a kernel before 4.14: it will not get better.
		l.pssError = failed.Error()
		return false
	}
	if read == 0 {
		return false
	}
	s.PSS, s.USS = footprint.Known(sum.PSS), footprint.Known(sum.Private)
	s.LazyFree = footprint.Known(sum.LazyFree)
	whole := sum.PSS + sum.SwapPSS
	s.Footprint = footprint.Known(whole)
	if n, ok := l.groupFootprint(s, members); ok {
		s.Footprint = footprint.Known(l.atOnce(whole, n))
	}
	return true
}

// atOnce chooses between the sum of PSS, whose processes were read one after the
// other while pages passed between them, and what the group says, which bounds it:
// unless it is far below again and again, when processes must have left the group.
func (l *linux) atOnce(whole, group int64) int64 {
	if group >= whole-max(1<<20, whole/64) { // within the error of the counters
		l.below = 0
		return whole
	}
	if l.below++; l.below >= 3 {
		l.left = true
		return whole
	}
	return group
}

// wholeGroup tells that the control group is the workload's own and holds all of
// it, as far as is known.
func (l *linux) wholeGroup() bool {
	return l.ownGroup != "" && len(l.cfg.AlsoPIDs) == 0 && !l.left
}

// groupFootprint is the footprint by the counters of the control group, which count
// shared memory once, for 0.05 ms: anon, shmem and swap, and the file pages of the
// last smaps_rollup.
func (l *linux) groupFootprint(s *footprint.Sample, members []*proc.Member) (n int64, ok bool) {
	if !l.wholeGroup() || len(members) == 0 {
		return 0, false
	}
	k := l.readGroup(s)
	if k.Held == nil {
		return 0, false
	}
	n = *k.Held
	if k.Swap != nil {
		n += *k.Swap
	}
	for _, m := range members {
		if m.Rolled != nil {
			n += m.Rolled.PSSFile
		}
	}
	return n, true
}

// readGroup reads the counters of the workload's own control group.
func (l *linux) readGroup(s *footprint.Sample) proc.Counters {
	k := l.group.Read()
	if k.Held != nil {
		s.Cgroup = footprint.Known(*k.Held)
		if k.Usage != nil {
			l.peaks.beside = max(l.peaks.beside, *k.Usage-*k.Held)
		}
	}
	return k
}

// unshared tells that no member shares memory but files with another: there is
// only one, or the last smaps_rollup of each said so.
func (l *linux) unshared(members []*proc.Member) bool {
	all := true
	for _, m := range members {
		r := m.Rolled
		all = all && r != nil && r.Split && r.Anon-r.PSSAnon <= sharedSlack && r.Swap-r.SwapPSS <= sharedSlack &&
			// Memory that is shared by mapping a file of tmpfs grows in both.
			m.Status.Shmem-r.PSSShmem <= sharedSlack
	}
	return len(members) == 1 || all
}

// counters reads what is read once a second.
func (l *linux) counters(s *footprint.Sample, members []*proc.Member) {
	var open int64
	known := true
	for _, m := range members {
		n, err := l.tree.Descriptors(m)
		if err != nil && !proc.Gone(err) {
			known = false
		}
		open += n
	}
	if known {
		s.Descriptors = footprint.Known(open)
	}
	if l.ownGroup != "" && s.Cgroup.IsZero() {
		l.readGroup(s)
	}
}

func abs(n int64) int64 { return max(n, -n) }
