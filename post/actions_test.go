package post

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// newActions is a step with a fixed token in a workspace of its own.
func newActions(t *testing.T, env map[string]string) (*Actions, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	if env == nil {
		env = map[string]string{"GITHUB_ACTIONS": "true"}
	}
	a := NewActions(&log, func(name string) string { return env[name] })
	n := 0
	a.token = func() string { n++; return fmt.Sprintf("TOKEN%d", n) }
	return a, &log
}

func want(t *testing.T, got, want string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\r\n", "\n") // as commands end on Windows
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log differs (-want +got):\n%s", diff)
	}
}

func TestTextIsPrintedWhileCommandsAreStopped(t *testing.T) {
	a, log := newActions(t, nil)
	a.Group("report\n::error::x")
	fmt.Fprint(a, "::set-output name=verdict::pass\n")
	fmt.Fprint(a, "  ::add-mask::a\n##[add-mask]b\nno newline at the end")
	a.Error(Annotation{File: "peakgate.yml", Line: 3, Column: 5, Title: "a,b:c", Message: "50% over\r\n::error::y"})
	fmt.Fprint(a, "more\n")
	a.EndGroup()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	want(t, log.String(), `::group::report ::error::x
::stop-commands::TOKEN1
::set-output name=verdict::pass
  ::add-mask::a
##[add-mask]b
no newline at the end
::TOKEN1::
::error col=5,file=peakgate.yml,line=3,title=a%2Cb%3Ac::50%25 over  ::error::y
::stop-commands::TOKEN2
more
::TOKEN2::
::endgroup::
`)
}

func TestOutsideActionsNothingIsACommand(t *testing.T) {
	a, log := newActions(t, map[string]string{})
	if a.Active() {
		t.Error("active without GITHUB_ACTIONS")
	}
	a.Group("report")
	fmt.Fprint(a, "text")
	a.EndGroup()
	a.Error(Annotation{File: "a.yml", Line: 1, Column: 2, Message: "m"})
	a.Warning(Annotation{File: "a.yml", Message: "m"})
	a.Notice(Annotation{Message: "m"})
	for _, err := range []error{a.Summary([]byte("# x")), a.Output("verdict", "pass"), a.Close()} {
		if err != nil {
			t.Error(err)
		}
	}
	want(t, log.String(), "report\ntext\nerror: a.yml:1:2: m\nwarning: a.yml: m\nnotice: m\n")
}

func TestAnnotationsAreCountedPerLevel(t *testing.T) {
	a, log := newActions(t, nil)
	for i := range MaxAnnotations + 3 {
		a.Error(Annotation{Message: fmt.Sprint("e", i)})
	}
	for i := range MaxAnnotations {
		a.Warning(Annotation{Message: fmt.Sprint("w", i)})
	}
	a.Close()
	a.Close() // says it once
	got := strings.ReplaceAll(log.String(), "\r\n", "\n")
	if n := strings.Count(got, "::error::"); n != MaxAnnotations {
		t.Errorf("%d errors, want %d", n, MaxAnnotations)
	}
	if n := strings.Count(got, "::warning::"); n != MaxAnnotations {
		t.Errorf("%d warnings, want %d", n, MaxAnnotations)
	}
	if !strings.Contains(got, "::error::e0\n") || strings.Contains(got, "::error::e10\n") {
		t.Errorf("the first annotations are not the ones shown:\n%s", got)
	}
	if n := strings.Count(got, "3 more of level error not shown"); n != 1 {
		t.Errorf("the rest is said %d times, want once:\n%s", n, got)
	}
	if strings.Contains(got, "of level warning") {
		t.Errorf("no warning was left out:\n%s", got)
	}
}

func TestAnnotationPaths(t *testing.T) {
	root := t.TempDir()
	inside := filepath.Join(root, "sub", "peakgate.yml")
	if err := os.MkdirAll(filepath.Dir(inside), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Logf("no links here: %v", err)
		link = root
	}
	outside := filepath.Join(t.TempDir(), "other.yml")
	for _, tt := range []struct{ name, workspace, file, want string }{
		{"inside", root, inside, "::error file=sub/peakgate.yml,line=7::m\n"},
		{"through a link", root, filepath.Join(link, "sub", "peakgate.yml"), "::error file=sub/peakgate.yml,line=7::m\n"},
		{"outside", root, outside, "::error::" + filepath.ToSlash(outside) + ":7: m\n"},
		{"no file", root, "", "::error::m\n"},
		{"no workspace", "", "a/b.yml", "::error file=a/b.yml,line=7::m\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, log := newActions(t, map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": tt.workspace})
			a.Error(Annotation{File: tt.file, Line: 7, Message: "m"})
			want(t, log.String(), tt.want)
		})
	}
	// A path that is relative to the current directory is so, not to the workspace.
	t.Run("relative", func(t *testing.T) {
		here, err := os.Getwd()
		if err != nil {
			t.Fatal(err)
		}
		a, log := newActions(t, map[string]string{"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": filepath.Dir(here)})
		a.Error(Annotation{File: "doc.go", Line: 7, Message: "m"})
		want(t, log.String(), "::error file="+filepath.Base(here)+"/doc.go,line=7::m\n")
	})
}

