package diagnose

import (
	"fmt"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// growth is what the need or the heap peak grew by, the larger of the two, in the
// memory space that the pair is judged in.
func (p modulePair) growth() (most measure.Bytes) {
	base, head := p.sides()
	for _, metric := range []string{"plan.need_bytes", "plan.heap_peak_bytes"} {
		b, ok := base.bytes(metric)
		h, ok2 := head.bytes(metric)
		if ok && ok2 {
			most = max(most, h-b)
		}
	}
	return most
}

// needGrew tells whether the program takes notably more: where it does not, what
// moved inside of it is nobody's regression.
func (p modulePair) needGrew() bool { return p.matters(p.growth()) }

// need is the need of the base on the device: what a change is measured by.
func (p modulePair) need() measure.Bytes { return p.base.space(device).size("plan.need_bytes") }

// eachPair makes a rule's Find of a function of one pair of modules.
func eachPair(find func(p modulePair) (measure.Finding, bool)) func(Input) []measure.Finding {
	return func(in Input) (out []measure.Finding) {
		for _, p := range in.pairs {
			if f, ok := find(p); ok {
				out = append(out, f)
			}
		}
		return out
	}
}

var xlaPairRules = []Rule{
	{
		Name: "donation-lost", Family: "xla", Compares: true,
		Doc: "The base wrote outputs over arguments, the head does not: the need rises by up to the state, while the temp block may even fall.",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			b, h := p.base.space(device), p.head.space(device)
			lost := b.size("plan.donated_bytes") - h.size("plan.donated_bytes")
			// Another program may have less state to donate: then its outputs are fewer as well.
			alone := h.size("plan.unaliased_output_bytes") - b.size("plan.unaliased_output_bytes")
			if !notable(lost, p.need()) || alone <= 0 || 4*alone < lost {
				return f, false
			}
			who, at := p.who("plan.output_bytes", "output")
			if who == "" {
				who, at = p.who("plan.need_bytes", "output")
			}
			f = p.head.finding(Warning, Measured, "donation lost: outputs were written over %s of arguments, now over %s; the need %s%s", b.size("plan.donated_bytes"), h.size("plan.donated_bytes"), moved(b.size("plan.need_bytes"), h.size("plan.need_bytes")), who)
			f.Fix = "declare donate_argnums again"
			if d := h.fact.Donation; d != nil && d.LeftCount > 0 {
				f.Text += fmt.Sprintf("; %s declared, but no output fits: %s", plural(d.LeftCount, "argument is", "arguments are"), list(d.Left, held))
				f.Fix = "return the state with the shape, dtype and sharding that it came with"
			}
			f.Cost, f.SavingBytes, f.Source = donationCost, max(0, h.size("plan.need_bytes")-b.size("plan.need_bytes")), at
			return f, true
		}),
	},
	{
		Name: "remat-lost", Family: "xla", Compares: true,
		Doc: "The base computed parts of the forward pass again (jax.checkpoint, or XLA's own rematerialization), the head keeps them. Bytes of all memory spaces count together, so offloading is no loss.",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			grew := p.grew("plan.forward_kept_bytes")
			b, h := p.base.fact, p.head.fact
			if !notable(grew, p.need()) || !p.lessRemat() {
				return f, false
			}
			who, at := p.who("plan.heap_peak_bytes", "forward_kept")
			what := fmt.Sprintf("%s the forward pass (%d in the base)", plural(h.Checkpointed, "instruction recomputes", "instructions recompute"), b.Checkpointed)
			f = p.head.finding(Warning, Measured, "remat lost: ")
			if h.Checkpointed > 0 {
				f.Text = "less remat: "
			}
			f.Fix = "put jax.checkpoint back around the function"
			if h.Checkpointed >= b.Checkpointed {
				what = fmt.Sprintf("XLA rematerialized %s (%d in the base)", plural(h.Remat, "instruction", "instructions"), b.Remat)
				f.Fix = rematFix
			}
			f.Text += fmt.Sprintf("%s, so the forward pass keeps %s for the backward pass (%s in the base)%s", what, p.head.all("plan.forward_kept_bytes"), p.base.all("plan.forward_kept_bytes"), who)
			f.Cost, f.SavingBytes, f.Source = rematCost, grew, at
			return f, true
		}),
	},
	{
		Name: "forward-kept-grew", Family: "xla", Compares: true,
		Doc: "The head keeps more of the forward pass for the backward pass, at least a quarter of the growth, though about as much is computed again as in the base: more or larger activations, or a policy that saves more.",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			grew := p.grew("plan.forward_kept_bytes")
			if !p.needGrew() || !p.matters(grew) || 4*grew < p.growth() || p.lessRemat() {
				return f, false
			}
			who, at := p.who("plan.heap_peak_bytes", "forward_kept")
			f = p.head.finding(Warning, Measured, "the forward pass keeps %s for the backward pass, %s in the base%s", p.head.all("plan.forward_kept_bytes"), p.base.all("plan.forward_kept_bytes"), who)
			f.Fix, f.Cost, f.SavingBytes, f.Source = rematFix, rematCost, grew, at
			return f, true
		}),
	},
	{
		Name: "offload-lost", Family: "xla", Compares: true,
		Doc: "The base kept buffers in the host's memory (color 5), the head keeps them on the device. XLA's own peak falls then, since it counts both.",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			left := p.base.space(host).size("plan.need_bytes") - p.head.space(host).size("plan.need_bytes")
			grew := p.head.space(device).size("plan.need_bytes") - p.need()
			if !notable(left, p.need()) || !notable(grew, p.need()) {
				return f, false
			}
			who, at := p.who("plan.heap_peak_bytes", "")
			f = p.head.finding(Warning, Measured, "offload lost: %s are planned in host memory, %s in the base, and the device's need %s%s", p.head.space(host).size("plan.need_bytes"), p.base.space(host).size("plan.need_bytes"), moved(p.need(), p.need()+grew), who)
			f.Fix, f.Cost, f.SavingBytes, f.Source = "offload them again (checkpoint policy save_and_offload_only_these_names, or memory_kind=\"pinned_host\")", "transfers between host and device", grew, at
			return f, true
		}),
	},
	{
		Name: "dtype-widened", Family: "xla", Compares: true,
		Doc: "Values of the same number of elements take a wider type than in the base (bf16 to f32).",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			type wide struct {
				measure.PlanHolder
				from string
				grew measure.Bytes
			}
			var best wide
			var sum measure.Bytes
			if !p.needGrew() {
				return f, false
			}
			base, head := p.sides()
			for _, h := range head.fact.Holders {
				if from, grew := widened(base.fact.Holders, h); grew > 0 {
					if sum += grew; grew > best.grew {
						best = wide{h, from, grew}
					}
				}
			}
			if !p.matters(sum) {
				return f, false
			}
			f = p.head.finding(Warning, Measured, "a wider dtype takes %s more%s: %s was %s in the base", sum, p.in(), best.Display, best.from)
			f.Fix, f.Cost, f.SavingBytes, f.Source = "keep the values in the narrow type: cast after the reduction, or pass preferred_element_type / dtype where they are made", "precision of these values", sum, best.Source
			return f, true
		}),
	},
	{
		Name: "in-place-lost", Family: "xla", Compares: true,
		Doc: "Copies are live at the heap peak that the base did not have, at least a quarter of the growth, in a program that updates a part of an array (dynamic_update_slice, scatter) or donates arguments: the update is no longer done in place. A copy into another layout is none of these.",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			copies := func(m *module) (list []measure.PlanHolder, sum measure.Bytes) {
				donation := m.space(device).fact.Donation
				list = m.space(device).holders(func(h measure.PlanHolder) bool {
					updates := m.fact.Updates > 0 || h.Copy && donation != nil && donation.Declared > 0
					return updates && (h.Class == "temp" || h.Class == "backward") && (h.Copy || h.Opcode == "copy" || h.Opcode == "copy-done")
				})
				for _, h := range list {
					sum += h.Bytes
				}
				return list, sum
			}
			_, before := copies(p.base)
			now, after := copies(p.head)
			if p.space != device || !p.needGrew() || 4*(after-before) < p.growth() || len(now) == 0 {
				return f, false
			}
			f = p.head.finding(Warning, Inferred, "an update is no longer in place: copies of %s are live at the heap peak, %s in the base: %s", after, before, list(now, held))
			f.Fix = "let nothing read the old value after the update, keep layout and dtype, and donate the argument"
			f.Cost, f.SavingBytes, f.Source = "nothing", after-before, now[0].Source
			return f, true
		}),
	},
	{
		Name: "new-fusion", Family: "xla", Compares: true,
		Doc: "A fusion that the base did not have holds a buffer of at least a quarter of the growth at the heap peak: the compiler materializes what it did not before (changed code, or another compiler version).",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			b, h := p.sides()
			if p.space != device || !p.needGrew() {
				return f, false
			}
			var best measure.PlanHolder
			for _, one := range h.fact.Holders {
				grew := classBytes(h, one.Class) - classBytes(b, one.Class)
				if one.Opcode != "fusion" || one.Class == "forward_kept" || one.Class == "output" || grew < one.Bytes/2 || 4*one.Bytes < p.growth() || one.Bytes <= best.Bytes {
					continue
				}
				if _, bytes := sameOperation(b.fact.Holders, one.Operation); bytes == 0 {
					best = one
				}
			}
			if best.Bytes == 0 {
				return f, false
			}
			f = p.head.finding(Warning, Inferred, "a new fusion holds %s at the heap peak: %s", best.Bytes, best.Display)
			f.Fix = "look at the operation there: a mask, one-hot or broadcast that is materialized can be computed where it is used; after a compiler upgrade, report it with the dumped module"
			f.Cost, f.SavingBytes, f.Source = "depends on the operation", best.Bytes, best.Source
			return f, true
		}),
	},
	{
		Name: "padding-grew", Family: "xla", Compares: true,
		Doc: "More of the plan is padding than in the base, at least a quarter of the growth: a new layout, or a small trailing dimension.",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			base, head := p.sides()
			b, h := base.size("plan.padding_bytes"), head.size("plan.padding_bytes")
			if !p.needGrew() || !p.matters(h-b) || 4*(h-b) < p.growth() {
				return f, false
			}
			f = p.head.finding(Warning, Measured, "padding at the heap peak%s %s", p.in(), moved(b, h))
			var worst measure.PlanHolder
			for _, one := range head.fact.Holders {
				if padding(one) > padding(worst) {
					worst = one
				}
			}
			if worst.Bytes > 0 {
				f.Text += fmt.Sprintf("; most of it in %s (%s of %s)", worst.Display, padding(worst), worst.Bytes)
				f.Source = worst.Source
			}
			f.Fix, f.Cost, f.SavingBytes = "let the last dimension be large: merge or transpose small trailing dimensions", "a reshape or transpose where the array is made", h-b
			return f, true
		}),
	},
	{
		Name: "sharding-lost", Family: "xla", Compares: true,
		Doc:  "Arguments that the base split over devices are whole on each in the head, by the module's own shardings, or because their shapes on one device grew by a factor of the device count.",
		Find: eachPair(lostSharding),
	},
	{
		Name: "order-only", Family: "xla", Compares: true,
		Doc: "The same instructions run in another order, and that alone changed the peak: the scheduler (latency hiding) traded memory for overlap.",
		Find: eachPair(func(p modulePair) (f measure.Finding, ok bool) {
			b, h := p.sides()
			grew := h.size("plan.heap_peak_bytes") - b.size("plan.heap_peak_bytes")
			for _, same := range []string{"plan.argument_bytes", "plan.output_bytes", "plan.donated_bytes", "plan.unaliased_output_bytes"} {
				if b.size(same) != h.size(same) {
					return f, false
				}
			}
			if p.head.fact.Contents == "" || p.head.fact.Contents != p.base.fact.Contents || h.fact.Schedule == b.fact.Schedule || h.fact.Schedule == "" || b.fact.Schedule == "" || !p.matters(grew) {
				return f, false
			}
			who, at := p.who("plan.heap_peak_bytes", "")
			f = p.head.finding(Warning, Measured, "the same instructions in another order: the heap peak%s %s%s", p.in(), moved(b.size("plan.heap_peak_bytes"), h.size("plan.heap_peak_bytes")), who)
			f.Source = at
			f.Fix = "the program did not change: look at the compiler's version and flags (--xla_gpu_enable_latency_hiding_scheduler, --xla_tpu_enable_latency_hiding_scheduler, their memory limits; on CPU --xla_cpu_enable_concurrency_optimized_scheduler)"
			f.Cost, f.SavingBytes = "less overlap of communication", grew
			return f, true
		}),
	},
}

