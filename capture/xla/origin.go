package xla

import (
	"slices"
	"strings"
)

// Class is what a live buffer is for.
type Class string

// The classes. The first three live through the whole execution.
const (
	ClassArgument Class = "argument"
	ClassOutput   Class = "output"
	ClassConstant Class = "constant"
	ForwardKept   Class = "forward_kept" // made by the forward pass and kept for the backward pass
	Backward      Class = "backward"     // made by the backward pass
	Workspace     Class = "workspace"    // of a library call
	ClassTemp     Class = "temp"         // any other intermediate
)

// origin is where a buffer's value comes from.
type origin struct {
	// by is the instruction that tells: it has an op_name unless nothing has. It
	// is nil where the file does not hold the instruction.
	by       *Instruction
	argument bool // a copy of an argument, or a part of one
}

// class tells what a temporary buffer is for, from the name stack that JAX leaves
// in op_name: "transpose(" is the backward pass, "jvp(" alone the forward pass of a
// program that has one. A bytes output among several of a custom call is the
// workspace of a library (cuBLAS, cuDNN, and ROCm under the same names), whatever
// pass calls it.
func (m *Module) class(b int, o origin) Class {
	buf := &m.Assignment.Buffers[b]
	if in := m.instruction(buf.Instruction); in != nil && in.Opcode == "custom-call" && len(buf.Index) > 0 {
		if s := in.Shape.At(buf.Index); s != nil && (s.Type == s8 || s.Type == u8) && len(s.Dimensions) == 1 {
			return Workspace
		}
	}
	switch {
	case o.by == nil || o.argument:
	case strings.Contains(o.by.opName(), "transpose("):
		return Backward
	case strings.Contains(o.by.opName(), "jvp("):
		return ForwardKept
	}
	return ClassTemp
}

// maxSteps bounds the search for an origin; the longest real ones take under ten.
const maxSteps = 64

// forwarding are the opcodes that pass a value on: the name of such an
// instruction says less than that of the one that made the value.
var forwarding = []string{"tuple", "get-tuple-element", "parameter", "while", "call", "bitcast", "optimization-barrier"}

// liveOrigin finds the origin of what memory holds in a live range. sharers are the
// other buffers (indexes) that used the memory. Memory that a loop fills slice by
// slice (jax.lax.scan stacks its results so) begins as an empty block without a
// name, or with that of its fill value: what a loop stores in it tells more.
func (m *Module) liveOrigin(r LiveRange, sharers []int32) origin {
	sharers = sharers[:min(len(sharers), maxSteps)]
	for _, b := range sharers {
		if o, ok := m.stored(&m.Assignment.Buffers[b]); ok {
			return o
		}
	}
	buf := &m.Assignment.Buffers[r.Buffer]
	o := m.originOf(m.instruction(buf.Instruction), buf.Index)
	for _, b := range sharers {
		if o.by != nil && o.by.opName() != "" {
			break
		}
		buf := &m.Assignment.Buffers[b]
		if s := m.originOf(m.instruction(buf.Instruction), buf.Index); s.by != nil && s.by.opName() != "" {
			o = s
		}
	}
	return o
}

// originOf follows a value to the instruction that tells where it comes from: the
// one that defines it if it has an op_name and does not just pass it on, else one
// whose value it carries on (through copies, tuples, loops, calls and fusions).
func (m *Module) originOf(in *Instruction, index []int64) origin {
	first, named := in, (*Instruction)(nil)
	for step := 0; in != nil && step < maxSteps; step++ {
		if name := in.opName(); name != "" {
			if m.find().argument[name] {
				return origin{by: in, argument: true}
			}
			if !slices.Contains(forwarding, in.Opcode) {
				return origin{by: in}
			}
			if named == nil {
				named = in
			}
		}
		in, index = m.carries(in, index)
	}
	if named == nil {
		named = first
	}
	return origin{by: named}
}

// stored gives the origin of the slices that a dynamic-update-slice, alone or at the
// end of a fusion, writes into a buffer; ok is false where the buffer is defined
// by something else.
func (m *Module) stored(buf *LogicalBuffer) (o origin, ok bool) {
	in, index := m.instruction(buf.Instruction), buf.Index
	for step := 0; in != nil && step < maxSteps; step++ {
		switch in.Opcode {
		case "dynamic-update-slice":
			update := in
			in, index = m.operand(in, 1), nil
			for ; in != nil && step < maxSteps; step++ {
				// JAX's own steps around the slice say nothing of it.
				if name := in.opName(); name != "" && !strings.Contains(name, "dynamic_update_") && !slices.Contains(forwarding, in.Opcode) {
					return origin{by: in}, true
				}
				in, index = m.carries(in, index)
			}
			return origin{by: update}, true
		case "fusion", "tuple", "bitcast", "async-start", "async-done", "call":
			in, index = m.carries(in, index)
		default:
			return origin{}, false
		}
	}
	return origin{}, false
}

