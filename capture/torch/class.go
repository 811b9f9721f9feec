package torch

import (
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// traits are what the frames of a stack tell about an event.
type traits uint16

const (
	traitKnown      traits = 1 << iota // looked at
	traitOptimizer                     // in an optimizer's step
	traitInitGroup                     // where an optimizer makes its state
	traitBackward                      // in the backward pass
	traitCheckpoint                    // where torch/utils/checkpoint.py computes again
	traitModule                        // in the call of a module
	traitInit                          // in the constructor of a module
	traitMove                          // in Module.to, .cuda, ._apply
	traitCollective
	traitEmptyCache
	traitCollector // Python's cycle collector
)

func (t traits) has(w traits) bool { return t&w != 0 }

// traitsOf looks at a stack once.
func (m *machine) traitsOf(id StackID) traits {
	if id < firstStack {
		return 0
	}
	i := int(id - firstStack)
	for i >= len(m.stackTraits) {
		m.stackTraits = append(m.stackTraits, make([]traits, i+64-len(m.stackTraits))...)
	}
	if m.stackTraits[i] == 0 {
		out := traitKnown
		for _, f := range m.stacks.frames(i) {
			out |= m.frameTrait(f)
		}
		m.stackTraits[i] = out
	}
	return m.stackTraits[i]
}

func (m *machine) frameTrait(f uint32) traits {
	for n := len(m.frameTraits); n <= int(f); n++ {
		k := m.frames.list[n]
		out := traitKnown | traitsOfFrame(m.texts.list[k.name], m.texts.list[k.file])
		m.frameTraits = append(m.frameTraits, out)
		m.collector = m.collector || out.has(traitCollector)
	}
	return m.frameTraits[f]
}

// collects tells whether a stack is one of Python's cycle collector. Most files
// have no frame of it, and then no stack is looked at.
func (m *machine) collects(id StackID) bool {
	if n := len(m.frames.list); n > len(m.frameTraits) {
		m.frameTrait(uint32(n - 1))
	}
	return m.collector && m.traitsOf(id).has(traitCollector)
}

// traitsOfFrame reads names of functions and files of torch and CPython. Python
// frames name a file, C++ frames a symbol.
func traitsOfFrame(name, file string) (out traits) {
	if len(file) > 4096 || len(name) > 4096 {
		return 0
	}
	file = strings.ReplaceAll(file, `\`, "/")
	in := func(part string) bool { return strings.Contains(file, part) }
	switch {
	case in("/torch/optim/"):
		out |= traitOptimizer
		if name == "_init_group" {
			out |= traitInitGroup
		}
	case in("/torch/utils/checkpoint.py"):
		switch name {
		case "unpack_hook", "recompute_fn", "backward":
			out |= traitCheckpoint
		}
	case in("/torch/nn/modules/"):
		switch name {
		case "__init__", "reset_parameters", "__setstate__":
			out |= traitInit
		case "_apply", "to", "cuda", "to_empty", "convert":
			if strings.HasSuffix(file, "/module.py") {
				out |= traitMove
			}
		case "_call_impl", "_slow_forward", "forward":
			out |= traitModule
		}
	case in("/torch/distributed/"), in("/torch/nn/parallel/"):
		// wrappers are in the stack of every forward pass
		if name != "forward" && name != "_run_ddp_forward" && name != "_inner_training_step" && name != "__init__" {
			out |= traitCollective
		}
	case in("/torch/autograd/"):
		switch name {
		case "_engine_run_backward", "apply", "_make_grads":
			// Function.apply of the forward pass lies in function.py as well; only
			// BackwardCFunction.apply has the user's backward below it.
			if name != "apply" {
				out |= traitBackward
			}
		}
	case in("/torch/cuda/memory.py") && name == "empty_cache":
		out |= traitEmptyCache
	}
	if name == "backward" && !in("/torch/_tensor.py") && strings.HasSuffix(file, ".py") {
		out |= traitBackward // of a torch.autograd.Function
	}
	switch {
	case strings.HasPrefix(name, "torch::autograd::Engine::"),
		strings.HasPrefix(name, "torch::autograd::") && strings.Contains(name, "Backward") && strings.Contains(name, "::apply("),
		strings.HasPrefix(name, "torch::autograd::AccumulateGrad"):
		out |= traitBackward
	case strings.HasPrefix(name, "c10d::"):
		out |= traitCollective
	case strings.Contains(name, "emptyCache"), strings.Contains(name, "THCPModule_emptyCache"):
		out |= traitEmptyCache
	case strings.HasPrefix(name, "gc_collect"), name == "_PyGC_Collect", name == "PyGC_Collect", name == "delete_garbage":
		out |= traitCollector
	}
	return out
}

// phase is what the program does while it allocates.
type phase uint8

const (
	noPhase phase = iota
	forwardPhase
	backwardPhase
	optimizerPhase
	recomputePhase
	setupPhase
)

var phaseNames = [...]string{"", measure.PhaseForward, measure.PhaseBackward, measure.PhaseOptimizer, measure.PhaseRecompute, measure.PhaseSetup}

// pass is a phase as blocks outlive it: recomputation is part of the backward
// pass.
type pass uint8

const (
	noPass pass = iota
	forwardPass
	backwardPass
	optimizerPass
)

func (p phase) pass() pass {
	return [...]pass{noPass, forwardPass, backwardPass, optimizerPass, backwardPass, forwardPass}[p]
}

// phaseOf tells the phase of a stack. With stacks="python" the autograd thread
// has no frames at all.
func phaseOf(id StackID, t traits) phase {
	switch {
	case id == EmptyStack:
		return backwardPhase
	case id < firstStack:
		return noPhase
	case t.has(traitCheckpoint):
		return recomputePhase
	case t.has(traitBackward):
		return backwardPhase
	case t.has(traitOptimizer):
		return optimizerPhase
	case t.has(traitInit | traitMove):
		return setupPhase
	}
	return forwardPhase
}

func (s *Snapshot) traitsOf(id StackID) traits {
	if i := int(id - firstStack); i >= 0 && i < len(s.traits) {
		return s.traits[i]
	}
	return 0
}

func (s *Snapshot) phase(id StackID) phase { return phaseOf(id, s.traitsOf(id)) }

// use is what became of the blocks of one stack, in bytes.
type use struct {
	pass              pass // in which it allocates
	known             bool // pass is
	allocated, blocks int64
	same              int64 // freed within the pass that allocated them
	backward          int64 // freed by a later backward pass
	later             int64 // freed by another pass
}

func (m *machine) uses(id StackID) *use {
	if id < 0 {
		return &use{} // charged to no stack
	}
	for int(id) >= len(m.use) {
		m.use = append(m.use, make([]use, int(id)+64-len(m.use))...)
	}
	u := &m.use[id]
	if !u.known {
		u.known, u.pass = true, phaseOf(id, m.traitsOf(id)).pass()
	}
	return u
}

// fate is what became of a block.
type fate uint8

const (
	kept          fate = iota // live at the end; the pass that allocated it is over
	keptInPass                // live at the end, allocated in the last pass
	freedSame                 // freed within the pass that allocated it
	freedBackward             // freed by a later backward pass
	freedLater                // freed by another pass
)

// classOf tells what the blocks of a stack with one fate are, with a code for
// what decided. grows tells that their site holds more after each step.
func (s *Snapshot) classOf(t *sites, id StackID, f fate, grows bool) (class, evidence string) {
	if t.of(id).class == measure.ClassWorkspace {
		return measure.ClassWorkspace, "workspace_frame"
	}
	if id < 0 || id == NoStack {
		return measure.ClassUnknown, "none"
	}
	var u use
	if int(id) < len(s.uses) {
		u = s.uses[id]
	}
	// Whether a block of the last pass will outlive it is not known: what most
	// blocks of the stack did decides.
	brief := f == freedSame || f == keptInPass && u.same > 0 && 2*u.same >= u.same+u.backward+u.later
	w := s.traitsOf(id)
	switch p := s.phase(id); {
	case w.has(traitCollective):
		return measure.ClassCommunication, "collective_frame"
	case w.has(traitInitGroup):
		return measure.ClassOptimizer, "optimizer_frame"
	case p == optimizerPhase && brief:
		return measure.ClassTemporary, "optimizer_frame"
	case p == optimizerPhase:
		return measure.ClassOptimizer, "optimizer_frame"
	case p.pass() == backwardPass && brief:
		return measure.ClassTemporary, "backward_freed"
	case p.pass() == backwardPass:
		return measure.ClassGradient, "backward_survives"
	case u.backward > 0 && (f == freedBackward || f == keptInPass || f == freedLater):
		return measure.ClassActivation, "forward_to_backward"
	case brief:
		return measure.ClassTemporary, "forward_freed"
	case w.has(traitInit):
		return measure.ClassParameter, "module_init"
	case w.has(traitMove):
		return measure.ClassParameter, "module_move"
	case grows && w.has(traitModule):
		return measure.ClassActivation, "grows_each_step"
	case grows:
		return measure.ClassContainer, "grows_each_step"
	case f == freedLater:
		return measure.ClassTemporary, "forward_freed"
	case u.backward > 0:
		return measure.ClassActivation, "forward_to_backward"
	case t.built(id):
		return measure.ClassParameter, "module_init"
	case u.blocks == 0:
		return measure.ClassUnknown, "none"
	}
	return measure.ClassUnknown, "survives_steps"
}

// built tells whether a constructor of the program's own is in the stack.
func (t *sites) built(id StackID) bool {
	if id < firstStack {
		return false
	}
	for _, f := range t.s.Stacks[id-firstStack] {
		if t.owners[f] == project && t.s.Frames[f].Name == "__init__" {
			return true
		}
	}
	return false
}