// lessRemat tells whether the head computes less of the forward pass again. A loop that
// was rolled up has fewer instructions of every kind: as long as some are left, it is
// their share of all that counts.
func (p modulePair) lessRemat() bool {
	b, h := p.base.fact, p.head.fact
	if h.Checkpointed > 0 && h.Instructions > 0 && b.Instructions > 0 {
		was, is := float64(b.Checkpointed)/float64(b.Instructions), float64(h.Checkpointed)/float64(h.Instructions)
		return 3*is < 2*was || h.Checkpointed >= b.Checkpointed && h.Remat < b.Remat
	}
	return h.Checkpointed < b.Checkpointed || h.Remat < b.Remat
}

// lostSharding is the rule sharding-lost.
func lostSharding(p modulePair) (f measure.Finding, ok bool) {
	b, h := p.base.fact, p.head.fact
	grew := p.head.space(device).size("plan.argument_bytes") - p.base.space(device).size("plan.argument_bytes")
	if !notable(grew, p.need()) {
		return f, false
	}
	factor, n, example := unsplit(b.Parameters, h.Parameters, max(b.Partitions, h.Partitions))
	evidence := Inferred
	var what string
	switch {
	case h.Sharded < b.Sharded:
		evidence, what = Measured, fmt.Sprintf("%s split over devices, %d in the base", plural(h.Sharded, "argument is", "arguments are"), b.Sharded)
	case h.Partitions < b.Partitions:
		evidence, what = Measured, fmt.Sprintf("the program runs on %s, on %d in the base", plural(max(1, h.Partitions), "partition", "partitions"), b.Partitions)
	case n > 0:
		what = fmt.Sprintf("%s %d times as large on each of %d devices", plural(n, "argument is", "arguments are"), factor, h.Partitions)
	default:
		return f, false
	}
	if example != "" {
		what += " (" + example + ")"
	}
	who, at := p.who("plan.argument_bytes", "argument")
	f = p.head.finding(Warning, evidence, "sharding lost: %s; arguments take %s more on each device%s", what, grew, who)
	f.Fix, f.Cost, f.SavingBytes, f.Source = "give the arguments their sharding again (in_shardings, NamedSharding of the state, with_sharding_constraint)", "communication", grew, at
	return f, true
}

