package capture

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/peakgate/peakgate/capture/affon"
	"github.com/peakgate/peakgate/capture/footprint"
	"github.com/peakgate/peakgate/capture/pprof"
	"github.com/peakgate/peakgate/capture/series"
	"github.com/peakgate/peakgate/capture/torch"
	"github.com/peakgate/peakgate/capture/xla"
	"github.com/peakgate/peakgate/measure"
)

// MeasurementFormat is the format of a file that `peakgate measure` wrote.
const MeasurementFormat = "peakgate.measurement"

// Formats lists the formats that Open reads, for help and messages.
func Formats() []string {
	return []string{xla.FormatXSpace, xla.FormatHloProto, xla.FormatText, xla.FormatReport, xla.FormatAssignment, xla.FormatStats,
		affon.FormatTelemetry, affon.FormatMonitor, affon.FormatReport, pprof.Format, footprint.Format, series.Format, "torch.snapshot", MeasurementFormat}
}

// sniffWindow is how much of a file is looked at to choose its reader, in bytes.
const sniffWindow = 64 << 10

// Options steer what readers cannot know from the file.
type Options struct {
	// Root is the project's root: source files below it are named relative to
	// it. Empty lets readers infer one.
	Root string
	// Progress, if set, is told now and then how far a file has been read; it is
	// called from the goroutines that read. total is -1 where it is not known.
	Progress func(path string, done, total int64)
	// MaxTraceEvents, if above 0, is how many of the newest events of a PyTorch
	// history are read; that older ones are left out is told.
	MaxTraceEvents int
	// Redact takes the names of users out of paths; see [Redact].
	Redact bool
	// Hash gives inputs the SHA-256 of their files. It costs about as much as
	// reading them.
	Hash bool
	// Records, if set, is handed what a file was read to, for those who want more than
	// a measurement: *xla.Capture, *torch.Snapshot (with Options.Record) or, of other
	// formats, nil; and the measurement with its one input. It is called from the
	// goroutines that read.
	Records func(records any, m *measure.Measurement, opt Options)
}

// A FormatError says that a file is none that peakgate reads.
type FormatError struct {
	Path string
	Hint string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("%s: not a capture that peakgate reads: %s; it reads %s", e.Path, e.Hint, strings.Join(Formats(), ", "))
}

// Open reads one capture file into a measurement of its own. On error the
// measurement is nil.
func Open(path string, opt Options) (*measure.Measurement, error) {
	f, r, size, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := func() string { return "" }
	if opt.Hash && size >= 0 {
		sum = hashing(path)
	}
	m, records, err := read(r, size, path, opt)
	hash := sum()
	if err != nil {
		return nil, err
	}
	m.Inputs[0].SHA256 = hash
	if opt.Records != nil {
		opt.Records(records, m, opt)
	}
	return m, nil
}

