package xla

import (
	"fmt"
	"math"
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// Plan is what XLA planned for one module in one memory space, in bytes.
type Plan struct {
	Space MemorySpace

	// NeedBytes = ArgumentBytes + UnaliasedOutputBytes + ConstantBytes + TempBytes.
	// The size of the generated code is not in these files.
	NeedBytes            int64
	ArgumentBytes        int64
	OutputBytes          int64 // aliased parameters included
	UnaliasedOutputBytes int64
	DonatedBytes         int64
	ConstantBytes        int64
	TempBytes            int64
	ThreadLocalBytes     int64 // part of no other number
	// IndefiniteBytes are the allocations that live through the whole execution:
	// arguments, outputs and constants that hold at least one buffer.
	IndefiniteBytes int64

	// Peak is nil where it is unknown: NoPeak then says why.
	Peak   *Peak
	NoPeak string
}

// Peak is what is live in one memory space when its heap is largest, in bytes.
type Peak struct {
	// Simulation is nil where the space has no heap trace and needs none.
	Simulation         *Simulation
	HeapBytes          int64 // simulated heap and indefinite allocations
	UnpaddedBytes      int64 // of the same, as XProf counts: arguments and outputs stay padded
	PaddingBytes       int64 // of all that is live, arguments and outputs included
	ForwardKeptBytes   int64
	BackwardBytes      int64
	WorkspaceBytes     int64
	OtherBytes         int64
	FragmentationBytes int64 // of the temp block
	// NoFragmentation says why FragmentationBytes is unknown.
	NoFragmentation string
}

// SimulatedBytes is the largest heap of the trace, without what lives throughout.
func (p *Peak) SimulatedBytes() int64 {
	if p.Simulation == nil {
		return 0
	}
	return p.Simulation.PeakBytes
}

// maxSpaces bounds the memory spaces of a module: XLA knows about ten.
const maxSpaces = 32

// Spaces gives the memory spaces that the module has allocations in, and always
// Device, in ascending order; none without a buffer assignment.
func (m *Module) Spaces() []MemorySpace {
	if m.Assignment == nil {
		return nil
	}
	spaces := []MemorySpace{Device}
	for i := range m.Assignment.Allocations {
		if s := m.Assignment.Allocations[i].Space; len(spaces) <= maxSpaces && !slices.Contains(spaces, s) {
			spaces = append(spaces, s)
		}
	}
	slices.Sort(spaces)
	return spaces
}

// Plan gives the plan of one memory space. The error says what in the file makes
// no sense; without a buffer assignment, that there is none.
func (m *Module) Plan(space MemorySpace) (*Plan, error) {
	a := m.Assignment
	if a == nil {
		return nil, fmt.Errorf("%s", m.missing)
	}
	p := &Plan{Space: space}
	var padding, total int64
	blocks := 0 // temp blocks that are not empty
	for i := range a.Allocations {
		al := &a.Allocations[i]
		if al.Space != space {
			continue
		}
		size := al.SizeBytes
		// Twice, since an argument may be an output too: no sum below overflows.
		if total += 2 * size; total < 0 || total > math.MaxInt64/2 {
			return nil, fmt.Errorf("allocations of more than %d bytes", int64(math.MaxInt64/4))
		}
		kind := al.Kind()
		switch kind {
		case ThreadLocal:
			p.ThreadLocalBytes += size
			continue
		case Argument:
			p.ArgumentBytes += size
			if m.donated(al) {
				p.DonatedBytes += size
			}
		case Output:
			p.UnaliasedOutputBytes += size
		case Constant:
			p.ConstantBytes += size
		case Temp:
			p.TempBytes += size
			if size > 0 {
				blocks++
			}
		}
		if al.MaybeLiveOut {
			p.OutputBytes += size
		}
		p.NeedBytes += size
		if kind != Temp && m.holdsBuffer(al) {
			p.IndefiniteBytes += size
			padding += max(0, size-m.unpadded(m.largest(al)))
		}
	}
	if blocks > 1 {
		// Note: XProf replays the trace of one of them and shows too small a peak.
		p.NoPeak = fmt.Sprintf("%d temp blocks in one memory space, each with a heap of its own", blocks)
		return p, nil
	}
	return p, m.peak(p, padding)
}

// peak fills in p.Peak; padding is that of what lives throughout.
func (m *Module) peak(p *Plan, padding int64) error {
	peak := &Peak{HeapBytes: p.IndefiniteBytes, UnpaddedBytes: p.IndefiniteBytes, PaddingBytes: padding}
	if trace := m.chooseTrace(p.Space); trace >= 0 {
		s, err := m.simulate(trace)
		if err != nil {
			return fmt.Errorf("heap_simulator_traces[%d]: %w", trace, err)
		}
		if s.PeakBytes > math.MaxInt64-p.IndefiniteBytes {
			return fmt.Errorf("heap_simulator_traces[%d]: live buffers of more than %d bytes", trace, int64(math.MaxInt64))
		}
		peak.Simulation = s
		peak.HeapBytes += s.PeakBytes
		peak.UnpaddedBytes += s.UnpaddedBytes
	} else if p.TempBytes > 0 {
		p.NoPeak = fmt.Sprintf("the file holds no heap trace of the temp block of %d bytes, so what is live in it is unknown", p.TempBytes)
		return nil
	}
	p.Peak = peak
	if peak.Simulation != nil {
		for _, r := range peak.Simulation.Live() {
			size := m.Assignment.Buffers[r.Memory].SizeBytes
			peak.PaddingBytes += max(0, size-m.unpadded(int32(r.Buffer)))
			switch m.class(r.Buffer, m.liveOrigin(r, peak.Simulation.sharers[int32(r.Memory)])) {
			case ForwardKept:
				peak.ForwardKeptBytes += size
			case Backward:
				peak.BackwardBytes += size
			case Workspace:
				peak.WorkspaceBytes += size
			}
		}
	}
	peak.OtherBytes = peak.HeapBytes - peak.ForwardKeptBytes - peak.BackwardBytes - peak.WorkspaceBytes
	if peak.FragmentationBytes = p.TempBytes - peak.SimulatedBytes(); peak.FragmentationBytes < 0 {
		// Seen in TPU vmem, whose trace covers a part of the schedule only.
		peak.NoFragmentation = fmt.Sprintf("the heap trace peaks at %s, above the temp block of %s", measure.Bytes(peak.SimulatedBytes()), measure.Bytes(p.TempBytes))
		peak.FragmentationBytes = 0
	}
	return nil
}

// holdsBuffer reports whether an allocation holds a buffer that is not empty.
func (m *Module) holdsBuffer(al *BufferAllocation) bool {
	b := m.largest(al)
	return b >= 0 && m.Assignment.Buffers[b].SizeBytes > 0
}

// unpadded is the size of a buffer's values alone; its padded size where the
// file does not tell the shape.
func (m *Module) unpadded(b int32) int64 {
	buf := &m.Assignment.Buffers[b]
	if in := m.instruction(buf.Instruction); in != nil {
		if s := in.Shape.At(buf.Index); s != nil {
			return s.UnpaddedBytes()
		}
	}
	return buf.SizeBytes
}

// donated reports whether an output is written over the parameter: by XLA's own
// mark, by the promise that the program made, or, in files older than the mark,
// because the parameter's memory is live out.
func (m *Module) donated(al *BufferAllocation) bool {
	if !al.EntryParameter || al.ThreadLocal {
		return false
	}
	return al.AliasedWithOutput || al.MaybeLiveOut || m.find().aliased[ParameterIndex{al.Parameter, al.ParameterIndex}.String()]
}