func TestOneLine(t *testing.T) {
	long := strings.Repeat("é", maxMessage)
	for _, tt := range []struct{ name, in, want string }{
		{"exact", long, long},
		{"one over", long + "x", long[:len(long)-2] + "…"},
		{"pairs of UTF-16 units", strings.Repeat("😀", maxMessage/2) + "x", strings.Repeat("😀", maxMessage/2-1) + "…"},
		{"pairs exact", strings.Repeat("😀", maxMessage/2), strings.Repeat("😀", maxMessage/2)},
		{"controls", "a\r\nb\x1b[31mc\x00\u0085d\u2028e\u202ef", "a  b [31mc  d e f"},
		{"not UTF-8", "a\xff\xfeb", "a\uFFFDb"},
		{"empty", " \n ", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := oneLine(tt.in, maxMessage)
			if got != tt.want {
				t.Errorf("got %d bytes %.40q…, want %d bytes %.40q…", len(got), got, len(tt.want), tt.want)
			}
			if n := len(utf16.Encode([]rune(got))); n > maxMessage {
				t.Errorf("%d UTF-16 units, want at most %d", n, maxMessage)
			}
		})
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken pipe")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestBrokenLogIsAnErrorOfCloseOnly(t *testing.T) {
	a := NewActions(brokenWriter{}, func(string) string { return "true" })
	a.Group("x")
	if _, err := fmt.Fprint(a, "text"); err != nil {
		t.Errorf("Write failed: %v", err)
	}
	a.Error(Annotation{Message: "m"})
	a.EndGroup()
	if err := a.Close(); !errors.Is(err, errBroken) {
		t.Errorf("Close gave %v, want %v", err, errBroken)
	}
}

// runner is a model of how actions/runner takes a log: ActionCommand.cs (both
// forms) and ActionCommandManager.cs (the stop token). It gives the names of the
// commands that acted, but for stopping and resuming.
func runner(log string) (acted []string) {
	known := map[string]bool{"stop-commands": true}
	for _, name := range []string{"add-mask", "add-matcher", "remove-matcher", "debug", "warning", "error", "notice", "group", "endgroup", "echo", "set-output", "set-env", "add-path", "save-state"} {
		known[name] = true
	}
	stop := ""
	for _, line := range strings.FieldsFunc(log, func(r rune) bool { return r == '\n' || r == '\r' }) {
		name, data, ok := commandOf(line, known)
		switch {
		case !ok:
		case stop != "":
			if strings.EqualFold(name, stop) {
				delete(known, strings.ToLower(stop))
				stop = ""
			}
		case strings.EqualFold(name, "stop-commands"):
			stop = data
			known[strings.ToLower(stop)] = true
		default:
			acted = append(acted, name)
		}
	}
	return acted
}

func commandOf(line string, known map[string]bool) (name, data string, ok bool) {
	if s, found := strings.CutPrefix(strings.TrimSpace(line), "::"); found {
		if info, data, found := strings.Cut(s, "::"); found {
			if name, _, _ := strings.Cut(info, " "); known[strings.ToLower(name)] {
				return name, data, true
			}
		}
	}
	if _, s, found := strings.Cut(line, "##["); found {
		if info, data, found := strings.Cut(s, "]"); found {
			if name, _, _ := strings.Cut(info, " "); known[strings.ToLower(name)] {
				return name, data, true
			}
		}
	}
	return "", "", false
}

func FuzzNothingInjectsACommand(f *testing.F) {
	for _, s := range []string{
		"plain", "::error::x", "\n::add-mask::x\n", "\r::add-mask::x\r", "\u2028::error::x", "a ##[add-mask]b", "::stop-commands::x",
		"::stop-commands::\n", "%0A::error::x", "::TOKEN::", "x\n##[stop-commands]y\n::y::\n::error::z", " \t::error::x", "\xff::error::", "",
	} {
		f.Add(s, "title", s)
		f.Add("text", s, "message")
	}
	f.Fuzz(func(t *testing.T, text, title, message string) {
		var log bytes.Buffer
		a := NewActions(&log, func(name string) string {
			return map[string]string{"GITHUB_ACTIONS": "true"}[name]
		})
		a.Group(title)
		fmt.Fprint(a, text)
		a.Error(Annotation{File: text, Title: title, Message: message})
		fmt.Fprint(a, text)
		a.Warning(Annotation{File: message, Line: 1, Title: text, Message: title})
		fmt.Fprint(a, message)
		a.EndGroup()
		a.Close()
		if diff := cmp.Diff([]string{"group", "error", "warning", "endgroup"}, runner(log.String())); diff != "" {
			t.Errorf("the runner would act on other commands (-want +got):\n%s\nlog: %q", diff, log.String())
		}
		if !utf8.ValidString(text + title + message) {
			return
		}
		if !strings.Contains(log.String(), text) {
			t.Errorf("the text is not in the log as it was: %q", log.String())
		}
	})
}
