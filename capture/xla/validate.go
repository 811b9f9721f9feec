package xla

import (
	"fmt"
)

// Validate checks that the capture is consistent in itself: ids are known and
// unique, buffers lie within their allocations, heap traces refer to one
// allocation and never free what is not live, and sums hold. A capture that fails
// is damaged or forged: no number of it is to be believed.
func (c *Capture) Validate() error {
	seen := map[string]bool{}
	for _, m := range c.Modules {
		if seen[m.Title()] {
			return c.where(m, fmt.Errorf("occurs twice in one file"))
		}
		seen[m.Title()] = true
		for _, check := range []func() error{m.checkInstructions, m.checkBuffers, m.checkTraces, m.checkPlans} {
			if err := check(); err != nil {
				return c.where(m, err)
			}
		}
	}
	return nil
}

// checkInstructions checks ids of computations and instructions.
func (m *Module) checkInstructions() error {
	if m.bare != "" {
		return nil
	}
	l := m.find()
	if len(l.computation) != len(m.Computations) {
		return fmt.Errorf("two of its %d computations have one id", len(m.Computations))
	}
	if n := m.InstructionCount(); len(l.instruction) != n {
		return fmt.Errorf("two of its %d instructions have one id", n)
	}
	if _, ok := l.computation[m.EntryID]; !ok && m.Assignment != nil {
		return fmt.Errorf("entry computation %d is not among its computations", m.EntryID)
	}
	return nil
}

// checkBuffers checks the logical buffers and their places.
func (m *Module) checkBuffers() error {
	a, l := m.Assignment, m.find()
	if a == nil {
		return nil
	}
	if len(l.buffer) != len(a.Buffers) {
		return fmt.Errorf("two of its %d logical buffers have one id", len(a.Buffers))
	}
	for i := range a.Buffers {
		if b := &a.Buffers[i]; m.bare == "" && m.instruction(b.Instruction) == nil {
			return fmt.Errorf("logical buffer %d: instruction %d is not in the module", b.ID, b.Instruction)
		}
	}
	if n := len(m.Spaces()); n > maxSpaces {
		return fmt.Errorf("more than %d memory spaces", maxSpaces)
	}
	index := map[int64]bool{}
	assigned := map[int64]int64{}
	for i := range a.Allocations {
		al := &a.Allocations[i]
		if index[al.Index] {
			return fmt.Errorf("buffer allocation %d occurs twice", al.Index)
		}
		index[al.Index] = true
		for _, p := range al.Assigned {
			if _, ok := l.buffer[p.Buffer]; !ok {
				return fmt.Errorf("buffer allocation %d: buffer %d is not among the logical buffers", al.Index, p.Buffer)
			}
			if other, ok := assigned[p.Buffer]; ok {
				return fmt.Errorf("logical buffer %d is assigned to allocations %d and %d", p.Buffer, other, al.Index)
			}
			assigned[p.Buffer] = al.Index
			if p.OffsetBytes+p.SizeBytes > al.SizeBytes {
				return fmt.Errorf("buffer allocation %d: buffer %d ends at %d of %d bytes", al.Index, p.Buffer, p.OffsetBytes+p.SizeBytes, al.SizeBytes)
			}
		}
	}
	return nil
}

// maxTraces bounds the heap traces of a module, each of which costs a replay. Real
// modules have one for each temp block.
const maxTraces = 64

// checkTraces replays every heap trace, also those that stand for no memory space.
func (m *Module) checkTraces() error {
	if m.Assignment == nil {
		return nil
	}
	if n := len(m.Assignment.Traces); n > maxTraces {
		return fmt.Errorf("%d heap traces, want at most %d", n, maxTraces)
	}
	l := m.find()
	for i, t := range m.Assignment.Traces {
		if _, err := m.simulate(i); err != nil {
			return fmt.Errorf("heap_simulator_traces[%d]: %w", i, err)
		}
		for e, ev := range t.Events {
			first, here := l.allocation[l.buffer[t.Events[0].Buffer]], l.allocation[l.buffer[ev.Buffer]]
			if here != first || here < 0 {
				return fmt.Errorf("heap_simulator_traces[%d]: event %d: buffer %d is not in the allocation of buffer %d", i, e, ev.Buffer, t.Events[0].Buffer)
			}
		}
	}
	_, err := m.CompilerPeak()
	return err
}

// checkPlans checks the sums that define the metrics.
func (m *Module) checkPlans() error {
	for _, space := range m.Spaces() {
		p, err := m.Plan(space)
		if err != nil {
			return fmt.Errorf("memory space %s: %w", space, err)
		}
		if sum := p.ArgumentBytes + p.UnaliasedOutputBytes + p.ConstantBytes + p.TempBytes; sum != p.NeedBytes {
			return fmt.Errorf("memory space %s: internal error: parts of %d bytes, need of %d", space, sum, p.NeedBytes)
		}
	}
	return nil
}
