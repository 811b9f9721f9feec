package footprint

import (
	"encoding/json"
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
