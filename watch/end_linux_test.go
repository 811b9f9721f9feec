package watch

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/peakgate/peakgate/capture/footprint"
	"github.com/peakgate/peakgate/watch/proc"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	path := needStory(t)
	for _, tt := range []struct {
		name string
		argv []string
		code int
		say  string
	}{
		{"passes", []string{path, "exits", "0"}, 0, "footprint"},
		{"fails", []string{path, "exits", "5"}, 5, ""},
		{"not found", []string{"no-such-program-anywhere"}, 127, `cannot start "no-such-program-anywhere"`},
		{"not a program", []string{"./testdata/story.c"}, 126, "permission denied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, testConfig{}, tt.argv...)
			w.end(tt.code)
			if !strings.Contains(w.err.String(), tt.say) {
				t.Errorf("the watcher said %q, want %q in it", w.err.String(), tt.say)
			}
		})
	}
}

// TestStubborn: the child ignores SIGTERM and has a group of its own.
func TestStubborn(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{Config: Config{Grace: time.Millisecond}}, needStory(t), "stubborn")
	l := w.until("mark", func(l line) bool { return l.Event == "" && l.Step != nil })
	child := int(*l.Step)
	w.goOn()
	w.cmd.Process.Signal(syscall.SIGTERM)
	w.end(128 + int(syscall.SIGTERM))
	if err := syscall.Kill(child, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the child lives on: %v", err)
	}
	var sent []string
	for _, l := range w.events("signal") {
		sent = append(sent, l.Signal)
	}
	if got := strings.Join(sent, " "); !strings.HasPrefix(got, "SIGTERM SIGTERM SIGKILL") {
		t.Errorf("signals %q, want the one that came, one sent, and SIGKILL", got)
	}
	if w.summary.Signal != "SIGTERM" || w.summary.ExitCode != nil {
		t.Errorf("summary %+v", w.summary)
	}
}

// TestTimeout: a run that does not end is ended, and fails.
func TestTimeout(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{Config: Config{Timeout: time.Millisecond, Grace: time.Millisecond}}, "sleep", "1000")
	w.end(1)
	if !strings.Contains(w.err.String(), "it runs longer than 1ms: the workload is ended") || !strings.Contains(w.summary.Stopped, "it runs longer") {
		t.Errorf("the watcher said %q, summary %+v", w.err.String(), w.summary)
	}
}

// TestLinger: what outlives the first process is ended.
func TestLinger(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{Config: Config{Linger: time.Millisecond, Grace: time.Millisecond}}, needStory(t), "daemon")
	w.end(0)
	if !strings.Contains(w.err.String(), "outlive") {
		t.Errorf("the watcher said %q", w.err.String())
	}
}

func TestSignalIsForwarded(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{}, needStory(t), "signal")
	w.at(0)
	w.cmd.Process.Signal(syscall.SIGUSR1)
	w.end(40 + int(syscall.SIGUSR1))
}

// TestKilledWatcher leaves whole lines.
func TestKilledWatcher(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{}, needStory(t), "leak")
	w.steps(0, 1, 2)
	w.cmd.Process.Kill()
	for {
		if _, ok := w.next(); !ok { // fails on a part of a line
			break
		}
	}
	if w.all[0].Schema != footprint.Schema || len(w.events("step")) < 3 || w.summary.Summary {
		t.Errorf("got %s", w.raw.String())
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	device, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	c := testConfig{Config: Config{Interval: time.Hour, PSS: PSSAuto, GPU: GPUOff, Argv: []string{needStory(t), "exits", "5"}}}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), configVariable+"="+string(text))
	cmd.ExtraFiles = []*os.File{device}
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 5 {
		t.Errorf("exit code %d, want the workload's 5", cmd.ProcessState.ExitCode())
	}
	if n := strings.Count(string(out), "no space left on device; the workload goes on"); n != 1 || !strings.Contains(string(out), "lost: ") {
		t.Errorf("the watcher said %q", out)
	}
}

// TestReaderGoesAway: the workload gets its SIGPIPE as it would without a watcher.
func TestReaderGoesAway(t *testing.T) {
	t.Parallel()
	c := testConfig{Config: Config{Interval: time.Hour, PSS: PSSAuto, GPU: GPUOff, Argv: []string{needStory(t), "writes"}}}
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), configVariable+"="+string(text))
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd.ExtraFiles = []*os.File{null}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if s, err := bufio.NewReader(out).ReadString('\n'); s != "text\n" || err != nil {
		t.Errorf("read %q, %v", s, err)
	}
	out.Close()
	cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 128+int(syscall.SIGPIPE) {
		t.Errorf("exit code %d, want that of SIGPIPE", got)
	}
}

