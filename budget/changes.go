package budget

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Effect is what a change of a budget does to the gate.
type Effect string

// The effects, in the order in which changes are shown.
const (
	Loosens  Effect = "loosens"  // something passes that did not
	Reshapes Effect = "reshapes" // other rows or files are judged: a reviewer has to look
	Tightens Effect = "tightens" // something fails that passed
)

// Change is one difference between two budgets.
type Change struct {
	Effect Effect
	Target string // empty where it is about the whole file or a device
	Metric string // empty where it is about the whole target
	// Bytes is how much more (or, below zero, less) a changed limit in bytes
	// allows; 0 where that is not what changed.
	Bytes measure.Bytes
	// Pos is the place in the head; where InBase is set something was removed, and
	// it is the place in the base.
	Pos    Position
	InBase bool
	Text   string // one sentence, without a full stop
}

// Changes gives all differences between two budgets that can change a verdict,
// what loosens first, then the most bytes first, then in the order of the places.
// Texts that only people read (why, reason, owner) are none. A target under a new
// name is one that was removed and one that was added.
//
// A limit that is removed loosens, one that is added tightens. A wider selection
// tightens, a narrower one loosens; any other change of what is judged reshapes.
func Changes(base, head *File) []Change {
	c := changes{}
	c.policy(base.Policy, head.Policy)
	pairUp(base.Targets, head.Targets, func(t *Target) string { return t.Name },
		func(b, h *Target) { c.target(b, h) },
		func(b *Target) {
			c.removed(Loosens, b.Name, "", b.Pos, "target "+element(b.Name)+" was removed")
		},
		func(h *Target) {
			c.added(Tightens, h.Name, "", h.Pos, "target "+element(h.Name)+" was added")
		})
	pairUp(base.Devices, head.Devices, func(d *Device) string { return d.Name },
		func(b, h *Device) { c.device(b, h) },
		func(b *Device) { c.removed(Loosens, "", "", b.Pos, "device "+element(b.Name)+" was removed") },
		func(h *Device) { c.added(Tightens, "", "", h.Pos, "device "+element(h.Name)+" was added") })
	c.waivers(base.Waivers, head.Waivers)
	c.sort()
	return c
}

type changes []Change

func (c *changes) added(effect Effect, target, metric string, at Position, text string) {
	*c = append(*c, Change{Effect: effect, Target: target, Metric: metric, Pos: at, Text: text})
}

func (c *changes) removed(effect Effect, target, metric string, at Position, text string) {
	*c = append(*c, Change{Effect: effect, Target: target, Metric: metric, Pos: at, InBase: true, Text: text})
}

