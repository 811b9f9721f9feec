package watch

import (
	"testing"
	"time"
)

const (
	miB = int64(1) << 20
	// page tables, and the kernel's rounding of counters
	slack = miB / 2
	// libraries is what a small process holds beside what its story takes: pages of
	// the C library, shared with whoever else has them mapped at the time.
	libraries = miB
)

// near checks a number against its truth: what the story takes, and no more above it
// than the process itself.
func near(t *testing.T, what string, got, want, slack int64) {
	t.Helper()
	if got < want-slack || got > want+slack+libraries {
		t.Errorf("%s: %d B, want %d B within %d, and at most %d above that", what, got, want, slack, libraries)
	}
}

func count(n int64) (list []int64) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

// series runs a story of one process and gives the footprint at each mark above
// that of the first, whose truth is base.
func series(t *testing.T, name string, base int64, steps int64) []int64 {
	t.Helper()
	w := begin(t, testConfig{}, needStory(t), name)
	got := w.steps(count(steps)...)
	w.end(0)
	near(t, "first mark", got[0], base, slack)
	first := got[0]
	for i := range got {
		got[i] += base - first
	}
	return got
}

// tolerance is four pages: the stack of a process may grow by one.
const tolerance = 16 << 10

func TestLeak(t *testing.T) {
	t.Parallel()
	for i, got := range series(t, "leak", 2*miB, 20) {
		near(t, "step", got, int64(i+1)*2*miB, tolerance)
	}
}

func TestSawtooth(t *testing.T) {
	t.Parallel()
	lowest := map[int]int64{}
	for i, got := range series(t, "sawtooth", 4*miB, 12) {
		near(t, "step", got, int64(i%4+1)*4*miB, tolerance)
		if n, ok := lowest[i/4]; !ok || got < n {
			lowest[i/4] = got
		}
	}
	near(t, "minimum of the last period against the first's", lowest[2], lowest[0], tolerance)
}

func TestPlateau(t *testing.T) {
	t.Parallel()
	for i, got := range series(t, "plateau", 4*miB, 10) {
		near(t, "step", got, int64(min(i+1, 4))*4*miB, tolerance)
	}
}

func TestForkedSharers(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{Config: Config{PSS: PSSAlways}}, needStory(t), "sharers")
	near(t, "alone", w.steps(0)[0], 40*miB, slack)
	l := w.at(1)
	near(t, "four workers", w.footprint(l), 80*miB, 4*slack)
	if rss, _ := l.RSS.Value(); rss < 190*miB {
		t.Errorf("RSS of the tree %d B: the story does not share", rss)
	}
	if l.Nproc != 5 {
		t.Errorf("%d processes, want 5", l.Nproc)
	}
	w.goOn()
	near(t, "alone again", w.steps(2)[0], 40*miB, slack)
	w.end(0)
	lower, _ := w.summary.FootprintPeak.Value()
	near(t, "peak", lower, 80*miB, 4*slack)
	upper, _ := w.summary.UpperPeak.Value()
	if marks := w.summary.CgroupPeak.IsZero(); upper < lower || marks && upper < 190*miB {
		t.Errorf("upper end %d B above %d B, want the group's peak, or the sum of marks", upper, lower)
	}
	if w.summary.Processes != 5 {
		t.Errorf("%d processes ever, want 5", w.summary.Processes)
	}
}

// TestSharersByGroup: where PSS is not read, the control group counts what is
// shared once, and its peak is the upper end.
func TestSharersByGroup(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{Config: Config{PSS: PSSOff}}, needStory(t), "sharers")
	w.at(0)
	w.goOn()
	l := w.at(1)
	w.goOn()
	w.at(2)
	w.goOn()
	w.end(0)
	if w.summary.CgroupPeak.IsZero() {
		t.Skip("no control group of the workload's own can be made here")
	}
	near(t, "four workers", w.footprint(l), 80*miB, 4*slack)
	lower, _ := w.summary.FootprintPeak.Value()
	near(t, "peak", lower, 80*miB, 4*slack)
	if upper, _ := w.summary.UpperPeak.Value(); upper < lower || upper > 110*miB {
		t.Errorf("upper end %d B, want the group's peak, not the sum of marks", upper)
	}
}

