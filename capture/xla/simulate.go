package xla

import (
	"fmt"
	"math"
)

// Simulation is what the replay of one heap trace gives. Sizes are padded, as the
// buffers lie in memory, unless it says otherwise.
type Simulation struct {
	// Trace is the index of the trace in BufferAssignment.Traces.
	Trace int
	// PeakBytes is the largest total of live buffers, UnpaddedBytes what XProf
	// counts for the same buffers without padding, Position the event that reached it first.
	PeakBytes     int64
	UnpaddedBytes int64
	Position      int
	// Ranges are the live ranges in the order in which the buffers came to life.
	Ranges []LiveRange
	// Curve is the heap before each event, and after the last one; Unpadded is the
	// same without padding, as XProf counts it.
	Curve, Unpadded []int64

	sharers map[int32][]int32 // buffer whose memory is shared → those who came to share it
}

// LiveRange is the time in which a buffer holds memory: from event Start on, up
// to and without event End (the number of events where it is never freed).
type LiveRange struct {
	// Buffer is what the memory holds, an index in BufferAssignment.Buffers.
	// Memory is the buffer that it was allocated for and whose size counts: another
	// one where Buffer came to share it after it had been freed.
	Buffer, Memory int
	Start, End     int
}

// Live gives the ranges at the peak, in the order in which they began.
func (s *Simulation) Live() []LiveRange {
	var live []LiveRange
	if s.PeakBytes == 0 {
		return nil
	}
	for _, r := range s.Ranges {
		if r.Start <= s.Position && r.End > s.Position {
			live = append(live, r)
		}
	}
	return live
}

