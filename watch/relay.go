//go:build linux || darwin

package watch

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/peakgate/peakgate/capture/footprint"
	"github.com/peakgate/peakgate/watch/step"
)

// The channels by which a workload may tell its steps.
const (
	stepFDVariable   = "PEAKGATE_STEP_FD"
	stepFileVariable = "PEAKGATE_STEP_FILE"
	stepFD           = 3 // the first descriptor after the standard ones
)

// relay gives the workload its streams, passes on what it writes, and finds steps
// in it.
type relay struct {
	cfg    *Config
	status *status
	// steps is what marks a step, for the header.
	steps string
	// shared tells that the workload is in the terminal's own process group.
	shared bool
	// notify has a message when there are steps to take; drained is closed when
	// every stream has ended.
	notify  chan struct{}
	drained chan struct{}

	files    []*os.File // the workload's 0, 1, 2 and perhaps 3
	inherits []*os.File // our copies of its ends, closed after the start
	pumps    []pump
	env      []string
	terminal bool // it has a pty

	mu     sync.Mutex // of what follows
	finder *step.Finder
	found  []mark

	file     *os.File // StepFile
	fileRest step.Lines
}

// mark is a step that has begun, and when it was seen.
type mark struct {
	step int64
	at   time.Time
}

// pump moves bytes from a stream of the workload.
type pump struct {
	from *os.File
	to   *os.File // nil: a channel of steps
}

func newRelay(cfg *Config, s *status) (*relay, error) {
	r := &relay{cfg: cfg, status: s, notify: make(chan struct{}, 1), drained: make(chan struct{}), env: cfg.Env}
	if r.env == nil {
		r.env = os.Environ()
	}
	r.env = slices.Clip(r.env)
	var err error
	if r.finder, err = step.NewFinder(cfg.StepRegex); err != nil {
		return nil, fmt.Errorf("step pattern: %w", err)
	}
	if err := r.open(); err != nil {
		r.abandon()
		return nil, err
	}
	return r, nil
}

func (r *relay) open() error {
	c := r.cfg
	in := c.Stdin
	if in == nil {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return err
		}
		in, r.inherits = null, append(r.inherits, null)
	}
	r.files = []*os.File{in, c.Stdout, c.Stderr}
	r.shared = isTerminal(in)
	channel := c.StepFD || c.StepFile != ""
	switch {
	case c.Pty:
		if err := r.openPty(); err != nil {
			return fmt.Errorf("cannot open a terminal for the workload: %w", err)
		}
	default:
		same := sameFile(c.Stdout, c.Stderr)
		for i, to := range []*os.File{1: c.Stdout, 2: c.Stderr} {
			switch {
			case to == nil:
			case isTerminal(to) && len(c.StepRegex) == 0 || channel:
				r.status.direct = r.status.direct || isTerminal(to)
			case i == 2 && same && r.files[1] != c.Stdout:
				r.files[2] = r.files[1] // one pipe keeps their order
			default:
				if err := r.pipe(i, to); err != nil {
					return err
				}
			}
		}
	}
	if len(r.pumps) > 0 && !channel {
		r.steps = footprint.StepsRegex
	}
	if c.StepFD {
		r.steps = footprint.StepsChannel
		r.files = append(r.files, nil)
		r.env = append(r.env, stepFDVariable+"="+strconv.Itoa(stepFD))
		return r.pipe(stepFD, nil)
	}
	if c.StepFile != "" {
		r.steps = footprint.StepsChannel
		r.env = append(r.env, stepFileVariable+"="+c.StepFile)
		var err error
		r.file, err = os.OpenFile(c.StepFile, os.O_RDONLY|os.O_CREATE, 0o644)
		if err == nil {
			_, err = r.file.Seek(0, io.SeekEnd) // steps of a run before are not of this one
		}
		return err
	}
	return nil
}

// pipe puts a pipe in the place of a stream.
func (r *relay) pipe(i int, to *os.File) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	r.files[i] = write
	r.inherits = append(r.inherits, write)
	r.pumps = append(r.pumps, pump{read, to})
	return nil
}

// openPty makes a terminal whose lines reach us as they were written: the step
// from \n to \r\n is left to the terminal that shows them.
func (r *relay) openPty() error {
	ours, theirs, err := pty.Open()
	if err != nil {
		return err
	}
	r.inherits = append(r.inherits, theirs)
	r.pumps = append(r.pumps, pump{ours, r.cfg.Stdout})
	r.files[1], r.files[2] = theirs, theirs
	r.terminal = true
	if isTerminal(r.cfg.Stdout) {
		pty.InheritSize(r.cfg.Stdout, ours)
	}
	t, err := unix.IoctlGetTermios(int(theirs.Fd()), getTermios)
	if err != nil {
		return err
	}
	t.Oflag &^= unix.OPOST
	return unix.IoctlSetTermios(int(theirs.Fd()), setTermios, t)
}

