package xla

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Field numbers are those of third_party/tsl/tsl/profiler/protobuf/xplane.proto:
// https://github.com/openxla/xla/blob/main/third_party/tsl/tsl/profiler/protobuf/xplane.proto

// The planes that are read. All others are passed over.
const (
	metadataPlane = "/host:metadata" // the modules' HLO, and the versions of JAX
	devicePlanes  = "/device:"       // what the accelerators are
)

// maxProblems bounds how many of the profiler's own messages are kept.
const maxProblems = 20

// space reads an XSpace.
func (p *parser) space(c *Capture) {
	for p.enter(""); p.next(); {
		switch p.num {
		case 1:
			p.plane(c)
		case 2, 3: // errors, warnings
			if text := p.text(); len(c.Problems) < maxProblems {
				c.Problems = append(c.Problems, text)
			}
		}
	}
	if f, ok := p.err.(*formatError); ok && f.cut && f.plane == "" && p.num == 1 {
		f.plane = planeName(p.buf[p.r:p.w])
	}
	slices.SortStableFunc(c.Modules, func(a, b *Module) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(len(a.Program), len(b.Program)), strings.Compare(a.Program, b.Program))
	})
}

// planeName gives the name of the plane that b begins, empty where it is not told
// before the first long field.
func planeName(b []byte) string {
	for len(b) > 0 {
		f, rest, ok := cutField(b, true)
		if !ok || f.cut || f.num == 0 {
			break
		}
		if f.num == 2 && f.wire == wireBytes && isName(f.body) {
			return string(f.body)
		}
		b = rest
	}
	return ""
}

// plane is what is kept of an XPlane until its end: the names of statistics come
// after those who use them.
type plane struct {
	name    string
	entries []planeEntry
	stats   []planeStat
	names   map[int64]string // stat_metadata, those that are wanted
}

// planeEntry is one XEventMetadata: on the metadata plane, one module.
type planeEntry struct {
	at   int64
	key  int64
	name string
	stat []hloStat
}

// hloStat is a statistic of a planeEntry that holds bytes. It is read as an
// HloProto before its name is known; err is the fault that was found.
type hloStat struct {
	id     int64
	module *Module
	err    error
}

// planeStat is an XStat of the plane itself.
type planeStat struct {
	id     int64
	text   string
	ref    int64 // id of the stat_metadata whose name is the value; 0 for none
	number int64
}

// plane reads an XPlane.
func (p *parser) plane(c *Capture) {
	pl := plane{names: map[int64]string{}}
	for p.enter("planes"); p.next(); {
		switch p.num {
		case 2:
			pl.name = p.text()
			if pl.name == hostPlane {
				p.host(c)
				continue
			}
			if pl.name != metadataPlane && !strings.HasPrefix(pl.name, devicePlanes) {
				p.leave()
			}
		case 4:
			// The name comes first in every file seen; one that comes late would
			// have the modules thrown away below.
			if pl.name == metadataPlane || pl.name == "" {
				pl.entries = append(pl.entries, p.entry())
			}
		case 5:
			p.statName(pl.names)
		case 6:
			pl.stats = append(pl.stats, p.stat())
		}
	}
	if p.err != nil {
		var fault *formatError
		if errors.As(p.err, &fault) {
			fault.plane = pl.name
		}
		return
	}
	switch {
	case pl.name == metadataPlane:
		p.modules(c, &pl)
		c.versions(&pl)
	case strings.HasPrefix(pl.name, devicePlanes):
		c.device(&pl)
	}
}

// leave skips the rest of the message entered last.
func (d *decoder) leave() {
	d.end = d.levels[d.depth].end
	d.skip()
}

// entry reads one entry of XPlane.event_metadata.
func (p *parser) entry() planeEntry {
	e := planeEntry{at: p.at}
	for p.enter("event_metadata"); p.next(); {
		switch p.num {
		case 1:
			e.key = p.int()
		case 2:
			for p.enter(""); p.next(); {
				switch p.num {
				case 2:
					e.name = p.text()
				case 5:
					if s, ok := p.hloStat(); ok {
						e.stat = append(e.stat, s)
					}
				}
			}
		}
	}
	return e
}

// hloStat reads an XStat of a module's entry; ok is false where it holds no bytes.
func (p *parser) hloStat() (s hloStat, ok bool) {
	for p.enter("stats"); p.next(); {
		switch p.num {
		case 1:
			s.id = p.int()
		case 6:
			ok = true
			s.module, s.err = p.tryHlo()
		}
	}
	return s, ok
}

