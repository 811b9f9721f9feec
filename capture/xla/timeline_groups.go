package xla

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// before is the name of what was allocated before the capture began.
const before = "allocated before the capture"

// site is what made an allocation, as far as the capture tells. key does not change
// when lines shift, and has no numbers of executions.
type site struct {
	key, display, class string
	source              *measure.Source
}

// siteKey is what a site depends on.
type siteKey struct {
	chain, op, region int32
	module            string
	output            bool
}

// sites names what made allocations.
type sites struct {
	t     *hostTrace
	known map[siteKey]*site
}

func (t *hostTrace) sites() *sites { return &sites{t, map[siteKey]*site{}} }

// of gives the site of an allocation of a.
func (s *sites) of(a *allocator, e *memoryEvent) *site {
	k := siteKey{chain: e.chain, op: e.op, region: e.region}
	if e.exec > 0 {
		k.module = s.t.module(e.exec)
		k.output = s.t.isOutput(a, e)
	}
	have := s.known[k]
	if have == nil {
		have = s.t.site(k, e.exec > 0)
		s.known[k] = have
	}
	return have
}

func (t *hostTrace) site(k siteKey, executed bool) *site {
	class, op := t.text(k.region), t.text(k.op)
	if class == "(null)" {
		class = ""
	}
	host, source, function := t.around(k.chain)
	out := &site{class: class, source: source}
	switch {
	case executed:
		out.key, out.class = "temporaries of ", "temp"
		if k.output {
			out.key, out.class = "outputs of ", "output"
		}
		out.key += cmp.Or(k.module, "a module without a name")
		out.display = out.key
		return out
	case op != "" && op != "(null)" && op != "dummy":
		out.key, out.display = op, op
		return out
	case host == "" && source == nil:
		out.key = "no host event around it"
		out.display = out.key
		return out
	}
	out.key, out.display = host, host
	if source != nil {
		in := ""
		if host != "" {
			in = host + " in "
		}
		out.key = in + source.File + " " + function
		out.display = fmt.Sprintf("%s%s:%d %s", in, source.File, source.Line, function)
	}
	return out
}

// around gives the innermost host event of a chain that says something, and the
// innermost frame of the user's program.
func (t *hostTrace) around(chain int32) (host string, source *measure.Source, function string) {
	for i := chain; i > 0 && (host == "" || source == nil); i = t.chains[i].parent {
		name := t.text(t.chains[i].text)
		if !strings.HasPrefix(name, "$") {
			if host == "" && !plumbing(name) {
				host, _ = cutOrdinal(name)
			}
		} else if file, line, f, ok := pythonFrame(name); ok && source == nil {
			source, function = &measure.Source{File: file, Line: line}, f
		}
	}
	return host, source, function
}

// isOutput tells whether an execution's allocation is an output: one that was made as
// such, or that outlives the execution.
func (t *hostTrace) isOutput(a *allocator, e *memoryEvent) bool {
	for i := e.chain; i > 0; i = t.chains[i].parent {
		switch name := t.text(t.chains[i].text); {
		case strings.Contains(name, "AllocateOutput"):
			return true
		case strings.HasSuffix(name, "System::Execute"), strings.HasSuffix(name, "ExecuteLaunch"):
			return false // TPU frees these when the device is done, after the event
		}
	}
	freed := int64(math.MaxInt64)
	if e.peer > 0 {
		freed = a.events[e.peer-1].at
	}
	return freed > t.executions[e.exec-1].end
}

// live calls f with each allocation of the capture that is live after so many
// events, and gives the bytes in use that those do not explain.
func (a *allocator) live(events int, f func(*memoryEvent)) (rest int64) {
	rest = a.inUse(events)
	for i := range a.events[:events] {
		if e := &a.events[i]; !e.free && e.chunk >= 0 && (e.peer == 0 || int(e.peer) > events) {
			rest -= e.chunk
			f(e)
		}
	}
	return rest
}

// contributors gives who holds the bytes in use after so many events.
func (a *allocator) contributors(metric string, labels measure.Labels, events int, s *sites) []measure.Contributor {
	index := map[string]int{}
	var list []measure.Contributor
	rest := a.live(events, func(e *memoryEvent) {
		at := s.of(a, e)
		i, ok := index[at.key]
		if !ok {
			i = len(list)
			index[at.key] = i
			list = append(list, measure.Contributor{
				Metric: metric, Labels: labels, Key: at.key, Display: at.display, Class: at.class, Source: at.source,
			})
		}
		list[i].Bytes += measure.Bytes(e.chunk)
		list[i].Count++
	})
	if rest > 0 {
		list = append(list, measure.Contributor{Metric: metric, Labels: labels, Key: before, Display: before, Bytes: measure.Bytes(rest), Count: 1})
	}
	return measure.KeepLargest(metric, labels, measure.Bytes(a.inUse(events)), list)
}

// maxGroups bounds how many groups of live memory a fact holds.
const maxGroups = 64

// groups gives what is live after so many events, with the outputs of each
// execution apart; ordinal numbers executions. Small groups are one.
func (a *allocator) groups(events int, s *sites, ordinal []int32) []measure.LiveGroup {
	index := map[string]int{}
	var list []measure.LiveGroup
	rest := a.live(events, func(e *memoryEvent) {
		at := s.of(a, e)
		name := at.display
		if e.exec > 0 && at.class == "output" {
			name = fmt.Sprintf("%s execution %d", name, ordinal[e.exec-1])
		}
		i, ok := index[name]
		if !ok {
			i = len(list)
			index[name] = i
			list = append(list, measure.LiveGroup{Name: name, From: at.source})
		}
		list[i].Bytes += measure.Bytes(e.chunk)
		list[i].Count++
	})
	if rest > 0 {
		list = append(list, measure.LiveGroup{Name: before, Bytes: measure.Bytes(rest), Count: 1})
	}
	slices.SortStableFunc(list, func(a, b measure.LiveGroup) int {
		if a.Bytes != b.Bytes {
			if a.Bytes > b.Bytes {
				return -1
			}
			return 1
		}
		// "execution 2" comes before "execution 10".
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), strings.Compare(a.Name, b.Name))
	})
	if len(list) > maxGroups {
		other := measure.LiveGroup{Name: measure.Other}
		for _, g := range list[maxGroups-1:] {
			other.Bytes += g.Bytes
			other.Count += g.Count
		}
		list = append(list[:maxGroups-1], other)
	}
	return list
}

// waste is what the chunks live after so many events have more than was asked for.
func (a *allocator) waste(events int) (bytes int64) {
	a.live(events, func(e *memoryEvent) {
		if e.requested >= 0 {
			bytes += e.chunk - e.requested
		}
	})
	return bytes
}