// open opens a file; size is -1 where it is not known.
func open(path string) (f *os.File, r io.Reader, size int64, err error) {
	if f, err = os.Open(path); err != nil {
		return nil, nil, 0, pathError(err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = pathError(err)
	case info.IsDir():
		err = fmt.Errorf("%s: is a directory; want a capture file", path)
	case !info.Mode().IsRegular():
		return f, struct{ io.Reader }{f}, -1, nil // a pipe cannot seek, whatever *os.File says
	case info.Size() == 0:
		err = fmt.Errorf("%s: empty file: the writer was interrupted or has not run; make the capture again", path)
	default:
		return f, f, info.Size(), nil
	}
	f.Close()
	return nil, nil, 0, err
}

// read sniffs and reads an opened capture of the given size (-1: not known), after its
// compression is undone. It also gives the reader's records; see Options.Records.
func read(r io.Reader, size int64, path string, opt Options) (*measure.Measurement, any, error) {
	counted := &counter{r: r, path: path, total: size, tell: opt.Progress}
	if seeker, ok := r.(io.Seeker); ok {
		counted.seeker = seeker
	}
	head, content, err := window(counted)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if form := packed(head); form != "" {
		plain, err := unpack(form, content)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		size = -1
		counted = &counter{r: plain, total: -1}
		if head, content, err = window(counted); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	format, read := choose(head)
	if read == nil {
		return nil, nil, &FormatError{Path: path, Hint: describe(head)}
	}
	m, records, err := read(content, size, path, opt)
	if err != nil {
		return nil, nil, err
	}
	if err := m.Validate(); err != nil {
		return nil, nil, fmt.Errorf("%s: internal error: the %s reader made an inconsistent measurement: %w", path, format, err)
	}
	if size < 0 {
		size = counted.done
	}
	relativeSources(m, opt.Root)
	m.Inputs = append([]measure.Input{{Path: path, Format: format, Bytes: measure.Bytes(size)}}, m.Inputs...)
	return m, records, nil
}

// relativeSources names the places of contributors and plans relative to the project's
// root, where they are below it.
func relativeSources(m *measure.Measurement, root string) {
	if root == "" {
		return
	}
	prefix := strings.TrimSuffix(filepath.ToSlash(root), "/") + "/"
	relate := func(s **measure.Source) {
		if *s != nil {
			if rest, ok := strings.CutPrefix((*s).File, prefix); ok {
				*s = &measure.Source{File: rest, Line: (*s).Line}
			}
		}
	}
	for i := range m.Contributors {
		relate(&m.Contributors[i].Source)
	}
	for i := range m.Facts.Plans {
		lists := [][]measure.PlanHolder{m.Facts.Plans[i].Holders}
		if d := m.Facts.Plans[i].Donation; d != nil {
			lists = append(lists, d.Left, d.Missing)
		}
		for _, list := range lists {
			for j := range list {
				relate(&list[j].Source)
			}
		}
	}
}

type reader func(r io.Reader, size int64, name string, opt Options) (m *measure.Measurement, records any, err error)

// choose picks the one reader whose format the first bytes have.
func choose(head []byte) (format string, read reader) {
	if isMeasurement(head) {
		return MeasurementFormat, func(r io.Reader, _ int64, name string, _ Options) (*measure.Measurement, any, error) {
			m, err := measure.Decode(r, name)
			return m, nil, err
		}
	}
	if format, ok := torch.Sniff(head); ok {
		return format, func(r io.Reader, size int64, name string, opt Options) (*measure.Measurement, any, error) {
			s, err := torch.Read(r, size, name, torch.Options{Root: opt.Root, MaxEvents: opt.MaxTraceEvents, Record: opt.Records != nil})
			if err != nil {
				return nil, nil, err
			}
			return s.Measurement(), s, s.Validate()
		}
	}
	if format, ok := xla.Sniff(head); ok {
		return format, func(r io.Reader, size int64, name string, _ Options) (*measure.Measurement, any, error) {
			c, err := xla.Read(r, size, name)
			if err != nil {
				return nil, nil, err
			}
			if err := c.Validate(); err != nil {
				return nil, nil, err
			}
			if c.Doubtful() {
				if err := confirm(c, name); err != nil {
					return nil, nil, err
				}
			}
			m := c.Measurement()
			labelModule(m, name)
			return m, c, nil
		}
	}
	if format, ok := affon.Sniff(head); ok {
		return format, func(r io.Reader, _ int64, name string, _ Options) (*measure.Measurement, any, error) {
			c, err := affon.Read(r, name)
			if err != nil {
				return nil, nil, err
			}
			return c.Measurement(), nil, nil
		}
	}
	if format, ok := pprof.Sniff(head); ok {
		return format, func(r io.Reader, _ int64, name string, opt Options) (*measure.Measurement, any, error) {
			p, err := pprof.Read(r, name)
			if err != nil {
				return nil, nil, err
			}
			return p.Measurement(opt.Root), nil, nil
		}
	}
	if format, ok := footprint.Sniff(head); ok {
		return format, func(r io.Reader, _ int64, name string, _ Options) (*measure.Measurement, any, error) {
			c, err := footprint.Read(r, name)
			if err != nil {
				return nil, nil, err
			}
			return c.Measurement(), nil, nil
		}
	}
	if format, ok := series.Sniff(head); ok {
		return format, func(r io.Reader, _ int64, name string, _ Options) (*measure.Measurement, any, error) {
			t, err := series.Read(r, name)
			if err != nil {
				return nil, nil, err
			}
			return t.Measurement(), nil, nil
		}
	}
	return "", nil
}

// isMeasurement looks for the schema key at the start of a JSON object.
func isMeasurement(head []byte) bool {
	text := bytes.TrimLeft(head, " \t\r\n\ufeff")
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	return bytes.Contains(text[:min(len(text), 4096)], []byte(`"peakgate.measurement/`))
}

// describe says what a file that no reader wants looks like.
func describe(head []byte) string {
	hint := series.Hint(head)
	switch {
	case hint != "":
		return hint
	case len(bytes.Trim(head, "\x00")) == 0:
		return "nothing but zero bytes"
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return "a zip archive (torch.save writes these); want the file that torch.cuda.memory._dump_snapshot wrote"
	case bytes.HasPrefix(head, []byte("version https://git-lfs")):
		return "a Git LFS pointer, not the file itself; run git lfs pull"
	case packed(head) != "":
		return "compressed twice (" + packed(head) + " within); unpack it once"
	case bytes.HasPrefix(head, []byte("\x1f\ufffd\b")) || strings.Count(string(head), "\ufffd") > 1 && isBinary(head):
		return "binary data that was copied as text, which replaced its bytes from 0x80 on by EF BF BD; copy it again as binary"
	case packing(head) != "":
		return packing(head) + "-compressed; decompress it, or use gzip or zstd"
	case bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("<")):
		return "HTML or XML"
	case bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")):
		return "JSON without the keys of a snapshot or a measurement"
	}
	if isBinary(head) {
		return fmt.Sprintf("unknown binary data that starts with % x", head[:min(len(head), 8)])
	}
	return fmt.Sprintf("text that starts with %.24q", head)
}

// isBinary tells whether the start of a file has control characters that no text has.
func isBinary(head []byte) bool {
	return slices.ContainsFunc(head[:min(len(head), 512)], func(c byte) bool { return c < 9 || c > 13 && c < 32 })
}

// window gives the first bytes and a reader of everything, those included. The
// reader can seek if the source can.
func window(r io.Reader) (head []byte, content io.Reader, err error) {
	head = make([]byte, sniffWindow)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, err
	}
	if n == 0 {
		return nil, nil, errors.New("empty: nothing to read")
	}
	head = head[:n]
	if c, ok := r.(*counter); ok && c.seeker != nil {
		if _, err := c.Seek(0, io.SeekStart); err == nil {
			return head, c, nil
		}
	}
	return head, bufio.NewReaderSize(io.MultiReader(bytes.NewReader(head), struct{ io.Reader }{r}), 256<<10), nil
}

