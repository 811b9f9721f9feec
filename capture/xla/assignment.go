package xla

// assignment reads a BufferAssignmentProto.
func (p *parser) assignment() *BufferAssignment {
	a := &BufferAssignment{}
	for p.enter("buffer_assignment"); p.next(); {
		switch p.num {
		case 1:
			a.Buffers = append(a.Buffers, p.logicalBuffer())
		case 2:
			a.Aliases = append(a.Aliases, p.bufferAlias())
		case 3:
			a.Allocations = append(a.Allocations, p.allocation())
		case 4:
			a.Traces = append(a.Traces, p.trace())
		}
	}
	return a
}

// logicalBuffer reads a LogicalBufferProto.
func (p *parser) logicalBuffer() LogicalBuffer {
	var b LogicalBuffer
	defined := false
	l := p.leaf("logical_buffers")
	for l.next() {
		switch l.num {
		case 1:
			b.ID = l.int()
		case 2:
			b.SizeBytes = l.size()
		case 3:
			defined = true
			b.Instruction, b.Index = p.location(l.inner("defined_at"))
		case 4:
			b.Space = MemorySpace(l.int())
		}
	}
	if !defined {
		p.fail(p.at, "logical_buffers: buffer %d: want the instruction that defines it, found none", b.ID)
	}
	return b
}

// location reads a LogicalBufferProto.Location. Its instruction_name is no longer
// written: the id is what joins.
func (p *parser) location(l leaf) (instruction int64, index []int64) {
	list := p.more[:0]
	for l.next() {
		switch l.num {
		case 3:
			list = l.ints(list)
		case 4:
			instruction = l.int()
		}
	}
	p.more = list
	return instruction, p.keep(list)
}

// bufferAlias reads a BufferAssignmentProto.BufferAlias.
func (p *parser) bufferAlias() BufferAlias {
	var a BufferAlias
	for l := p.leaf("buffer_aliases"); l.next(); {
		switch l.num {
		case 1:
			a.Buffer = l.int()
		case 2:
			a.Instruction, a.Index = p.location(l.inner("location"))
		}
	}
	return a
}

// allocation reads a BufferAllocationProto.
func (p *parser) allocation() BufferAllocation {
	var a BufferAllocation
	index := p.more[:0]
	for p.enter("buffer_allocations"); p.next(); {
		switch p.num {
		case 1:
			a.Index = p.int()
		case 2:
			if a.SizeBytes = p.int(); !sane(a.SizeBytes) {
				p.fail(p.at, insane, a.SizeBytes, maxSize)
			}
		case 3:
			a.ThreadLocal = p.int() != 0
		case 5:
			a.EntryParameter = p.int() != 0
		case 6:
			a.Parameter = p.int()
		case 7:
			a.MaybeLiveOut = p.int() != 0
		case 8:
			a.Space = MemorySpace(p.int())
		case 9:
			var b AssignedBuffer
			for l := p.leaf("assigned"); l.next(); {
				switch l.num {
				case 1:
					b.Buffer = l.int()
				case 2:
					b.OffsetBytes = l.size()
				case 3:
					b.SizeBytes = l.size()
				}
			}
			a.Assigned = append(a.Assigned, b)
		case 10:
			index = p.ints(index)
		case 11:
			a.Tuple = p.int() != 0
		case 12:
			a.Constant = p.int() != 0
		case 13:
			a.AliasedWithOutput = p.int() != 0
		}
	}
	a.ParameterIndex = p.keep(index)
	return a
}

// trace reads a HeapSimulatorTrace.
func (p *parser) trace() HeapTrace {
	var t HeapTrace
	for p.enter("heap_simulator_traces"); p.next(); {
		switch p.num {
		case 1:
			var e HeapEvent
			for l := p.leaf("events"); l.next(); {
				switch l.num {
				case 1:
					e.Kind = EventKind(l.int())
				case 2:
					e.Buffer = l.int()
				case 4:
					e.Instruction = l.text()
				case 5:
					e.Canonical = l.int()
				}
			}
			t.Events = append(t.Events, e)
		case 2:
			t.WholeModule = p.int() != 0
		}
	}
	return t
}

// maxSize is the largest size of a buffer or allocation that is believed: more
// than any machine has, and so small that sums of sizes are checked with ease.
const maxSize = 1 << 56

const insane = "want a size from 0 to %[2]d bytes, got %[1]d"

func sane(n int64) bool { return n >= 0 && n <= maxSize }

// size gives the value of the current field, a number of bytes.
func (l *leaf) size() int64 {
	n := l.int()
	if !sane(n) {
		l.fail(insane, n, int64(maxSize))
		return 0
	}
	return n
}