// tryHlo reads the current field as an HloProto if it begins like one. A fault in
// it is returned and not kept: the field may turn out to be something else.
func (p *parser) tryHlo() (*Module, error) {
	if p.wire != wireBytes || p.err != nil {
		return nil, nil
	}
	n := p.end - p.pos()
	if n == 0 {
		return nil, nil
	}
	p.fill(int(min(n, windowBytes)))
	if !hloHead(p.buf[p.r:min(int64(p.w), int64(p.r)+n)]) {
		d := decoder{name: p.name, depth: p.depth, levels: p.levels}
		d.fail(p.pos(), "want an HloProto, found other bytes")
		return nil, d.err
	}
	depth, end := p.depth, p.end
	m := p.hloProto()
	var fault *formatError
	if p.err == nil || !errors.As(p.err, &fault) {
		return m, nil
	}
	p.err, p.depth, p.end = nil, depth, end
	p.skip()
	return nil, fault
}

// statName reads one entry of XPlane.stat_metadata.
func (p *parser) statName(names map[int64]string) {
	var id int64
	var name string
	for l := p.leaf("stat_metadata"); l.next(); {
		switch l.num {
		case 1:
			id = l.int()
		case 2:
			for v := l.inner("value"); v.next(); {
				if v.num == 2 {
					name = v.text()
				}
			}
		}
	}
	names[id] = name
}

// stat reads an XStat of a plane.
func (p *parser) stat() (s planeStat) {
	for l := p.leaf("stats"); l.next(); {
		switch l.num {
		case 1:
			s.id = l.int()
		case 3, 4:
			s.number = l.int()
		case 5:
			s.text = l.text()
		case 7:
			s.ref = l.int()
		}
	}
	return s
}

// value gives the text of a statistic, directly or by reference.
func (pl *plane) value(s planeStat) string {
	if s.text == "" && s.ref != 0 {
		return pl.names[s.ref]
	}
	return s.text
}

// modules takes the modules of the metadata plane. Entries without the statistic
// are no HLO (TPU keeps symbol maps and compiler metadata there too).
func (p *parser) modules(c *Capture, pl *plane) {
	for _, e := range pl.entries {
		for _, s := range e.stat {
			// libtpu 0.0.37 spelled it in capitals.
			if name := pl.names[s.id]; name != "Hlo Proto" && name != "HLO Proto" {
				continue
			}
			if s.err != nil {
				p.err = s.err
				return
			}
			m := s.module
			if m == nil {
				m = &Module{missing: "the profile holds an empty Hlo Proto for this module"}
			}
			// The number in parentheses, not the key: libtpu 0.0.37 wrote wrong keys.
			name, program, ok := cutProgram(e.name)
			if !ok {
				program = strconv.FormatUint(uint64(e.key), 10)
			}
			if m.Program = program; name != "" {
				m.Name = name
			}
			c.Modules = append(c.Modules, m)
		}
	}
}

// cutProgram splits "jit_step(12)".
func cutProgram(s string) (name, program string, ok bool) {
	open := strings.LastIndexByte(s, '(')
	if open < 0 || !strings.HasSuffix(s, ")") {
		return s, "", false
	}
	program = s[open+1 : len(s)-1]
	if _, err := strconv.ParseUint(program, 10, 64); err != nil {
		return s, "", false
	}
	return s[:open], program, true
}

// versions takes what the metadata plane says of the software (JAX 0.10.2 writes
// jax_version and jaxlib_version).
func (c *Capture) versions(pl *plane) {
	for _, s := range pl.stats {
		key, ok := strings.CutSuffix(pl.names[s.id], "_version")
		if v := pl.value(s); ok && key != "" && v != "" && v != key && len(c.Software) < maxProblems {
			c.Software[key] = v
		}
	}
}

// device takes what a device's plane says of its type.
func (c *Capture) device(pl *plane) {
	var kind, vendor, major, minor string
	for _, s := range pl.stats {
		switch pl.names[s.id] {
		case "device_type_string": // TPU
			kind = pl.value(s)
		case "memory_size":
			// "/device:GPU:0"
			if i := strings.LastIndexByte(pl.name, ':'); s.number > 0 && len(c.memory) < maxAllocators {
				if c.memory == nil {
					c.memory = map[string]int64{}
				}
				c.memory[pl.name[i+1:]] = s.number
			}
		case "device_vendor": // GPU
			vendor = pl.value(s)
		case "compute_cap_major":
			major = strconv.FormatInt(s.number, 10)
		case "compute_cap_minor":
			minor = strconv.FormatInt(s.number, 10)
		}
	}
	if kind == "" && major != "" {
		kind = strings.TrimSpace(vendor + " compute " + major + "." + cmp.Or(minor, "0"))
	}
	if kind != "" && !slices.Contains(c.Devices, kind) && len(c.Devices) < maxProblems {
		c.Devices = append(c.Devices, kind)
	}
}
