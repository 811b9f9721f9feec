package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// programPairs maps each head program to its base program. A module is told from
// another by its name and, where it was compiled for several, by its device.
type programPairs map[[2]string]string

func moduleKey(l measure.Labels) string { return l["module"] + "\x00" + l["device"] }

// moduleName names a module in words.
func moduleName(l measure.Labels) string {
	if device := l["device"]; device != "" {
		return l["module"] + " for " + device
	}
	return l["module"]
}

// pairPrograms pairs several programs of one module name: first by the shapes
// of the entry computation and the fingerprint, then by shapes alone, then in
// order.
func pairPrograms(base, head *measure.Measurement) programPairs {
	pairs := programPairs{}
	if base == nil || head == nil {
		return pairs
	}
	byName := func(m *measure.Measurement) map[string][]measure.ModuleFact {
		out := map[string][]measure.ModuleFact{}
		for _, f := range m.Facts.Modules {
			out[moduleKey(f.Labels)] = append(out[moduleKey(f.Labels)], f)
		}
		return out
	}
	shapes := func(f measure.ModuleFact) string {
		return strings.Join(f.Parameters, ";") + "->" + strings.Join(f.Outputs, ";")
	}
	passes := []func(b, h measure.ModuleFact) bool{
		func(b, h measure.ModuleFact) bool { return shapes(b) == shapes(h) && b.Fingerprint == h.Fingerprint },
		func(b, h measure.ModuleFact) bool { return shapes(b) == shapes(h) },
		func(b, h measure.ModuleFact) bool { return true },
	}
	bases := byName(base)
	for name, hs := range byName(head) {
		bs := bases[name]
		usedBase, usedHead := make([]bool, len(bs)), make([]bool, len(hs))
		for _, alike := range passes {
			for j, h := range hs {
				for i, b := range bs {
					if !usedBase[i] && !usedHead[j] && alike(b, h) {
						usedBase[i], usedHead[j] = true, true
						pairs[[2]string{name, h.Labels["program"]}] = b.Labels["program"]
					}
				}
			}
		}
	}
	return pairs
}

// same tells whether two rows of one metric are the two sides of one thing:
// equal labels but for the host, the program paired as pairPrograms found.
func (p programPairs) same(base, head measure.Labels) bool {
	if base.Key("program", "host") != head.Key("program", "host") {
		return false
	}
	if program, ok := p[[2]string{moduleKey(head), head["program"]}]; ok {
		return base["program"] == program
	}
	// No fact tells of this program: rows pair in their order.
	return true
}

func deviceName(l measure.Labels) string {
	name := "device " + l["device"]
	if l["rank"] != "" {
		name = "rank " + l["rank"] + ", " + name
	}
	if l["file"] != "" {
		name = l["file"] + ", " + name
	}
	return name
}

// stepWork is what one step does.
type stepWork struct {
	events    int64
	allocated measure.Bytes
}

// lastStep is the newest whole step of a device that growth is taken from; nil
// without one.
func lastStep(m *measure.Measurement, labels measure.Labels) *stepWork {
	key := labels.Key()
	for _, s := range m.Facts.Snapshots {
		if s.Labels.Key() != key || s.Steps == nil {
			continue
		}
		for _, t := range slices.Backward(s.Steps.Steps) {
			if t.Counted {
				return &stepWork{t.Events, t.AllocatedBytes}
			}
		}
	}
	return nil
}

// sites counts the allocation sites at the peak that both sides have, and those
// of either.
func sites(base, head *measure.Measurement, b, h measure.Labels) (common, all int) {
	keys := map[string]bool{}
	for _, c := range base.ContributorsOf("live.peak_bytes", b) {
		keys[c.Key] = true
	}
	all = len(keys)
	for _, c := range head.ContributorsOf("live.peak_bytes", h) {
		if keys[c.Key] {
			common++
		} else {
			all++
		}
	}
	return common, all
}

