package xla

import (
	"cmp"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// holders says who holds the bytes of a plan.
type holders struct {
	arguments, outputs []holder
	lasting            []holder // arguments, unaliased outputs, constants
	indefinite         []holder // those of lasting that are part of the heap peak
	temp               []holder // the temp block
	live               []holder // temporaries at the heap peak
}

func (m *Module) holders(p *Plan) holders {
	var hs holders
	for i := range m.Assignment.Allocations {
		al := &m.Assignment.Allocations[i]
		if al.Space != p.Space {
			continue
		}
		kind := al.Kind()
		var h holder
		switch kind {
		case ThreadLocal, Temp:
			continue
		case Argument:
			h = m.argumentHolder(al)
			hs.arguments = append(hs.arguments, h)
			if al.MaybeLiveOut {
				hs.outputs = append(hs.outputs, m.outputHolder(al))
			}
		case Output:
			h = m.outputHolder(al)
			hs.outputs = append(hs.outputs, h)
		case Constant:
			h = m.lastingHolder(al, m.largest(al), ClassConstant)
		}
		hs.lasting = append(hs.lasting, h)
		if m.holdsBuffer(al) {
			hs.indefinite = append(hs.indefinite, h)
		}
	}
	hs.temp, hs.live = m.tempHolders(p)
	return hs
}

// contributors gives, for each metric that has contributors of its own, a list that
// adds up to the metric.
func (hs holders) contributors(p *Plan, labels measure.Labels) []measure.Contributor {
	var out []measure.Contributor
	add := func(metric string, total int64, holders []holder) {
		out = append(out, group(metric, labels, total, holders)...)
	}
	add("plan.need_bytes", p.NeedBytes, append(slices.Clip(hs.lasting), hs.temp...))
	add("plan.argument_bytes", p.ArgumentBytes, hs.arguments)
	add("plan.output_bytes", p.OutputBytes, hs.outputs)
	add("plan.temp_bytes", p.TempBytes, hs.temp)
	if p.Peak != nil {
		add("plan.heap_peak_bytes", p.Peak.HeapBytes, append(slices.Clip(hs.indefinite), hs.live...))
	}
	return out
}

// tempHolders gives what the temp block holds at the peak of its trace, with what
// fragmentation leaves unused, and of that what is live. Where the trace tells
// nothing of the block, it is one holder.
func (m *Module) tempHolders(p *Plan) (block, live []holder) {
	if p.Peak != nil && p.Peak.Simulation != nil {
		for _, r := range p.Peak.Simulation.Live() {
			if size := m.Assignment.Buffers[r.Memory].SizeBytes; size > 0 {
				o := m.liveOrigin(r, p.Peak.Simulation.sharers[int32(r.Memory)])
				h := m.bufferHolder(int32(r.Buffer), m.class(r.Buffer, o), o)
				h.bytes = size
				live = append(live, h)
			}
		}
	}
	if p.TempBytes == 0 {
		return nil, live
	}
	left := p.TempBytes
	for _, h := range live {
		left -= h.bytes
	}
	if left < 0 || len(live) == 0 {
		return []holder{{class: ClassTemp, bytes: p.TempBytes, unpadded: p.TempBytes, name: "temp block", exact: true}}, live
	}
	block = live
	if left > 0 {
		block = append(block[:len(block):len(block)], holder{class: ClassTemp, bytes: left, unpadded: left, name: "fragmentation", exact: true})
	}
	return block, live
}

// bufferHolder names a logical buffer by the origin of its value.
func (m *Module) bufferHolder(b int32, class Class, o origin) holder {
	buf := &m.Assignment.Buffers[b]
	h := holder{class: class, bytes: buf.SizeBytes, unpadded: m.unpadded(b), name: "unknown", exact: true}
	in := m.instruction(buf.Instruction)
	if in == nil || o.by == nil {
		if m.bare != "" {
			h.name, h.exact = m.bareName(buf)
		}
		return h
	}
	h.shape, h.name, h.opcode, h.copy = in.Shape.At(buf.Index), in.Opcode, in.Opcode, o.argument
	if name := o.by.opName(); name != "" {
		h.name, h.exact = withoutJit(withoutParameters(name)), false
		if o.argument {
			h.name = "copy of " + h.name
		}
	}
	if h.frame, _ = m.Source(o.by.Metadata); h.frame.File == "" {
		h.frame, _ = m.Source(in.Metadata)
	}
	if h.frame.File == "" && o.argument {
		h.frame = m.usedAt(in)
	}
	return h
}

// lastingHolder names an allocation that lives throughout by one of its buffers.
func (m *Module) lastingHolder(al *BufferAllocation, b int32, class Class) holder {
	h := holder{class: class, name: "unknown", exact: true}
	if b >= 0 {
		buf := &m.Assignment.Buffers[b]
		h = m.bufferHolder(b, class, m.originOf(m.instruction(buf.Instruction), buf.Index))
	}
	h.bytes = al.SizeBytes
	return h
}

// argumentHolder names an argument as the program does (JAX: params['emb']), else
// by its number.
func (m *Module) argumentHolder(al *BufferAllocation) holder {
	h := holder{class: ClassArgument, bytes: al.SizeBytes, unpadded: al.SizeBytes, opcode: "parameter", name: "argument " + ParameterIndex{al.Parameter, al.ParameterIndex}.String(), exact: true}
	in := m.find().parameter[al.Parameter]
	if in == nil {
		return h
	}
	if h.shape = in.Shape.At(al.ParameterIndex); h.shape != nil {
		h.unpadded = min(al.SizeBytes, h.shape.UnpaddedBytes())
	}
	if in.Metadata != nil && in.Metadata.OpName != "" {
		h.name, h.exact = withoutJit(in.Metadata.OpName)+indexText(al.ParameterIndex), false
		h.frame, _ = m.Source(in.Metadata)
	}
	return h
}

// outputHolder names an output by the instruction that computes it: the same
// whether or not it is written over a parameter.
func (m *Module) outputHolder(al *BufferAllocation) holder {
	l := m.find()
	best := m.largest(al)
	for _, p := range al.Assigned {
		if b, ok := l.buffer[p.Buffer]; ok && l.output[p.Buffer] {
			best = b
			break
		}
	}
	return m.lastingHolder(al, best, ClassOutput)
}

// group makes one contributor of the holders with equal keys.
func group(metric string, labels measure.Labels, total int64, holders []holder) []measure.Contributor {
	type member struct {
		holder
		count, sum int64
		mixed      bool // they have different shapes
	}
	members := map[string]*member{}
	var order []string
	for _, h := range holders {
		key := h.key()
		g, ok := members[key]
		if !ok {
			g = &member{holder: h}
			members[key] = g
			order = append(order, key)
		} else {
			g.mixed = g.mixed || !sameShape(h.shape, g.shape)
			if h.before(&g.holder) {
				g.holder = h
			}
		}
		g.count++
		g.sum += h.bytes
	}
	list := make([]measure.Contributor, 0, len(order))
	for _, key := range order {
		g := members[key]
		c := measure.Contributor{
			Metric: metric, Labels: labels, Key: key, Display: g.display(g.count, g.mixed),
			Bytes: measure.Bytes(g.sum), Count: g.count, Class: string(g.class),
		}
		if g.frame.File != "" {
			c.Source = &measure.Source{File: g.frame.File, Line: g.frame.Line}
		}
		list = append(list, c)
	}
	return measure.KeepLargest(metric, labels, measure.Bytes(total), list)
}

func sameShape(a, b *Shape) bool {
	return a == b || a != nil && b != nil && a.String() == b.String()
}

// before reports whether h rather than g stands for a group: the largest, and
// among equals the one that does not depend on the order of the file.
func (h *holder) before(g *holder) bool {
	if h.bytes != g.bytes {
		return h.bytes > g.bytes
	}
	if c := cmp.Or(strings.Compare(h.frame.File, g.frame.File), cmp.Compare(h.frame.Line, g.frame.Line), strings.Compare(h.name, g.name)); c != 0 {
		return c < 0
	}
	return h.shape != g.shape && h.shape.String() < g.shape.String()
}
