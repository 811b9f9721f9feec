package budget

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Over so many steps, or hours, a growth is projected where the entry gives no
// horizon.
const (
	defaultHorizon = 1000
	defaultHours   = 24
)

// Projection is over how many steps (of a metric per hour: hours) the growth of the
// entry's metric is projected.
func (e *Entry) Projection() int64 {
	switch {
	case e.Horizon != nil:
		return e.Horizon.Value
	case strings.HasSuffix(string(e.Metric.Unit), "/h"):
		return defaultHours
	}
	return defaultHorizon
}

func confirm(t *Target) int64 {
	if t.Confirm == nil {
		return 1
	}
	return t.Confirm.Value
}

// device compares two limits for a sum.
func (c *changes) device(b, h *Device) {
	name := "device " + element(h.Name)
	entry := &Entry{Metric: h.Metric, Pos: h.Pos}
	c.limit("", entry, name+" max", b.Max, h.Max, h.Metric.Unit, true)
	pairUp(b.Targets, h.Targets, func(n Name) string { return n.Text }, func(Name, Name) {},
		func(n Name) { c.removed(Loosens, n.Text, "", n.Pos, name+" no longer counts "+element(n.Text)) },
		func(n Name) { c.added(Tightens, n.Text, "", n.Pos, name+" counts "+element(n.Text)+" too") })
	if b.Metric.Name != h.Metric.Name {
		c.added(Reshapes, "", h.Metric.Name, h.Pos, name+" added up "+b.Metric.Name+" and adds up "+h.Metric.Name)
	}
	if b.Severity != h.Severity {
		effect := Tightens
		if h.Severity == SeverityWarn {
			effect = Loosens
		}
		c.added(effect, "", "", h.Pos, fmt.Sprintf("%s severity was %s and is %s", name, b.Severity, h.Severity))
	}
	c.selection("", h.Metric.Name, h.Pos, name+" select", b.Select, h.Select)
}

// waivers pairs what lifts the same rows; the n-th of several in the order of the file.
func (c *changes) waivers(base, head []*Waiver) {
	type numbered struct {
		*Waiver
		key string
	}
	number := func(list []*Waiver) []numbered {
		seen, out := map[string]int{}, []numbered{}
		for _, w := range list {
			key := w.Target + "\x00" + w.Metric + "\x00" + strings.Join(selectorTexts(w.Select), "\x00")
			seen[key]++
			out = append(out, numbered{w, fmt.Sprintf("%s\x00%d", key, seen[key])})
		}
		return out
	}
	about := func(w *Waiver) string { return "the waiver of " + element(w.Target) + " " + w.Metric }
	reach := func(w *Waiver) string {
		if w.Min != nil {
			return "down to " + w.Min.Text
		}
		return "up to " + w.Max.Text
	}
	pairUp(number(base), number(head), func(n numbered) string { return n.key },
		func(b, h numbered) {
			e := &Entry{Pos: h.Pos}
			e.Metric.Name = h.Metric
			metric, _ := measure.Lookup(h.Metric)
			c.limit(h.Target, e, about(h.Waiver)+": max", b.Max, h.Max, metric.Unit, true)
			c.limit(h.Target, e, about(h.Waiver)+": min", b.Min, h.Min, metric.Unit, false)
			switch {
			case h.Until > b.Until:
				c.added(Loosens, h.Target, h.Metric, h.UntilPos, fmt.Sprintf("%s was extended from %s to %s", about(h.Waiver), b.Until, h.Until))
			case h.Until < b.Until:
				c.added(Tightens, h.Target, h.Metric, h.UntilPos, fmt.Sprintf("%s was shortened from %s to %s", about(h.Waiver), b.Until, h.Until))
			}
		},
		func(w numbered) {
			c.removed(Tightens, w.Target, w.Metric, w.Pos, fmt.Sprintf("%s (%s until %s) was removed", about(w.Waiver), reach(w.Waiver), w.Until))
		},
		func(w numbered) {
			c.added(Loosens, w.Target, w.Metric, w.Pos, fmt.Sprintf("a new waiver of %s %s: %s until %s, for %s: %s",
				element(w.Target), w.Metric, reach(w.Waiver), w.Until, quote(w.Owner), quote(w.Reason)))
		})
}

// became tells of a list that changed.
func became(base, head []string) string {
	show := func(list []string) string {
		if len(list) == 0 {
			return "nothing"
		}
		return clip(printable(strings.Join(list, ", ")))
	}
	switch {
	case len(base) == 0:
		return show(head) + " was added"
	case len(head) == 0:
		return show(base) + " was removed"
	}
	return "was " + show(base) + " and is " + show(head)
}

// clip shortens a text that is printed.
func clip(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

func firstPos(list []Pattern) Position {
	if len(list) == 0 {
		return Position{}
	}
	return list[0].Pos
}

// patternTexts gives paths as they are below the folder of the first file, so that
// a target that moves to another file with its paths has not changed.
func patternTexts(list []Pattern, dir string) []string {
	var out []string
	for _, p := range list {
		if path.IsAbs(p.Text) {
			out = append(out, p.Text)
			continue
		}
		out = append(out, path.Join(dir, p.Text))
	}
	slices.Sort(out)
	return out
}

func baseTexts(t *Target) []string {
	if t.BaseRun.Line > 0 {
		return []string{"run"}
	}
	return patternTexts(t.Base, t.Dir())
}

func commandPos(c *Command) Position {
	if c == nil {
		return Position{}
	}
	return c.Pos
}

func commandTexts(c *Command) []string {
	if c == nil {
		return nil
	}
	return c.Args
}

func (w *Warmup) pos() Position {
	if w == nil {
		return Position{}
	}
	return w.Pos
}

func (w *Warmup) texts() []string {
	switch {
	case w == nil:
		return nil
	case w.Steps != nil:
		return []string{fmt.Sprintf("%d steps", w.Steps.Value)}
	case w.Fraction != nil:
		return []string{w.Fraction.Text + " of the points"}
	}
	return []string{w.Time.Text}
}

func conditionPos(t *Target) Position {
	if len(t.OnlyWhen) == 0 {
		return Position{}
	}
	return t.OnlyWhen[0].Pos
}

func conditionTexts(t *Target) []string {
	var out []string
	for _, c := range t.OnlyWhen {
		out = append(out, c.Name+"="+c.Pattern)
	}
	slices.SortFunc(out, cmp.Compare)
	return out
}

func selectorTexts(s Selector) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		out = append(out, name+"="+s[name])
	}
	return out
}
