package xla

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// classHolders is how many holders of a class a plan's fact names.
const classHolders = 8

// wasteful is the padding, in bytes, from which a holder is named for it.
const wasteful = 1 << 20

// planFact describes a plan for diagnosis.
func (m *Module) planFact(p *Plan, hs holders, labels measure.Labels) measure.PlanFact {
	f := measure.PlanFact{Labels: labels}
	live := append(slices.Clip(hs.indefinite), hs.live...)
	if p.Peak == nil {
		live = append(slices.Clip(hs.indefinite), hs.temp...)
	}
	f.Classes, f.Holders = holderFacts(live)
	if len(hs.arguments) > 0 {
		f.Donation = m.donation(p.Space)
	}
	for i := range m.Assignment.Allocations {
		if al := &m.Assignment.Allocations[i]; al.Space == p.Space && al.Kind() == Temp {
			f.BlockBytes = max(f.BlockBytes, measure.Bytes(al.SizeBytes))
		}
	}
	if p.Space == vmem {
		f.ScopedBytes = measure.Bytes(m.ScopedBytes)
	}
	if p.Peak != nil && p.Peak.Simulation != nil {
		f.Schedule = m.schedule(p.Peak.Simulation.Trace)
	}
	return f
}

// schedule is a hash of what a heap trace does: kinds of events and sizes of buffers.
func (m *Module) schedule(trace int) string {
	hash, buf := sha256.New(), make([]byte, 0, 16)
	for _, e := range m.Assignment.Traces[trace].Events {
		size := int64(-1)
		if b, ok := m.find().buffer[e.Buffer]; ok {
			size = m.Assignment.Buffers[b].SizeBytes
		}
		buf = binary.LittleEndian.AppendUint64(append(buf[:0], byte(e.Kind)), uint64(size))
		hash.Write(buf)
	}
	return hex.EncodeToString(hash.Sum(nil)[:8])
}

// checkpointed counts the instructions inside of functions that jax.checkpoint
// wraps, and of them those that compute again in the backward pass what was not
// kept. JAX names both so: jax/_src/ad_checkpoint.py.
func (m *Module) checkpointed() (again, scopes int64) {
	for i := range m.Computations {
		for j := range m.Computations[i].Instructions {
			name := m.Computations[i].Instructions[j].opName()
			if strings.Contains(name, "rematted_computation") {
				again++
			}
			if strings.Contains(name, "checkpoint") || strings.Contains(name, "rematted_computation") {
				scopes++
			}
		}
	}
	return again, scopes
}

// holderFacts sums holders by class, and names the largest groups of equal ones.
func holderFacts(list []holder) ([]measure.PlanClass, []measure.PlanHolder) {
	type id struct{ key, shape, opcode string }
	groups, order := map[id]int{}, []measure.PlanHolder{}
	first := []holder{} // stands for each group
	var classes []measure.PlanClass
	total := measure.Bytes(0)
	for _, h := range list {
		if h.bytes == 0 {
			continue
		}
		total += measure.Bytes(h.bytes)
		c := slices.IndexFunc(classes, func(c measure.PlanClass) bool { return c.Class == string(h.class) })
		if c < 0 {
			c, classes = len(classes), append(classes, measure.PlanClass{Class: string(h.class)})
		}
		classes[c].Bytes += measure.Bytes(h.bytes)
		classes[c].Count++
		k := id{h.key(), "", h.opcode}
		if h.shape != nil {
			k.shape = h.shape.String()
		}
		i, ok := groups[k]
		if !ok {
			i = len(order)
			groups[k], order, first = i, append(order, measure.PlanHolder{Key: k.key, Operation: h.operation(), Class: string(h.class), Opcode: h.opcode, Shape: k.shape, Copy: h.copy}), append(first, h)
		} else if h.before(&first[i]) {
			first[i] = h
		}
		order[i].Bytes += measure.Bytes(h.bytes)
		order[i].UnpaddedBytes += measure.Bytes(min(h.unpadded, h.bytes))
		order[i].Count++
	}
	for i := range order {
		name(&order[i], &first[i])
	}
	slices.SortStableFunc(classes, func(a, b measure.PlanClass) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Class, b.Class))
	})
	sortHolders(order)
	least, kept := measure.KeepThreshold(total), map[string]int{}
	return classes, slices.DeleteFunc(order, func(f measure.PlanHolder) bool {
		if f.Bytes < least {
			return true
		}
		kept[f.Class]++
		return kept[f.Class] > classHolders && (f.Bytes-f.UnpaddedBytes < wasteful || kept[f.Class] > 2*classHolders)
	})
}

