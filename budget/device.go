package budget

import (
	"maps"
	"math"
	"math/big"
	"strconv"

	"github.com/peakgate/peakgate/measure"
)

// Device is a limit for the sum of targets that share one device at one time.
type Device struct {
	Name     string
	Pos      Position // of the name
	Max      *Limit
	Targets  []Name
	Metric   measure.Metric // plan.need_bytes where the file names none
	Select   Selector       // on top of each target's
	Severity Severity
	Why      string
}

// Name is a name that the file mentions.
type Name struct {
	Text string
	Pos  Position
}

// DeviceMetric is what a device sums where the file names no metric.
const DeviceMetric = "plan.need_bytes"

// Total is the sum over the device's targets of the largest row of each that the
// selectors match. missing names the targets for which there is no such row: with
// them the sum is too small, and so it is no_data unless it is over Max already.
// A sum beyond int64 is cut to it.
func (d *Device) Total(f *File, measured map[string]*measure.Measurement) (total measure.Bytes, missing []string) {
	sum := new(big.Int)
	for _, name := range d.Targets {
		largest, found := int64(0), false
		if m, t := measured[name.Text], f.Target(name.Text); m != nil && t != nil {
			s := maps.Clone(t.Select)
			if s == nil {
				s = Selector{}
			}
			maps.Copy(s, d.Select)
			for _, r := range m.Rows {
				if r.Name != d.Metric.Name || r.Value == nil || !s.Matches(r.Labels) {
					continue
				}
				if n, ok := r.Value.Int64(); ok {
					largest, found = max(largest, n), true
				}
			}
		}
		if !found {
			missing = append(missing, name.Text)
		}
		sum.Add(sum, big.NewInt(largest))
	}
	if !sum.IsInt64() {
		return math.MaxInt64, missing
	}
	return measure.Bytes(sum.Int64()), missing
}

func (p *parser) readDevice(v pair) *Device {
	d := &Device{Name: v.name, Pos: v.at, Severity: SeverityFail}
	d.Metric, _ = measure.Lookup(DeviceMetric)
	if !targetName(v.name) {
		p.add(v.at, "devices", "name", "device name "+quote(v.name)+" has a character that file names and flags may not have", "use letters, digits, and . _ - inside the name")
	}
	if !p.isMapping(v, "a mapping with the keys max and targets") {
		return d
	}
	p.object(v, inDevice, func(member pair) {
		switch member.name {
		case "max":
			d.Max = p.readLimit(member, measure.ByteUnit, false)
		case "targets":
			for _, item := range p.items(member, string(typeNames)) {
				if text, ok := p.text(item, "the name of a target"); ok {
					d.Targets = append(d.Targets, Name{text, item.place()})
				}
			}
		case "metric":
			if text, ok := p.text(member, "the name of a metric"); ok {
				if metric, ok := p.lookupMetric(text, member.place(), member.path); ok {
					d.Metric = metric
					if metric.Unit != measure.ByteUnit || metric.HigherIsBetter {
						p.add(member.place(), member.path, "metric", "the sum of "+metric.Name+" over targets says nothing about a device", "name a metric in bytes that the targets need at one time")
					}
				}
			}
		case "select":
			d.Select = p.readSelector(member)
		case "severity":
			d.Severity = p.readSeverity(member)
		case "why":
			d.Why = p.readWhy(member, "a why")
		default:
			panic("internal error: no reader for the key " + member.name)
		}
	})
	return d
}

// checkDevices looks at the names of targets, once all files are read.
func (l *loader) checkDevices(f *File) {
	for _, d := range f.Devices {
		first := map[string]Position{}
		for i, name := range d.Targets {
			path := "devices." + element(d.Name) + ".targets[" + strconv.Itoa(i) + "]"
			if f.Target(name.Text) == nil {
				l.add(name.Pos, path, "target", "there is no target "+quote(name.Text), l.suggestTarget(f, name.Text))
			}
			if where, ok := first[name.Text]; ok {
				l.add(name.Pos, path, "duplicate", "duplicate target "+quote(name.Text)+"; the first is at "+where.String(), "it would be counted twice")
				continue
			}
			first[name.Text] = name.Pos
		}
	}
}
