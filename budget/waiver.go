package budget

import (
	"strconv"
	"time"

	"github.com/peakgate/peakgate/measure"
)

// Waiver lifts the limits of one metric of a target until a day, up to a limit of
// its own. Below that limit the entry's max (or min) and growth are both waived.
type Waiver struct {
	Target, Metric string
	Pos            Position // of the waiver
	TargetPos      Position
	MetricPos      Position
	Select         Selector // only these rows; all where it is empty
	Max            *Limit   // largest value that passes until then
	Min            *Limit   // the smallest, where higher is better
	Until          Date
	UntilPos       Position
	Reason, Owner  string
}

// Date is a day as the file writes it: YYYY-MM-DD. Dates compare as texts do.
type Date string

// DateOf is the day of a time, in the time's own zone.
func DateOf(t time.Time) Date { return Date(t.Format(time.DateOnly)) }

// Expired tells whether the waiver's last day is over. The day until is the last
// on which it holds.
func (w *Waiver) Expired(today Date) bool { return today > w.Until }

// Covers tells whether the waiver is about this row.
func (w *Waiver) Covers(target, metric string, labels measure.Labels) bool {
	return w.Target == target && w.Metric == metric && w.Select.Matches(labels)
}

// Holds tells whether a value is within the waiver's own limit.
func (w *Waiver) Holds(v measure.Value) bool {
	return (w.Max == nil || v.Cmp(w.Max.Value) <= 0) && (w.Min == nil || v.Cmp(w.Min.Value) >= 0)
}

// WaiverFor gives the waiver of a row; nil where there is none. Where several cover
// it the strictest counts, whatever their order: the one that lets least pass, then
// the one that ends first. It may have expired: that is a failure, and the caller's
// to say.
func (f *File) WaiverFor(target, metric string, labels measure.Labels) *Waiver {
	var out *Waiver
	for _, w := range f.Waivers {
		if w.Covers(target, metric, labels) && (out == nil || w.stricter(out)) {
			out = w
		}
	}
	return out
}

func (w *Waiver) stricter(v *Waiver) bool {
	order := 0
	if w.Max != nil && v.Max != nil {
		order = w.Max.Value.Cmp(v.Max.Value)
	} else if w.Min != nil && v.Min != nil {
		order = v.Min.Value.Cmp(w.Min.Value)
	}
	return order < 0 || order == 0 && w.Until < v.Until
}

func (p *parser) readWaivers(v pair) []*Waiver {
	if v.value.Kind != yamlSequence {
		p.add(v.place(), v.path, "type", "want "+string(typeWaivers)+", got "+describe(v.value), "")
		return nil
	}
	var out []*Waiver
	for i, item := range v.value.Content {
		if p.stopped {
			break
		}
		one := pair{path: "waivers[" + strconv.Itoa(i) + "]", at: p.placeOf(item), value: p.follow(item)}
		if p.isMapping(one, "a mapping with the keys target, metric, max, until, reason and owner") {
			out = append(out, p.readWaiver(one))
		}
	}
	return out
}

func (p *parser) readWaiver(v pair) *Waiver {
	w := &Waiver{Pos: v.at}
	var metric measure.Metric
	known := false
	had := map[string]pair{}
	understood := p.object(v, inWaiver, func(member pair) {
		had[member.name] = member
		switch member.name {
		case "target":
			w.Target, _ = p.text(member, "the name of a target")
			w.TargetPos = member.place()
		case "metric":
			text, ok := p.text(member, "the name of a metric")
			w.Metric, w.MetricPos = text, member.place()
			if ok {
				metric, known = p.lookupMetric(text, member.place(), member.path)
			}
		case "select":
			w.Select = p.readSelector(member)
		case "max", "min": // these need the metric, which may come after them
		case "until":
			w.Until, w.UntilPos = p.readDate(member), member.place()
		case "reason":
			w.Reason = p.readWhy(member, "a reason")
		case "owner":
			w.Owner = p.readWhy(member, "an owner")
		default:
			panic("internal error: no reader for the key " + member.name)
		}
	})
	if !understood || !known {
		return w
	}
	legal, other := "max", "min"
	if metric.HigherIsBetter {
		legal, other = other, legal
	}
	if wrong, ok := had[other]; ok {
		p.add(wrong.at, v.path, "limit", "a waiver of "+metric.Name+" takes no "+other, "give "+legal+": how far it may go until then")
	} else if member, ok := had[legal]; !ok {
		p.add(v.at, v.path, "missing", "no key \""+legal+"\"", "a waiver says how far "+metric.Name+" may go until then")
	} else if limit := p.readLimit(member, metric.Unit, metric.HigherIsBetter); metric.HigherIsBetter {
		w.Min = limit
	} else {
		w.Max = limit
	}
	return w
}

func (p *parser) readDate(v pair) Date {
	text, ok := p.scalar(v, string(typeDate))
	if !ok {
		return ""
	}
	if _, err := time.Parse(time.DateOnly, text); err != nil {
		p.add(v.place(), v.path, "date", "want "+string(typeDate)+", got "+quote(text), "the last day on which the waiver holds: YYYY-MM-DD")
		return ""
	}
	return Date(text)
}

// checkWaivers looks at the targets and metrics, once all files are read.
// Budgets with faults may lack entries, so metrics are looked for in clean ones only.
func (l *loader) checkWaivers(f *File, clean bool) {
	for i, w := range f.Waivers {
		path := "waivers[" + strconv.Itoa(i) + "]"
		t := f.Target(w.Target)
		if t == nil {
			l.add(w.TargetPos, path, "target", "there is no target "+quote(w.Target), l.suggestTarget(f, w.Target))
			continue
		}
		if clean && entryOf(t, w.Metric) == nil {
			l.add(w.MetricPos, path, "target", "target "+element(w.Target)+" has no budget of "+w.Metric, "there is nothing to waive: remove the waiver")
		}
	}
}

func entryOf(t *Target, metric string) *Entry {
	for _, e := range t.Budgets {
		if e.Metric.Name == metric {
			return e
		}
	}
	return nil
}