// compareFacts says how alike the two workloads are.
func compareFacts(base, head *measure.Measurement) Likeness {
	l := Likeness{Verdict: "unknown", Notes: []string{}}
	if base == nil || head == nil {
		return l
	}
	same, different := 0, 0
	note := func(equal bool, format string, args ...any) {
		if equal {
			same++
		} else {
			different++
			l.Notes = append(l.Notes, fmt.Sprintf(format, args...))
		}
	}
	pairs := pairPrograms(base, head)
	baseModules := map[string]measure.ModuleFact{}
	for _, f := range base.Facts.Modules {
		baseModules[moduleKey(f.Labels)+"\x00"+f.Labels["program"]] = f
	}
	for _, h := range head.Facts.Modules {
		key, name := moduleKey(h.Labels), moduleName(h.Labels)
		program, ok := pairs[[2]string{key, h.Labels["program"]}]
		if !ok {
			note(false, "module %s is new", name)
			continue
		}
		b := baseModules[key+"\x00"+program]
		delete(baseModules, key+"\x00"+program)
		switch {
		case b.Instructions != h.Instructions:
			note(false, "module %s: %d instructions, %d in the base", name, h.Instructions, b.Instructions)
		case b.Fingerprint != h.Fingerprint:
			note(false, "module %s: as many instructions, but other operations or shapes", name)
		default:
			note(b.Aliased == h.Aliased, "module %s: the same operations, but outputs are written over %d arguments, over %d in the base", name, h.Aliased, b.Aliased)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(baseModules)) {
		if len(head.Facts.Modules) == 0 {
			break // a base of several kinds of captures: this target has no modules
		}
		note(false, "module %s is gone", moduleName(baseModules[key].Labels))
	}
	baseTraces := map[string]measure.TraceFact{}
	for _, f := range base.Facts.Traces {
		baseTraces[f.Labels.Key("file")] = f
	}
	for _, f := range base.Facts.Traces { // a file of the same name goes before others
		baseTraces[f.Labels.Key()] = f
	}
	for _, h := range head.Facts.Traces {
		b, ok := baseTraces[h.Labels.Key()]
		if !ok {
			b, ok = baseTraces[h.Labels.Key("file")]
		}
		if !ok {
			note(false, "device %s has a history only in the head", h.Labels["device"])
			continue
		}
		name := deviceName(h.Labels)
		if b.Events != h.Events {
			note(false, "%s: %d allocator events, %d in the base", name, h.Events, b.Events)
		} else if b.Sequence != "" {
			note(b.Sequence == h.Sequence, "%s: %d allocator events on both sides, in another order or of other sizes", name, h.Events)
		}
		var common []string
		if b.Sequence == h.Sequence && h.Events > 0 {
			common = append(common, fmt.Sprintf("identical workload, %d allocator events of the same actions and sizes", h.Events))
		}
		if b.Steps != h.Steps {
			note(false, "%s: %d steps, %d in the base", name, h.Steps, b.Steps)
		} else if h.Steps > 0 {
			common = append(common, fmt.Sprintf("%d steps", h.Steps))
		}
		if b, h := lastStep(base, b.Labels), lastStep(head, h.Labels); b != nil && h != nil {
			if *b != *h {
				l.Notes = append(l.Notes, fmt.Sprintf("%s: a step has %d events and allocates %s, %d and %s in the base", name, h.events, h.allocated, b.events, b.allocated))
			} else {
				common = append(common, fmt.Sprintf("a step has %d events and allocates %s", h.events, h.allocated))
			}
		}
		if n, all := sites(base, head, b.Labels, h.Labels); all > 0 {
			common = append(common, fmt.Sprintf("%d of %d sites", n, all))
		}
		if len(common) > 0 {
			l.Same = append(l.Same, name+": "+strings.Join(common, ", "))
		}
	}
	switch {
	case different == 0 && same > 0:
		l.Verdict = "identical"
	case same > 0:
		l.Verdict = "similar"
	case different > 0:
		l.Verdict = "different"
	}
	return l
}
