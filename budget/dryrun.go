package budget

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// Dryrun is a device that is not there, for which the program is run. What the file
// does not give is nil or empty.
type Dryrun struct {
	Pos        Position
	Framework  string // torch, jax or tf
	Memory     *Limit // of one device
	Capability string // such as 9.0
	Devices    *Number
	Context    *Limit // what the driver holds of each device
	Assume     string // "0" or "1": what the program may read from the device
	Device     []Name // of JAX: what to compile for, as h100 or v5e:2x2
	Function   string // of JAX: module:function
	Python     string // of JAX: the interpreter
	Timeout    *Limit // in seconds
}

// frameworks are those that dryrun knows.
var frameworks = []string{"torch", "jax", "tf"}

// dryrunOnly gives the keys that not every framework has, with those that have it.
var dryrunOnly = map[string][]string{
	"memory": {"torch", "tf"}, "capability": {"torch"}, "devices": {"torch"}, "context": {"torch"}, "assume": {"torch"},
	"device": {"jax"}, "function": {"jax"}, "python": {"jax"},
}

// MaxPretended is how many devices one program may be given: more are on no machine.
const MaxPretended = 64

// DevicePattern is a name, and perhaps how many there are in each direction.
const DevicePattern = `^[a-z][a-z0-9]{0,19}(:[0-9]{1,4}(x[0-9]{1,4}){0,2})?$`

var deviceForm = regexp.MustCompile(DevicePattern)

func (p *parser) readDryrun(v pair) *Dryrun {
	d := &Dryrun{Pos: v.at}
	if !p.isMapping(v, "a mapping with the keys framework, memory and capability") {
		return d
	}
	had := map[string]pair{}
	p.object(v, inDryrun, func(member pair) {
		had[member.name] = member
		switch member.name {
		case "framework":
			text, ok := p.scalar(member, string(typeFramework))
			if ok && !slices.Contains(frameworks, text) {
				p.add(member.place(), member.path, "choice", "want "+string(typeFramework)+", got "+quote(text), "")
			}
			d.Framework = text
		case "memory":
			d.Memory = p.readSome(member, measure.ByteUnit)
		case "capability":
			// A number would lose its digits: 12.10 is not 12.1.
			text, ok := p.text(member, string(typeCapability))
			major, minor, point := strings.Cut(text, ".")
			if ok && (!point || !digits(major) || !digits(minor)) {
				p.add(member.place(), member.path, "number", "want "+string(typeCapability)+", got "+quote(text), "")
			}
			d.Capability = text
		case "devices":
			if d.Devices = p.readNumber(member); d.Devices != nil && d.Devices.Value > MaxPretended {
				p.add(member.place(), member.path, "range", fmt.Sprintf("\"%d\" is more than %d", d.Devices.Value, MaxPretended), "")
			}
		case "context":
			d.Context = p.readSome(member, measure.ByteUnit)
		case "assume":
			text, ok := p.scalar(member, string(typeAssume))
			if ok && text != "0" && text != "1" {
				p.add(member.place(), member.path, "choice", "want "+string(typeAssume)+", got "+quote(text), "")
			}
			d.Assume = text
		case "device":
			d.Device = p.readDevices(member)
		case "function":
			text, ok := p.text(member, string(typeFunction))
			if module, function, two := strings.Cut(text, ":"); ok && (!two || module == "" || function == "" || strings.ContainsAny(text, " \t") || strings.Contains(function, ":")) {
				p.add(member.place(), member.path, "choice", "want "+string(typeFunction)+", got "+quote(text), "")
			}
			d.Function = text
		case "python":
			d.Python, _ = p.text(member, string(typeText))
		case "timeout":
			d.Timeout = p.readSome(member, measure.Seconds)
		default:
			panic("internal error: no reader for the key " + member.name)
		}
	})
	if !slices.Contains(frameworks, d.Framework) {
		return d
	}
	for _, k := range legalNames[inDryrun] {
		member, ok := had[k]
		if of := dryrunOnly[k]; ok && of != nil && !slices.Contains(of, d.Framework) {
			p.add(member.at, v.path, "key", "key "+quote(k)+" does not go with "+d.Framework, "it is for "+strings.Join(of, " and "))
		}
	}
	for _, k := range []string{"device", "function"} {
		if _, ok := had[k]; !ok && d.Framework == "jax" {
			p.add(v.at, v.path, "missing", "no key "+quote(k), "want "+string(find(legalKeys[inDryrun], k).value))
		}
	}
	return d
}

// readSome reads a limit that is more than nothing.
func (p *parser) readSome(v pair, unit measure.Unit) *Limit {
	l := p.readLimit(v, unit, false)
	if l != nil && l.Value.Float64() == 0 {
		p.add(v.place(), v.path, "range", quote(l.Text)+" is nothing", "leave the key out for the default")
	}
	return l
}

func (p *parser) readDevices(v pair) []Name {
	var out []Name
	for _, item := range p.items(v, string(typeDevice)) {
		text, ok := p.text(item, "a device such as h100 or v5e:2x2")
		switch {
		case !ok:
		case !deviceForm.MatchString(text):
			p.add(item.place(), item.path, "choice", "want a device such as h100 or v5e:2x2, got "+quote(text), "")
		case slices.ContainsFunc(out, func(n Name) bool { return n.Text == text }):
			p.add(item.place(), item.path, "duplicate", "duplicate device "+quote(text), "")
		default:
			out = append(out, Name{text, item.place()})
		}
	}
	return out
}

func digits(s string) bool {
	return s != "" && len(s) <= 3 && strings.Trim(s, "0123456789") == ""
}

// checkDryrun looks at what dryrun and the keys beside it say together.
func (p *parser) checkDryrun(t *targetPair) {
	d := t.Dryrun
	switch {
	case d.Framework == "jax" && t.Run != nil:
		p.add(t.Run.Pos, t.path, "key", "run beside dryrun of jax: the function of dryrun is what is compiled", "remove run")
	case slices.Contains(frameworks, d.Framework) && d.Framework != "jax" && t.Run == nil && !p.excused["run"]:
		p.add(d.Pos, t.path, "missing", "dryrun of "+d.Framework+" without run: there is no program to run", "add run: [python, train.py]")
	}
	if len(t.Captures) > 0 {
		p.add(t.Captures[0].Pos, t.path, "key", "captures beside dryrun: the dry run makes them", "remove one of the two")
	}
}

func (d *Dryrun) pos() Position {
	if d == nil {
		return Position{}
	}
	return d.Pos
}

// texts tells what is run for which device.
func (d *Dryrun) texts() []string {
	if d == nil {
		return nil
	}
	out := []string{d.Framework}
	add := func(name, value string) {
		if value != "" {
			out = append(out, name+" "+value)
		}
	}
	limit := func(name string, l *Limit, unit measure.Unit) {
		if l != nil {
			add(name, l.Value.Exact(unit))
		}
	}
	limit("memory", d.Memory, measure.ByteUnit)
	add("capability", d.Capability)
	if d.Devices != nil {
		add("devices", fmt.Sprint(d.Devices.Value))
	}
	limit("context", d.Context, measure.ByteUnit)
	add("assume", d.Assume)
	for _, n := range d.Device {
		add("device", n.Text)
	}
	add("function", d.Function)
	add("python", d.Python)
	limit("timeout", d.Timeout, measure.Seconds)
	return out
}
