package post

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sethvargo/go-githubactions"
)

// Limits of GitHub Actions. The runner's ExecutionContext.cs holds the first
// two, the annotation part of the REST API the third.
const (
	// MaxAnnotations is the number of annotations of one level that a step shows.
	MaxAnnotations = 10
	// maxMessage is where the runner cuts a message, in UTF-16 units.
	maxMessage = 4096
	// maxTitle is the longest title of an annotation, in UTF-16 units.
	maxTitle = 255
)

// Actions is one step of a workflow. Everything that the step prints goes
// through it: text with Write, commands with the other methods.
//
// The runner takes any line that begins with "::", and any "##[" inside a line,
// for a command. Names from captures are in the text, so text is only ever
// printed while commands are stopped, under a token that nobody can guess;
// the next command of our own resumes them.
type Actions struct {
	mu      sync.Mutex
	out     sink
	sdk     *githubactions.Action
	getenv  func(string) string
	token   func() string // a new random word
	stopped string        // the token that resumes commands, while text is printed
	shown   map[level]int
	leftOut map[level]int
}

// level is an annotation's; it is the workflow command's name too.
type level string

const (
	levelError   level = "error"
	levelWarning level = "warning"
	levelNotice  level = "notice"
)

// Annotation is one remark on a line of a file. File is absolute or relative to
// the current directory. A Line or Column of 0 is not known.
type Annotation struct {
	File    string
	Line    int
	Column  int
	Title   string
	Message string
}

// NewActions makes the step that prints to w and reads the runner's variables
// with getenv. Without a runner it prints plain lines.
func NewActions(w io.Writer, getenv func(string) string) *Actions {
	a := &Actions{out: sink{w: w, last: '\n'}, getenv: getenv, token: rand.Text, shown: map[level]int{}, leftOut: map[level]int{}}
	a.sdk = githubactions.New(githubactions.WithWriter(&a.out), githubactions.WithGetenv(getenv))
	return a
}

// Active tells whether this is a step of GitHub Actions or of a server like it.
func (a *Actions) Active() bool { return a.getenv("GITHUB_ACTIONS") == "true" }

// Write prints text: nothing in it is a command. It never fails; Close does.
func (a *Actions) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(p) > 0 && a.Active() && a.stopped == "" {
		a.stopped = a.token()
		a.issue("stop-commands", a.stopped)
	}
	return a.out.Write(p)
}

// resume lets commands act again after text.
func (a *Actions) resume() {
	a.out.endLine()
	if a.stopped != "" {
		a.issue(a.stopped, "")
		a.stopped = ""
	}
}

func (a *Actions) issue(name, message string) {
	a.sdk.IssueCommand(&githubactions.Command{Name: name, Message: message})
}

// Group folds what is printed until EndGroup under a title.
func (a *Actions) Group(title string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resume()
	if title = oneLine(title, maxTitle); a.Active() {
		a.sdk.Group(title)
	} else {
		fmt.Fprintln(&a.out, title)
	}
}

// EndGroup ends the group.
func (a *Actions) EndGroup() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resume()
	if a.Active() {
		a.sdk.EndGroup()
	}
}

// Mask keeps a secret out of the log: the runner then shows stars for it.
func (a *Actions) Mask(secret string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Active() && secret != "" {
		a.resume()
		a.sdk.AddMask(secret)
	}
}

// Error, Warning and Notice mark a line of a file. A step shows MaxAnnotations
// of each, so the worst comes first; Close says how many were left out.
func (a *Actions) Error(n Annotation) { a.annotate(levelError, n) }

// Warning is Error's milder sister.
func (a *Actions) Warning(n Annotation) { a.annotate(levelWarning, n) }

// Notice is for what needs no action.
func (a *Actions) Notice(n Annotation) { a.annotate(levelNotice, n) }