func sortHolders(list []measure.PlanHolder) {
	slices.SortStableFunc(list, func(a, b measure.PlanHolder) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), strings.Compare(a.Key, b.Key), strings.Compare(a.Shape, b.Shape))
	})
}

// name gives a fact the words and the place of the holder that stands for it.
func name(f *measure.PlanHolder, h *holder) {
	f.Display = h.display(f.Count, false)
	if h.frame.File != "" {
		f.Source = &measure.Source{File: h.frame.File, Line: h.frame.Line}
	}
}

// donation tells which arguments of a memory space outputs reuse, which were
// offered in vain, and which could be offered: those with an unaliased output of
// equal size, one for one, equal shapes first.
func (m *Module) donation(space MemorySpace) *measure.DonationFact {
	d := &measure.DonationFact{}
	offered := map[string]bool{}
	for _, o := range m.Donors {
		offered[o.String()] = true
	}
	type leaf struct {
		fact measure.PlanHolder
		used bool
	}
	var free, outputs []leaf
	for i := range m.Assignment.Allocations {
		al := &m.Assignment.Allocations[i]
		if al.Space != space || al.SizeBytes == 0 {
			continue
		}
		switch al.Kind() {
		case Argument:
			d.Arguments++
			param := ParameterIndex{al.Parameter, al.ParameterIndex}.String()
			if offered[param] || m.find().aliased[param] {
				d.Declared++
			}
			switch {
			case m.donated(al):
				d.Donated++
			case offered[param]:
				d.LeftCount++
				d.LeftBytes += measure.Bytes(al.SizeBytes)
				d.Left = append(d.Left, leafFact(m.argumentHolder(al)))
			default:
				free = append(free, leaf{fact: leafFact(m.argumentHolder(al))})
			}
		case Output:
			outputs = append(outputs, leaf{fact: leafFact(m.outputHolder(al))})
		}
	}
	for _, look := range []func(measure.PlanHolder) string{
		func(f measure.PlanHolder) string { return fmt.Sprintf("%d %s", f.Bytes, f.Shape) },
		func(f measure.PlanHolder) string { return fmt.Sprint(f.Bytes) },
	} {
		fit := map[string][]int{} // outputs that are left
		for i := range outputs {
			if !outputs[i].used {
				fit[look(outputs[i].fact)] = append(fit[look(outputs[i].fact)], i)
			}
		}
		for i := range free {
			like := look(free[i].fact)
			if free[i].used || len(fit[like]) == 0 {
				continue
			}
			free[i].used, outputs[fit[like][0]].used = true, true
			fit[like] = fit[like][1:]
			d.MissingCount++
			d.MissingBytes += free[i].fact.Bytes
			d.Missing = append(d.Missing, free[i].fact)
		}
	}
	for _, list := range []*[]measure.PlanHolder{&d.Left, &d.Missing} {
		sortHolders(*list)
		*list = (*list)[:min(len(*list), classHolders)]
	}
	return d
}

func leafFact(h holder) measure.PlanHolder {
	f := measure.PlanHolder{Key: h.key(), Operation: h.operation(), Class: string(h.class), Opcode: h.opcode, Bytes: measure.Bytes(h.bytes), UnpaddedBytes: measure.Bytes(min(h.unpadded, h.bytes)), Count: 1}
	if h.shape != nil {
		f.Shape = h.shape.String()
	}
	name(&f, &h)
	return f
}
