package xla

import (
	"bytes"
	"io"
	"strconv"

	"github.com/peakgate/peakgate/measure"
)

// noInstructions says which of a plan's numbers a bare assignment cannot give.
const noInstructions = "a serialized buffer assignment tells neither shapes nor what made a buffer: dump protos (XLA_FLAGS=--xla_dump_hlo_as_proto)"

// bareAssignment reads a whole stream that is a BufferAssignmentProto: what
// compiled.memory_analysis().serialized_buffer_assignment_proto gives.
func (p *parser) bareAssignment() *Module {
	m := &Module{Assignment: p.assignment(), bare: noInstructions}
	// XLA writes the buffers first and assigns each of them: a file that is cut
	// between two fields lacks allocations, which its buffers miss.
	if l := m.find(); p.err == nil {
		for b, al := range l.allocation {
			if al < 0 {
				p.fail(p.pos(), "logical buffer %d is in no allocation: the file is cut off", m.Assignment.Buffers[b].ID)
				break
			}
		}
	}
	return m
}

// readText reads the formats that are text.
func (c *Capture) readText(r io.Reader) error {
	if c.Format == FormatStats {
		s, err := readStats(r, c.Name)
		c.Stats = s
		return err
	}
	head := make([]byte, len(assignmentTitle))
	n, _ := io.ReadFull(r, head)
	r = io.MultiReader(bytes.NewReader(head[:n]), r)
	if string(head[:n]) != assignmentTitle {
		totals, err := textReport(r, c.Name)
		c.Totals = totals
		return err
	}
	m, err := textAssignment(r, c.Name)
	c.Modules = []*Module{m}
	return err
}

// measureBare adds the rows and contributors of a module without instructions.
func (m *Module) measureBare(out *measure.Measurement) {
	missing := false
	for _, space := range m.Spaces() {
		labels := measure.Labels{"memory_space": space.String()}
		if m.doubt != "" {
			out.Rows = append(out.Rows, absent(labels, m.doubt)...)
			continue
		}
		p, err := m.Plan(space)
		if err != nil {
			out.Rows = append(out.Rows, absent(labels, err.Error())...)
			continue
		}
		missing = missing || p.Peak == nil
		for _, r := range p.rows(labels) {
			// What is live is known where there are traces; what it is for is not.
			switch r.Name {
			case "plan.padding_bytes", "plan.viewer_padding_bytes", "plan.forward_kept_bytes",
				"plan.backward_bytes", "plan.workspace_bytes", "plan.other_bytes":
				r = measure.Absent(r.Name, labels, m.bare)
			}
			out.Rows = append(out.Rows, r)
		}
		out.Contributors = append(out.Contributors, m.holders(p).contributors(p, labels)...)
	}
	whole := m.wholeRows(measure.Labels{}, missing)
	for _, r := range whole {
		switch {
		case m.doubt != "":
			r = measure.Absent(r.Name, r.Labels, m.doubt)
		case r.Name == remat:
			r = measure.Absent(r.Name, r.Labels, m.bare)
		}
		out.Rows = append(out.Rows, r)
	}
}

// bareName names a buffer where the file holds no instructions: by the name that
// a text gives it, else by its id, which another compilation may number otherwise.
func (m *Module) bareName(b *LogicalBuffer) (name string, exact bool) {
	if name, ok := m.bufferNames[b.ID]; ok && name != "" {
		return name, false
	}
	return "buffer " + strconv.FormatInt(b.ID, 10), true
}

// HasPlan reports whether an HloProto holds a buffer assignment, of which it reads
// no more than where it is.
func HasPlan(r io.Reader, size int64, name string) (bool, error) {
	d, has := newDecoder(r, size, name), false
	for d.enter("hlo_proto"); d.next(); {
		has = has || d.num == 3
	}
	return has, d.err
}
