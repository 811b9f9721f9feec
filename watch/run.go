//go:build linux || darwin

package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/peakgate/peakgate/capture/footprint"
)

// run is one watch. All its fields but those of the relay are of one goroutine.
type run struct {
	cfg     Config
	p       platform
	helpers helpers
	out     *output
	lines   *footprint.Writer // nil where the output is Affon's
	relay   *relay
	status  *status
	affon   *affonRun
	began   time.Time
	last    time.Duration // of the line before: times never fall

	main                 int
	ended                *exit // of the main process
	result               Result
	stopping             string        // why the workload is being ended; empty: it is not
	killAt               time.Duration // when SIGKILL comes
	lingerTo             time.Duration
	interrupted, drained bool

	cost0    time.Duration // processor time of this process before the run
	marks    *bucket       // rations samples at step marks
	waiting  []mark        // those that the bucket did not admit yet
	lastTick time.Duration
	reaped   time.Duration    // when it was last looked for ended processes
	written  footprint.Sample // the last sample that was written
	writtenT time.Duration
	samples  int64
	seen     int64
	kills    int64
}

// Run runs the workload and watches it to its end. An error means that nothing
// was run; whatever happens later is in the result and in the output.
func Run(cfg Config) (Result, error) {
	if err := cfg.Check(); err != nil {
		return Result{}, err
	}
	path, err := lookup(cfg.Argv[0], cfg.Dir)
	if err != nil {
		code := 127
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EISDIR) {
			code = 126
		}
		return Result{Code: code}, fmt.Errorf("cannot start %.80q: %w", cfg.Argv[0], errors.Unwrap(err))
	}
	r := &run{cfg: cfg, marks: newBucket(0.002, 100*time.Millisecond), began: time.Now()}
	r.status, r.cost0 = newStatus(&r.cfg), processorTime()
	r.out = &output{w: cfg.Output, tell: r.status.note}
	if r.p, err = newPlatform(&r.cfg, &r.helpers); err != nil {
		return Result{}, err
	}
	defer r.p.close()
	if r.relay, err = newRelay(&r.cfg, r.status); err != nil {
		return Result{}, err
	}
	signals := make(chan os.Signal, 64)
	// SIGPIPE: without it, a closed standard output would end us and not the workload.
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCHLD, unix.SIGPIPE)
	defer signal.Stop(signals)

	attr := r.relay.attr()
	if r.main, err = r.p.start(append([]string{path}, cfg.Argv[1:]...), attr); err != nil {
		r.relay.abandon()
		return Result{Code: 126}, fmt.Errorf("cannot start %.80q: %w", cfg.Argv[0], err)
	}
	r.relay.begin()
	if err := r.header(); err != nil {
		return Result{}, err
	}
	r.seen = 1 + int64(len(cfg.AlsoPIDs))
	r.event(footprint.Event{Name: footprint.EventProcStart, PID: int64(r.main), PPID: int64(os.Getpid()), Comm: base(path)})
	r.tick(nil, false)
	r.loop(signals)
	r.summary()
	return r.result, nil
}

