package xla

import (
	"slices"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// noWait are parts of the names of events that wait for something else than memory.
var noWait = []string{"sleep", "Sleep", "wait", "Wait", "Await", "Block", "ompil", "Barrier", "Transfer", "Profile", "Rendezvous"}

// onlyAllocate are parts of the names of events that do nothing but allocate.
var onlyAllocate = []string{"Build buffer allocations", "Allocate"}

func named(name string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
}

// waiting adds the waits for memory.
func (t *hostTrace) waiting(c *Capture, out *measure.Measurement) {
	retries, failed, longest := int64(0), int64(0), int64(0)
	index, launching := map[string]int{}, t.launching()
	var facts []measure.WaitFact
	for _, w := range t.waits {
		name, kind := t.text(w.name), "retry"
		if !w.retry {
			kind = "gap"
			if slices.ContainsFunc(t.waits, w.explained) || named(name, noWait) || !named(name, onlyAllocate) && !t.stopped(w, launching) && !t.short(w) {
				continue
			}
		}
		i, ok := index[kind+name]
		if !ok {
			i = len(facts)
			index[kind+name] = i
			facts = append(facts, measure.WaitFact{Labels: measure.Labels{}, Event: name, Kind: kind})
		}
		facts[i].Count++
		facts[i].LongestSeconds = max(facts[i].LongestSeconds, seconds(w.end-w.start))
		if w.end-w.start >= gapLow {
			facts[i].GaveUp++
			failed++
		}
		if w.retry {
			retries++
			longest = max(longest, w.end-w.start)
		}
	}
	out.Facts.Waits = append(out.Facts.Waits, facts...)
	row := measure.NewRow("oom.events", measure.Labels{}, measure.Int(failed))
	row.Kind = measure.Observed
	out.Rows = append(out.Rows, row)
	if retries == 0 && !recordsRetries(c.Software) {
		const reason = "only XLA from 2026 on records the allocator's waits, and the profile does not tell its version"
		out.Rows = append(out.Rows, measure.Absent("retry.events", measure.Labels{}, reason), measure.Absent("retry.longest_seconds", measure.Labels{}, reason))
		return
	}
	out.Rows = append(out.Rows,
		measure.NewRow("retry.events", measure.Labels{}, measure.Int(retries)),
		measure.NewRow("retry.longest_seconds", measure.Labels{}, measure.Float(seconds(longest))))
}

// stopped tells whether a wait is that of an execution which then never launched a
// kernel, by a client that launches inside. However much of the pool is free, it may have
// asked for more.
func (t *hostTrace) stopped(w wait, launching map[string]bool) bool {
	for i := range t.executions {
		x := &t.executions[i]
		if !x.launched && x.line == w.line && x.start <= w.end && w.start <= x.end && t.launchesInside(x, launching) {
			return true
		}
	}
	return false
}

// short tells whether memory can have been short throughout a wait: what was free of
// some device's pool was less than the largest chunk that it gave out in the capture, or
// less than half of the pool, since what was asked for in vain is not recorded.
func (t *hostTrace) short(w wait) bool {
	for _, a := range t.allocators {
		if a.host {
			continue
		}
		n := a.after(w.end)
		free := a.limit - a.inUse(n)
		if n > 0 {
			free -= a.events[n-1].reserved
		}
		if free < a.largest || free < a.limit/2 {
			return true
		}
	}
	return false
}

// explained tells whether a gap is the same wait as another one: as what the
// allocator recorded itself, or as a shorter gap inside it, of a thread that it
// waited for.
func (w wait) explained(by wait) bool {
	if by.retry {
		return by.start < w.end && w.start < by.end
	}
	return by.start >= w.start && by.end <= w.end && by.end-by.start < w.end-w.start
}

// recordsRetries tells whether the software is new enough to record the allocator's
// waits: XLA from November 2025 on, which jaxlib 0.9 has.
func recordsRetries(software map[string]string) bool {
	major, rest, ok := strings.Cut(software["jaxlib"], ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return ok && err == nil && err2 == nil && (a > 0 || b >= 9)
}
