package xla

// View is what a viewer shows of one memory space of a module: its plan and every
// buffer of it with the time in which it holds memory.
type View struct {
	*Plan
	// Entry is the name of the entry computation.
	Entry string
	// Curve and Unpadded are what is live before each event of the trace and after the
	// last one, with what lives throughout, as XProf draws them. Both are empty
	// without a trace; Steps then is 0.
	Curve, Unpadded []int64
	// Steps is the number of events, Instructions what was scheduled at each.
	Steps        int
	Instructions []string
	// Buffers are what lives throughout, in the order of the allocations, then the
	// live ranges of the trace in the order in which they began.
	Buffers []ViewBuffer
	// Allocations are the blocks that the buffers lie in, in the order of the file,
	// thread-local ones left out.
	Allocations []ViewAllocation
	// NonReusableBytes is XProf's number: all of each allocation that is thread-local or
	// holds the table of a tuple, which on TPU may be the temp block.
	NonReusableBytes int64
}

// ViewAllocation is one block of memory.
type ViewAllocation struct {
	Index     int64
	SizeBytes int64
	Kind      AllocationKind
}

// ViewBuffer is a buffer in a view.
type ViewBuffer struct {
	ID     int64 // of the logical buffer; -1 where an allocation holds none
	Name   string
	Shape  *Shape
	OpName string
	Opcode string
	Kind   AllocationKind
	Class  Class

	// SizeBytes is what it holds. UnpaddedBytes is what the values alone take,
	// arguments and outputs too; ViewerUnpaddedBytes is XProf's number.
	SizeBytes, UnpaddedBytes, ViewerUnpaddedBytes int64

	// Allocation is its place in View.Allocations, -1 where the file does not tell;
	// OffsetBytes is that in the allocation.
	Allocation  int
	OffsetBytes int64

	// Start and End are events: it holds memory from Start on, up to and without End.
	Start, End int
	// AtPeak tells that it is live at the peak.
	AtPeak bool

	Source Frame
	// metadata is that of the instruction which Source is of.
	metadata *OpMetadata
}

// View gives the viewer's account of one memory space. The error is that of Plan.
func (m *Module) View(space MemorySpace) (*View, error) {
	p, err := m.Plan(space)
	if err != nil {
		return nil, err
	}
	v := &View{Plan: p}
	if c, ok := m.find().computation[m.EntryID]; ok {
		v.Entry = m.Computations[c].Name
	}
	b := viewBuilder{m: m, v: v, at: map[int32]int{}}
	b.curve()
	b.lasting()
	b.ranges()
	return v, nil
}

// viewBuilder builds a view.
type viewBuilder struct {
	m  *Module
	v  *View
	at map[int32]int // index of an allocation in the file → in the view
}

func (b *viewBuilder) simulation() *Simulation {
	if b.v.Peak == nil {
		return nil
	}
	return b.v.Peak.Simulation
}

func (b *viewBuilder) curve() {
	s := b.simulation()
	if s == nil {
		return
	}
	b.v.Steps = len(s.Curve) - 1
	b.v.Curve, b.v.Unpadded = make([]int64, len(s.Curve)), make([]int64, len(s.Curve))
	for i := range s.Curve {
		b.v.Curve[i] = s.Curve[i] + b.v.IndefiniteBytes
		b.v.Unpadded[i] = s.Unpadded[i] + b.v.IndefiniteBytes
	}
	events := b.m.Assignment.Traces[s.Trace].Events
	b.v.Instructions = make([]string, len(events))
	for i := range events {
		b.v.Instructions[i] = events[i].Instruction
	}
}

// lasting adds the allocations, and those buffers that live throughout.
func (b *viewBuilder) lasting() {
	for i := range b.m.Assignment.Allocations {
		al := &b.m.Assignment.Allocations[i]
		kind := al.Kind()
		if al.Space != b.v.Space {
			continue
		}
		if kind == ThreadLocal || al.Tuple {
			b.v.NonReusableBytes += al.SizeBytes
		}
		if kind == ThreadLocal {
			continue
		}
		b.at[int32(i)] = len(b.v.Allocations)
		b.v.Allocations = append(b.v.Allocations, ViewAllocation{Index: al.Index, SizeBytes: al.SizeBytes, Kind: kind})
		if kind != Temp && b.m.holdsBuffer(al) {
			b.v.Buffers = append(b.v.Buffers, b.lastingBuffer(al, kind))
		}
	}
}

