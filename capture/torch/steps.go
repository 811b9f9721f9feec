package torch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// notes holds the annotations of all devices.
type notes struct{ devices map[int]*steps }

func newNotes() *notes { return &notes{devices: map[int]*steps{}} }

func (n *notes) device(i int) *steps {
	s := n.devices[i]
	if s == nil {
		s = &steps{}
		n.devices[i] = s
	}
	return s
}

// steps counts the annotations that may mark the steps of a training loop:
// those with a number (ProfilerStep#7, train_step#7), and those of optimizers
// and data loaders.
type steps struct{ groups map[string]*stepGroup }

type stepGroup struct {
	count, last int64
	numbered    bool // the numbers rise, one by one
	marks       []mark
}

// mark is where a step begins: at a time, or at an event of the history.
type mark struct{ time, event int64 }

// Limits of what is kept to divide a history into steps.
const (
	markLimit  = 1 << 14 // newest marks of one name
	groupLimit = 1 << 10 // names
)

// keepNewest bounds a list of marks.
func keepNewest(marks []mark) []mark {
	if len(marks) < 2*markLimit {
		return marks
	}
	return marks[:copy(marks, marks[len(marks)-markLimit:])]
}

// Names of torch's own annotations, in the order of how well they mark a step;
// see torch/profiler/profiler.py, torch/optim/optimizer.py and
// torch/utils/data/dataloader.py.
var stepNames = [...]string{"ProfilerStep", "Optimizer.step", "Optimizer.zero_grad", "enumerate(DataLoader)"}

// start takes the name of an annotation that begins.
func (s *steps) start(name string, at mark) {
	group, number, ok := strings.Cut(name, "#")
	n, err := strconv.ParseInt(number, 10, 64)
	numbered := ok && err == nil
	if !numbered {
		if !slices.ContainsFunc(stepNames[1:], func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			return
		}
		group = name
	}
	if s.groups == nil {
		s.groups = map[string]*stepGroup{}
	}
	g := s.groups[group]
	if g == nil {
		if len(s.groups) == groupLimit {
			return
		}
		g = &stepGroup{numbered: numbered}
		s.groups[group] = g
	} else if numbered && n != g.last+1 {
		g.numbered = false
	}
	g.count++
	g.last = n
	g.marks = keepNewest(append(g.marks, at))
}

// count is the number of steps, by the most reliable mark that is there.
func (s *steps) count() int64 {
	if g := s.groups["ProfilerStep"]; g != nil {
		return g.count
	}
	var optimizer, numbered int64
	for name, g := range s.groups {
		if strings.HasPrefix(name, "Optimizer.step") {
			optimizer = max(optimizer, g.count)
		} else if g.numbered {
			numbered = max(numbered, g.count)
		}
	}
	if optimizer > 0 {
		return optimizer
	}
	return numbered
}

// marked is the marks of one name, in order.
type marked struct {
	name  string
	total int64 // marks seen, those not kept included
	marks []mark
}

// stepMarks chooses what divides the history of a device into steps. The device
// of an annotation is whichever was current and may be wrong, so those of all
// devices mark the steps of each.
func (s *Snapshot) stepMarks(t *trace) (best marked, ok bool) {
	all := map[string]*marked{}
	numbered := map[string]bool{}
	take := func(from *steps) {
		for name, g := range from.groups {
			m := all[name]
			if m == nil {
				m = &marked{name: name}
				all[name] = m
				numbered[name] = true
			}
			m.total += g.count
			m.marks = append(m.marks, g.marks...)
			numbered[name] = numbered[name] && g.numbered
		}
	}
	take(&t.notes)
	if s.notes != nil {
		for _, from := range s.notes.devices {
			take(from)
		}
	}
	// Without a first and a last step there is nothing between them.
	const fewest = 3
	largest := func(fits func(name string) bool) bool {
		for name, m := range all {
			if m.total >= fewest && fits(name) && (m.total > best.total || m.total == best.total && name < best.name) {
				best = *m
			}
		}
		return best.total > 0
	}
	for _, prefix := range stepNames {
		if largest(func(name string) bool { return strings.HasPrefix(name, prefix) }) {
			break
		}
	}
	if best.total == 0 && len(t.dumps) >= fewest-1 {
		// A dump ends a step: the first one began with the history.
		best = marked{name: measure.DumpMark, total: t.counts[DumpTaken] + 1, marks: t.dumps}
		if int64(len(t.dumps)) == t.counts[DumpTaken] {
			best.marks = append([]mark{{event: 1}}, t.dumps...)
		}
	}
	if best.total == 0 && !largest(func(name string) bool { return numbered[name] }) {
		return best, false
	}
	best.marks = slices.DeleteFunc(best.marks, func(m mark) bool { return m == mark{} })
	slices.SortStableFunc(best.marks, func(a, b mark) int {
		return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.event, b.event))
	})
	return best, len(best.marks) >= fewest
}
