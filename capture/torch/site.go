package torch

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// place is one line of a program, named so that two checkouts agree.
type place struct {
	file, function string
	line           int64
}

// site is where an allocation is charged to: the innermost line of the user's
// own code and, where that line went through a library, the innermost line of
// the library. Label is set instead where there is no such line.
type site struct {
	user, callee place
	label        string
	class        string
	// lines and source say what user.line is: worth showing, and a line of a
	// file that the user can open (not one of generated code, nor an offset).
	lines, source bool
}

// owner tells whose code a frame is.
type owner uint8

const (
	native      owner = iota // C, C++, shared objects, no file
	interpreter              // Python and its standard library
	framework                // torch itself
	generated                // code that torch.compile or torch.fx wrote
	library                  // installed packages
	project                  // the user's own code
)

// sites finds the site of each stack. It is made once for a snapshot, as what
// belongs to torch and where the project begins is learned from all frames.
type sites struct {
	s      *Snapshot
	owners []owner
	files  []string // cleaned paths, with slashes
	names  []string // files as they are shown
	cache  map[StackID]site
}

// torchMarks are files of torch whose place tells where torch's own tree is,
// installed or built from source.
var torchMarks = []string{"/torch/nn/modules/module.py", "/torch/utils/_contextlib.py", "/torch/autograd/__init__.py",
	"/torch/autograd/graph.py", "/torch/autograd/function.py", "/torch/_tensor.py", "/torch/optim/optimizer.py",
	"/torch/nn/functional.py", "/torch/utils/checkpoint.py", "/torch/_dynamo/eval_frame.py", "/torch/functional.py"}

var (
	sharedObject  = regexp.MustCompile(`\.so(\.\d+)*$`)
	windowsPath   = regexp.MustCompile(`^[A-Za-z]:/`)
	windowsPython = regexp.MustCompile(`(?i)^[A-Z]:/.*(python3?\d*|conda3?|envs/[^/]+)/lib/`)
	interpLib     = regexp.MustCompile(`/lib(64)?/python\d`)
	evalKey       = regexp.MustCompile(`^<eval_with_key>(\.\d+)?$`)
	fxHash        = regexp.MustCompile(`fx_generated_[0-9a-zA-Z]+`)
	notebookCell  = regexp.MustCompile(`^<ipython-input-|/ipykernel_\d+/|^<ipykernel`)
)