func TestMaxFootprint(t *testing.T) {
	t.Parallel()
	w := begin(t, testConfig{Config: Config{MaxFootprint: 9 << 20}}, needStory(t), "leak")
	w.steps(0, 1, 2, 3)
	w.at(4) // 10 MiB: SIGTERM comes, and the workload does not catch it
	w.end(1)
	if !strings.Contains(w.summary.Stopped, "above the limit of 9437184 B") || w.summary.Signal != "SIGTERM" {
		t.Errorf("summary %+v", w.summary)
	}
}

// TestAlsoPID: a process that ran before counts, and lives on.
func TestAlsoPID(t *testing.T) {
	t.Parallel()
	path := needStory(t)
	other := exec.Command(path, "leak", "5")
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer stdin.Close()
	said := bufio.NewReader(out)
	for range 4 { // 8 MiB
		if _, err := said.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		stdin.Write([]byte("x"))
	}
	if _, err := said.ReadString('\n'); err != nil { // 10 MiB
		t.Fatal(err)
	}
	w := begin(t, testConfig{Config: Config{AlsoPIDs: []int{other.Process.Pid}, PSS: PSSAlways}}, path, "leak", "1")
	near(t, "both", w.steps(0)[0], 12*miB, 2*slack)
	w.end(0)
	if err := other.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the other process is gone: %v", err)
	}
}

// TestKilledForMemory: the counter of the control group rises while a process is
// killed. The group is a folder of files here, so no rights are needed.
func TestKilledForMemory(t *testing.T) {
	t.Parallel()
	group, err := proc.New("/proc").Cgroup(os.Getpid(), "")
	if err != nil {
		t.Skip("there is no control group with a memory controller to stand in for: ", err)
	}
	root := t.TempDir()
	dir := filepath.Join(root, group.Dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	counter := filepath.Join(dir, "memory.events")
	if group.V1 {
		counter = filepath.Join(dir, "memory.oom_control")
	}
	kills := func(n int) {
		if err := os.WriteFile(counter, []byte("oom_kill_disable 0\noom_kill "+strconv.Itoa(n)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kills(2) // of others, before
	w := begin(t, testConfig{Config: Config{Interval: time.Hour}, Root: root}, needStory(t), "dies")
	w.at(0)
	kills(3)
	w.goOn()
	w.end(128 + int(syscall.SIGKILL))
	if l := w.events("oom"); len(l) != 1 || l[0].Kills != 1 {
		t.Errorf("events %+v, want one of one kill", l)
	}
	if n, ok := w.summary.OOMKills.Value(); !ok || n != 1 || w.summary.Signal != "SIGKILL" {
		t.Errorf("summary %+v, want one kill", w.summary)
	}
	if !strings.Contains(w.err.String(), "killed 1 process for memory") {
		t.Errorf("the watcher said %q", w.err.String())
	}
}

func TestAffon(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, samples int, growth int64) *watched {
		return begin(t, testConfig{Config: Config{Affon: &Affon{Samples: samples, MaxGrowthBytes: growth, MaxRegionsGrowth: 5000}}}, needStory(t), "silent")
	}
	t.Run("last sample", func(t *testing.T) {
		t.Parallel()
		w := begin(t, 3, 1<<40)
		w.end(0) // it waits for a byte that does not come, and is ended
		var samples []footprint.AffonSample
		for l := range strings.Lines(w.raw.String()) {
			var s footprint.AffonSample
			d := json.NewDecoder(strings.NewReader(l))
			d.DisallowUnknownFields()
			if err := d.Decode(&s); err != nil {
				t.Fatal(err)
			}
			samples = append(samples, s)
		}
		if len(samples) != 3 || samples[0].Sample != 1 || samples[2].Sample != 3 || samples[0].PhysicalFootprintGrowthBytes != 0 || samples[0].PID == 0 {
			t.Errorf("got %+v", samples)
		}
	})
	t.Run("regression", func(t *testing.T) {
		t.Parallel()
		w := begin(t, 1<<30, 4<<20)
		w.end(1)
		if !strings.Contains(w.err.String(), "metal footprint regression: physical growth=") {
			t.Errorf("the watcher said %q", w.err.String())
		}
	})
}
