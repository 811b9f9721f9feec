package torch

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
)

var update = flag.Bool("update", false, "rewrite the table of docs/dryrun.md")

// program is a file of testdata/programs with what its first lines say of it.
type program struct {
	file, does string
	says       map[string]string
}

// programs are those of testdata/programs, by class and then name.
func programs(t *testing.T) (list []program) {
	t.Helper()
	for _, pattern := range []string{"*.py", "*.sh", "*/__main__.py"} {
		files, err := filepath.Glob(filepath.Join("testdata/programs", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := program{file: strings.TrimPrefix(file, "testdata/programs/"), says: map[string]string{}}
			for l := range strings.Lines(string(text)) {
				l = strings.TrimSpace(l)
				if does, ok := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(l, "# "), `"""`), `"""`); ok {
					p.does = does
				} else if key, value, ok := strings.Cut(strings.TrimPrefix(l, "# "), ": "); ok && strings.HasPrefix(l, "# ") {
					p.says[key] = value
				} else if !strings.HasPrefix(l, "#!") {
					break
				}
			}
			if p.does == "" || !slices.Contains(classes, p.says["class"]) {
				t.Fatalf("%s: want what it does and its class in the first lines", file)
			}
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b program) int {
		return slices.Index(classes, a.says["class"]) - slices.Index(classes, b.says["class"])
	})
	return list
}

var classes = []string{measure.DryrunExact, measure.DryrunAssumption, measure.DryrunValueDependent, measure.DryrunDidNotRun}

// TestTableOfPrograms: the table of the documentation has a row for each program that
// TestPrograms runs, and no other.
func TestTableOfPrograms(t *testing.T) {
	const doc, begin, end = "../../docs/dryrun.md", "<!-- programs -->\n", "<!-- end of programs -->\n"
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| a program with | class | tested by |\n|---|---|---|\n")
	for _, p := range programs(t) {
		class := "`" + p.says["class"] + "`"
		if p.says["fits"] == measure.FitsNo {
			class += ", does not fit"
		}
		fmt.Fprintf(&table, "| %s | %s | [%s](../dryrun/torch/testdata/programs/%s) |\n", p.does, class, p.file, p.file)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no %s", doc, begin)
	}
	want := before + begin + table.String() + end + after
	if want != string(text) && *update {
		if err := os.WriteFile(doc, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s: (-want +got); go test ./dryrun/torch -update writes it\n%s", doc, diff)
	}
}

// needTorch gives a Python that has torch, and an environment in which it is found.
func needTorch(t *testing.T) (python string, env []string) {
	t.Helper()
	python = os.Getenv("PEAKGATE_TORCH_PYTHON")
	if python == "" {
		t.Skip("PEAKGATE_TORCH_PYTHON is not set: .ci/run makes a Python that has torch")
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PYTHON") {
			env = append(env, v)
		}
	}
	return python, dryrun.Before(env, "PATH", filepath.Dir(python))
}

// started runs processes and keeps what the first one printed.
type started struct {
	out, log bytes.Buffer
	runs     int
	end      dryrun.End // of the first
}

func (s *started) start(p dryrun.Process) (dryrun.End, error) {
	name := p.Argv[0]
	if !strings.Contains(name, "/") {
		var err error
		if name, err = find(name, dryrun.Variable(p.Env, "PATH"), p.Dir); err != nil {
			return dryrun.End{}, err
		}
	}
	cmd := exec.Command(name, p.Argv[1:]...)
	cmd.Dir, cmd.Env = p.Dir, p.Env
	if s.runs++; s.runs == 1 {
		cmd.Stdout, cmd.Stderr = &s.out, &s.log
	}
	err := cmd.Run()
	end := dryrun.End{}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if end.Code = exit.ExitCode(); end.Code < 0 {
			end = dryrun.End{Signal: "SIG"}
		}
	} else if err != nil {
		return end, err
	}
	if s.runs == 1 {
		s.end = end
	}
	return end, nil
}

