package xla

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
)

// Lines of *-buffer-assignment.txt, as BufferAssignment::ToString writes them:
// https://github.com/openxla/xla/blob/main/xla/service/buffer_assignment.cc
//
//	BufferAssignment:
//	allocation 4: size 16, color 1, parameter 2, shape |f32[4]| at ShapeIndex {0}, output shape is |f32[4]|, maybe-live-out:
//	 value: <17 tuple.1{} @0> (size=16,offset=0): (f32[4]{0})
//
//	Total bytes used: 16 (16B)
//
// What follows the total (all values once more, and live ranges) is not read. Since
// jaxlib 0.10 the total is in a file of its own.
const assignmentTitle = "BufferAssignment:"

// noTotal says why a text that says nothing of its own sum is not believed.
const noTotal = "the text holds no \"Total bytes used\" line, so whether it is cut off cannot be told: " +
	"keep XLA's *-memory-usage-report.txt in the same folder, or dump protos (XLA_FLAGS=--xla_dump_hlo_as_proto)"

// noShapes says which of a plan's numbers a text cannot give.
const noShapes = "XLA's text tells neither live ranges nor what made a buffer: dump protos (XLA_FLAGS=--xla_dump_hlo_as_proto)"

// textAssignment reads a *-buffer-assignment.txt into a module without instructions.
func textAssignment(r io.Reader, name string) (*Module, error) {
	l := newLines(r, name)
	m := &Module{Assignment: &BufferAssignment{}, bare: noShapes, bufferNames: map[int64]string{}}
	t := textParser{lines: l, m: m}
	if !l.next() || string(l.line) != assignmentTitle {
		return nil, cmp.Or(l.err, l.fail("want %q, found %s", assignmentTitle, l.found()))
	}
	ended := l.ended
	for total := false; !total && l.next(); {
		ended = l.ended
		var err error
		switch {
		case len(l.line) == 0:
		case l.eat("allocation "):
			err = t.allocation()
		case l.eat(" value: "):
			err = t.value()
		case l.eat("Total bytes used: "):
			total, err = true, t.total()
		default:
			err = l.fail("want an allocation, a value or the total, found %s", l.found())
		}
		if err != nil {
			return nil, err
		}
	}
	if l.err != nil {
		return nil, l.err
	}
	if !t.totalled {
		if !ended || t.begun() {
			return nil, fmt.Errorf("%s:%d: the file ends within allocation %d: it is cut off", name, l.number, len(m.Assignment.Allocations)-1)
		}
		m.doubt = noTotal
	}
	return m, l.drain()
}

// textParser makes a buffer assignment of the lines of a text.
type textParser struct {
	*lines
	m        *Module
	sum, end int64 // sum of all allocations; end of the last value in the current one
	totalled bool
}

// begun reports whether the last allocation is filled by its values, as all
// allocations are, or begun only.
func (t *textParser) begun() bool {
	list := t.m.Assignment.Allocations
	return len(list) == 0 || t.end < list[len(list)-1].SizeBytes
}

// allocation reads the line that begins an allocation.
func (t *textParser) allocation() (err error) {
	a := t.m.Assignment
	var al BufferAllocation
	if al.Index, err = t.integer("allocation", math.MaxInt32); err != nil {
		return err
	}
	if al.Index != int64(len(a.Allocations)) {
		return t.fail("want allocation %d, found %d: lines are missing", len(a.Allocations), al.Index)
	}
	if err = t.want(": size "); err != nil {
		return err
	}
	if al.SizeBytes, err = t.integer("size", maxSize); err != nil {
		return err
	}
	if t.sum > math.MaxInt64-al.SizeBytes {
		return t.fail("allocations of more than %d bytes", int64(math.MaxInt64))
	}
	t.sum += al.SizeBytes
	t.end = 0
	for t.eat(", ") {
		if err := t.mark(&al); err != nil {
			return err
		}
	}
	if err := t.want(":"); err != nil {
		return err
	}
	if t.at != len(t.line) {
		return t.fail("want the end of the line, found %s", t.found())
	}
	a.Allocations = append(a.Allocations, al)
	return nil
}