func (a *Actions) annotate(l level, n Annotation) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.shown[l] == MaxAnnotations {
		a.leftOut[l]++
		return
	}
	a.shown[l]++
	a.resume()
	file, inside := a.relative(n.File)
	if !a.Active() || n.File != "" && !inside {
		n.Message = place(file, n) + n.Message
	}
	message := oneLine(n.Message, maxMessage)
	if !a.Active() {
		fmt.Fprintf(&a.out, "%s: %s\n", l, message)
		return
	}
	fields := map[string]string{}
	if title := oneLine(n.Title, maxTitle); title != "" {
		fields["title"] = title
	}
	if inside {
		fields["file"] = oneLine(file, maxMessage)
		if n.Line > 0 {
			fields["line"] = strconv.Itoa(n.Line)
			if n.Column > 0 {
				fields["col"] = strconv.Itoa(n.Column)
			}
		}
	}
	sdk := a.sdk.WithFieldsMap(fields)
	print := map[level]func(string, ...any){levelError: sdk.Errorf, levelWarning: sdk.Warningf, levelNotice: sdk.Noticef}
	print[l]("%s", cmp.Or(message, "(no message)"))
}

// place is "file:line:column: ", as much of it as is known.
func place(file string, n Annotation) string {
	if file == "" {
		return ""
	}
	if n.Line > 0 {
		file += ":" + strconv.Itoa(n.Line)
		if n.Column > 0 {
			file += ":" + strconv.Itoa(n.Column)
		}
	}
	return file + ": "
}

// relative gives a file's path from the root of the workspace, with slashes,
// and whether the file is in there: GitHub shows no other.
func (a *Actions) relative(file string) (string, bool) {
	root := a.getenv("GITHUB_WORKSPACE")
	if file == "" || root == "" {
		return filepath.ToSlash(file), file != "" && !filepath.IsAbs(file)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return file, false
	}
	for _, real := range []bool{false, true} {
		if real { // a link on the way, as /var is on macOS
			if abs, err = filepath.EvalSymlinks(abs); err != nil {
				break
			}
			if root, err = filepath.EvalSymlinks(root); err != nil {
				break
			}
		}
		if rel, err := filepath.Rel(root, abs); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return filepath.ToSlash(file), false
}

// Close ends the text, says how many annotations were left out, and gives the
// first error of the log.
func (a *Actions) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.resume()
	for _, l := range []level{levelError, levelWarning, levelNotice} {
		if n := a.leftOut[l]; n > 0 {
			fmt.Fprintf(&a.out, "%d more of level %s not shown as annotations: a step shows %d; the report has them all\n", n, l, MaxAnnotations)
		}
	}
	clear(a.leftOut)
	return a.out.err
}

// oneLine makes a string safe for one line of a log and cuts it to a number of
// UTF-16 units (the runner counts so), at a rune's boundary, with an ellipsis.
func oneLine(s string, limit int) string {
	s = strings.TrimSpace(strings.Map(func(r rune) rune {
		// Cf holds the marks that turn text around or hide it.
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
	units, cut := 0, 0
	for i, r := range s {
		units += max(utf16.RuneLen(r), 1)
		if units > limit {
			return s[:cut] + "…"
		}
		if units < limit { // one unit is kept for the ellipsis
			cut = i + utf8.RuneLen(r)
		}
	}
	return s
}

// sink is a writer that never fails: it keeps the first error, and whether the
// last line is complete.
type sink struct {
	w    io.Writer
	last byte
	err  error
}

func (s *sink) Write(p []byte) (int, error) {
	if s.err == nil && len(p) > 0 {
		_, s.err = s.w.Write(p)
		s.last = p[len(p)-1]
	}
	return len(p), nil
}

// endLine completes the last line, so that a command begins one of its own. The
// runner ends lines at a carriage return too, but act does not.
func (s *sink) endLine() {
	if s.last != '\n' {
		s.Write([]byte{'\n'})
	}
}

var _ io.Writer = (*Actions)(nil)
