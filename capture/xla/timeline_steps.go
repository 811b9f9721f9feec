package xla

import (
	"cmp"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/growth"
	"github.com/peakgate/peakgate/measure"
)

// module gives the name of an execution's module, empty where the capture does not
// tell. i is 1-based.
func (t *hostTrace) module(i int32) string {
	x := &t.executions[i-1]
	if m := t.text(x.module); m != "" {
		return m
	}
	for _, text := range []int32{x.name, x.inner, x.launch} {
		if m := moduleOf(t.text(text)); m != "" {
			return m
		}
	}
	chains := []int32{x.chain}
	if c, ok := t.calls[x.id]; ok {
		chains = append(chains, c)
	}
	for _, c := range chains {
		for ; c > 0; c = t.chains[c].parent {
			if m := moduleOf(t.text(t.chains[c].text)); m != "" {
				return m
			}
		}
	}
	return ""
}

// executed is all executions of one module on one allocator, in the order of time.
type executed struct {
	module    string
	allocator int32 // 1-based, 0 where none of them allocated
	list      []int32
}

// executed groups the executions, and numbers each within its group from 1.
func (t *hostTrace) executed() (groups []*executed, ordinal []int32) {
	type key struct {
		module    string
		allocator int32
	}
	order := make([]int32, len(t.executions))
	for i := range order {
		order[i] = int32(i + 1)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(t.executions[a-1].start, t.executions[b-1].start) })
	ordinal = make([]int32, len(order))
	byKey := map[key]*executed{}
	for _, i := range order {
		k := key{t.module(i), t.executions[i-1].allocator}
		g := byKey[k]
		if g == nil {
			g = &executed{module: k.module, allocator: k.allocator}
			byKey[k] = g
			groups = append(groups, g)
		}
		g.list = append(g.list, i)
		ordinal[i-1] = int32(len(g.list))
	}
	slices.SortFunc(groups, func(a, b *executed) int {
		return cmp.Or(strings.Compare(a.module, b.module), cmp.Compare(a.allocator, b.allocator))
	})
	return groups, ordinal
}

// starts gives when the executions of a group begin.
func (t *hostTrace) starts(g *executed) []int64 {
	at := make([]int64, len(g.list))
	for i, x := range g.list {
		at[i] = t.executions[x-1].start
	}
	return at
}

// neverLaunched counts the executions of a group without a launch inside. known is
// false where the client may launch elsewhere.
func (t *hostTrace) neverLaunched(g *executed, launching map[string]bool) (count int64, known bool) {
	for _, i := range g.list {
		x := &t.executions[i-1]
		if !t.launchesInside(x, launching) {
			return 0, false
		}
		if !x.launched {
			count++
		}
	}
	return count, true
}

// launchesInside tells whether a client launches inside of the event that executes: where
// an execution by the same event has a launch inside, or it is known to.
func (t *hostTrace) launchesInside(x *execution, launching map[string]bool) bool {
	return launching[clientEvent(t.text(x.name))] || strings.Contains(t.text(x.inner), "StreamExecutorLoadedExecutable::")
}

// launching gives the events, of those that execute, which launch inside.
func (t *hostTrace) launching() map[string]bool {
	m := map[string]bool{}
	for i := range t.executions {
		if x := &t.executions[i]; x.launched {
			m[clientEvent(t.text(x.name))] = true
		}
	}
	return m
}

// clientEvent is the name of an event without device and module.
func clientEvent(name string) string {
	base, _ := cutModule(name)
	base, _ = cutOrdinal(base)
	return base
}

// What separates steps, as facts name it.
const (
	byMarkers    = "step_markers"
	byExecutions = "executions"
	byRuns       = "function_runs"
	byGroups     = "group_ids"
)

// minSteps is how many steps there must be for them to count as steps at all.
const minSteps = 2

// marked gives when the steps begin that the program marked, on the line that has most
// of them.
func (t *hostTrace) marked() (starts []int64) {
	perLine := map[int32]int{}
	for _, m := range t.marks {
		perLine[m.line]++
	}
	line, most := int32(0), 0
	for l, n := range perLine {
		if n > most || n == most && l < line {
			line, most = l, n
		}
	}
	for _, m := range t.marks {
		if m.line == line {
			starts = append(starts, m.start)
		}
	}
	return starts
}

// stepping finds steps, once for all allocators.
type stepping struct {
	t      *hostTrace
	marked []int64
	groups []int64             // by group ids
	most   map[int32]*executed // allocator (0 for any) → the module that is executed most often
}

func (t *hostTrace) stepping(groups []*executed) *stepping {
	s := &stepping{t: t, marked: t.marked(), most: map[int32]*executed{}}
	for _, at := range t.groups {
		s.groups = append(s.groups, at)
	}
	slices.Sort(s.groups)
	for _, g := range groups {
		for _, allocator := range []int32{g.allocator, 0} {
			if best := s.most[allocator]; len(g.list) >= minSteps && (best == nil || len(g.list) > len(best.list)) {
				s.most[allocator] = g
			}
		}
	}
	return s
}

// of gives when the steps begin that an allocator (1-based) is judged by, and what
// they are: the program's own step markers, else executions of the module that is
// executed most often, runs of TensorFlow functions, or groups of events.
func (s *stepping) of(allocator int32) (starts []int64, source string) {
	// Pools of the host have no executions of their own.
	best := cmp.Or(s.most[allocator], s.most[0])
	switch {
	case len(s.marked) >= minSteps:
		return s.marked, byMarkers
	case best != nil:
		return s.t.starts(best), byExecutions
	case len(s.t.runs) >= minSteps:
		return s.t.runs, byRuns
	case len(s.groups) >= minSteps:
		return s.groups, byGroups
	}
	return nil, ""
}

// lastStarts gives the last execution of each allocator, both 1-based.
func (t *hostTrace) lastStarts() map[int32]int32 {
	last := map[int32]int32{}
	for i := range t.executions {
		x := &t.executions[i]
		if l := last[x.allocator]; x.allocator > 0 && (l == 0 || x.start >= t.executions[l-1].start) {
			last[x.allocator] = int32(i + 1)
		}
	}
	return last
}

// levels gives the live requested bytes, relative to those before the capture, when
// each step begins.
func (a *allocator) levels(starts []int64) []int64 {
	out := make([]int64, len(starts))
	for i, at := range starts {
		out[i] = a.netRequested[a.after(at)]
	}
	return out
}

func growthFact(g growth.Growth) *measure.GrowthFact {
	return &measure.GrowthFact{ChangeBytes: measure.Bytes(g.Change), Steps: g.Steps, From: int64(g.From), Period: int64(g.Period)}
}