// TestPrograms runs each program of the table over a real PyTorch: its class, the
// user's line, and the peak that torch's own counters tell.
func TestPrograms(t *testing.T) {
	_, env := needTorch(t)
	for _, p := range programs(t) {
		t.Run(p.file, func(t *testing.T) {
			t.Parallel()
			number := func(key string, otherwise int64) int64 {
				n, err := strconv.ParseInt(p.says[key], 10, 64)
				if p.says[key] == "" {
					return otherwise
				} else if err != nil {
					t.Fatal(err)
				}
				return n
			}
			argv := strings.Fields(p.says["argv"])
			switch {
			case len(argv) > 0:
			case strings.HasSuffix(p.file, ".sh"):
				argv = []string{"./" + p.file}
			default:
				argv = []string{"python", p.file}
			}
			timeout, _ := time.ParseDuration(p.says["timeout"])
			s := &started{}
			result, err := Run(dryrun.Spec{Argv: argv, Dir: "testdata/programs", Env: dryrun.With(env, "PYTHONDONTWRITEBYTECODE", "1"), Memory: number("memory", 0),
				Devices: int(number("devices", 1)), Assume: p.says["assume"], Timeout: timeout}, t.TempDir(), s.start)
			if err != nil {
				t.Fatal(err)
			}
			if older(result.Environment["torch"], p.says["torch"]) {
				t.Skipf("%s wants torch %s or newer", p.file, p.says["torch"])
			}
			f := result.Facts[0]
			defer func() {
				if t.Failed() {
					t.Logf("%d runs, %d reads, %d kernels, lines %+v\n%s%v\n%s%s", s.runs, f.Reads, f.Kernels, f.ReadLines, told(f), result.Warnings, s.out.String(), s.log.String())
				}
			}()
			if len(result.Warnings) > 0 {
				t.Error("warnings")
			}
			if f.Class != p.says["class"] {
				t.Errorf("class %s, want %s", f.Class, p.says["class"])
			}
			if want := int(number("exit", 0)); want != 0 && s.end.Code != want {
				t.Errorf("exit code %d, want %d", s.end.Code, want)
			}
			if want := p.says["fits"]; want != "" && f.Fits != want {
				t.Errorf("fits %s, want %s", f.Fits, want)
			}
			if want := p.says["says"]; want != "" && !strings.Contains(strings.ToLower(told(f)), strings.ToLower(want)) {
				t.Errorf("the reasons do not say %q", want)
			}
			if want := int(number("source", 0)); want != 0 && (len(f.Reasons) == 0 || f.Reasons[0].Source == nil || f.Reasons[0].Source.File != filepath.Base(p.file) || f.Reasons[0].Source.Line != want) {
				t.Errorf("the first reason is not at line %d of %s", want, p.file)
			}
			if want := p.says["reads"]; want != "" && reads(f) != want {
				t.Errorf("reads %s, want %s", reads(f), want)
			}
			if f.Class == measure.DryrunDidNotRun {
				return
			}
			if want := int(number("processes", 1)); len(result.Captures) != want {
				t.Fatalf("%d captures, want %d", len(result.Captures), want)
			}
			if got, want := peaks(t, result.Captures[0].Path), printed(s.out.String(), "peak"); want != nil && !slices.Equal(got, want) {
				t.Errorf("peaks %v, want those of torch's counters %v", got, want)
			} else if want == nil && number("processes", 1) == 1 && f.Class == measure.DryrunExact {
				t.Error("it printed no peak")
			}
		})
	}
}

// older tells that a release, MAJOR.MINOR and more, is before another.
func older(release, than string) bool {
	var a, b [2]int
	fmt.Sscanf(release, "%d.%d", &a[0], &a[1])
	fmt.Sscanf(than, "%d.%d", &b[0], &b[1])
	return slices.Compare(a[:], b[:]) < 0
}

// reads are the lines that read, each LINE:COUNT.
func reads(f measure.DryrunFact) string {
	var list []string
	for _, l := range f.ReadLines {
		line := 0
		if l.Source != nil {
			line = l.Source.Line
		}
		list = append(list, fmt.Sprintf("%d:%d", line, l.Count))
	}
	return strings.Join(list, " ")
}

// peaks are those of the devices of a snapshot.
func peaks(t *testing.T, path string) (list []int64) {
	t.Helper()
	s, err := load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range s.Devices {
		if d.History.NoPeak != "" || d.History.Kind != "complete" {
			t.Errorf("device %d: %s, %s", d.Ordinal, d.History.Kind, d.History.NoPeak)
		}
		list = append(list, d.History.Peak)
	}
	return list
}

// printed are the numbers of the last line that begins with a word.
func printed(out, word string) (list []int64) {
	for l := range strings.Lines(out) {
		if words := strings.Fields(l); len(words) > 0 && words[0] == word {
			list = nil
			for _, w := range words[1:] {
				n, _ := strconv.ParseInt(w, 10, 64)
				list = append(list, n)
			}
		}
	}
	return list
}
