package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/compare"
	"github.com/peakgate/peakgate/measure"
)

// device and host are values of the label memory_space.
const (
	device = "device"
	host   = "host"
)

// module is one XLA module of a measurement with its plans.
type module struct {
	in     *measure.Measurement
	labels measure.Labels // module, program, file, …: all but memory_space
	fact   measure.ModuleFact
	plans  []plan // in the order of the rows
	*index
}

// index finds rows and contributors of a measurement by name and labels.
type index struct {
	rows    map[string]int64
	holders map[string][]measure.Contributor // nil until first asked for
}

// plan is one memory space of a module.
type plan struct {
	module *module
	labels measure.Labels
	space  string
	fact   measure.PlanFact // empty in measurements from before there were any
}

// modules gives the modules that a measurement has plan rows of.
func modules(m *measure.Measurement) []module {
	if m == nil {
		return nil
	}
	facts, plans := map[string]measure.ModuleFact{}, map[string]measure.PlanFact{}
	found := &index{rows: map[string]int64{}}
	for _, f := range m.Facts.Modules {
		facts[f.Labels.Key()] = f
	}
	for _, f := range m.Facts.Plans {
		plans[f.Labels.Key()] = f
	}
	var out []module
	at := map[string]int{}
	for _, r := range m.Rows {
		if r.Value == nil {
			continue
		}
		if n, exact := r.Value.Int64(); exact {
			found.rows[r.Name+"\x00"+r.Labels.Key()] = n
		}
		if r.Name != "plan.need_bytes" {
			continue
		}
		key := r.Labels.Key("memory_space")
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			labels := measure.Labels{}
			for k, v := range r.Labels {
				if k != "memory_space" {
					labels[k] = v
				}
			}
			out = append(out, module{in: m, labels: labels, index: found, fact: facts[r.Labels.Key("memory_space", "file")]})
		}
		fact, ok := plans[r.Labels.Key()]
		if !ok {
			fact = plans[r.Labels.Key("file")]
		}
		out[i].plans = append(out[i].plans, plan{labels: r.Labels, space: r.Labels["memory_space"], fact: fact})
	}
	for i := range out {
		for j := range out[i].plans {
			out[i].plans[j].module = &out[i]
		}
	}
	return out
}

// in gives the plan of a memory space; one without rows where there is none.
func (m *module) space(name string) plan {
	for _, p := range m.plans {
		if p.space == name {
			return p
		}
	}
	return plan{module: m, space: name, labels: m.labels.With("memory_space", name)}
}

// bytes gives the value of a row of the plan; ok is false where it has none.
func (p plan) bytes(metric string) (n measure.Bytes, ok bool) {
	v, ok := p.module.row(metric, p.labels)
	return measure.Bytes(v), ok
}

// size is bytes, 0 where there is no value.
func (p plan) size(metric string) measure.Bytes {
	n, _ := p.bytes(metric)
	return n
}

// row finds a row by its labels; those of a metric whose files agree lack the file.
func (m *module) row(metric string, labels measure.Labels) (int64, bool) {
	n, ok := m.rows[metric+"\x00"+labels.Key()]
	if !ok {
		n, ok = m.rows[metric+"\x00"+labels.Key("file")]
	}
	return n, ok
}

// all sums a metric over the memory spaces of a module.
func (m *module) all(metric string) (sum measure.Bytes) {
	for _, p := range m.plans {
		sum += p.size(metric)
	}
	return sum
}

// contributors gives who holds a row's bytes.
func (p plan) contributors(metric string) []measure.Contributor {
	x := p.module.index
	if x.holders == nil {
		x.holders = map[string][]measure.Contributor{}
		for _, c := range p.module.in.Contributors {
			key := c.Metric + "\x00" + c.Labels.Key()
			x.holders[key] = append(x.holders[key], c)
		}
	}
	cs := x.holders[metric+"\x00"+p.labels.Key()]
	if len(cs) == 0 {
		cs = x.holders[metric+"\x00"+p.labels.Key("file")]
	}
	return cs
}

// holders gives the holders of the plan that keep says yes to.
func (p plan) holders(keep func(measure.PlanHolder) bool) (list []measure.PlanHolder) {
	for _, h := range p.fact.Holders {
		if keep(h) {
			list = append(list, h)
		}
	}
	return list
}

func ofClass(class string) func(measure.PlanHolder) bool {
	return func(h measure.PlanHolder) bool { return h.Class == class }
}

// finding starts a finding about the module, or about one memory space of it.
func (m *module) finding(severity, evidence, format string, args ...any) measure.Finding {
	return measure.Finding{Severity: severity, Evidence: evidence, Labels: m.labels, Text: fmt.Sprintf(format, args...)}
}