// chooseTrace picks the one trace that stands for a memory space, as XProf does
// (hlo_proto_to_memory_visualization_utils.cc, GetHeapSimulatorTraceId): that of a
// temp allocation of the space, else the one with most events on buffers of the
// space; -1 if there is none.
func (m *Module) chooseTrace(space MemorySpace) int {
	a, l := m.Assignment, m.find()
	byAllocation := map[int32]int{}
	for i, t := range a.Traces {
		if len(t.Events) == 0 {
			continue
		}
		if b, ok := l.buffer[t.Events[0].Buffer]; ok && l.allocation[b] >= 0 {
			byAllocation[l.allocation[b]] = i
		}
	}
	for i := range a.Allocations {
		if al := &a.Allocations[i]; al.Space == space && al.Kind() == Temp {
			if t, ok := byAllocation[int32(i)]; ok {
				return t
			}
		}
	}
	best, most := -1, 0
	for i, t := range a.Traces {
		n := 0
		for _, e := range t.Events {
			if b, ok := l.buffer[e.Buffer]; ok && a.Buffers[b].Space == space {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	return best
}

// simulate replays one trace by the rules of XProf's Memory Viewer:
// https://github.com/openxla/xprof/blob/master/xprof/convert/hlo_proto_to_memory_visualization_utils.cc
func (m *Module) simulate(trace int) (*Simulation, error) {
	a, l := m.Assignment, m.find()
	events := a.Traces[trace].Events
	s := &Simulation{Trace: trace, Curve: make([]int64, 0, len(events)+1), Unpadded: make([]int64, 0, len(events)+1), sharers: map[int32][]int32{}}
	var heap, unpadded int64
	h := newHeap(len(a.Buffers))
	open := make([]int, len(a.Buffers)) // buffer → 1 + index of its open range
	grow := func(e int, holds, b int32) error {
		size := a.Buffers[b].SizeBytes
		if heap > math.MaxInt64-size {
			return fmt.Errorf("event %d: live buffers of more than %d bytes", e, int64(math.MaxInt64))
		}
		heap += size
		unpadded += m.viewerUnpadded(b)
		open[b] = len(s.Ranges) + 1
		s.Ranges = append(s.Ranges, LiveRange{Buffer: int(holds), Memory: int(b), Start: e, End: len(events)})
		return nil
	}
	shrink := func(e int, b int32) error {
		if heap -= a.Buffers[b].SizeBytes; heap < 0 {
			return fmt.Errorf("event %d: freeing buffer %d makes the heap negative", e, a.Buffers[b].ID)
		}
		unpadded -= m.viewerUnpadded(b)
		if i := open[b]; i > 0 {
			s.Ranges[i-1].End, open[b] = e, 0
		}
		return nil
	}
	for e, ev := range events {
		s.Curve, s.Unpadded = append(s.Curve, heap), append(s.Unpadded, unpadded)
		b, ok := l.buffer[ev.Buffer]
		if !ok {
			return nil, fmt.Errorf("event %d: buffer %d is not among the logical buffers", e, ev.Buffer)
		}
		var err error
		switch ev.Kind {
		case Alloc:
			h.take(h.root(b))
			err = grow(e, b, b)
		case Free:
			root := h.root(b)
			switch h.drop(root) {
			case -1:
				err = fmt.Errorf("event %d: buffer %d is freed more often than allocated", e, ev.Buffer)
			case 0:
				err = shrink(e, root)
			}
		case ShareWith:
			c, ok := l.buffer[ev.Canonical]
			if !ok {
				return nil, fmt.Errorf("event %d: buffer %d, shared by %d, is not among the logical buffers", e, ev.Canonical, ev.Buffer)
			}
			root := h.root(c)
			s.sharers[root] = append(s.sharers[root], b)
			if err = h.share(b, c); err == nil && h.take(root) == 1 {
				// The memory of a buffer that was freed already is used again.
				err = grow(e, b, root)
			} else if err != nil {
				err = fmt.Errorf("event %d: buffer %d: %w", e, ev.Buffer, err)
			}
		default:
			err = fmt.Errorf("event %d: want a kind from 0 to 2, got %d", e, ev.Kind)
		}
		if err != nil {
			return nil, err
		}
		if heap > s.PeakBytes {
			s.PeakBytes, s.UnpaddedBytes, s.Position = heap, unpadded, e
		}
	}
	s.Curve, s.Unpadded = append(s.Curve, heap), append(s.Unpadded, unpadded)
	return s, nil
}

// heap counts the references to buffers that share memory.
type heap struct {
	canonical []int32 // buffer → 1 + the one whose memory it shares, 0 for its own
	refs      []int32
}

func newHeap(buffers int) *heap { return &heap{make([]int32, buffers), make([]int32, buffers)} }

// root follows the sharing from b to the buffer that owns the memory. Chains are
// shortened on the way, so that long ones cost nothing the second time.
func (h *heap) root(b int32) int32 {
	root := b
	for h.canonical[root] > 0 {
		root = h.canonical[root] - 1
	}
	for b != root {
		b, h.canonical[b] = h.canonical[b]-1, root+1
	}
	return root
}

// take gives the references after one more.
func (h *heap) take(root int32) int32 {
	h.refs[root]++
	return h.refs[root]
}

// drop gives the references that are left, -1 if there were none.
func (h *heap) drop(root int32) int32 {
	if h.refs[root] == 0 {
		return -1
	}
	h.refs[root]--
	return h.refs[root]
}

// share makes b use the memory of c.
func (h *heap) share(b, c int32) error {
	root := h.root(c)
	if root == b {
		return fmt.Errorf("shares memory with itself")
	}
	h.canonical[b] = root + 1
	return nil
}

// viewerUnpadded is the size of a buffer without padding as XProf counts it: of
// the shape index it knows only the last element, taken at the top of the tuple.
func (m *Module) viewerUnpadded(b int32) int64 {
	buf := &m.Assignment.Buffers[b]
	in := m.instruction(buf.Instruction)
	if in == nil {
		return 0
	}
	if n := len(buf.Index); n > 0 {
		return in.Shape.At(buf.Index[n-1:]).viewerBytes()
	}
	return in.Shape.viewerBytes()
}

// CompilerPeak is XLA's own peak (memory_analysis().peak_memory_in_bytes):
// ComputePeakMemory of xla/service/buffer_assignment.cc. It counts the largest
// logical buffer of each argument, constant and output, and plays the traces of
// all memory spaces one after another on one counter.
func (m *Module) CompilerPeak() (int64, error) {
	a, l := m.Assignment, m.find()
	if a == nil {
		return 0, fmt.Errorf("%s", m.missing)
	}
	h := newHeap(len(a.Buffers))
	var total int64
	add := func(b int32) error {
		size := a.Buffers[b].SizeBytes
		if total > math.MaxInt64-size {
			return fmt.Errorf("live buffers of more than %d bytes", int64(math.MaxInt64))
		}
		total += size
		return nil
	}
	for i := range a.Allocations {
		al := &a.Allocations[i]
		if k := al.Kind(); k == ThreadLocal || k == Temp {
			continue
		}
		if b := m.largest(al); b >= 0 {
			h.take(b)
			if err := add(b); err != nil {
				return 0, err
			}
		}
	}
	peak := total
	for _, t := range a.Traces {
		for e, ev := range t.Events {
			b, ok := l.buffer[ev.Buffer]
			if !ok {
				return 0, fmt.Errorf("event %d: buffer %d is not among the logical buffers", e, ev.Buffer)
			}
			grown := int32(-1)
			switch ev.Kind {
			case Alloc:
				if h.take(b) == 1 {
					grown = b
				}
			case Free:
				root := h.root(b)
				h.canonical[b] = 0
				if h.drop(root) == 0 {
					total -= a.Buffers[root].SizeBytes
				}
			case ShareWith:
				c, ok := l.buffer[ev.Canonical]
				if !ok {
					return 0, fmt.Errorf("event %d: buffer %d is not among the logical buffers", e, ev.Canonical)
				}
				if err := h.share(b, c); err != nil {
					return 0, fmt.Errorf("event %d: buffer %d: %w", e, ev.Buffer, err)
				}
				if root := h.root(b); h.take(root) == 1 {
					grown = root
				}
			}
			if grown >= 0 {
				if err := add(grown); err != nil {
					return 0, err
				}
			}
			peak = max(peak, total)
		}
	}
	return peak, nil
}

// largest gives the index of the largest logical buffer of an allocation (the
// first of several), -1 if it holds none.
func (m *Module) largest(al *BufferAllocation) int32 {
	best, size := int32(-1), int64(-1)
	for _, p := range al.Assigned {
		if b, ok := m.find().buffer[p.Buffer]; ok && m.Assignment.Buffers[b].SizeBytes > size {
			best, size = b, m.Assignment.Buffers[b].SizeBytes
		}
	}
	return best
}
