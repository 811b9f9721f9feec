package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"time"

	"github.com/peakgate/peakgate/measure"
)

// progress tells on stderr how far reading is, once a command has run for two
// seconds: one line that is drawn anew on a terminal, plain lines elsewhere.
type progress struct {
	out      io.Writer
	terminal bool
	now      func() time.Time

	mu    sync.Mutex
	start time.Time
	last  time.Time
	drawn bool
}

const (
	progressAfter = 2 * time.Second
	redrawEvery   = 100 * time.Millisecond
	plainEvery    = 15 * time.Second
)

func newProgress(s Streams) *progress {
	p := &progress{out: s.Stderr, terminal: s.Terminal, now: time.Now}
	p.start = p.now()
	return p
}

// tell may be called from several goroutines; total is -1 where not known.
func (p *progress) tell(path string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	every := plainEvery
	if p.terminal {
		every = redrawEvery
	}
	if now.Sub(p.start) < progressAfter || now.Sub(p.last) < every {
		return
	}
	p.last, p.drawn = now, true
	line := fmt.Sprintf("reading %q: %s", filepath.Base(path), measure.Bytes(done))
	if total > 0 {
		line += fmt.Sprintf(" of %s", measure.Bytes(total))
	}
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(p.out, line)
	}
}

// done removes the line from a terminal.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drawn && p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}