// list names holders with their bytes, the first three and how many more.
func list(hs []measure.PlanHolder, size func(measure.PlanHolder) measure.Bytes) string {
	const most = 3
	var out []string
	for i, h := range hs {
		if i == most {
			out = append(out, fmt.Sprintf("%d more", len(hs)-most))
			break
		}
		out = append(out, fmt.Sprintf("%s (%s)", h.Display, size(h)))
	}
	return strings.Join(out, ", ")
}

func held(h measure.PlanHolder) measure.Bytes { return h.Bytes }

func padding(h measure.PlanHolder) measure.Bytes { return h.Bytes - h.UnpaddedBytes }

// share is a part of a whole in percent.
func share(part, whole measure.Bytes) float64 {
	if whole <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// smallest is the number of bytes under which nothing is worth a finding.
const smallest = 64 << 10

// notable tells whether a number of bytes matters beside a whole: 1 % of it, and
// at least 64 KiB.
func notable(n, whole measure.Bytes) bool { return n >= max(smallest, whole/100) }

// modulePair is a module on both sides.
type modulePair struct {
	base, head *module
	space      string // the memory space that the pair is judged in
}

// pairModules pairs the modules of base and head: by name, entry shapes and
// fingerprint, then by less and less of these, the name last of all, so that a
// renamed program is still the same one. A module alone on either side pairs too.
func pairModules(bs, hs []module) (pairs []modulePair) {
	usedBase, usedHead := make([]bool, len(bs)), make([]bool, len(hs))
	name := func(m *module) string { return m.labels.Key("program", "host", "file") }
	shapes := func(m *module) string {
		if len(m.fact.Parameters) == 0 {
			return ""
		}
		return strings.Join(m.fact.Parameters, ";") + "->" + strings.Join(m.fact.Outputs, ";")
	}
	for _, key := range []func(*module) string{
		func(m *module) string {
			return strings.Join([]string{name(m), m.labels["file"], shapes(m), m.fact.Fingerprint}, "\x00")
		},
		func(m *module) string { return strings.Join([]string{name(m), shapes(m), m.fact.Fingerprint}, "\x00") },
		func(m *module) string { return name(m) + "\x00" + shapes(m) },
		name,
		func(m *module) string {
			if s := shapes(m); s != "" {
				return s + "\x00" + m.fact.Fingerprint
			}
			return ""
		},
		shapes,
	} {
		left := map[string][]int{} // bases without a partner, by key
		for i := range bs {
			if k := key(&bs[i]); !usedBase[i] && k != "" {
				left[k] = append(left[k], i)
			}
		}
		for j := range hs {
			if usedHead[j] {
				continue
			}
			if is := left[key(&hs[j])]; len(is) > 0 {
				usedBase[is[0]], usedHead[j] = true, true
				pairs = append(pairs, modulePair{base: &bs[is[0]], head: &hs[j]})
				left[key(&hs[j])] = is[1:]
			}
		}
	}
	if len(bs) == 1 && len(hs) == 1 && len(pairs) == 0 {
		pairs = append(pairs, modulePair{base: &bs[0], head: &hs[0]})
	}
	for i := range pairs {
		pairs[i].space = pairs[i].where()
	}
	slices.SortStableFunc(pairs, func(a, b modulePair) int { return strings.Compare(a.head.labels.Key(), b.head.labels.Key()) })
	return pairs
}

// grew is what a metric grew by over all memory spaces together.
func (p modulePair) grew(metric string) measure.Bytes { return p.head.all(metric) - p.base.all(metric) }

// moved gives what moved in a row of the device's memory (or another space), the
// most grown first.
func (p modulePair) moved(metric, space string) []compare.Contributor {
	b, h := p.base.space(space), p.head.space(space)
	return compare.Contributors(b.contributors(metric), h.contributors(metric), b.size(metric), h.size(metric))
}

// who names what grew most in a class of holders ("" for any), for the end of a
// sentence, with its place.
func (p modulePair) who(metric, class string) (string, *measure.Source) {
	var best *compare.Contributor
	for _, space := range p.head.plans {
		for _, c := range p.moved(metric, space.space) {
			if (class == "" || c.Class == class) && c.Key != measure.Other && c.Delta() > 0 && (best == nil || c.Delta() > best.Delta()) {
				best = &c
			}
		}
	}
	if best == nil {
		return "", nil
	}
	return fmt.Sprintf("; most of it: %s (%s)", best.Display, best.Delta().Signed()), best.Source
}
