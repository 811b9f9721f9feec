package footprint

import (
	"reflect"

	"encoding/json"
	"github.com/peakgate/peakgate/capture/lines"
	"github.com/peakgate/peakgate/measure"
	"io"
)

// AffonSample is one line of Affon's tools/metal-footprint-watch.sh: these 15
// keys in this order, all numbers integers, growth counted from the first line. A
// watcher can write its own samples so (see [WriteAffon]) for scripts that read
// that format.
// https://github.com/neucine/affon/blob/main/tools/metal-footprint-watch.sh
type AffonSample struct {
	Timestamp      string `json:"timestamp"` // UTC, to the second: 2026-01-31T12:00:00Z
	Sample         int64  `json:"sample"`    // from 1
	ElapsedSeconds int64  `json:"elapsedSeconds"`
	PID            int64  `json:"pid"`

	PhysicalFootprintBytes       int64 `json:"physicalFootprintBytes"`
	PhysicalFootprintPeakBytes   int64 `json:"physicalFootprintPeakBytes"`
	PhysicalFootprintGrowthBytes int64 `json:"physicalFootprintGrowthBytes"`

	// The row "IOAccelerator" of vmmap. Allocators of host memory may use its tag,
	// so it is never added to the next.
	IOAcceleratorVirtualBytes  int64 `json:"ioAcceleratorVirtualBytes"`
	IOAcceleratorResidentBytes int64 `json:"ioAcceleratorResidentBytes"`
	IOAcceleratorRegions       int64 `json:"ioAcceleratorRegions"`
	// The row "IOAccelerator (graphics)": memory of the GPU.
	GraphicsVirtualBytes  int64 `json:"ioAcceleratorGraphicsVirtualBytes"`
	GraphicsResidentBytes int64 `json:"ioAcceleratorGraphicsResidentBytes"`
	GraphicsSwappedBytes  int64 `json:"ioAcceleratorGraphicsSwappedBytes"`
	GraphicsRegions       int64 `json:"ioAcceleratorGraphicsRegions"`
	GraphicsRegionGrowth  int64 `json:"ioAcceleratorGraphicsRegionGrowth"`
}

// WriteAffon writes one line in one call of Write.
func WriteAffon(w io.Writer, s AffonSample) error {
	line, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// The limits of Affon's script where its environment sets none: growth above them
// ends the run with exit code 1. Its file does not hold them.
const (
	affonGrowth  = 512 << 20
	affonRegions = 5000
)

// affonFew is how many samples the script takes unless told otherwise: a file of
// fewer ended early.
const affonFew = 12

// affonRun is what a file of the script adds up to.
type affonRun struct {
	first, last AffonSample
	peak        int64
	graphics    measure.Levels
	skewed      bool
}

// affonKeys are the keys of a line, all of which are there.
var affonKeys = func() (keys []string) {
	t := reflect.TypeFor[AffonSample]()
	for i := range t.NumField() {
		keys = append(keys, t.Field(i).Tag.Get("json"))
	}
	return keys
}()

func (c *Capture) affonLine(l *lines.Reader, line []byte) error {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil {
		return wrong(l, line, "", err)
	}
	for _, k := range affonKeys {
		if v, ok := keys[k]; !ok || string(v) == "null" {
			return l.Fault(1, "%s: want it in every line of metal-footprint-watch.sh, found none", k)
		}
	}
	var s AffonSample
	if err := json.Unmarshal(line, &s); err != nil {
		return wrong(l, line, "", err)
	}
	a := c.affon
	switch {
	case min(s.PhysicalFootprintBytes, s.PhysicalFootprintPeakBytes, s.GraphicsRegions, s.GraphicsResidentBytes, s.ElapsedSeconds) < 0:
		return l.Fault(1, "want sizes, counts and times of at least 0")
	case c.samples > 0 && (s.ElapsedSeconds < a.last.ElapsedSeconds || s.Sample <= a.last.Sample):
		return l.Fault(1, "sample %d at %d s behind sample %d at %d s: want each run in a file of its own",
			s.Sample, s.ElapsedSeconds, a.last.Sample, a.last.ElapsedSeconds)
	case c.samples == 0:
		a.first = s
	}
	c.samples++
	a.last = s
	a.peak = max(a.peak, s.PhysicalFootprintPeakBytes)
	a.skewed = a.skewed || s.PhysicalFootprintGrowthBytes != s.PhysicalFootprintBytes-a.first.PhysicalFootprintBytes
	x := float64(s.ElapsedSeconds)
	c.footprint.byTime.Add(x, s.PhysicalFootprintBytes)
	c.regions.byTime.Add(x, s.GraphicsRegions)
	a.graphics.Add(x, s.GraphicsResidentBytes)
	return nil
}

// affonEnd says what of the file makes its growth doubtful.
func (c *Capture) affonEnd() {
	a := c.affon
	if c.samples < affonFew {
		c.warn("%d samples, the script takes %d: the run ended early, or growth stopped it", c.samples, affonFew)
	}
	if a.first.ElapsedSeconds < 2 {
		c.warn("the first sample was taken %d s after the start: growth since then is all that the program ever takes, its start included", a.first.ElapsedSeconds)
	}
	if a.skewed {
		c.warn("physicalFootprintGrowthBytes is not counted from the first line: lines before it are missing")
	}
	if n := a.last.PhysicalFootprintBytes - a.first.PhysicalFootprintBytes; n > affonGrowth {
		c.warn("the footprint grew by %s since the first sample, more than the script's default of %s", measure.Bytes(n), measure.Bytes(affonGrowth))
	}
	if n := a.last.GraphicsRegions - a.first.GraphicsRegions; n > affonRegions {
		c.warn("IOAccelerator (graphics) regions grew by %d since the first sample, more than the script's default of %d", n, affonRegions)
	}
}
