package footprint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/peakgate/peakgate/capture/lines"
	"github.com/peakgate/peakgate/measure"
)

// Capture is what the file of one watched run says, added up as it was read.
type Capture struct {
	// Name is the file's, for messages.
	Name string
	// Header is absent in files of Affon's script, Summary in those and where the
	// file was cut off.
	Header  *Header
	Summary *Summary
	// Warnings tell what is wrong with the file and was borne.
	Warnings []string

	affon   *affonRun
	samples int64

	footprint, regions track
	others             []*other

	processes, descriptors measure.Levels
	highWater              int64 // largest sum of high-water marks
	process                int64 // largest high-water mark of one process in an event
	kills                  int64
	gaps, longestGap       int64
	last                   int64 // t_ms of the last sample
	torn, tornAt           int   // lines that are no JSON, and the first of them
	reason                 string
}

// track is one number by time, and again at the marks of steps.
type track struct {
	byTime, byStep measure.Levels
	shift          int64
	lastStep       int64
}

// other is a number that is kept as a series without a growth row.
type other struct {
	name  string
	level func(*Sample) Level
	track
}

// Read reads the file of a watched run; name is for messages only. On error the
// capture is nil.
func Read(r io.Reader, name string) (*Capture, error) {
	c := &Capture{Name: name, others: []*other{
		{name: "rss", level: func(s *Sample) Level { return s.RSS }},
		{name: "gpu", level: func(s *Sample) Level { return s.GPU }},
		{name: "cgroup", level: func(s *Sample) Level { return s.Cgroup }},
	}}
	l := lines.NewReader(r, name)
	for {
		line, whole, err := l.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		if !whole && !json.Valid(line) {
			c.warn("the last line, %d, was cut off and is left out", l.N)
			break
		}
		if err := c.take(l, line); err != nil {
			if (c.Header == nil && c.affon == nil) || json.Valid(line) {
				return nil, err
			}
			// The disk was full for a while, or the machine stopped: the lines around
			// this one are whole.
			if c.torn++; c.torn == 1 {
				c.tornAt = l.N
			}
		}
	}
	if err := c.finish(l); err != nil {
		return nil, err
	}
	return c, nil
}