// mark reads one of the marks of an allocation.
func (t *textParser) mark(al *BufferAllocation) (err error) {
	var n int64
	switch {
	case t.eat("color "):
		n, err = t.integer("color", math.MaxInt32)
		al.Space = MemorySpace(n)
	case t.eat("parameter "):
		al.EntryParameter = true
		al.Parameter, err = t.integer("parameter", math.MaxInt32)
	case t.eat("shape |"):
		if err = t.shape(); err == nil {
			err = t.want(" at ShapeIndex {")
		}
		for err == nil && !t.eat("}") {
			if len(al.ParameterIndex) > 0 {
				err = t.want(",")
			}
			if err == nil {
				n, err = t.integer("shape index", math.MaxInt32)
				al.ParameterIndex = append(al.ParameterIndex, n)
			}
		}
	case t.eat("output shape is |"):
		err = t.shape()
	case t.eat("constant"):
		al.Constant = true
	case t.eat("thread-local"):
		al.ThreadLocal = true
	case t.eat("maybe-live-out"):
		al.MaybeLiveOut = true
	case t.eat("preallocated-temp"): // a temp block is what has no other mark
	default:
		err = t.fail("want a mark of an allocation (constant, maybe-live-out …), found %s: this release of XLA writes another text; dump protos", t.found())
	}
	return err
}

// shape passes over a shape and the bar behind it.
func (t *textParser) shape() error {
	i := bytes.IndexByte(t.line[t.at:], '|')
	if i < 0 {
		return t.fail("want a shape that ends in \"|\", found %s", t.found())
	}
	t.at += i + 1
	return nil
}

// value reads a line of the current allocation: <id name @color> (size=n,offset=n): shape.
func (t *textParser) value() (err error) {
	a := t.m.Assignment
	if len(a.Allocations) == 0 {
		return t.fail("want an allocation before its values, found %s", t.found())
	}
	al := &a.Allocations[len(a.Allocations)-1]
	var b LogicalBuffer
	p := AssignedBuffer{}
	if err = t.want("<"); err != nil {
		return err
	}
	if b.ID, err = t.integer("value", math.MaxInt64); err != nil {
		return err
	}
	if err = t.want(" "); err != nil {
		return err
	}
	const middle = "> (size="
	to := bytes.Index(t.line[t.at:], []byte(middle))
	if to < 0 {
		return t.fail("want <id name @color> (size=…,offset=…), found %s", t.found())
	}
	to += t.at
	color := bytes.LastIndex(t.line[t.at:to], []byte(" @"))
	if color < 0 {
		return t.fail("want a name and its color, found %s", t.found())
	}
	t.m.bufferNames[b.ID] = bufferName(t.line[t.at : t.at+color])
	t.at += color + len(" @")
	n, err := t.integer("color", math.MaxInt32)
	if err != nil {
		return err
	}
	b.Space = MemorySpace(n)
	if err = t.want(middle); err != nil {
		return err
	}
	if p.SizeBytes, err = t.integer("size", maxSize); err != nil {
		return err
	}
	if err = t.want(",offset="); err != nil {
		return err
	}
	if p.OffsetBytes, err = t.integer("offset", maxSize); err != nil {
		return err
	}
	if p.OffsetBytes+p.SizeBytes > al.SizeBytes {
		return t.fail("value %d ends at %d of the %d bytes of allocation %d", b.ID, p.OffsetBytes+p.SizeBytes, al.SizeBytes, al.Index)
	}
	if err = t.want("):"); err != nil {
		return err
	}
	b.SizeBytes, p.Buffer = p.SizeBytes, b.ID
	t.end = max(t.end, p.OffsetBytes+p.SizeBytes)
	a.Buffers = append(a.Buffers, b)
	al.Assigned = append(al.Assigned, p)
	return nil
}

// total reads the total and compares it with the sum of the allocations.
func (t *textParser) total() error {
	at := t.at
	n, err := t.integer("total", math.MaxInt64)
	if err != nil {
		return err
	}
	if err := t.want(" ("); err != nil {
		return err
	}
	if t.at = at; n != t.sum {
		return t.fail("the total is %d bytes, the %d allocations above have %d: lines are missing", n, len(t.m.Assignment.Allocations), t.sum)
	}
	t.totalled = true
	return nil
}

// bufferName is a value's name without its index and marks: "while.7{1} (phi)"
// is while.7.
func bufferName(b []byte) string {
	if i := bytes.IndexAny(b, "{ "); i >= 0 {
		b = b[:i]
	}
	return clip(string(bytes.ToValidUTF8(b, []byte("\ufffd"))), maxKey)
}
