package budget

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
	"gopkg.in/yaml.v3"
)

// Limits of what a budget may include.
const (
	MaxFiles   = 64      // files of one budget, each counted once
	maxInclude = 8       // includes inside each other
	maxTotal   = 4 << 20 // bytes of all files together
)

// Parse reads a budget that is one file; the name is for messages and positions
// only. Includes are errors here. The error is of the type Errors and holds every fault of the file, in
// the order of their places; the File is then nil.
func Parse(data []byte, file string) (*File, error) {
	l := &loader{}
	if d := l.parse(data, file); d != nil {
		for _, inc := range d.includes {
			l.add(inc.Pos, "includes", "include", "this budget was read alone, without what it includes", "")
		}
	}
	f, errs := l.finish()
	if len(errs) > 0 {
		return nil, errs
	}
	return f, nil
}

// Load reads a budget with all that it includes. Files are asked of read by their
// slash-separated paths: the given one, then paths relative to it, cleaned. So they
// can come from a folder or from a commit; to refuse what is outside the repository
// is the part of read. An error of read becomes an error at the place that names
// the file.
//
// All faults of all files are reported, as Parse does.
func Load(file string, read func(path string) ([]byte, error)) (*File, error) {
	data, err := read(file)
	if err != nil {
		return nil, err
	}
	l := &loader{}
	l.include(data, file, nil, read)
	f, errs := l.finish()
	if len(errs) > 0 {
		return nil, errs
	}
	return f, nil
}

// document is one file, before it is joined with others.
type document struct {
	parser   *parser
	root     *yaml.Node
	includes []Pattern
	severity Severity // of defaults; empty where the file gives none
	policy   Policy
	labels   Selector // of defaults
	budgets  []pair   // of defaults, read anew for each target
	targets  []*targetPair
	missing  bool // there are no targets, and none were meant
	devices  []*Device
	waivers  []*Waiver
}

// targetPair is a target whose budgets wait for the defaults of all files.
type targetPair struct {
	*Target
	path    string
	budgets pair // no value where the target has none
	missing bool // and none was meant
}

// loader reads the files of one budget.
type loader struct {
	documents []*document
	parsers   []*parser // one a file, also of files with faults
	visited   int       // nodes, over all files
	bytes     int
	suggested int  // hints that name a target
	partial   bool // an include could not be read
	alone     bool // one file is read without those around it
}

// errors gives the faults of all files, in the order of the files and places.
func (l *loader) errors() Errors {
	out := Errors{}
	for _, p := range l.parsers {
		p.errors.sort()
		out = append(out, p.errors...)
	}
	return out
}

// readAlone reads the entries of one file as they stand there: without defaults,
// and without a look at names that another file may define.
func (l *loader) readAlone() {
	l.alone = true
	l.readBudgets(&File{}, "", nil, nil, nil)
}

func (l *loader) add(at Position, path, rule, message, hint string) {
	for _, p := range l.parsers {
		if p.file == at.File {
			p.add(at, path, rule, message, hint)
			return
		}
	}
}

// parse reads one file on its own.
func (l *loader) parse(data []byte, file string) *document {
	p := &parser{file: file, src: newSource(data), seen: map[fault]bool{}, visited: &l.visited}
	l.parsers = append(l.parsers, p)
	root := p.tree(data)
	if root == nil {
		return nil
	}
	d := p.readFile(root)
	if d != nil {
		l.documents = append(l.documents, d)
	}
	return d
}

// include reads a file and what it includes, depth first. chain are the files
// that led here.
func (l *loader) include(data []byte, file string, chain []string, read func(string) ([]byte, error)) {
	d := l.parse(data, file)
	l.bytes += len(data)
	if d == nil {
		return
	}
	chain = append(slices.Clone(chain), file)
	for _, inc := range d.includes {
		next := path.Join(path.Dir(file), inc.Text)
		switch {
		case slices.Contains(chain, next):
			l.add(inc.Pos, "includes", "include", "a circle: "+printable(strings.Join(append(chain[slices.Index(chain, next):], next), " includes ")), "")
			continue
		case slices.ContainsFunc(l.parsers, func(p *parser) bool { return p.file == next }):
			continue // two files may include a third: it counts once
		case len(chain) > maxInclude:
			l.add(inc.Pos, "includes", "include", fmt.Sprintf("included deeper than %d levels", maxInclude), "")
			continue
		case len(l.parsers) == MaxFiles:
			l.add(inc.Pos, "includes", "include", fmt.Sprintf("more than %d files", MaxFiles), "")
			return
		}
		data, err := read(next)
		if err != nil {
			l.partial = true
			l.add(inc.Pos, "includes", "include", "cannot include "+quote(inc.Text)+": "+printable(err.Error()), "")
			continue
		}
		if l.bytes+len(data) > maxTotal {
			l.add(inc.Pos, "includes", "size", fmt.Sprintf("the files have more than %d bytes together", maxTotal), "")
			return
		}
		l.include(data, next, chain, read)
	}
}

