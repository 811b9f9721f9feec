package xla

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"slices"
	"strings"
	"unicode/utf8"
)

// Field numbers are those of xla/service/hlo.proto and xla/xla_data.proto:
// https://github.com/openxla/xla/blob/main/xla/service/hlo.proto

// parser makes domain types of a decoder's fields.
type parser struct {
	*decoder
	// Shapes are few and repeat: equal bytes share one value.
	shapes map[string]*Shape

	chunk          []int64      // where lists of ids are kept
	metadata       []OpMetadata // where metadata is kept
	names          []byte       // of the module's instructions, end to end
	nameEnds       []int
	instructions   []Instruction // scratch: of one computation
	operands, more []int64       // scratch
	hash           hash.Hash
	hashed         []byte // scratch
	contents       uint64 // of the module: sum of the instructions' hashes
	scopedBytes    int64  // of the module: largest scratch memory of an instruction
}

func newParser(d *decoder) *parser {
	return &parser{decoder: d, shapes: map[string]*Shape{}, hash: sha256.New()}
}

// hloProto reads an HloProto: the whole stream, or the current field. The
// module is nil where the proto holds none.
func (p *parser) hloProto() *Module {
	var m *Module
	var a *BufferAssignment
	for p.enter("hlo_proto"); p.next(); {
		switch p.num {
		case 1:
			m = p.module()
		case 3:
			a = p.assignment()
		}
	}
	if m != nil {
		if m.Assignment = a; a == nil {
			m.missing = "the file holds no buffer assignment of this module"
		}
	}
	return m
}

// module reads an HloModuleProto.
func (p *parser) module() *Module {
	m := &Module{}
	p.names, p.nameEnds = p.names[:0], p.nameEnds[:0]
	p.hash.Reset()
	p.contents, p.scopedBytes = 0, 0
	for p.enter("hlo_module"); p.next(); {
		switch p.num {
		case 1:
			m.Name = p.text()
		case 3:
			p.computation(m)
		case 6:
			m.EntryID = p.int()
		case 8:
			p.aliases(m)
		case 14:
			p.sharding(m)
		case 15:
			p.devices(m)
		case 17:
			p.frames(&m.Frames)
		case 18:
			p.donors(m)
		}
	}
	m.name(string(p.names), p.nameEnds)
	m.Fingerprint = hex.EncodeToString(p.hash.Sum(nil)[:8])
	m.contents, m.ScopedBytes = p.contents, p.scopedBytes
	return m
}

// name gives all instructions their names, which lie end to end in one string.
func (m *Module) name(names string, ends []int) {
	start, n := 0, 0
	valid := utf8.ValidString(names)
	for i := range m.Computations {
		list := m.Computations[i].Instructions
		for j := range list {
			name := names[start:ends[n]]
			start, n = ends[n], n+1
			if !valid {
				name = strings.ToValidUTF8(name, "\ufffd")
			}
			list[j].Name = name
			// xla/hlo/transforms/simplifiers/hlo_rematerialization.cc names its copies so.
			if strings.Contains(name, ".remat") {
				m.Remat++
			}
		}
	}
}

// computation reads an HloComputationProto.
func (p *parser) computation(m *Module) {
	var c Computation
	p.instructions = p.instructions[:0]
	for p.enter("computations"); p.next(); {
		switch p.num {
		case 1:
			c.Name = p.text()
		case 2:
			p.instruction(len(m.Computations))
		case 5:
			c.ID = p.int()
		case 6:
			c.RootID = p.int()
		}
	}
	c.Instructions = slices.Clone(p.instructions)
	m.Computations = append(m.Computations, c)
}

// instruction reads an HloInstructionProto. Literals and backend configurations,
// often most of the bytes, are skipped but for the scratch memory that the latter name.
func (p *parser) instruction(computation int) {
	in := Instruction{computation: int32(computation)}
	at := p.at
	operands, called := p.operands[:0], p.more[:0]
	for p.enter("instructions"); p.next(); {
		switch p.num {
		case 1:
			p.names = append(p.names, p.textBytes()...)
		case 2:
			in.Opcode = p.text()
		case 3:
			in.Shape = p.shape()
		case 7:
			in.Metadata = p.opMetadata()
		case 9, 13:
			in.Number = p.int()
		case 35:
			in.ID = p.int()
		case 36:
			operands = p.ints(operands)
		case 38:
			called = p.ints(called)
		case 43:
			p.scoped()
		}
	}
	// Every instruction has an opcode. Asking for it also bounds what can be made
	// of a byte of the file.
	if in.Opcode == "" {
		p.fail(at, "instructions: want an opcode, found none")
	}
	in.Operands, in.Called = p.keep(operands), p.keep(called)
	p.operands, p.more = operands, called
	p.nameEnds = append(p.nameEnds, len(p.names))
	p.instructions = append(p.instructions, in)

	p.hashed = append(append(p.hashed[:0], in.Opcode...), 0)
	if in.Shape != nil {
		p.hashed = append(p.hashed, in.Shape.mark[:]...)
	}
	p.hash.Write(p.hashed)
	p.contents += spread(p.hashed)
}

