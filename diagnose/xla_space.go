package diagnose

import (
	"fmt"
	"slices"

	"github.com/peakgate/peakgate/measure"
)

// where picks the memory space that a pair is judged in: the device's memory, unless
// its need did not grow and another space takes more, by more than the device's need
// fell. The host's memory is none that a device runs out of.
func (p modulePair) where() string {
	p.space = device
	if p.needGrew() {
		return device
	}
	fell := max(0, p.need()-p.head.space(device).size("plan.need_bytes"))
	best, most := device, fell
	for _, space := range p.spaces() {
		if p.space = space; space != device && space != host && p.growth() > most && p.needGrew() {
			best, most = space, p.growth()
		}
	}
	return best
}

// sides gives the plans of the memory space that the pair is judged in.
func (p modulePair) sides() (base, head plan) { return p.base.space(p.space), p.head.space(p.space) }

// matters tells whether a number of bytes is notable beside what the base needs
// in the memory space that the pair is judged in.
func (p modulePair) matters(n measure.Bytes) bool {
	base, _ := p.sides()
	return notable(n, base.size("plan.need_bytes"))
}

// in names the memory space in a sentence; the device's goes without saying.
func (p modulePair) in() string {
	if p.space == device {
		return ""
	}
	return " in memory " + p.space
}

// spaces gives the memory spaces of either side.
func (p modulePair) spaces() (out []string) {
	seen := map[string]bool{}
	for _, m := range []*module{p.base, p.head} {
		for _, s := range m.plans {
			if !seen[s.space] {
				seen[s.space] = true
				out = append(out, s.space)
			}
		}
	}
	return out
}

// enlarged tells from what smaller shape of the same type and number of dimensions a
// holder's values grew, and by how much.
func enlarged(base []measure.PlanHolder, h measure.PlanHolder) (from string, grew measure.Bytes) {
	element, dims := parseShape(h.Shape)
	n := elements(dims)
	same, _ := sameOperation(base, h.Operation)
	for _, b := range same {
		was, of := parseShape(b.Shape)
		switch m := elements(of); {
		case was != element || len(of) != len(dims) || m == 0 || n == 0:
		case m >= n:
			return "", 0 // as large in the base
		case from == "":
			from, grew = b.Shape, h.Bytes-measure.Bytes(float64(h.Bytes)*float64(m)/float64(n))
		}
	}
	return from, grew
}

// sizeRules tell of a program that does the same with more.
var sizeRules = []Rule{
	{
		Name: "larger-arrays", Family: "xla", Compares: true,
		Doc: "The same operations hold arrays of more elements than in the base, at least half of the growth: a larger batch, sequence or model, or one more layer of a scan.",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			if !p.needGrew() {
				return f, false
			}
			base, head := p.sides()
			var sum, most measure.Bytes
			var n int64
			for _, h := range head.fact.Holders {
				from, grew := enlarged(base.fact.Holders, h)
				if grew <= 0 {
					continue
				}
				sum, n = sum+grew, n+1
				if grew > most {
					most = grew
					f = p.head.finding(Warning, Measured, "%s was %s in the base", h.Display, from)
					f.Source = h.Source
				}
			}
			// Arrays that are no longer split have more elements on each device too.
			if _, split := lostSharding(p); split || 2*sum < p.growth() {
				return f, false
			}
			f.Text = fmt.Sprintf("the same operations hold larger arrays%s, %s more in %s; most of it: %s", p.in(), sum, plural(n, "group of buffers", "groups of buffers"), f.Text)
			f.Fix, f.Cost, f.SavingBytes = "if the batch, the sequence or the model was meant to grow, raise the budget with the reason; else look at what made this array larger", "the old size", sum
			return f, true
		}),
	},
}

// spaceRules tell what happened in memory spaces other than the device's memory.
var spaceRules = []Rule{
	{
		Name: "moved-to-other-space", Family: "xla", Compares: true,
		Doc: "Bytes only moved from one memory space to another (device, host, VMEM): the sum over all is nearly the same. A fall of one space's number alone is no saving of the program.",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			from, to := "", ""
			var fell, rose measure.Bytes
			for _, s := range p.spaces() {
				d := p.head.space(s).size("plan.need_bytes") - p.base.space(s).size("plan.need_bytes")
				if -d > fell {
					from, fell = s, -d
				}
				if d > rose {
					to, rose = s, d
				}
			}
			if !notable(fell, p.need()) || !notable(rose, p.need()) || max(fell, rose)-min(fell, rose) > max(fell, rose)/10 {
				return f, false
			}
			return p.head.finding(Note, Measured, "%s only moved: memory space %s lost %s and %s gained %s", min(fell, rose), from, fell, to, rose), true
		}),
	},
	{
		Name: "on-chip-grew", Family: "xla", Compares: true,
		Doc: "The device needs no more, but another memory space does (`space1` is VMEM on a TPU), and no other rule tells why. XLA fills VMEM by itself, with what it fetches ahead and with small programs altogether, so this is a note; a kernel whose scratch memory grew is named as well, since the compiler refuses one that is too large.",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			if p.space == device || p.explained() {
				return f, false
			}
			b, h := p.sides()
			metric := "plan.need_bytes"
			if h.size(metric) <= b.size(metric) {
				metric = "plan.heap_peak_bytes"
			}
			f = p.head.finding(Note, Measured, "memory %s needs more, the device's does not: it %s", p.space, moved(b.size(metric), h.size(metric)))
			for _, c := range p.moved(metric, p.space) {
				if c.Key != measure.Other && c.Delta() > 0 {
					f.Text += fmt.Sprintf("; most of it: %s (%s)", c.Display, c.Delta().Signed())
					f.Source = c.Source
					break
				}
			}
			f.Fix, f.Cost = "nothing while the program compiles and is as fast; else make the arrays named here smaller, or compute them in blocks", "more, smaller kernels"
			if was, is := b.fact.ScopedBytes, h.fact.ScopedBytes; notable(is-was, was) {
				f.Text += fmt.Sprintf("; the largest scratch memory of one kernel %s", moved(was, is))
			}
			return f, true
		}),
	},
}

// explained tells whether a rule about pairs says why the need grew.
func (p modulePair) explained() bool {
	for _, r := range slices.Concat(xlaPairRules, sizeRules) {
		if len(r.Find(Input{pairs: []modulePair{p}})) > 0 {
			return true
		}
	}
	return false
}