// finish joins the documents: what a file says wins over what it includes, and an
// earlier include over a later one.
func (l *loader) finish() (*File, Errors) {
	f := &File{Version: 1, byName: map[string]*Target{}}
	for _, p := range l.parsers {
		f.Files = append(f.Files, p.file)
	}
	f.Path = f.Files[0]
	severity, labels := Severity(""), Selector{}
	var defaults []pair
	owner := map[string]*parser{} // of defaults, by metric
	first := map[string]Position{}
	for _, d := range l.documents {
		f.Policy = f.Policy.over(d.policy)
		if severity == "" {
			severity = d.severity
		}
		for name, pattern := range d.labels {
			if _, ok := labels[name]; !ok {
				labels[name] = pattern
			}
		}
		for _, b := range d.budgets {
			if owner[b.name] == nil {
				owner[b.name] = d.parser
				defaults = append(defaults, b)
			}
		}
		for _, t := range d.targets {
			if where, ok := first[t.Name]; ok {
				l.add(t.Pos, "targets", "duplicate", "duplicate target "+quote(t.Name)+"; the first is at "+printable(where.File)+":"+where.String(), "")
			} else {
				first[t.Name] = t.Pos
				f.byName[t.Name] = t.Target
			}
		}
		f.Devices = append(f.Devices, d.devices...)
		f.Waivers = append(f.Waivers, d.waivers...)
	}
	f.Policy = f.Policy.withDefaults()
	l.readBudgets(f, severity, labels, defaults, owner)
	if len(l.documents) == len(l.parsers) && !l.partial {
		l.checkNames(f)
	}
	if errs := l.errors(); len(errs) > 0 {
		return nil, errs
	}
	return f, nil
}

// readBudgets reads the entries of all targets, once the defaults of all files are known.
func (l *loader) readBudgets(f *File, severity Severity, labels Selector, defaults []pair, owner map[string]*parser) {
	read := func(p *parser, v pair, parent string, outer Selector) *Entry {
		e := p.readEntry(v, parent, outer)
		if e != nil && severity != "" && e.SeverityPos.Line == 0 {
			e.Severity = severity
		}
		return e
	}
	for _, v := range defaults {
		if e := read(owner[v.name], v, "defaults.budgets", labels); e != nil {
			e.Default = true
			f.Defaults = append(f.Defaults, e)
		}
	}
	for _, d := range l.documents {
		for _, t := range d.targets {
			outer := t.Select
			if len(labels) > 0 {
				outer = maps.Clone(labels)
				maps.Copy(outer, t.Select)
			}
			t.Select = outer
			own := map[string]bool{}
			if t.budgets.value != nil {
				for _, v := range d.parser.members(t.budgets, "at least one metric") {
					own[v.name] = true
					if e := read(d.parser, v, t.budgets.path, outer); e != nil {
						t.Budgets = append(t.Budgets, e)
					}
				}
			} else if len(defaults) == 0 && t.missing && !l.alone {
				d.parser.add(t.Pos, t.path, "missing", "no key \"budgets\"", "want "+string(typeBudgets))
			}
			for _, v := range defaults {
				if own[v.name] || d.parser.stopped {
					continue
				}
				// Read again: its selectors go on top of this target's. That counts as
				// the visit of an alias does.
				owner[v.name].follow(v.value)
				if e := read(owner[v.name], v, "defaults.budgets", outer); e != nil {
					e.Default = true
					t.Budgets = append(t.Budgets, e)
				}
			}
			f.Targets = append(f.Targets, t.Target)
		}
	}
}

// checkNames looks at the names that one part of the files uses and another defines.
func (l *loader) checkNames(f *File) {
	clean := !slices.ContainsFunc(l.parsers, func(p *parser) bool { return len(p.errors) > 0 })
	if !slices.ContainsFunc(l.documents, func(d *document) bool { return !d.missing }) {
		l.add(l.parsers[0].at(1, 1), "", "missing", "no key \"targets\"", "want "+string(typeTargets))
	}
	l.checkDevices(f)
	l.checkWaivers(f, clean)
	first := map[string]Position{}
	for _, d := range f.Devices {
		if where, ok := first[d.Name]; ok {
			l.add(d.Pos, "devices", "duplicate", "duplicate device "+quote(d.Name)+"; the first is at "+printable(where.File)+":"+where.String(), "")
			continue
		}
		first[d.Name] = d.Pos
	}
}

// suggestTarget is a hint for a target that is not there. Looking for what was meant
// costs time, so a file gets such hints a few times only.
func (l *loader) suggestTarget(f *File, name string) string {
	const most, shown = 20, 10
	names := make([]string, 0, shown)
	if l.suggested++; l.suggested > most || len(f.Targets) > 1000 {
		return ""
	}
	for _, t := range f.Targets {
		names = append(names, t.Name)
	}
	if near := measure.Closest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	if len(names) > shown {
		names = append(names[:shown], "…")
	}
	return "targets are " + printable(strings.Join(names, ", "))
}