// attr is how the workload is started. Off a terminal it has a process group of
// its own, so that a signal to ours reaches it once, by us.
func (r *relay) attr() *os.ProcAttr {
	sys := &syscall.SysProcAttr{}
	switch {
	case r.terminal:
		sys.Setsid, sys.Setctty, sys.Ctty = true, true, 1
		r.shared = false
	case !r.shared:
		sys.Setpgid = true
	}
	return &os.ProcAttr{Dir: r.cfg.Dir, Files: r.files, Env: r.env, Sys: sys}
}

// begin moves bytes until the workload's streams end.
func (r *relay) begin() {
	for _, f := range r.inherits {
		f.Close()
	}
	var all sync.WaitGroup
	for _, p := range r.pumps {
		all.Go(func() { r.move(p) })
	}
	go func() { all.Wait(); close(r.drained) }()
}

// abandon closes all where nothing was started.
func (r *relay) abandon() {
	for _, f := range r.inherits {
		f.Close()
	}
	for _, p := range r.pumps {
		p.from.Close()
	}
}

// Of what the workload prints, so many bytes are searched for steps at once, and so
// many a second. A flood that is more is passed on at the speed of the pipe: a search
// costs up to 20 ns a byte, and of the steps in a flood only the last has a time.
const (
	searchBurst = 64 << 20
	searchRate  = float64(4<<20) / float64(time.Second) // a nanosecond
)

// move passes on what the workload writes. When our own reader has gone away, the
// workload's stream is closed too, as it would have been without us.
func (r *relay) move(p pump) {
	defer p.from.Close()
	began := time.Now()
	var lines step.Lines
	searched := &bucket{rate: searchRate, burst: searchBurst, tokens: searchBurst} // of bytes
	buf := make([]byte, 32<<10)
	for {
		n, err := p.from.Read(buf)
		if n > 0 {
			switch {
			case p.to == nil:
				r.find(n == len(buf), func(add func(int64, bool)) {
					lines.Mark(buf[:n], func(line []byte) { add(r.finder.Channel(line)) })
				})
			case r.steps == footprint.StepsRegex && !searched.admit(time.Since(began), time.Duration(n), 0):
				lines.Pass(buf[:n])
			case r.steps == footprint.StepsRegex:
				searched.spend(time.Duration(n))
				r.find(n == len(buf), func(add func(int64, bool)) {
					lines.Feed(buf[:n], func(line []byte) { add(r.finder.Line(line)) })
					add(r.finder.Bar(lines.Rest()))
				})
			}
			if r.cfg.Printed != nil && p.to != nil {
				r.cfg.Printed.Write(buf[:n])
			}
			if p.to != nil {
				var wrote error
				r.status.passing(func() { _, wrote = p.to.Write(buf[:n]) })
				if wrote != nil {
					return
				}
			}
		}
		if err != nil {
			return // EOF; EIO of a terminal whose last user has gone
		}
	}
}

// find notes the steps of what was read at once. Where more is there to be read, the
// steps are of one lump with those that follow, and wait for them.
func (r *relay) find(more bool, scan func(add func(int64, bool))) {
	r.mu.Lock()
	now := time.Now()
	scan(func(n int64, ok bool) {
		if ok && len(r.found) < 1<<16 {
			r.found = append(r.found, mark{n, now})
		}
	})
	some := len(r.found) > 0
	r.mu.Unlock()
	if some && !more {
		select {
		case r.notify <- struct{}{}:
		default:
		}
	}
}

// take gives the steps that were found since the last call.
func (r *relay) take() []mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.found
	r.found = nil
	return found
}

// pollFile reads what was appended to the file of steps.
func (r *relay) pollFile() {
	if r.file == nil {
		return
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := r.file.Read(buf)
		if n > 0 {
			r.find(n == len(buf), func(add func(int64, bool)) {
				r.fileRest.Mark(buf[:n], func(line []byte) { add(r.finder.Channel(line)) })
			})
		}
		if err != nil || n < len(buf) {
			return
		}
	}
}

func isTerminal(f *os.File) bool {
	if f == nil {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil
}

// sameFile tells that two streams are one, as after 2>&1.
func sameFile(a, b *os.File) bool {
	if a == nil || b == nil {
		return false
	}
	x, err := a.Stat()
	if err != nil {
		return false
	}
	y, err := b.Stat()
	return err == nil && os.SameFile(x, y)
}