// TestSmallWorkload: wait4 tells also of the memory that the child was born in,
// which is the watcher's.
func TestSmallWorkload(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{}, needStory(t), "leak", "1")
	w.steps(0)
	w.end(0)
	if n, ok := w.summary.ProcessPeak.Value(); !ok || n < 2*miB || n > 6*miB {
		t.Errorf("largest process %d B, want 2 MiB and a C library", n)
	}
}

func TestSharedMemoryCountsOnce(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{Config: Config{PSS: PSSAlways}}, needStory(t), "shared")
	l := w.at(0)
	near(t, "footprint", w.footprint(l), 20*miB, 2*slack)
	if rss, _ := l.RSS.Value(); rss < 40*miB {
		t.Errorf("RSS of the tree %d B: the story does not share", rss)
	}
	w.goOn()
	w.end(0)
}

// TestFlash: no tick comes while the child lives, only wait4 knows of it.
func TestFlash(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{Config: Config{Interval: time.Hour}}, needStory(t), "flash")
	got := w.steps(0, 1)
	w.end(0)
	if got[0] > 2*miB || got[1] > 2*miB {
		t.Errorf("footprints at the marks %v, want a small process", got)
	}
	lower, _ := w.summary.ProcessPeak.Value()
	near(t, "largest process", lower, 60*miB, 2*miB)
	upper, _ := w.summary.UpperPeak.Value()
	near(t, "upper end", upper, 60*miB, 4*miB)
	if upper < lower {
		t.Errorf("upper end %d below the lower %d", upper, lower)
	}
}

func TestDaemon(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{}, needStory(t), "daemon")
	for i, got := range w.steps(0, 1, 2, 3, 4) {
		near(t, "step", got, int64(i+1)*4*miB, slack)
	}
	w.end(0) // the first process's code, not the daemon's 3
	if w.summary.ExitCode == nil || *w.summary.ExitCode != 0 {
		t.Errorf("summary's exit code %v, want 0", w.summary.ExitCode)
	}
	codes := map[int64]bool{}
	for _, l := range w.events("proc_exit") {
		if l.Code != nil {
			codes[*l.Code] = true
		}
	}
	if !codes[3] {
		t.Error("the daemon's exit code 3 is in no event: it was not reaped")
	}
}

func TestDeadLeader(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{}, needStory(t), "deadleader")
	l := w.at(0)
	near(t, "footprint", w.footprint(l), 20*miB, slack)
	if rss, _ := l.RSS.Value(); rss < 20*miB {
		t.Errorf("RSS %d B, want that of the thread", rss)
	}
	w.goOn()
	w.end(0)
}

// TestBigLauncher: between fork (or vfork) and exec the child's numbers are its
// parent's.
func TestBigLauncher(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fork-launcher", "vfork-launcher"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, testConfig{Config: Config{PSS: PSSAlways, Interval: time.Hour}}, needStory(t), name)
			for i, got := range w.steps(0, 1, 2) {
				near(t, []string{"launcher", "between fork and exec", "after exec"}[i], got, 64*miB, slack)
			}
			w.end(0)
			upper, _ := w.summary.UpperPeak.Value()
			near(t, "upper end", upper, 66*miB, 3*miB)
		})
	}
}

func TestHugePages(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{}, needStory(t), "huge")
	near(t, "footprint", w.steps(0)[0], 32*miB, slack)
	w.end(0)
}

// TestSilent: nothing is printed, so there are no steps, and all else.
func TestSilent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"silent", "closes"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, testConfig{}, needStory(t), name)
			w.until("sample of the whole", func(l line) bool { n, _ := l.Footprint.Value(); return n > 24*miB })
			w.goOn()
			w.end(0)
			if got := w.events("step"); len(got) > 0 {
				t.Errorf("steps %+v", got)
			}
			peak, _ := w.summary.FootprintPeak.Value()
			near(t, "peak", peak, 24*miB, slack)
			if w.out.Len() > 0 {
				t.Errorf("output %q", w.out.String())
			}
		})
	}
}