func (c changes) sort() {
	rank := map[Effect]int{Loosens: 0, Reshapes: 1, Tightens: 2}
	slices.SortStableFunc(c, func(a, b Change) int {
		return cmp.Or(cmp.Compare(rank[a.Effect], rank[b.Effect]), cmp.Compare(b.Bytes, a.Bytes),
			strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
}

// pairUp walks two lists by name: what both have, what only base has, what only head has.
func pairUp[T any](base, head []T, name func(T) string, both func(b, h T), gone, fresh func(T)) {
	find := func(list []T) map[string]T {
		m := map[string]T{}
		for _, e := range list {
			m[name(e)] = e
		}
		return m
	}
	bases, heads := find(base), find(head)
	for _, b := range base {
		if _, ok := heads[name(b)]; !ok {
			gone(b)
		}
	}
	for _, h := range head {
		if b, ok := bases[name(h)]; ok {
			both(b, h)
		} else {
			fresh(h)
		}
	}
}

func (c *changes) policy(base, head Policy) {
	hs := head.settings()
	for i, b := range base.settings() {
		h := hs[i]
		if b.setting.Value == h.setting.Value {
			continue
		}
		// fail is stricter than a label that lifts it, and that than warn; base
		// is stricter than head, which a pull request writes itself.
		strictness := func(s string) int {
			switch {
			case s == "fail" || s == "base":
				return 2
			case strings.HasPrefix(s, labelPrefix):
				return 1
			}
			return 0
		}
		effect := Reshapes
		switch d := strictness(h.setting.Value) - strictness(b.setting.Value); {
		case d < 0:
			effect = Loosens
		case d > 0:
			effect = Tightens
		}
		text := fmt.Sprintf("policy %s was %s and is %s", h.name, printable(b.setting.Value), printable(h.setting.Value))
		if h.setting.Pos.Line == 0 {
			c.removed(effect, "", "", b.setting.Pos, text+", the default")
			continue
		}
		c.added(effect, "", "", h.setting.Pos, text)
	}
}

func (c *changes) target(b, h *Target) {
	differs := func(what string, at Position, base, head []string, effect Effect) {
		if !slices.Equal(base, head) {
			c.added(effect, h.Name, "", cmp.Or(at, h.Pos), fmt.Sprintf("%s: %s %s", element(h.Name), what, became(base, head)))
		}
	}
	captures := [2][]string{patternTexts(b.Captures, b.Dir()), patternTexts(h.Captures, h.Dir())}
	differs("captures", firstPos(h.Captures), captures[0], captures[1], fewer(captures[0], captures[1]))
	differs("base", cmp.Or(firstPos(h.Base), h.BaseRun), baseTexts(b), baseTexts(h), Reshapes)
	differs("run", commandPos(h.Run), commandTexts(b.Run), commandTexts(h.Run), Reshapes)
	differs("dryrun", h.Dryrun.pos(), b.Dryrun.texts(), h.Dryrun.texts(), Reshapes)
	differs("only_when", conditionPos(h), conditionTexts(b), conditionTexts(h), Reshapes)
	differs("warmup", h.Warmup.pos(), b.Warmup.texts(), h.Warmup.texts(), Reshapes)
	if n, m := confirm(b), confirm(h); n != m {
		effect := Tightens
		if m > n {
			effect = Loosens
		}
		at := h.Pos
		if h.Confirm != nil {
			at = h.Confirm.Pos
		}
		c.added(effect, h.Name, "", at, fmt.Sprintf("%s: runs that must agree before a verdict is red: %d, now %d", element(h.Name), n, m))
	}
	c.expect(b, h)
	pairUp(b.Budgets, h.Budgets, func(e *Entry) string { return e.Metric.Name },
		func(b, h2 *Entry) { c.entry(h.Name, b, h2) },
		func(e *Entry) {
			c.removed(Loosens, h.Name, e.Metric.Name, e.Pos, fmt.Sprintf("%s: the budget of %s (%s) was removed", element(h.Name), e.Metric.Name, e.limits()))
		},
		func(e *Entry) {
			c.added(Tightens, h.Name, e.Metric.Name, e.Pos, fmt.Sprintf("%s: a budget of %s (%s) was added", element(h.Name), e.Metric.Name, e.limits()))
		})
}

// fewer says what it means that one set of files to judge becomes another.
func fewer(base, head []string) Effect {
	contains := func(all, some []string) bool {
		return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
	}
	switch {
	case contains(base, head):
		return Loosens
	case contains(head, base):
		return Tightens
	}
	return Reshapes
}

func (c *changes) expect(b, h *Target) {
	pairUp(b.Expect, h.Expect, func(e Expect) string { return e.Label },
		func(b, e Expect) {
			if b.Count != e.Count {
				effect := Tightens
				if e.Count < b.Count {
					effect = Loosens
				}
				c.added(effect, h.Name, "", e.Pos, fmt.Sprintf("%s: expected %ss were %d and are %d", element(h.Name), e.Label, b.Count, e.Count))
			}
		},
		func(e Expect) {
			c.removed(Loosens, h.Name, "", e.Pos, fmt.Sprintf("%s: %d %ss are no longer expected", element(h.Name), e.Count, e.Label))
		},
		func(e Expect) {
			c.added(Tightens, h.Name, "", e.Pos, fmt.Sprintf("%s: %d %ss are expected now", element(h.Name), e.Count, e.Label))
		})
}

// entry compares the limits of one metric.
func (c *changes) entry(target string, b, h *Entry) {
	name := element(target) + ": " + h.Metric.Name
	c.limit(target, h, name+" max", b.Max, h.Max, h.Metric.Unit, true)
	c.limit(target, h, name+" min", b.Min, h.Min, h.Metric.Unit, false)
	c.growth(target, h, name+" growth", b.Growth, h.Growth)
	switch slope := isSlope(h.Metric.Unit); {
	case slope && (b.Floor == nil) != (h.Floor == nil): // the default depends on what is measured
		text, at := " of "+orZero(h.Floor).Text+" replaces the default", orZero(h.Floor).Pos
		if h.Floor == nil {
			text = " of " + b.Floor.Text + " was removed, and the default counts"
		}
		c.added(Reshapes, target, h.Metric.Name, cmp.Or(at, h.Pos), name+" floor"+text)
	case slope || b.Growth != nil && h.Growth != nil: // else a floor says nothing
		c.limit(target, h, name+" floor", orZero(b.Floor), orZero(h.Floor), floorUnit(h.Metric.Unit), true)
	}
	c.limit(target, h, name+" up_to", orZero(b.UpTo), orZero(h.UpTo), floorUnit(h.Metric.Unit), true)
	if b.Severity != h.Severity {
		effect := Tightens
		if h.Severity == SeverityWarn {
			effect = Loosens
		}
		c.added(effect, target, h.Metric.Name, cmp.Or(h.SeverityPos, h.Pos), fmt.Sprintf("%s severity was %s and is %s", name, b.Severity, h.Severity))
	}
	if n, m := b.Projection(), h.Projection(); n != m {
		effect := Tightens // over more steps, less growth is too much
		if m < n {
			effect = Loosens
		}
		at := h.Pos
		if h.Horizon != nil {
			at = h.Horizon.Pos
		}
		c.added(effect, target, h.Metric.Name, at, fmt.Sprintf("%s horizon was %d %s and is %d", name, n, perName(h.Metric.Unit), m))
	}
	c.selection(target, h.Metric.Name, h.Pos, name+" select", b.Select, h.Select)
}

// selection compares what two selectors match: more labels are fewer rows.
func (c *changes) selection(target, metric string, at Position, name string, b, h Selector) {
	if maps.Equal(b, h) {
		return
	}
	effect := Reshapes
	switch {
	case within(b, h):
		effect = Loosens
	case within(h, b):
		effect = Tightens
	}
	c.added(effect, target, metric, at, name+" "+became(selectorTexts(b), selectorTexts(h)))
}

// within tells whether each label of the one has the same pattern in the other.
func within(a, b Selector) bool {
	for name, pattern := range a {
		if other, ok := b[name]; !ok || other != pattern {
			return false
		}
	}
	return true
}

// limit compares two limits; more tells that a larger one allows more.
func (c *changes) limit(target string, e *Entry, name string, b, h *Limit, unit measure.Unit, more bool) {
	switch {
	case b == nil && h == nil:
	case h == nil:
		c.removed(Loosens, target, e.Metric.Name, b.Pos, name+" of "+b.Text+" was removed")
	case b == nil:
		c.added(Tightens, target, e.Metric.Name, h.Pos, name+" of "+h.Text+" was added")
	case b.Value.Cmp(h.Value) != 0:
		up := h.Value.Cmp(b.Value) > 0
		change := Change{Effect: Tightens, Target: target, Metric: e.Metric.Name, Pos: cmp.Or(h.Pos, e.Pos)}
		verb, than, apart := "lowered", "less", b.Value.Sub(h.Value)
		if up {
			verb, than, apart = "raised", "more", h.Value.Sub(b.Value)
		}
		if up == more {
			change.Effect = Loosens
		}
		if unit == measure.ByteUnit {
			if n, ok := apart.Int64(); ok {
				change.Bytes = measure.Bytes(n)
				if change.Effect == Tightens {
					change.Bytes = -change.Bytes
				}
			}
		}
		change.Text = fmt.Sprintf("%s was %s from %s to %s: %s %s", name, verb, b.Text, h.Text, apart.Format(unit), than)
		*c = append(*c, change)
	}
}

func (c *changes) growth(target string, e *Entry, name string, b, h *Growth) {
	switch {
	case b == nil && h == nil:
	case h == nil:
		c.removed(Loosens, target, e.Metric.Name, b.Pos, name+" of "+b.Text+" was removed")
	case b == nil:
		c.added(Tightens, target, e.Metric.Name, h.Pos, name+" of "+h.Text+" was added")
	default:
		switch h.Percent.Cmp(b.Percent) {
		case 1:
			c.added(Loosens, target, e.Metric.Name, h.Pos, name+" was raised from "+b.Text+" to "+h.Text)
		case -1:
			c.added(Tightens, target, e.Metric.Name, h.Pos, name+" was lowered from "+b.Text+" to "+h.Text)
		}
	}
}

// orZero is the limit, or where there is none the 0 that it then is.
func orZero(l *Limit) *Limit {
	if l != nil {
		return l
	}
	return &Limit{Value: measure.Int(0), Text: "none"}
}

func (e *Entry) limits() string {
	var out []string
	if e.Max != nil {
		out = append(out, "max "+e.Max.Text)
	}
	if e.Min != nil {
		out = append(out, "min "+e.Min.Text)
	}
	if e.Growth != nil {
		out = append(out, "growth "+e.Growth.Text)
	}
	return strings.Join(out, ", ")
}
