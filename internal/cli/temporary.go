package cli

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
)

// errInterrupted ends a command whose workload was ended by a signal to us.
var errInterrupted = errors.New("interrupted: nothing was judged")

// temporary is what must be gone when the command ends, also by a signal.
type temporary struct {
	root    string // where folders are made; empty is the system's
	signals chan os.Signal
	pipe    chan os.Signal // nobody reads it

	mu          sync.Mutex
	removals    []func() error
	working     bool // a workload runs: signals are the watcher's
	interrupted bool
}

// newTemporary begins to heed signals; close ends it.
func newTemporary(root string) *temporary {
	t := &temporary{root: root, signals: make(chan os.Signal, 8), pipe: make(chan os.Signal)}
	signal.Notify(t.signals, os.Interrupt, syscall.SIGTERM)
	// Else a reader of ours that is gone would end us at the next write.
	signal.Notify(t.pipe, syscall.SIGPIPE)
	go func() {
		for range t.signals {
			t.signalled()
		}
	}()
	return t
}

// signalled cleans up and ends the process, unless the watcher is at work: it passes
// the signal on to the workload, and what asked for the run sees that it was ended.
func (t *temporary) signalled() {
	t.mu.Lock()
	t.interrupted = true
	if t.working {
		t.mu.Unlock()
		return
	}
	t.remove() // the lock is kept: nothing new is made
	fmt.Fprintln(os.Stderr, "peakgate:", errInterrupted)
	os.Exit(ExitNoData)
}

// folder makes a folder that lasts until close.
func (t *temporary) folder(name string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir, err := os.MkdirTemp(t.root, "peakgate-"+name+"-")
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		t.removals = append(t.removals, func() error { return os.RemoveAll(dir) })
	}
	return dir, err
}

// make makes something else, with what removes it.
func (t *temporary) make(what func() (remove func() error, err error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	remove, err := what()
	if err == nil {
		t.removals = append(t.removals, remove)
	}
	return err
}

// busy leaves signals to the watcher, until leave is called, which tells whether
// there was one.
func (t *temporary) busy() (leave func() (interrupted bool)) {
	t.mu.Lock()
	t.working = true
	t.mu.Unlock()
	return func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.working = false
		return t.interrupted
	}
}

func (t *temporary) close() error {
	signal.Stop(t.signals)
	signal.Stop(t.pipe)
	close(t.signals)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remove()
}

func (t *temporary) remove() error {
	var failed []error
	for i := len(t.removals) - 1; i >= 0; i-- {
		failed = append(failed, t.removals[i]())
	}
	t.removals = nil
	return errors.Join(failed...)
}