// lastingBuffer is an allocation that lives throughout, named by its largest buffer.
func (b *viewBuilder) lastingBuffer(al *BufferAllocation, kind AllocationKind) ViewBuffer {
	index := b.m.largest(al)
	class := map[AllocationKind]Class{Argument: ClassArgument, Output: ClassOutput, Constant: ClassConstant}[kind]
	out := b.buffer(int(index), kind, class)
	// The whole allocation counts, as in XProf; its padding it does not know.
	out.SizeBytes, out.ViewerUnpaddedBytes = al.SizeBytes, al.SizeBytes
	out.UnpaddedBytes = min(out.UnpaddedBytes, al.SizeBytes)
	out.Allocation, out.OffsetBytes = len(b.v.Allocations)-1, 0
	out.Start, out.End, out.AtPeak = 0, b.v.Steps, true
	return out
}

// ranges adds the live ranges of the trace.
func (b *viewBuilder) ranges() {
	s := b.simulation()
	if s == nil {
		return
	}
	offsets := b.offsets()
	for _, r := range s.Ranges {
		o := b.m.liveOrigin(r, s.sharers[int32(r.Memory)])
		out := b.buffer(r.Buffer, Temp, b.m.class(r.Buffer, o))
		memory := &b.m.Assignment.Buffers[r.Memory]
		out.SizeBytes = memory.SizeBytes
		out.UnpaddedBytes = min(out.UnpaddedBytes, memory.SizeBytes)
		out.ViewerUnpaddedBytes = b.m.viewerUnpadded(int32(r.Memory))
		out.Start, out.End = r.Start, r.End
		out.AtPeak = s.PeakBytes > 0 && r.Start <= s.Position && r.End > s.Position
		out.Allocation, out.OffsetBytes = -1, 0
		if at, ok := b.at[b.m.find().allocation[r.Memory]]; ok {
			out.Allocation, out.OffsetBytes = at, offsets[memory.ID]
		}
		if out.OpName == "" && o.by != nil {
			out.OpName = o.by.opName()
		}
		if out.Source.File == "" && o.by != nil {
			out.Source, _ = b.m.Source(o.by.Metadata)
			out.metadata = o.by.Metadata
		}
		b.v.Buffers = append(b.v.Buffers, out)
	}
}

// offsets gives the place of each buffer in its allocation.
func (b *viewBuilder) offsets() map[int64]int64 {
	out := map[int64]int64{}
	for i := range b.m.Assignment.Allocations {
		if _, ok := b.at[int32(i)]; ok {
			for _, a := range b.m.Assignment.Allocations[i].Assigned {
				out[a.Buffer] = a.OffsetBytes
			}
		}
	}
	return out
}

// buffer tells what the file says of a logical buffer, -1 for none.
func (b *viewBuilder) buffer(index int, kind AllocationKind, class Class) ViewBuffer {
	out := ViewBuffer{ID: -1, Kind: kind, Class: class}
	if index < 0 {
		return out
	}
	buf := &b.m.Assignment.Buffers[index]
	out.ID = buf.ID
	out.UnpaddedBytes = b.m.unpadded(int32(index))
	in := b.m.instruction(buf.Instruction)
	if in == nil {
		return out
	}
	out.Name, out.Shape, out.Opcode, out.OpName = in.Name+indexText(buf.Index), in.Shape.At(buf.Index), in.Opcode, in.opName()
	out.Source, _ = b.m.Source(in.Metadata)
	out.metadata = in.Metadata
	return out
}

// Stack gives all frames of the buffer's instruction, innermost first, at most as
// many as are asked for.
func (m *Module) Stack(b *ViewBuffer, most int) []Frame {
	o := b.metadata
	if o == nil {
		return nil
	}
	var out []Frame
	f, id := &m.Frames, o.FrameID
	for range min(most, maxFrames) { // a parent that is its own ancestor ends with the count
		if id < 1 || id > int64(len(f.Frames)) {
			break
		}
		frame := f.Frames[id-1]
		id = frame.ParentID
		if at := frame.LocationID; at >= 1 && at <= int64(len(f.Locations)) {
			l := f.Locations[at-1]
			out = append(out, Frame{File: entry(f.Files, l.FileID), Line: int(l.Line), Function: entry(f.Functions, l.FunctionID)})
		}
	}
	if len(out) == 0 && o.SourceFile != "" {
		out = []Frame{{File: o.SourceFile, Line: int(o.SourceLine)}}
	}
	return out
}
