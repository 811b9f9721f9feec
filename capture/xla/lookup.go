package xla

import "slices"

// lookup finds parts of a module by their ids. It is built once, when first needed.
type lookup struct {
	instruction map[int64]*Instruction
	computation map[int64]int32        // id → index in Computations
	caller      map[int64]*Instruction // computation id → the (first) instruction that calls it
	parameter   map[int64]*Instruction // number → the entry computation's parameter
	argument    map[string]bool        // the parameters' op_names
	aliased     map[string]bool        // parameters of Module.Aliases
	buffer      map[int64]int32        // id → index in Buffers
	allocation  []int32                // buffer index → index in Allocations, -1 for none
	output      map[int64]bool         // ids of buffers that are the program's outputs
	user        map[int64]*Instruction // id → the (first) instruction that takes its value; see firstUser
}

func (m *Module) find() *lookup {
	if m.lookup != nil {
		return m.lookup
	}
	l := &lookup{
		instruction: make(map[int64]*Instruction, m.InstructionCount()),
		computation: make(map[int64]int32, len(m.Computations)),
		caller:      map[int64]*Instruction{},
		parameter:   map[int64]*Instruction{},
		argument:    map[string]bool{},
		aliased:     make(map[string]bool, len(m.Aliases)),
		buffer:      map[int64]int32{},
		output:      map[int64]bool{},
	}
	for _, a := range m.Aliases {
		l.aliased[a.ParameterIndex.String()] = true
	}
	for i := range m.Computations {
		c := &m.Computations[i]
		l.computation[c.ID] = int32(i)
		for j := range c.Instructions {
			in := &c.Instructions[j]
			l.instruction[in.ID] = in
			for _, id := range in.Called {
				if _, ok := l.caller[id]; !ok {
					l.caller[id] = in
				}
			}
			if c.ID == m.EntryID && in.Opcode == "parameter" {
				l.parameter[in.Number] = in
				l.argument[in.opName()] = true
			}
		}
	}
	if a := m.Assignment; a != nil {
		l.buffer = make(map[int64]int32, len(a.Buffers))
		l.allocation = make([]int32, len(a.Buffers))
		for i := range a.Buffers {
			l.buffer[a.Buffers[i].ID] = int32(i)
			l.allocation[i] = -1
		}
		for i := range a.Allocations {
			for _, p := range a.Allocations[i].Assigned {
				if b, ok := l.buffer[p.Buffer]; ok {
					l.allocation[b] = int32(i)
				}
			}
		}
	}
	m.lookup = l
	if root := m.root(m.EntryID); root != nil && m.Assignment != nil {
		l.output = m.outputs(root)
	}
	return l
}

// outputs gives the ids of the buffers that the entry computation returns.
func (m *Module) outputs(root *Instruction) map[int64]bool {
	type place struct {
		instruction int64
		index       string
	}
	wanted := map[place]bool{{root.ID, ""}: root.Opcode != "tuple"}
	for i := range root.Operands {
		in, index := root, []int64{int64(i)}
		for step := 0; in != nil && step < maxSteps; step++ {
			wanted[place{in.ID, indexText(index)}] = true
			if !slices.Contains(forwarding, in.Opcode) {
				break
			}
			in, index = m.carries(in, index)
		}
	}
	out := map[int64]bool{}
	for i := range m.Assignment.Buffers {
		if b := &m.Assignment.Buffers[i]; wanted[place{b.Instruction, indexText(b.Index)}] {
			out[b.ID] = true
		}
	}
	for _, a := range m.Assignment.Aliases {
		if a.Instruction == root.ID {
			out[a.Buffer] = true
		}
	}
	return out
}

// instruction gives the instruction with an id, nil if there is none.
func (m *Module) instruction(id int64) *Instruction {
	return m.find().instruction[id]
}

// root gives the instruction whose value a computation returns, nil if unknown.
func (m *Module) root(computation int64) *Instruction {
	if i, ok := m.find().computation[computation]; ok {
		return m.instruction(m.Computations[i].RootID)
	}
	return nil
}

// firstUser gives the first instruction that takes the value of another one, nil if
// there is none. Few modules need it, so the table is made when it is first asked for.
func (m *Module) firstUser(id int64) *Instruction {
	l := m.find()
	if l.user == nil {
		l.user = make(map[int64]*Instruction, len(l.instruction))
		for i := range m.Computations {
			for j := range m.Computations[i].Instructions {
				in := &m.Computations[i].Instructions[j]
				for _, operand := range in.Operands {
					if _, ok := l.user[operand]; !ok {
						l.user[operand] = in
					}
				}
			}
		}
	}
	return l.user[id]
}
