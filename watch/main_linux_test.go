package watch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/peakgate/peakgate/capture/footprint"
)

// The tests run the watcher in a process of its own, since it becomes the reaper
// of orphans: the test binary again, with the configuration in this variable.
const configVariable = "PEAKGATE_TEST_WATCH"

// outputFD is where that process writes the lines to.
const outputFD = 3

// testConfig is what a test sets of a Config.
type testConfig struct {
	Config
	Root string // the control groups lie below it
}

func TestMain(m *testing.M) {
	text := os.Getenv(configVariable)
	if text == "" {
		code := m.Run()
		if storyDir != "" {
			os.RemoveAll(storyDir)
		}
		os.Exit(code)
	}
	os.Unsetenv(configVariable)
	var c testConfig
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		panic(err)
	}
	c.Stdin, c.Stdout, c.Stderr, c.Log = os.Stdin, os.Stdout, os.Stderr, os.Stderr
	c.sysRoot = c.Root
	syscall.CloseOnExec(outputFD) // the workload must not hold it open
	c.Output = os.NewFile(outputFD, "output")
	result, err := Run(c.Config)
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		if result.Code == 0 {
			result.Code = 3
		}
	}
	if result.Lost != nil {
		os.Stderr.WriteString("lost: " + result.Lost.Error() + "\n")
	}
	os.Exit(result.Code)
}

var storyDir string

// story compiles testdata/story.c once.
var story = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "story")
	if err != nil {
		return "", err
	}
	storyDir = dir
	path := filepath.Join(dir, "story")
	out, err := exec.Command("cc", "-O1", "-o", path, "testdata/story.c", "-lpthread").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out) + err.Error())
	}
	return path, nil
})

func needStory(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("there is no C compiler to build the workloads with")
	}
	path, err := story()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// line is one line of the output, whichever it is.
type line struct {
	footprint.Sample
	Event     string `json:"event"`
	Clustered bool   `json:"clustered"`
	PID       int64  `json:"pid"`
	Comm      string `json:"comm"`
	Signal    string `json:"signal"`
	Code      *int64 `json:"code"`
	Kills     int64  `json:"kills"`
	Steps     string `json:"steps"`
	Schema    string `json:"schema"`
	Summary   bool   `json:"summary"`
}

// watched is a watch that runs.
type watched struct {
	t        *testing.T
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	lines    *bufio.Reader
	out, err bytes.Buffer // what the workload printed, and the watcher said
	all      []line
	raw      bytes.Buffer
	summary  footprint.Summary
}

// begin starts a watch. It ends with the test at the latest.
func begin(t *testing.T, c testConfig, argv ...string) *watched {
	t.Helper()
	c.Argv = argv
	if c.Interval == 0 {
		c.Interval = 20 * time.Millisecond
	}
	if c.PSS == "" {
		c.PSS = PSSAuto
	}
	if c.GPU == "" {
		c.GPU = GPUOff
	}
	if c.Linger == 0 {
		c.Linger = time.Minute
	}
	if c.Grace == 0 {
		c.Grace = time.Minute
	}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	w := &watched{t: t, cmd: exec.Command(os.Args[0])}
	w.cmd.Env = append(os.Environ(), configVariable+"="+string(text))
	w.cmd.Stdout, w.cmd.Stderr = &w.out, &w.err
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	w.cmd.ExtraFiles = []*os.File{write}
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	w.lines = bufio.NewReader(read)
	t.Cleanup(func() {
		w.stdin.Close() // each workload ends then
		w.cmd.Process.Kill()
		w.cmd.Wait()
		read.Close()
	})
	return w
}

// next gives the next line; false at the end.
func (w *watched) next() (line, bool) {
	w.t.Helper()
	b, err := w.lines.ReadBytes('\n')
	if err != nil {
		if len(b) > 0 {
			w.t.Errorf("the output ends within a line: %q", b)
		}
		return line{}, false
	}
	w.raw.Write(b)
	var l line
	if err := json.Unmarshal(b, &l); err != nil {
		w.t.Fatalf("%v in %q", err, b)
	}
	if l.Summary {
		if err := json.Unmarshal(b, &w.summary); err != nil {
			w.t.Fatal(err)
		}
	}
	w.all = append(w.all, l)
	return l, true
}

// until reads up to a line that is wanted.
func (w *watched) until(what string, want func(line) bool) line {
	w.t.Helper()
	for {
		l, ok := w.next()
		if !ok {
			w.t.Fatalf("no %s in the output; the watcher said %q\n%s", what, w.err.String(), w.raw.String())
		}
		if want(l) {
			return l
		}
	}
}

// at waits for the sample of a step.
func (w *watched) at(step int64) line {
	w.t.Helper()
	return w.until("sample of the step", func(l line) bool { return l.Event == "" && l.Step != nil && *l.Step == step })
}

// goOn lets the workload leave its mark.
func (w *watched) goOn() {
	w.t.Helper()
	if _, err := w.stdin.Write([]byte("x")); err != nil {
		w.t.Fatal(err)
	}
}

// steps waits for the sample of each step, and gives the footprints.
func (w *watched) steps(numbers ...int64) (footprints []int64) {
	w.t.Helper()
	for _, n := range numbers {
		footprints = append(footprints, w.footprint(w.at(n)))
		w.goOn()
	}
	return footprints
}

// footprint of a sample. Where the reads were not affordable there is none, so
// tests of stories with shared memory ask for PSS always.
func (w *watched) footprint(l line) int64 {
	w.t.Helper()
	n, ok := l.Footprint.Value()
	if !ok {
		w.t.Fatalf("no footprint in %+v", l)
	}
	return n
}

// end waits for the end and checks the exit code.
func (w *watched) end(code int) {
	w.t.Helper()
	for {
		if _, ok := w.next(); !ok {
			break
		}
	}
	err := w.cmd.Wait()
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("exit code %d (%v), want %d; the watcher said %q", got, err, code, w.err.String())
	}
}

// events gives the lines of an event.
func (w *watched) events(name string) (list []line) {
	for _, l := range w.all {
		if l.Event == name {
			list = append(list, l)
		}
	}
	return list
}
