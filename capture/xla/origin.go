package xla

import (
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

// class tells what a temporary buffer is for, from the name stack that JAX leaves
// in op_name: "transpose(" is the backward pass, "jvp(" alone the forward pass of a
// program that has one. A bytes output among several of a custom call is the
// workspace of a library (cuBLAS, cuDNN, and ROCm under the same names), whatever
// pass calls it.
func (m *Module) class(b int) Class {
	buf := &m.Assignment.Buffers[b]
	if in := m.instruction(buf.Instruction); in != nil && in.Opcode == "custom-call" && len(buf.Index) > 0 {
		if s := in.Shape.At(buf.Index); s != nil && (s.Type == s8 || s.Type == u8) && len(s.Dimensions) == 1 {
			return Workspace
		}
	}
	name := ""
	if o := m.origin(buf.Instruction, buf.Index); o != nil && o.Metadata != nil {
		name = o.Metadata.OpName
	}
	switch {
	case strings.Contains(name, "transpose("):
		return Backward
	case strings.Contains(name, "jvp("):
		return ForwardKept
	}
	return ClassTemp
}

// maxSteps bounds the search for an origin; the longest real ones take under ten.
const maxSteps = 64

// origin finds the instruction that tells where a value comes from: the one that
// defines it if it has an op_name, else one whose value it carries on (through
// copies, tuples, loops, calls and fusions), else the defining one. It is nil if
// the file does not hold the instruction.
func (m *Module) origin(id int64, index []int64) *Instruction {
	first := m.instruction(id)
	in := first
	for step := 0; in != nil && step < maxSteps; step++ {
		if in.Metadata != nil && in.Metadata.OpName != "" {
			return in
		}
		in, index = m.carries(in, index)
	}
	return first
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
		if len(index) > 0 {
			return m.operand(in, index[0]), index[1:]
		}
	case "fusion", "call", "async-start":
		if len(in.Called) > 0 {
			return m.root(in.Called[0]), index
		}
	}
	return m.operand(in, 0), index
}

// argument follows a parameter of a called computation to what the caller passes.
func (m *Module) argument(in *Instruction, index []int64) (*Instruction, []int64) {
	l := m.find()
	at := l.instruction[in.ID]
	// Computations are contiguous in the list of instructions, in order.
	lo, hi := 0, len(m.Computations)
	for lo < hi {
		if mid := (lo + hi) / 2; m.Computations[mid].Limit <= int(at) {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(m.Computations) {
		return nil, nil
	}
	c, ok := l.caller[m.Computations[lo].ID]
	if !ok {
		return nil, nil
	}
	caller := &m.Instructions[c]
	n := in.Number
	if caller.Opcode == "conditional" {
		n++ // the first operand chooses the branch
	}
	return m.operand(caller, n), index
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
	for range len(f.Frames) { // a parent that is its own ancestor ends with the count
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
