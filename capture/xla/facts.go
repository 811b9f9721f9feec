package xla

import (
	"fmt"

	"github.com/peakgate/peakgate/measure"
)

// shapes gives the texts of shapes for the facts of a module.
func shapes(list []*Shape) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.String()
	}
	return out
}

// fact describes the module.
func (m *Module) fact(labels measure.Labels) measure.ModuleFact {
	f := measure.ModuleFact{
		Labels: labels, Instructions: int64(m.InstructionCount()), Computations: int64(len(m.Computations)),
		Fingerprint: m.Fingerprint, Aliased: int64(len(m.Aliases)), Remat: m.Remat, Assigned: m.Assignment != nil,
		Partitions: m.Partitions, Sharded: m.Sharded, Contents: fmt.Sprintf("%016x", m.contents),
	}
	f.Checkpointed, f.Scopes = m.checkpointed()
	for i := range m.Computations {
		for j := range m.Computations[i].Instructions {
			switch m.Computations[i].Instructions[j].Opcode {
			case "dynamic-update-slice", "scatter":
				f.Updates++
			}
		}
	}
	l := m.find()
	var parameters []*Shape
	for n := int64(0); l.parameter[n] != nil; n++ {
		parameters = append(parameters, l.parameter[n].Shape)
	}
	f.Parameters = shapes(parameters)
	if root := m.root(m.EntryID); root != nil && root.Shape != nil {
		if root.Shape.Type == tuple {
			f.Outputs = shapes(root.Shape.Tuple)
		} else {
			f.Outputs = shapes([]*Shape{root.Shape})
		}
	}
	for _, d := range m.Donors {
		if !l.aliased[d.String()] {
			f.Donors++
		}
	}
	if m.Assignment != nil {
		f.Aliased = 0
		for i := range m.Assignment.Allocations {
			if m.donated(&m.Assignment.Allocations[i]) {
				f.Aliased++
			}
		}
	}
	return f
}

// moduleLabels are the labels of all that is said of the module.
func (m *Module) moduleLabels() measure.Labels {
	labels := measure.Labels{"module": m.Name}
	if m.Program != "" {
		labels["program"] = m.Program
	}
	return labels
}