// counter counts what is read and reports progress. It is an io.Seeker only in
// name where the source is none: Seek then fails.
type counter struct {
	r           io.Reader
	seeker      io.Seeker
	path        string
	done, total int64
	told        int64
	tell        func(path string, done, total int64)
}

// tellEvery is how many bytes lie between two calls of Progress.
const tellEvery = 1 << 20

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	c.report()
	return n, err
}

func (c *counter) Seek(offset int64, whence int) (int64, error) {
	if c.seeker == nil {
		return 0, errors.ErrUnsupported
	}
	at, err := c.seeker.Seek(offset, whence)
	if err == nil {
		c.done = at
		c.report()
	}
	return at, err
}

func (c *counter) report() {
	if c.tell != nil && (c.done-c.told >= tellEvery || c.done < c.told) {
		c.told = c.done
		c.tell(c.path, c.done, c.total)
	}
}

// Measure opens all files, several at once, and merges them into the
// measurement of one target. The first error in the order of the files wins.
func Measure(target string, paths []string, opt Options) (*measure.Measurement, error) {
	parts, errs := make([]*measure.Measurement, len(paths)), make([]error, len(paths))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, path := range paths {
		wait.Add(1)
		slots <- struct{}{}
		go func() {
			defer wait.Done()
			defer func() { <-slots }()
			defer func() {
				// A fault of ours must not look like a wrong use (exit code 2), which
				// is what the runtime makes of a panic.
				if fault := recover(); fault != nil {
					parts[i], errs[i] = nil, fmt.Errorf("%s: internal error: %v\n%s", path, fault, debug.Stack())
				}
			}()
			parts[i], errs[i] = Open(path, opt)
		}()
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	labelRanks(parts)
	labelHosts(parts)
	m := measure.Merge(target, parts)
	if opt.Redact {
		Redact(m)
	}
	return m, nil
}

// pathError drops the system call's name from a file error: "x.pb: no such
// file or directory".
func pathError(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}