func newSites(s *Snapshot) *sites {
	t := &sites{s: s, cache: map[StackID]site{}}
	clean := map[string]string{} // by file: many frames share one
	roots := map[string]bool{}
	for _, f := range s.Frames {
		file, ok := clean[f.File]
		if !ok {
			file = strings.ReplaceAll(f.File, `\`, "/")
			if strings.Contains(file, "/../") || strings.Contains(file, "/./") || strings.Contains(file, "//") {
				file = path.Clean(file)
			}
			clean[f.File] = file
			for _, mark := range torchMarks {
				if strings.HasSuffix(file, mark) {
					roots[strings.TrimSuffix(file, mark)+"/torch/"] = true
				}
			}
		}
		t.files = append(t.files, file)
	}
	owners := map[string]owner{}
	for _, file := range t.files {
		if _, ok := owners[file]; !ok {
			owners[file] = ownerOf(file, roots)
		}
		t.owners = append(t.owners, owners[file])
	}
	root, names := t.root(s.opt.Root), map[string]string{}
	for i, file := range t.files {
		if _, ok := names[file]; !ok {
			names[file] = shown(file, t.owners[i], root)
		}
		t.names = append(t.names, names[file])
	}
	return t
}

func ownerOf(file string, torchRoots map[string]bool) owner {
	switch {
	case evalKey.MatchString(file), strings.Contains(file, "/torchinductor_"), fxHash.MatchString(file):
		return generated
	case notebookCell.MatchString(file), file == "<stdin>", file == "<string>":
		return project
	case !strings.HasSuffix(file, ".py"):
		if strings.HasPrefix(file, "<frozen") || strings.HasPrefix(file, "<__") {
			return interpreter
		}
		return native
	}
	for root := range torchRoots {
		if strings.HasPrefix(file, root) {
			return framework
		}
	}
	_, inPackage, installed := cutPackages(file)
	switch {
	case installed && (strings.HasPrefix(inPackage, "torch/") || strings.HasPrefix(inPackage, "functorch/")):
		return framework
	case installed:
		return library
	case interpLib.MatchString(file), windowsPython.MatchString(file):
		return interpreter
	}
	return project
}

// cutPackages splits a path behind the folder that packages are installed in.
func cutPackages(file string) (before, after string, ok bool) {
	for _, dir := range [...]string{"/site-packages/", "/dist-packages/"} {
		if i := strings.LastIndex(file, dir); i >= 0 {
			return file[:i+len(dir)], file[i+len(dir):], true
		}
	}
	return "", file, false
}

// root is the given directory if any file of the project is under it, else the
// longest common directory of the project's files.
func (t *sites) root(given string) string {
	given = strings.TrimSuffix(strings.ReplaceAll(given, `\`, "/"), "/")
	common, found := "", false
	for i, file := range t.files {
		if t.owners[i] != project || !strings.HasPrefix(file, "/") && !windowsPath.MatchString(file) || notebookCell.MatchString(file) {
			continue
		}
		if given != "" && strings.HasPrefix(file, given+"/") {
			return given
		}
		dir := path.Dir(file)
		if !found {
			common, found = dir, true
			continue
		}
		for common != dir && !strings.HasPrefix(dir, strings.TrimSuffix(common, "/")+"/") {
			above := path.Dir(common)
			if above == common {
				return "" // "/home/a" and "C:/Users/b" have nothing in common
			}
			common = above
		}
	}
	if homes.MatchString(common) {
		return "" // the projects of several users: cut there, a path would begin with a name
	}
	return strings.TrimSuffix(common, "/")
}

// homes are the folders that hold the homes of users, and all above them.
var homes = regexp.MustCompile(`^(/|/home|/Users|/mnt/home|[A-Za-z]:/?|[A-Za-z]:/Users)$`)

// shown is the file as reports show it, the same in every checkout and run.
func shown(file string, o owner, root string) string {
	switch o {
	case generated:
		switch {
		case evalKey.MatchString(file):
			return "<eval_with_key>"
		case fxHash.MatchString(file):
			return fxHash.ReplaceAllString(path.Base(file), "fx_generated")
		}
		return "<torchinductor>"
	case project:
		if notebookCell.MatchString(file) {
			return "<notebook>"
		}
		if rest, ok := strings.CutPrefix(file, root+"/"); ok && root != "" {
			return rest
		}
	case library, framework:
		_, after, _ := cutPackages(file)
		if i := strings.LastIndex(after, "/torch/"); o == framework && i >= 0 {
			return after[i+1:]
		}
		return after
	case native:
		return path.Base(file)
	}
	return file
}

func (t *sites) place(frame uint32) place {
	f := t.s.Frames[frame]
	return place{file: limit(t.names[frame]), function: limit(f.Name), line: f.Line}
}

// limit bounds a name for reports.
func limit(name string) string {
	if len(name) <= 200 {
		return name
	}
	return strings.ToValidUTF8(name[:200], "") + "…"
}

// of is the site of a stack.
func (t *sites) of(id StackID) site {
	if s, ok := t.cache[id]; ok {
		return s
	}
	s := t.find(id)
	t.cache[id] = s
	return s
}

func (t *sites) find(id StackID) site {
	switch id {
	case NoStack:
		return site{label: "(recorded without stacks)"}
	case EmptyStack:
		return site{label: "autograd thread (no Python frames)"}
	case BeforeRecording:
		return site{label: "(allocated before recording)"}
	case StackUnknown:
		return site{label: "(no stack recorded)"}
	}
	frames := t.s.Stacks[id-firstStack]
	user, inner := -1, -1
	for i, f := range frames {
		switch o := t.owners[f]; {
		case o == project:
			user = i
		case (o == library || o == generated) && inner < 0:
			inner = i
		}
		if user >= 0 {
			break
		}
	}
	if t.workspace(frames) {
		return site{label: "cuBLAS workspace", class: "workspace"}
	}
	s := site{lines: true}
	switch {
	case user >= 0:
		s.user, s.source = t.place(frames[user]), true
		if inner >= 0 {
			s.callee = t.place(frames[inner])
		}
		return s
	case inner >= 0:
		s.user = t.place(frames[inner])
		return s
	}
	return t.withoutUser(frames, s)
}

// withoutUser names a stack that no line of the user's is in: by the node of
// the autograd graph, a function of a C++ program, torch's own line, or the operator.
func (t *sites) withoutUser(frames []uint32, s site) site {
	op := ""
	for _, f := range frames {
		name := t.s.Frames[f].Name
		if node := between(name, "torch::autograd::", "::apply("); node != "" {
			s.label = "autograd " + strings.TrimPrefix(node, "generated::")
			return s
		}
		if op == "" {
			op = between(name, "at::_ops::", "::")
		}
	}
	for _, f := range frames {
		if o := t.owners[f]; o == framework || o == interpreter {
			s.user = t.place(f)
			return s
		}
	}
	// The innermost function of the program is often a helper: name its caller too.
	for _, f := range frames {
		name, ok := t.nativeFunction(f)
		switch at := (place{file: t.names[f], function: name, line: t.s.Frames[f].Line}); {
		case !ok || s.user.function == name:
		case s.user.function == "":
			s.user = at
			s.source = isSource(t.files[f])
			s.lines = s.source // else it is an offset
		case name != "main":
			s.callee = s.user
			s.user = at
			return s
		}
	}
	if s.user.function != "" {
		return s
	}
	if op != "" {
		s.label = "C++ operator " + op
	} else {
		s.label = "(C++ frames only)"
	}
	return s
}

// between gives what stands after a prefix and before the next occurrence of
// end; it is empty where either is missing.
func between(name, prefix, end string) string {
	if rest, ok := strings.CutPrefix(name, prefix); ok {
		if word, _, ok := strings.Cut(rest, end); ok {
			return limit(word)
		}
	}
	return ""
}

// nativeFunction gives the name of a C++ function that belongs to the program
// itself: in no library of torch, the system or the interpreter.
func (t *sites) nativeFunction(frame uint32) (string, bool) {
	name, file := t.s.Frames[frame].Name, t.files[frame]
	base := path.Base(file)
	if name == "" || name == "??" || file == "" || file == "??" || strings.Contains(file, "/torch/lib/") ||
		sharedObject.MatchString(base) && (strings.HasPrefix(base, "libc.") || strings.HasPrefix(base, "libstdc++") ||
			strings.HasPrefix(base, "libtorch") || strings.HasPrefix(base, "libc10") || strings.HasPrefix(base, "libcu") ||
			strings.HasPrefix(base, "libpython") || strings.HasPrefix(base, "libpthread")) ||
		strings.HasPrefix(base, "python") || strings.HasSuffix(base, ".c") || strings.HasSuffix(base, ".h") {
		return "", false
	}
	name = shortFunction(name)
	for _, p := range [...]string{"torch::", "at::", "c10::", "caffe2::", "std::", "__gnu_cxx::", "_start", "__libc", "Py", "_Py"} {
		if strings.HasPrefix(name, p) {
			return "", false
		}
	}
	return name, true
}

// shortFunction is a C++ function without its template arguments, parameters
// and return type.
func shortFunction(name string) string {
	name = strings.ReplaceAll(name, "(anonymous namespace)", "{anonymous}")
	var out strings.Builder
	depth := 0
	for _, r := range name {
		switch {
		case r == '<':
			depth++
		case r == '>' && depth > 0:
			depth--
		case r == '(' && depth == 0:
			s := out.String()
			return limit(s[strings.LastIndexByte(s, ' ')+1:])
		case depth == 0:
			out.WriteRune(r)
		}
	}
	return limit(out.String())
}

func isSource(file string) bool {
	switch path.Ext(file) {
	case ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".hpp":
		return true
	}
	return false
}

// workspace tells the workspaces of cuBLAS: one for each handle and stream,
// charged by chance to the line that comes first, so they are kept apart.
func (t *sites) workspace(frames []uint32) bool {
	for _, f := range frames {
		name := t.s.Frames[f].Name
		if strings.HasPrefix(name, "at::cuda::") && (strings.Contains(name, "BlasWorkspace(") ||
			strings.Contains(name, "getNewWorkspace(") || strings.Contains(name, "LtWorkspace(")) {
			return true
		}
	}
	return false
}

// name is the site without its lines: what stays the same when lines shift.
func (s site) name() string {
	if s.label != "" {
		return s.label
	}
	n := s.user.file + " " + s.user.function
	if s.callee.file != "" {
		n += " → " + s.callee.file + " " + s.callee.function
	}
	return n
}

// display is the site for people.
func (s site) display() string {
	if s.label != "" {
		return s.label
	}
	d := s.user.show(s.lines)
	if s.callee.file != "" {
		d += " → " + s.callee.show(s.lines)
	}
	return d
}

func (p place) show(line bool) string {
	if !line || p.line == 0 {
		return p.file + " " + p.function
	}
	return p.file + ":" + strconv.FormatInt(p.line, 10) + " " + p.function
}

// keys gives each site its key. Sites with the same names are told apart by
// the order of their lines. All sites of the file take part, not just those
// live at the peak: what is live differs between base and head, the lines of
// the program mostly do not.
func keys(all []site) map[site]string {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b site) int {
		return cmp.Or(strings.Compare(a.name(), b.name()), cmp.Compare(a.user.line, b.user.line),
			cmp.Compare(a.callee.line, b.callee.line))
	})
	out := make(map[site]string, len(all))
	last, n := "", 0
	for _, s := range slices.Compact(all) {
		name := s.name()
		if name != last {
			last, n = name, 0
		}
		if n++; n > 1 {
			name += " #" + strconv.Itoa(n)
		}
		out[s] = name
	}
	return out
}
