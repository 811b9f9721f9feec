package pprof

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// site is where arrays are charged to: the innermost line of the user's own code
// and, where that went through a library other than JAX, the innermost line of it.
type site struct {
	user, callee frame
	own          bool   // user is of the user's code
	label        string // instead, where there is no such line
}

// owner tells whose code a frame is.
type owner uint8

const (
	interpreter owner = iota // Python, its standard library, native code
	framework                // jax and jaxlib
	library                  // installed packages
	project                  // the user's own code
)

var (
	standardLib  = regexp.MustCompile(`/lib(64)?/python\d|(?i)^[A-Z]:/.*(python3?\d*|conda3?|envs/[^/]+)/lib/`)
	notebookCell = regexp.MustCompile(`^<ipython-input-|/ipykernel_\d+/|^<ipykernel`)
	ownTree      = regexp.MustCompile(`/jax/(_src|experimental|interpreters|lib)/|/jaxlib/`) // also of a source checkout
)

// ownerOf tells whose code a file (with slashes) is.
func ownerOf(file string) owner {
	if notebookCell.MatchString(file) || file == "<stdin>" || file == "<string>" {
		return project
	}
	if !strings.HasSuffix(file, ".py") {
		return interpreter
	}
	inPackage, installed := installedAs(file)
	switch {
	case ownTree.MatchString(file), installed && (strings.HasPrefix(inPackage, "jax/") || strings.HasPrefix(inPackage, "jaxlib/")):
		return framework
	case installed:
		return library
	case standardLib.MatchString(file):
		return interpreter
	}
	return project
}

// installedAs cuts off the folder that packages are installed in.
func installedAs(file string) (after string, ok bool) {
	for _, dir := range []string{"/site-packages/", "/dist-packages/"} {
		if i := strings.LastIndex(file, dir); i >= 0 {
			return file[i+len(dir):], true
		}
	}
	return file, false
}

// slashes cleans a path.
func slashes(file string) string {
	file = strings.ReplaceAll(file, `\`, "/")
	if strings.Contains(file, "/../") || strings.Contains(file, "/./") || strings.Contains(file, "//") {
		file = path.Clean(file)
	}
	return file
}

// sites finds the site of each stack.
type sites struct {
	p      *Profile
	root   string
	owners map[string]owner  // by file: many frames share one
	names  map[string]string // by file, as reports show it
}

func (t *sites) ownerOf(file string) owner {
	o, ok := t.owners[file]
	if !ok {
		o = ownerOf(file)
		t.owners[file] = o
	}
	return o
}

// newSites looks at all frames for the project's root: the given one if any file of
// the project is below it, else the longest common directory of the project's files.
func newSites(p *Profile, given string) *sites {
	t := &sites{p: p, owners: map[string]owner{}, names: map[string]string{}}
	given = strings.TrimSuffix(strings.ReplaceAll(given, `\`, "/"), "/")
	common, found := "", false
	for _, frames := range p.frames {
		for i := range frames {
			f := &frames[i]
			f.file = slashes(f.file)
			f.owner = t.ownerOf(f.file)
			if f.owner != project || !path.IsAbs(f.file) && !strings.Contains(f.file, ":/") || notebookCell.MatchString(f.file) {
				continue
			}
			if given != "" && strings.HasPrefix(f.file, given+"/") {
				t.root = given
			}
			dir := path.Dir(f.file)
			if !found {
				common, found = dir, true
			}
			for common != dir && !strings.HasPrefix(dir, strings.TrimSuffix(common, "/")+"/") && common != path.Dir(common) {
				common = path.Dir(common)
			}
		}
	}
	if t.root == "" {
		t.root = strings.TrimSuffix(common, "/")
	}
	return t
}

// of gives the site of a sample.
func (t *sites) of(s *Sample) site {
	var user, inner, any frame
	var haveUser, haveInner, haveAny bool
	for _, location := range t.p.stacks[s.from:s.to] {
		for _, f := range t.p.frames[location] {
			switch f.owner {
			case project:
				user, haveUser = f, true
			case library:
				if !haveInner {
					inner, haveInner = f, true
				}
			case framework:
				if !haveAny {
					any, haveAny = f, true
				}
			}
			if haveUser {
				break
			}
		}
		if haveUser {
			break
		}
	}
	switch {
	case haveUser && haveInner:
		return site{user: t.shown(user), callee: t.shown(inner), own: true}
	case haveUser:
		return site{user: t.shown(user), own: true}
	case haveInner:
		return site{user: t.shown(inner)}
	case haveAny:
		return site{user: t.shown(any)}
	}
	return site{label: "(no Python stack)"}
}

// shown is a frame as reports show it, the same in every checkout.
func (t *sites) shown(f frame) frame {
	name, ok := t.names[f.file]
	if !ok {
		name = f.file
		if f.owner != project {
			name, _ = installedAs(name)
		} else if notebookCell.MatchString(name) {
			name = "<notebook>"
		} else if rest, ok := strings.CutPrefix(name, t.root+"/"); ok {
			name = rest
		}
		name = limit(name)
		t.names[f.file] = name
	}
	f.file, f.function = name, limit(f.function)
	return f
}

// limit bounds a name for reports.
func limit(name string) string {
	if len(name) <= 200 {
		return name
	}
	return strings.ToValidUTF8(name[:200], "") + "…"
}

// key stays the same when lines shift.
func (s site) key() string {
	if s.label != "" {
		return s.label
	}
	key := s.user.file + " " + s.user.function
	if s.callee.file != "" {
		key += " → " + s.callee.file + " " + s.callee.function
	}
	return key
}

// display is the site for people.
func (s site) display() string {
	if s.label != "" {
		return s.label
	}
	d := s.user.show()
	if s.callee.file != "" {
		d += " → " + s.callee.show()
	}
	return d
}

func (f frame) show() string {
	if f.line <= 0 {
		return f.file + " " + f.function
	}
	return f.file + ":" + strconv.FormatInt(f.line, 10) + " " + f.function
}
