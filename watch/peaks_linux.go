package watch

import (
	"github.com/peakgate/peakgate/capture/footprint"
	"github.com/peakgate/peakgate/watch/proc"
)

// peaks keeps the interval in which the tree's peak lies.
type peaks struct {
	self    int64 // the watcher's own high-water mark at the start
	process int64 // the largest maximum of one process
	sampled int64 // the largest footprint
	upper   int64
	// The most that the processes had mapped of files and swapped out, and that their
	// control group was charged beside their memory: page cache, the kernel's own.
	files, swap, beside int64
	// A newcomer's mark may be its parent's memory, seen between fork and exec: it
	// is added to before, the sum of its first tick, when the next tick shows that
	// it is its own.
	before    int64
	newcomers map[proc.Key]int64
}

// pending tells that the next tick has to read the marks of newcomers.
func (p *peaks) pending() bool { return len(p.newcomers) > 0 }

// tick takes the marks of one tick; status is fresh for newcomers.
func (p *peaks) tick(members, came, went []*proc.Member, s footprint.Sample) {
	for _, m := range members {
		if then, ok := p.newcomers[m.Key]; ok && m.Status.HighWater >= then {
			p.before += then // no exec has begun a new image
		}
	}
	for _, m := range went {
		p.before += p.newcomers[m.Key]
	}
	p.upper = max(p.upper, p.before)
	p.before, p.newcomers = 0, nil
	young := map[proc.Key]bool{}
	for _, m := range came {
		young[m.Key] = true
	}
	for _, m := range members {
		mark := max(m.Status.HighWater, m.RSS)
		if young[m.Key] {
			if p.newcomers == nil {
				p.newcomers = map[proc.Key]int64{}
			}
			p.newcomers[m.Key] = mark
			continue
		}
		p.before += mark
		p.process = max(p.process, mark)
	}
	p.upper = max(p.upper, p.before)
	if n, ok := s.Footprint.Value(); ok {
		p.sampled = max(p.sampled, n)
	}
}

// reaped takes wait4's maximum of a process of ours and of all that it waited for,
// which sees also what lived between two ticks. A process begins with the maximum
// of the one that started it, so what the watcher itself had says nothing.
func (p *peaks) reaped(maxRSS int64) {
	if maxRSS <= p.self+p.self/10 || maxRSS <= p.process {
		return
	}
	if maxRSS < 2*p.process {
		p.upper += maxRSS - p.process // a process that was seen, shortly before it grew
	} else {
		p.upper += maxRSS // one that was not seen
	}
	p.process = maxRSS
}

// bound takes the peak of the group. It holds what processes had that no tick saw,
// and shared memory once, but also page cache: so it is the upper end where it is
// below the sum of marks, or so far above it that page cache does not explain it.
// File pages may be charged to others, and swap is not in it.
func (p *peaks) bound(peak int64) {
	n := peak + p.files + p.swap
	if seen := max(p.upper, p.sampled, p.process); p.files > 0 && (n < seen || peak-p.beside > seen) {
		p.upper = n
	}
}

func (p *peaks) summary(s *footprint.Summary) {
	if p.sampled > 0 {
		s.FootprintPeak = footprint.Known(p.sampled)
	}
	if p.process > 0 {
		s.ProcessPeak = footprint.Known(p.process)
	}
	if upper := max(p.upper, p.sampled, p.process); upper > 0 {
		s.UpperPeak = footprint.Known(upper)
	}
}