// take reads one line.
func (c *Capture) take(l *lines.Reader, line []byte) error {
	// Most lines are samples: what else a line may be is looked at only where one of
	// these words is in it, be it in a name or in a text.
	special := c.Header == nil || c.Summary != nil
	for _, word := range [][]byte{[]byte(`"event"`), []byte(`"summary"`), []byte(`"schema"`)} {
		special = special || bytes.Contains(line, word)
	}
	if !special {
		return c.sampleLine(l, line)
	}
	var kind struct {
		Schema  string          `json:"schema"`
		Event   json.RawMessage `json:"event"`
		Summary bool            `json:"summary"`
		TMS     *int64          `json:"t_ms"`
		Affon   json.RawMessage `json:"physicalFootprintBytes"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return wrong(l, line, "", err)
	}
	switch {
	case c.affon != nil:
		return c.affonLine(l, line)
	case c.Header == nil && kind.Affon != nil:
		c.affon = &affonRun{}
		return c.affonLine(l, line)
	case c.Header == nil:
		return c.header(l, line)
	case c.Summary != nil:
		return l.Fault(1, "a line behind the summary: want each run in a file of its own")
	case kind.Schema != "":
		return l.Fault(1, "a second header: want each run in a file of its own")
	case !kind.Summary && kind.Event == nil:
		return c.sampleLine(l, line)
	}
	if err := c.tick(l, kind.TMS); err != nil {
		return err
	}
	if kind.Summary {
		s := &Summary{}
		if err := json.Unmarshal(line, s); err != nil {
			return wrong(l, line, "summary: ", err)
		}
		c.Summary = s
		return nil
	}
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		return wrong(l, line, "event: ", err)
	}
	if err := e.check(); err != nil {
		return l.Fault(1, "%v", err)
	}
	c.event(&e)
	return nil
}

func (c *Capture) sampleLine(l *lines.Reader, line []byte) error {
	var s struct {
		Sample
		TMS *int64 `json:"t_ms"` // hides that of Sample, which cannot be absent
	}
	if err := json.Unmarshal(line, &s); err != nil {
		return wrong(l, line, "sample: ", err)
	}
	if err := c.tick(l, s.TMS); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return l.Fault(1, "sample: %v", err)
	}
	s.Sample.TMS = *s.TMS
	c.sample(&s.Sample)
	return nil
}

// tick checks that time goes on.
func (c *Capture) tick(l *lines.Reader, tms *int64) error {
	switch {
	case tms == nil:
		return l.Fault(1, "t_ms: want milliseconds, found none")
	case *tms < c.last:
		return l.Fault(1, "t_ms: want at least %d, got %d: time went back", c.last, *tms)
	}
	c.last = *tms
	return nil
}

func (c *Capture) header(l *lines.Reader, line []byte) error {
	h := &Header{}
	if err := json.Unmarshal(line, h); err != nil {
		return wrong(l, line, "header: ", err)
	}
	if h.Schema != Schema {
		return l.Fault(1, "schema: want %q, got %.40q", Schema, h.Schema)
	}
	if err := h.check(); err != nil {
		return l.Fault(1, "header: %v", err)
	}
	c.Header = h
	return nil
}

func (c *Capture) event(e *Event) {
	if n, ok := e.HighWater.Value(); ok && e.Name == EventProcExit {
		c.process = max(c.process, n)
	}
	switch e.Name {
	case EventOOM:
		c.kills = add(c.kills, e.Kills)
	case EventGap:
		c.gaps++
		c.longestGap = max(c.longestGap, e.GapMS)
	}
}

func (c *Capture) sample(s *Sample) {
	c.samples++
	x := float64(s.TMS) / 1000
	c.processes.Add(x, s.Nproc)
	if n, ok := s.HighWater.Value(); ok {
		c.highWater = max(c.highWater, n)
	}
	if s.Nproc == 0 {
		return // the run has ended: what is left is no level of it
	}
	if n, ok := s.Descriptors.Value(); ok {
		c.descriptors.Add(x, n)
	}
	if s.Footprint.IsUnknown() && c.reason == "" {
		c.reason = s.Reasons["footprint_bytes"]
	}
	c.footprint.add(s, s.Footprint)
	c.regions.add(s, s.Regions)
	for _, o := range c.others {
		o.add(s, o.level(s))
	}
}

// add puts a level on both axes. A step number that falls is that of a counter that
// began again, and is counted on.
func (t *track) add(s *Sample, l Level) {
	n, ok := l.Value()
	if !ok {
		return
	}
	t.byTime.Add(float64(s.TMS)/1000, n)
	if s.Step == nil {
		return
	}
	const most = 1 << 52 // steps beyond it are no counter of anything, and would overflow
	step := max(min(*s.Step, most), -most)
	if t.byStep.N > 0 && step+t.shift < t.lastStep {
		t.shift = t.lastStep + 1 - step
	}
	if t.shift > most {
		return
	}
	t.lastStep = step + t.shift
	t.byStep.Add(float64(t.lastStep), n)
}

func (c *Capture) finish(l *lines.Reader) error {
	if c.torn > 0 {
		c.warn("torn lines: %d, the first is line %d; they are left out, and what they said is not known", c.torn, c.tornAt)
	}
	switch {
	case c.affon != nil:
		c.affonEnd()
	case c.Header == nil:
		return fmt.Errorf("%s: no header line: want {\"schema\":%q,…} first", c.Name, Schema)
	case c.samples == 0 && c.Summary == nil:
		return fmt.Errorf("%s:%d: no sample: the watcher was ended before its first one", c.Name, l.N)
	case c.Summary == nil:
		c.warn("the file has no summary: the watcher was ended after %.1f s, and how the run ended is not known", float64(c.last)/1000)
	}
	return nil
}

func (c *Capture) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}

// wrong gives a JSON error its column.
func wrong(l *lines.Reader, line []byte, what string, err error) error {
	at := 1
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		at = int(syntax.Offset)
	case errors.As(err, &kind):
		at = int(kind.Offset)
		if kind.Field != "" {
			field := strings.TrimPrefix(kind.Field, "Sample.")
			return l.Fault(clamp(at, line), "%s%.80s: want %s, got %s", what, field, kindOf(kind), kind.Value)
		}
		return l.Fault(clamp(at, line), "%swant one JSON object a line, got %s", what, kind.Value)
	}
	return l.Fault(clamp(at, line), "%s%v", what, err)
}

func clamp(at int, line []byte) int { return max(1, min(at, len(line))) }

// kindOf is the wanted type in words.
func kindOf(e *json.UnmarshalTypeError) string {
	switch name := e.Type.String(); name {
	case "int64":
		return "an integer of 64 bits"
	case "string":
		return "text"
	case "bool":
		return "true or false"
	default:
		return "what the format has there"
	}
}

// add is a + b of two numbers that are not negative, and the largest where that is more.
func add(a, b int64) int64 {
	if a+b < a {
		return 1<<63 - 1
	}
	return a + b
}
