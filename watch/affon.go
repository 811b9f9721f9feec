//go:build linux || darwin

package watch

import (
	"fmt"
	"time"

	"github.com/peakgate/peakgate/capture/footprint"
)

// affonRun writes the lines, holds the limits and ends as Affon's script does:
// growth since the first sample, strictly above a limit, fails the run; after the
// last sample the workload is ended and the run has passed.
type affonRun struct {
	Affon
	first  footprint.AffonSample
	number int64
	peak   int64
	passed bool
}

// affonSample writes one sample. A tick without a footprint, or on macOS without
// regions, is left out as in the script.
func (r *run) affonSample(read reading) {
	a := r.affon
	n, ok := read.sample.Footprint.Value()
	if !ok || read.sample.Regions.IsUnknown() || r.ended != nil || r.stopping != "" {
		return
	}
	a.number++
	a.peak = max(a.peak, n)
	s := footprint.AffonSample{
		Timestamp: time.Now().UTC().Format("2006-01-02T15:04:05Z"), Sample: a.number,
		ElapsedSeconds: int64(r.now().Seconds()), PID: int64(r.main),
		PhysicalFootprintBytes: n, PhysicalFootprintPeakBytes: a.peak,
	}
	if g := read.regions; g != nil { // without Metal there are no such regions
		s.IOAcceleratorVirtualBytes, s.IOAcceleratorResidentBytes, s.IOAcceleratorRegions = g.io.Virtual, g.io.Resident, g.io.Count
		s.GraphicsVirtualBytes, s.GraphicsResidentBytes = g.graphics.Virtual, g.graphics.Resident
		s.GraphicsSwappedBytes, s.GraphicsRegions = g.graphics.Swapped, g.graphics.Count
	}
	if a.number == 1 {
		a.first = s
	}
	s.PhysicalFootprintGrowthBytes = s.PhysicalFootprintBytes - a.first.PhysicalFootprintBytes
	s.GraphicsRegionGrowth = s.GraphicsRegions - a.first.GraphicsRegions
	footprint.WriteAffon(r.out, s)
	switch {
	case s.PhysicalFootprintGrowthBytes > a.MaxGrowthBytes || s.GraphicsRegionGrowth > a.MaxRegionsGrowth:
		why := fmt.Sprintf("metal footprint regression: physical growth=%d bytes, IOAccelerator graphics region growth=%d",
			s.PhysicalFootprintGrowthBytes, s.GraphicsRegionGrowth)
		r.status.note(why)
		r.stop(why, why)
	case a.number >= int64(a.Samples):
		a.passed = true
		r.stop("the last sample was taken", "")
	}
}