// lookup finds the program: a path is one from the workload's folder, a name is
// looked up in PATH.
func lookup(name, dir string) (string, error) {
	if dir != "" && strings.ContainsRune(name, '/') && !filepath.IsAbs(name) {
		absolute, err := filepath.Abs(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		name = absolute
	}
	return exec.LookPath(name)
}

// loop is left when no process of the workload lives any more.
func (r *run) loop(signals <-chan os.Signal) {
	runtime.LockOSThread() // what reads cost is counted by thread
	defer runtime.UnlockOSThread()
	ticker := time.NewTicker(r.cfg.Interval)
	defer ticker.Stop()
	drained := r.relay.drained
	for {
		select {
		case <-ticker.C:
			if r.now()-r.reaped >= reapEvery {
				r.reap() // a child of a process that did not wait for it
			}
			if r.over() {
				return
			}
			r.relay.pollFile()
			r.step()
			if r.ended == nil { // else over has
				r.tick(nil, false)
			}
			r.deadlines()
		case <-r.relay.notify:
			r.step()
		case <-drained:
			drained, r.drained = nil, true
			if r.reap(); r.over() {
				return
			}
		case s := <-signals:
			if s == unix.SIGCHLD {
				if r.reap(); r.over() {
					return
				}
				continue
			}
			r.signalled(s)
		}
	}
}

// over tells that nothing is left to watch. What the workload has printed is
// waited for, but not for a pipe that some other process holds open.
func (r *run) over() bool {
	if r.ended == nil {
		return false
	}
	r.tick(nil, true) // also finds what was reparented to us just now
	if len(r.p.living()) > 0 {
		return false
	}
	r.reap() // what the tick saw as ended
	if !r.drained {
		select {
		case <-r.relay.drained:
		case <-time.After(time.Second):
		}
	}
	r.step()
	return true
}

// now is the time of a line.
func (r *run) now() time.Duration {
	r.last = max(r.last, time.Since(r.began))
	return r.last
}

// reapEvery is how often it is looked for ended processes without a signal that
// says so.
const reapEvery = time.Second

// reap takes the processes that have ended.
func (r *run) reap() {
	r.reaped = r.now()
	for _, e := range r.p.reap() {
		ev := footprint.Event{Name: footprint.EventProcExit, PID: int64(e.pid), PPID: int64(e.ppid), Comm: e.comm, MaxRSS: e.maxRSS}
		if e.highWater > 0 {
			ev.HighWater = footprint.Known(e.highWater)
		}
		if e.signal != nil {
			ev.Signal = signalName(e.signal)
		} else {
			code := int64(e.code)
			ev.Code = &code
		}
		r.event(ev)
		if e.signal == unix.SIGKILL {
			r.oom()
		}
		if e.pid != r.main {
			continue
		}
		r.ended = &e
		r.result.Code = e.code
		if s, ok := e.signal.(syscall.Signal); ok {
			r.result.Code, r.result.Signal = 128+int(s), signalName(s)
		}
		r.lingerTo = r.now() + r.cfg.Linger
	}
}

// oom writes down processes that were killed for memory since the last time.
func (r *run) oom() {
	if n, ok := r.p.kills(); ok && n > r.kills {
		r.event(footprint.Event{Name: footprint.EventOOM, Kills: n - r.kills})
		r.kills = n
	}
}

// tick takes a sample; step is the one that begins here.
func (r *run) tick(step *int64, last bool) {
	now := r.now()
	if gap := now - r.lastTick; r.samples > 0 && gap > 4*r.cfg.Interval+time.Second {
		r.eventAt(now, footprint.Event{Name: footprint.EventGap, GapMS: gap.Milliseconds(), Reason: "no sample could be taken: the machine slept or had no time for the watcher"})
	}
	r.lastTick = now
	read := r.p.tick(now, step != nil || last)
	r.samples++
	for _, p := range read.came {
		r.seen++
		r.eventAt(now, footprint.Event{Name: footprint.EventProcStart, PID: int64(p.pid), PPID: int64(p.ppid), Comm: p.comm})
	}
	for _, p := range read.went {
		ev := footprint.Event{Name: footprint.EventProcExit, PID: int64(p.pid), PPID: int64(p.ppid), Comm: p.comm}
		if p.highWater > 0 {
			ev.HighWater = footprint.Known(p.highWater)
		}
		r.eventAt(now, ev)
	}
	s := read.sample
	s.TMS, s.Step = now.Milliseconds(), step
	if r.affon != nil {
		r.affonSample(read)
	} else if step != nil || r.worth(s) {
		r.lines.Sample(s)
		r.written, r.writtenT = s, now
	}
	if r.samples%4 == 0 {
		r.oom()
	}
	r.status.sample(now, s)
	r.limit(s)
}

// worth tells whether a sample between marks says something new: RSS, the footprint
// or the number of processes has moved, PSS was read, or a second has passed.
func (r *run) worth(s footprint.Sample) bool {
	return !s.PSS.IsZero() || !s.GPU.IsZero() || s.Nproc != r.written.Nproc || r.samples <= 1 ||
		moved(r.written.RSS, s.RSS) || moved(r.written.Footprint, s.Footprint) || r.last-r.writtenT >= time.Second
}

// moved tells that a level has changed by more than what is noise.
func moved(from, to footprint.Level) bool {
	now, ok := to.Value()
	then, _ := from.Value()
	return ok && max(now-then, then-now) > max(1<<20, then/100)
}

// step writes down the steps that have begun. Those that came within a
// millisecond of the next, as when a pipe is written in lumps, are clustered: only
// the last one's time is right, and only it is sampled. Steps are numbered by the
// workload, so those that are too many to write leave no trace.
func (r *run) step() {
	found := append(r.waiting, r.relay.take()...)
	if len(found) == 0 || r.affon != nil {
		return
	}
	r.waiting = nil
	if !r.marks.admit(r.now(), markCost, 0) {
		r.waiting = found[max(0, len(found)-maxLump):] // the next tick tries again
		return
	}
	began := threadTime()
	for i, mark := range found {
		last := i == len(found)-1
		if !last && len(found)-i > maxLump {
			continue
		}
		number := mark.step
		clustered := !last && found[i+1].at.Sub(mark.at) < time.Millisecond
		r.event(footprint.Event{Name: footprint.EventStep, Step: &number, Clustered: clustered})
		if last {
			r.status.step(number)
			r.tick(&number, false)
		}
	}
	// PSS has a bucket of its own, so it does not count twice.
	r.marks.spend(min(threadTime()-began, 10*markCost))
}

// markCost is what a sample at a step mark costs without PSS.
const markCost = 100 * time.Microsecond

// maxLump is how many steps of one lump are written.
const maxLump = 64

func (r *run) event(e footprint.Event) { r.eventAt(r.now(), e) }

func (r *run) eventAt(now time.Duration, e footprint.Event) {
	if r.lines == nil {
		return
	}
	e.TMS = now.Milliseconds()
	r.lines.Event(e)
}

func (r *run) header() error {
	if r.cfg.Affon != nil {
		r.affon = &affonRun{Affon: *r.cfg.Affon}
		return nil
	}
	h := footprint.Header{
		Start: r.began.UTC().Format(time.RFC3339Nano), Tool: r.cfg.Tool, Argv: r.cfg.Argv,
		Host:       footprint.Host{OS: runtime.GOOS, Arch: runtime.GOARCH},
		IntervalMS: r.cfg.Interval.Milliseconds(), Steps: r.relay.steps, BudgetSHA256: r.cfg.BudgetSHA256,
	}
	h.Host.Name, _ = os.Hostname()
	r.p.header(&h)
	var err error
	r.lines, err = footprint.NewWriter(r.out, h)
	return err
}

func (r *run) summary() {
	r.oom()
	r.result.OOMKills, r.result.Lost = r.kills, r.out.err
	if r.result.Stopped != "" {
		r.result.Code = 1 // a limit ended it, whatever it made of the signal
	} else if r.affon != nil && r.affon.passed {
		r.result.Code = 0
	}
	cost := processorTime() - r.cost0
	r.status.end(r.now(), r.result, cost)
	if r.lines == nil {
		return
	}
	s := footprint.Summary{TMS: r.now().Milliseconds(), Stopped: r.result.Stopped, Samples: r.samples, Processes: r.seen, Reasons: map[string]string{}}
	if e := r.ended; e != nil {
		if e.signal != nil {
			s.Signal = signalName(e.signal)
		} else {
			code := int64(e.code)
			s.ExitCode = &code
		}
	}
	r.p.summary(&s)
	s.WatcherCPUMS = footprint.Known(cost.Milliseconds())
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) == nil {
		unit := int64(1 << 10)
		if runtime.GOOS == "darwin" {
			unit = 1
		}
		s.WatcherMaxRSS = footprint.Known(usage.Maxrss * unit)
	}
	r.lines.Summary(s)
}

// processorTime is what this process has used of all cores.
func processorTime() time.Duration {
	var usage unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
