//go:build linux || darwin

package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/peakgate/peakgate/capture/footprint"
)

// signalled passes a signal on to the workload. SIGTERM, and a second SIGINT, mean
// that it shall end, whether it wants to or not.
func (r *run) signalled(s os.Signal) {
	number, ok := s.(syscall.Signal)
	if !ok || number == unix.SIGPIPE {
		return
	}
	r.event(footprint.Event{Name: footprint.EventSignal, Signal: signalName(s), Reason: "sent to the watcher"})
	if number == unix.SIGTERM || number == unix.SIGINT && r.interrupted {
		r.stop("the watcher was sent "+signalName(s), "")
		return
	}
	r.interrupted = r.interrupted || number == unix.SIGINT
	// In the terminal's own group the workload has had it from the terminal.
	if r.ended == nil && !(r.relay.shared && (number == unix.SIGINT || number == unix.SIGQUIT)) {
		unix.Kill(r.main, number)
	}
}

// stop ends the workload: SIGTERM to all its processes, SIGKILL after the grace.
// limit is what the summary tells where a limit is the reason.
func (r *run) stop(why, limit string) {
	if r.stopping != "" {
		return
	}
	r.stopping, r.result.Stopped = why, limit
	r.killAt = r.now() + r.cfg.Grace
	r.kill(unix.SIGTERM)
}

// kill signals each process of the workload by its id: some have a group of their
// own.
func (r *run) kill(s syscall.Signal) {
	pids := r.p.living()
	for _, pid := range pids {
		unix.Kill(pid, s)
		unix.Kill(pid, unix.SIGCONT) // one that is stopped must run to end
	}
	if len(pids) > 0 {
		r.event(footprint.Event{Name: footprint.EventSignal, Signal: signalName(s), Reason: fmt.Sprintf("sent to %d processes of the workload: %s", len(pids), r.stopping)})
	}
}

// deadlines ends what has had its time.
func (r *run) deadlines() {
	now := r.now()
	switch {
	case r.stopping != "" && now >= r.killAt:
		r.kill(unix.SIGKILL)
		r.killAt = now + time.Second // for what was born meanwhile
	case r.stopping == "" && r.ended == nil && r.cfg.Timeout > 0 && now >= r.cfg.Timeout:
		why := fmt.Sprintf("it runs longer than %s", r.cfg.Timeout)
		r.status.note(why + ": the workload is ended")
		r.result.TimedOut = true
		r.stop(why, why)
	case r.stopping == "" && r.ended != nil && now >= r.lingerTo:
		r.status.note(fmt.Sprintf("%d processes outlive the workload's first one by %s and are ended", len(r.p.living()), r.cfg.Linger))
		r.stop("they outlive the first one", "")
	}
}

// limit ends a run that is over its largest footprint. It fails then, whatever
// code the workload ends with.
func (r *run) limit(s footprint.Sample) {
	n, ok := s.Footprint.Value()
	if limit := r.cfg.MaxFootprint; ok && limit > 0 && n > limit && r.stopping == "" {
		why := fmt.Sprintf("footprint %d B is above the limit of %d B", n, limit)
		r.status.note(why + ": the workload is ended")
		r.stop(why, why)
	}
}

func base(path string) string { return strings.TrimSpace(filepath.Base(path)) }
