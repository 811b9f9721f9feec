package compare

import (
	"fmt"

	"github.com/peakgate/peakgate/measure"
)

// OneProcess looks at what the histories of two PyTorch dumps say against their
// being dumps of one process, base the earlier. swapped tells that base is the
// later one; doubts are what may yet be so; an error is what cannot be so.
// Addresses are no evidence: they come out alike in every process of some devices.
func OneProcess(base, head *measure.Measurement) (swapped bool, doubts []string, err error) {
	if b, h := base.Environment["torch"], head.Environment["torch"]; b != "" && h != "" && b != h {
		doubts = append(doubts, fmt.Sprintf("the dumps look like those of two releases of torch (%s and %s), so not of one process: what came to stay would mean nothing then", b, h))
	}
	pairs := tracePairs(base, head)
	for _, p := range pairs {
		swapped = swapped || p[0].EndUS > p[1].EndUS
	}
	for _, p := range pairs {
		earlier, later := p[0], p[1]
		if swapped {
			earlier, later = p[1], p[0]
		}
		name := deviceName(earlier.Labels)
		switch {
		case later.EndUS < earlier.EndUS:
			return false, nil, fmt.Errorf("%s ends later in one dump and another device in the other: dumps of two processes, which --leak cannot compare", name)
		case later.StartUS < earlier.StartUS:
			return false, nil, fmt.Errorf("%s: the history of the later dump begins before that of the earlier one, which a ring buffer cannot do: dumps of two processes, which --leak cannot compare", name)
		case later.StartUS > earlier.StartUS && later.History == "complete" && (later.StartUS <= earlier.EndUS || live(base, head, swapped, earlier)):
			return false, nil, fmt.Errorf("%s: nothing was live when the history of the later dump begins, and the earlier dump had memory by then: dumps of two processes, which --leak cannot compare", name)
		case later.StartUS > earlier.EndUS:
			doubts = append(doubts, fmt.Sprintf("%s: the history of the later dump begins after the earlier dump: nothing in them shows that they are of one process", name))
		}
	}
	return swapped, doubts, nil
}

// live tells whether the earlier dump holds memory at its end.
func live(base, head *measure.Measurement, swapped bool, f measure.TraceFact) bool {
	m := base
	if swapped {
		m = head
	}
	for _, r := range m.Rows {
		if r.Name == "live.end_bytes" && r.Value != nil && r.Labels.Key("file") == f.Labels.Key("file") {
			return r.Value.Float64() > 0
		}
	}
	return false
}

// tracePairs gives the histories with times of each device that both sides have once.
func tracePairs(base, head *measure.Measurement) (out [][2]measure.TraceFact) {
	sides := [2]map[string][]measure.TraceFact{{}, {}}
	for i, m := range [...]*measure.Measurement{base, head} {
		for _, f := range m.Facts.Traces {
			key := f.Labels.Key("file")
			sides[i][key] = append(sides[i][key], f)
		}
	}
	for _, f := range base.Facts.Traces {
		key := f.Labels.Key("file")
		if b, h := sides[0][key], sides[1][key]; len(b) == 1 && len(h) == 1 && b[0].StartUS > 0 && h[0].StartUS > 0 {
			out = append(out, [2]measure.TraceFact{b[0], h[0]})
		}
	}
	return out
}