// carries gives the instruction, and the index of its shape, whose value the one
// at hand carries on; nil at the end of the trail.
func (m *Module) carries(in *Instruction, index []int64) (*Instruction, []int64) {
	switch in.Opcode {
	case "constant", "iota":
		return nil, nil
	case "parameter":
		return m.argument(in, index)
	case "get-tuple-element":
		return m.operand(in, 0), append([]int64{in.Number}, index...)
	case "tuple":
		if len(index) == 0 {
			return nil, nil
		}
		return m.operand(in, index[0]), index[1:]
	case "fusion", "call", "async-start", "while":
		// The first computation that a while calls is its body.
		if len(in.Called) > 0 {
			return m.root(in.Called[0]), index
		}
	}
	return m.operand(in, 0), index
}

// argument follows a parameter of a called computation to what the caller passes.
func (m *Module) argument(in *Instruction, index []int64) (*Instruction, []int64) {
	caller := m.find().caller[m.Computations[in.computation].ID]
	if caller == nil {
		return nil, nil
	}
	n := in.Number
	if caller.Opcode == "conditional" {
		n++ // the first operand chooses the branch
	}
	return m.operand(caller, n), index
}

// usedAt gives the place of the first operation that takes the value of an
// instruction which the compiler added, and which has no place of its own: a copy of
// an argument is made for the update that would else be written over it.
func (m *Module) usedAt(in *Instruction) Frame {
	for step := 0; in != nil && step < maxSteps; step++ {
		if in = m.firstUser(in.ID); in == nil {
			break
		}
		if f, ok := m.Source(in.Metadata); ok {
			return f
		}
		if in.Opcode == "fusion" && len(in.Called) > 0 {
			if root := m.root(in.Called[0]); root != nil {
				if f, ok := m.Source(root.Metadata); ok {
					return f
				}
			}
		}
	}
	return Frame{}
}

func (m *Module) operand(in *Instruction, n int64) *Instruction {
	if n < 0 || n >= int64(len(in.Operands)) {
		return nil
	}
	return m.instruction(in.Operands[n])
}

// Frame is a place in the user's program.
type Frame struct {
	File     string
	Line     int
	Function string
}

// libraries mark files that are not the user's own.
var libraries = []string{"/site-packages/", "/dist-packages/", "/jax/_src/", "/lib/python", "<frozen", "<string>", "<stdin>"}

// maxFrames bounds how far Source looks. Python's own stacks end at 1000 frames.
const maxFrames = 1000

// Source gives the innermost frame of the user's own code that the instruction
// was made by; the innermost of all where every frame is in a library.
func (m *Module) Source(o *OpMetadata) (Frame, bool) {
	if o == nil {
		return Frame{}, false
	}
	f := &m.Frames
	var leaf Frame
	found := false
	id := o.FrameID
	for range maxFrames { // a parent that is its own ancestor ends with the count
		if id < 1 || id > int64(len(f.Frames)) {
			break
		}
		frame := f.Frames[id-1]
		id = frame.ParentID
		if frame.LocationID < 1 || frame.LocationID > int64(len(f.Locations)) {
			continue
		}
		at := f.Locations[frame.LocationID-1]
		here := Frame{File: entry(f.Files, at.FileID), Line: int(at.Line), Function: entry(f.Functions, at.FunctionID)}
		if here.File == "" {
			continue
		}
		if !found {
			leaf, found = here, true
		}
		if !isLibrary(here.File) {
			return here, true
		}
	}
	if o.SourceFile != "" && (!found || !isLibrary(o.SourceFile)) {
		return Frame{File: o.SourceFile, Line: int(o.SourceLine)}, true
	}
	return leaf, found
}

func entry(list []string, id int64) string {
	if id < 1 || id > int64(len(list)) {
		return ""
	}
	return list[id-1]
}

func isLibrary(file string) bool {
	for _, l := range libraries {
		if strings.Contains(file, l) {
			return true
		}
	}
	return false
}