// keep copies a list of numbers out of scratch memory.
func (p *parser) keep(list []int64) []int64 {
	if len(list) == 0 {
		return nil
	}
	if cap(p.chunk)-len(p.chunk) < len(list) {
		p.chunk = make([]int64, 0, max(512, len(list)))
	}
	start := len(p.chunk)
	p.chunk = append(p.chunk, list...)
	return p.chunk[start:len(p.chunk):len(p.chunk)]
}

// maxShapeDepth bounds tuples in tuples. Real programs stay under 10.
const maxShapeDepth = 32

// shape reads a ShapeProto.
func (p *parser) shape() *Shape {
	l := p.leaf("shape")
	if s, ok := p.shapes[string(l.b)]; ok {
		return s
	}
	return p.newShape(l, 1)
}

func (p *parser) newShape(l leaf, depth int) *Shape {
	if s, ok := p.shapes[string(l.b)]; ok {
		return s
	}
	if depth > maxShapeDepth {
		l.fail("tuples nest deeper than %d", maxShapeDepth)
		return nil
	}
	raw, s := string(l.b), &Shape{}
	var dims []int64
	sum := sha256.New()
	for l.next() {
		switch l.num {
		case 2:
			s.Type = ElementType(l.int())
		case 3:
			dims = l.ints(dims)
		case 4:
			e := p.newShape(l.inner("tuple_shapes"), depth+1)
			if e == nil {
				return nil
			}
			s.Tuple = append(s.Tuple, e)
			sum.Write(e.mark[:])
		case 5:
			for layout := l.inner("layout"); layout.next(); {
				if layout.num == 7 {
					s.ElementBits = layout.int()
				}
			}
		}
	}
	s.Dimensions = dims
	sum.Write([]byte(s.Type.String()))
	for _, n := range s.Dimensions {
		sum.Write([]byte{',', byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), byte(n >> 32), byte(n >> 40), byte(n >> 48), byte(n >> 56)})
	}
	s.mark = [16]byte(sum.Sum(nil))
	p.shapes[raw] = s
	return s
}

// opMetadata reads an OpMetadata.
func (p *parser) opMetadata() *OpMetadata {
	var m OpMetadata
	for l := p.leaf("metadata"); l.next(); {
		switch l.num {
		case 2:
			m.OpName = l.text()
		case 3:
			m.SourceFile = l.text()
		case 4:
			m.SourceLine = l.int()
		case 15:
			m.FrameID = l.int()
		}
	}
	if m == (OpMetadata{}) {
		return nil
	}
	if len(p.metadata) == cap(p.metadata) {
		p.metadata = make([]OpMetadata, 0, 128)
	}
	p.metadata = append(p.metadata, m)
	return &p.metadata[len(p.metadata)-1]
}

// frames reads a StackFrameIndexProto.
func (p *parser) frames(f *StackFrames) {
	for p.enter("stack_frame_index"); p.next(); {
		switch p.num {
		case 1:
			f.Files = append(f.Files, p.text())
		case 2:
			f.Functions = append(f.Functions, p.text())
		case 3:
			var at FrameLocation
			for l := p.leaf("file_locations"); l.next(); {
				switch l.num {
				case 1:
					at.FileID = l.int()
				case 2:
					at.FunctionID = l.int()
				case 3:
					at.Line = l.int()
				case 4:
					at.Column = l.int()
				}
			}
			f.Locations = append(f.Locations, at)
		case 4:
			var frame StackFrame
			for l := p.leaf("stack_frames"); l.next(); {
				switch l.num {
				case 1:
					frame.LocationID = l.int()
				case 2:
					frame.ParentID = l.int()
				}
			}
			f.Frames = append(f.Frames, frame)
		}
	}
}

// aliases reads an HloInputOutputAliasProto.
func (p *parser) aliases(m *Module) {
	for p.enter("input_output_alias"); p.next(); {
		if p.num != 1 {
			continue
		}
		var a ParameterAlias
		output, index := p.operands[:0], p.more[:0]
		for l := p.leaf("entries"); l.next(); {
			switch l.num {
			case 1:
				output = l.ints(output)
			case 2:
				a.Parameter = l.int()
			case 3:
				index = l.ints(index)
			}
		}
		a.Output, a.Index = p.keep(output), p.keep(index)
		m.Aliases = append(m.Aliases, a)
	}
}

// donors reads an HloBufferDonorProto.
func (p *parser) donors(m *Module) {
	for p.enter("buffer_donor"); p.next(); {
		if p.num != 1 {
			continue
		}
		var donor ParameterIndex
		index := p.more[:0]
		for l := p.leaf("entries"); l.next(); {
			switch l.num {
			case 1:
				donor.Parameter = l.int()
			case 2:
				index = l.ints(index)
			}
		}
		donor.Index = p.keep(index)
		m.Donors = append(m.Donors, donor)
	}
}
