package affon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// Formats of this package, as measurements name them.
const (
	FormatTelemetry = "affon.telemetry"
	FormatMonitor   = "affon.monitor"
	FormatReport    = "affon.report"
)

// MaxFile is the largest file that is read, in bytes. A monitor file of 512
// snapshots, the most it keeps by default, is about 10 MB.
const MaxFile = 256 << 20

// Capture is what one file says.
type Capture struct {
	Name   string
	Format string
	// Snapshots are of one process, in the order of the file.
	Snapshots []*Snapshot
	// Dropped is how many snapshots the monitor lost before the first of these.
	Dropped int64
	// Report is what memory-report.sh says of the run; nil in other files.
	Report *Report
	// Warnings tell what was left out, and why.
	Warnings []string
}

// Report is one run by memory-report.sh.
type Report struct {
	Status int64
	// ResidentPeak and FootprintPeak are the kernel's own maxima, in bytes; the
	// footprint is 0 where it is not measured (Linux).
	ResidentPeak, FootprintPeak int64
	// Maxima holds the largest value of each metric over the run's snapshots; nil
	// where the report has the snapshots themselves.
	Maxima *Snapshot
	// Previous is the run before this one, of the same program; nil without one.
	Previous *Report

	program string
}

// peak is the footprint's peak, or the resident one where that is not measured.
func (r *Report) peak() int64 {
	if r.FootprintPeak > 0 {
		return r.FootprintPeak
	}
	return r.ResidentPeak
}

// reader reads one file.
type reader struct {
	cursor
	name  string
	out   *Capture
	empty int // snapshots without a metric that is known
	runs  []*Report
	full  []byte // SCOPE/NAME of the metric at hand
}

// maxWarnings bounds how many different warnings one file can make.
const maxWarnings = 32

func (r *reader) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(r.out.Warnings) < maxWarnings && !slices.Contains(r.out.Warnings, text) {
		r.out.Warnings = append(r.out.Warnings, text)
	}
}

// Read reads a file of any of the formats; name is for messages. On error the capture
// is nil.
func Read(in io.Reader, name string) (*Capture, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > MaxFile {
		return nil, fmt.Errorf("%s: more than %s, want a file of Affon's telemetry; poll it less often, or split the file", name, measure.Bytes(MaxFile))
	}
	// A line end behind the last value tells that it is whole.
	text = append(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), '\n')
	r := &reader{cursor: cursor{text: text}, name: name, out: &Capture{Name: name, Format: FormatTelemetry}}
	if err := r.documents(); err != nil {
		if errors.Is(err, errTorn) {
			err = &fault{len(text) - 1, err.Error() + " before anything whole; take it again when its writer has ended"}
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := r.finish(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r.out, nil
}

// documents takes all values of the file, one after another. What is whole before a
// file breaks off is kept.
func (r *reader) documents() error {
	for n := 0; ; n++ {
		if _, err := r.peek(); err != nil && n > 0 {
			return nil
		}
		err := r.document()
		if errors.Is(err, errTorn) && len(r.out.Snapshots)+len(r.runs) > 0 {
			r.warn("the file is cut off: it is being written, or its writer was stopped; the %s whole before that %s read", plural(max(len(r.out.Snapshots), len(r.runs)), "snapshot", "snapshots"), verb(max(len(r.out.Snapshots), len(r.runs))))
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func verb(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// document takes one value: an array of metrics, of snapshots or of runs, or an object.
func (r *reader) document() error {
	b, err := r.peek()
	switch {
	case err != nil:
		return err
	case b == '{':
		return r.topObject()
	case b != '[':
		return r.want("an array of metrics, or an object")
	}
	switch first := firstOf(r.text[r.at:]); {
	case first.elements == '[':
		return r.array(func() error { return r.snapshot() })
	case first.has("peakResidentBytes"):
		return r.array(func() error { return r.run() })
	}
	return r.snapshot()
}

// snapshot takes an array of metrics.
func (r *reader) snapshot() error {
	s := newSnapshot()
	if err := r.metrics(s); err != nil {
		return err
	}
	r.add(s)
	return nil
}

// add keeps a snapshot that says anything.
func (r *reader) add(s *Snapshot) {
	if s.known == 0 {
		r.empty++
		return
	}
	r.out.Snapshots = append(r.out.Snapshots, s)
}

// finish checks what was read as a whole.
func (r *reader) finish() error {
	if n := len(r.runs); n > 0 {
		r.out.Format, r.out.Report = FormatReport, r.newest()
	}
	if r.out.Report == nil && len(r.out.Snapshots) == 0 {
		return errors.New("no metric of Affon's memory in it: want the scopes compute.storage, compute.memory or runtime.memory; was the snapshot taken before the first tensor was made?")
	}
	if r.empty > 0 {
		r.warn("%s without any metric of memory not read", plural(r.empty, "snapshot", "snapshots"))
	}
	if n := r.out.Dropped; n > 0 {
		r.warn("the monitor kept the newest snapshots only and dropped %d before the first of these, warm-up among them: raise maxSamples or everyBatches", n)
	}
	if slices.ContainsFunc(r.out.Snapshots, func(s *Snapshot) bool { return s.ambiguous }) {
		r.warn("owned.current_bytes/live_bytes and owned.peak_bytes/peak_bytes are not read: in the oldest generation of names storage and pool both have them, and nothing tells which is which")
	}
	return r.restarted()
}

// restarted leaves out what was before a counter fell: it was another process.
func (r *reader) restarted() error {
	from := 0
	for i := 1; i < len(r.out.Snapshots); i++ {
		a, b := r.out.Snapshots[i-1], r.out.Snapshots[i]
		for s := range signals {
			was, ok := a.get(s)
			is, ok2 := b.get(s)
			if s.counter() && ok && ok2 && is < was {
				from = i
			}
		}
	}
	if from > 0 {
		r.warn("counters start anew at snapshot %d: the %s before it %s of another process and not read", from+1, plural(from, "snapshot", "snapshots"), verb(from))
		r.out.Snapshots = r.out.Snapshots[from:]
	}
	return nil
}