// moved tells a change in words.
func moved(base, head measure.Bytes) string {
	switch {
	case head > base:
		return fmt.Sprintf("grew by %s, from %s to %s", head-base, base, head)
	case head < base:
		return fmt.Sprintf("fell by %s, from %s to %s", base-head, base, head)
	}
	return fmt.Sprintf("stayed at %s", base)
}

func classBytes(p plan, class string) measure.Bytes {
	for _, c := range p.fact.Classes {
		if c.Class == class {
			return c.Bytes
		}
	}
	return 0
}

// sameOperation gives the holders of an operation, whatever the function's name.
func sameOperation(hs []measure.PlanHolder, operation string) (list []measure.PlanHolder, sum measure.Bytes) {
	for _, h := range hs {
		if h.Operation == operation {
			list = append(list, h)
			sum += h.Bytes
		}
	}
	return list, sum
}

// widened tells from what narrower type a holder's values were in the base, and
// by how much it grew for that.
func widened(base []measure.PlanHolder, h measure.PlanHolder) (from string, grew measure.Bytes) {
	element, dims := parseShape(h.Shape)
	width, n := bits(element), elements(dims)
	if width == 0 || n == 0 {
		return "", 0
	}
	same, _ := sameOperation(base, h.Operation)
	for _, b := range same {
		was, of := parseShape(b.Shape)
		switch w := bits(was); {
		case elements(of) != n || w == 0:
		case w >= width:
			return "", 0 // as wide in the base
		case from == "":
			from = b.Shape
			grew = h.Bytes - h.Bytes*measure.Bytes(w)/measure.Bytes(width)
		}
	}
	return from, grew
}

// unsplit counts the parameters whose shape in the head is that of the base times
// one factor in one dimension, a factor that divides the number of partitions.
func unsplit(base, head []string, partitions int64) (factor, n int64, example string) {
	if len(base) != len(head) || partitions < 2 {
		return 0, 0, ""
	}
	for i := range base {
		was, from := parseShape(base[i])
		is, to := parseShape(head[i])
		if was != is || len(from) != len(to) {
			continue
		}
		k, changed := int64(0), 0
		for d := range from {
			if from[d] != to[d] {
				changed++
				if from[d] > 0 && to[d]%from[d] == 0 {
					k = to[d] / from[d]
				}
			}
		}
		if changed == 1 && k > 1 && partitions%k == 0 && (factor == 0 || factor == k) {
			factor = k
			if n++; example == "" {
				example = strings.Join([]string{base[i], head[i]}, " to ")
			}
		}
	}
	return factor, n, example
}
