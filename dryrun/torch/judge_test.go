package torch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/dryrun/torch/pretend"
	"github.com/peakgate/peakgate/measure"
	"github.com/peakgate/peakgate/watch/hook"
)

const version = "2.9.1+cu128"

// event is an event of a made-up snapshot: a size above 0 is allocated, one below 0 is
// freed, at a line of train.py.
type event struct{ size, line int }

// history is a snapshot of events on one device; what is left live is freed at the end.
func history(reserved int64, events ...event) []byte {
	var trace []map[string]any
	add := func(action string, address int, e event) {
		trace = append(trace, map[string]any{"action": action, "addr": address, "size": max(e.size, -e.size), "stream": 0,
			"frames": []any{map[string]any{"filename": "/srv/project/train.py", "line": e.line, "name": "step"}}})
	}
	live := map[int][]int{}
	next := 4096
	free := func(e event) {
		address := live[-e.size][0]
		live[-e.size] = live[-e.size][1:]
		add("free_requested", address, e)
		add("free_completed", address, e)
	}
	if reserved > 0 {
		add("segment_alloc", 0, event{int(reserved), 1})
	}
	for _, e := range events {
		if e.size < 0 {
			free(e)
			continue
		}
		add("alloc", next, e)
		live[e.size] = append(live[e.size], next)
		next += 4096
	}
	for size, addresses := range live {
		for range addresses {
			free(event{-size, 1})
		}
	}
	if reserved > 0 {
		add("segment_free", 0, event{int(reserved), 1})
	}
	data, err := json.Marshal(map[string]any{"segments": []any{}, "device_traces": [][]map[string]any{trace}})
	if err != nil {
		panic(err)
	}
	return data
}

// linkTo begins a file that is a link.
const linkTo = "link to "

// left is what a run leaves: files beside those that every run leaves.
type left struct {
	end   dryrun.End
	files map[string]string
}

// ran is a run of one process with a history and reads of lines.
func ran(history []byte, lines ...readLine) left {
	return left{files: map[string]string{"pid7.pickle": string(history), "pid7.began": "", "pid7.json": says(report{Lines: lines})}}
}

// ranks is a run of one process for each history.
func ranks(histories ...[]byte) left {
	l := left{files: map[string]string{}}
	for rank, history := range histories {
		id := fmt.Sprintf("rank%d-pid%d", rank, 9-rank)
		l.files[id+".pickle"], l.files[id+".json"] = string(history), says(report{Lines: []readLine{line(8, 1)}})
	}
	return l
}

func says(r report) string {
	r.Watched = r.Root != "unwatched"
	if r.Torch == "" {
		r.Torch = version
	}
	for _, l := range r.Lines {
		r.Reads += l.Count
	}
	data, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func line(n, count int) readLine {
	return readLine{At: &spot{File: "/srv/project/train.py", Line: int64(n), Function: "step"}, Count: int64(count), Bytes: 4}
}

// with adds a file to what a run leaves.
func (l left) with(name, text string) left {
	files := map[string]string{name: text}
	for n, t := range l.files {
		if n != name {
			files[n] = t
		}
	}
	return left{l.end, files}
}

func (l left) ending(end dryrun.End) left { l.end = end; return l }

// judged runs a program that leaves what is given, run by run. It gives the values that
// the runs read.
func judged(t *testing.T, spec dryrun.Spec, runs ...left) (*dryrun.Result, string) {
	t.Helper()
	spec.Dir, spec.Argv = "/srv/project", []string{"python", "train.py"}
	var fills []string
	spec.Env = []string{"CUDA_VISIBLE_DEVICES=", "LD_LIBRARY_PATH=/lib", "PYTHONPATH=/mine"}
	start := func(p dryrun.Process) (dryrun.End, error) {
		for name, want := range map[string]string{"CUDA_VISIBLE_DEVICES": strings.Join([]string{"0", "1"}[:max(spec.Devices, 1)], ","),
			"LD_LIBRARY_PATH": "/pretend:/lib", "PYTHONPATH": filepath.Join(filepath.Dir(dryrun.Variable(p.Env, hook.Variable)), "python") + ":/mine", "PYTHONHASHSEED": "0"} {
			if got := dryrun.Variable(p.Env, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if p.Quiet != (len(fills) > 0) {
			t.Errorf("run %d: quiet is %v", len(fills), p.Quiet)
		}
		fills = append(fills, dryrun.Variable(p.Env, "PRETEND_READS"))
		if len(fills) > len(runs) {
			t.Fatalf("run %d is one too many", len(fills))
		}
		this, dir := runs[len(fills)-1], dryrun.Variable(p.Env, hook.Variable)
		files := map[string]string{"loaded": ""}
		for name, text := range this.files {
			files[name] = text
		}
		for name, text := range files {
			if name == "loaded" && text == "no" {
				continue
			}
			target, link := strings.CutPrefix(text, linkTo)
			if link {
				if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return this.end, nil
	}
	r := &runner{spec: filled(spec), dir: t.TempDir(), start: start, libraries: &pretend.Libraries{Dir: "/pretend", TorchVersion: version}}
	result, err := r.judge()
	if err != nil {
		t.Fatal(err)
	}
	return result, strings.Join(fills, " ")
}

// told is a fact in a few lines.
func told(f measure.DryrunFact) string {
	out := f.Class + "\n"
	for _, r := range f.Reasons {
		if r.Source != nil {
			out += fmt.Sprintf("%s:%d: ", r.Source.File, r.Source.Line)
		}
		out += r.Text + "\n"
	}
	return out
}

func TestClasses(t *testing.T) {
	plain := history(0, event{1024, 3}, event{2048, 4}, event{-1024, 5}, event{-2048, 5}, event{512, 6})
	other := history(0, event{1024, 3}, event{4096, 4}, event{512, 6})
	swapped := history(0, event{1024, 3}, event{2048, 4}, event{-2048, 5}, event{-1024, 5}, event{512, 6})
	shorter := history(0, event{1024, 3}, event{2048, 4}, event{-2048, 5}, event{-1024, 5})
	failed := dryrun.End{Code: 1}
	badly := ran(plain).with("pid7.json", says(report{Error: "ZeroDivisionError: division by zero", ErrorAt: line(9, 0).At, Lines: []readLine{line(8, 1)}})).ending(failed)
	waits := func(n int) string {
		return says(report{Stopped: stoppedWaits, At: line(n, 1).At, Lines: []readLine{line(n, 20000)}})
	}
	for _, c := range []struct {
		name, fills, want string
		spec              dryrun.Spec
		runs              []left
	}{
		{"no reads need no second run", "zero", "exact\n", dryrun.Spec{}, []left{ran(plain)}},
		{"both values allocate alike", "zero one", "exact\n", dryrun.Spec{}, []left{ran(plain, line(8, 3)), ran(plain, line(8, 3))}},
		{"the order of frees between two allocations is none of the program's", "zero one", "exact\n", dryrun.Spec{}, []left{ran(plain, line(8, 3)), ran(swapped, line(8, 3))}},
		{"values steer", "zero one zero", `value_dependent
train.py:4: what it reads steers what it allocates: on device 0, where it reads 0 it allocates 2.00 KiB at train.py:4 step, and where it reads 1 it allocates 4.00 KiB at train.py:4 step; its peak is 3.00 KiB and 5.50 KiB
train.py:8: train.py:8 reads once where it reads 0, and 4 times where it reads 1
`, dryrun.Spec{}, []left{ran(plain, line(8, 1)), ran(other, line(8, 4)), ran(plain, line(8, 1))}},
		{"one allocates less", "zero one zero", `value_dependent
train.py:6: what it reads steers what it allocates: on device 0, where it reads 0 it allocates 512 B at train.py:6 step, and where it reads 1 it allocates no more; its peak is 3.00 KiB either way
`, dryrun.Spec{}, []left{ran(plain, line(8, 3)), ran(shorter, line(8, 3)), ran(plain, line(8, 3))}},
		{"no run is like another", "zero one zero", `value_dependent
train.py:4: a further run allocates otherwise: fix its seeds, and have it write nothing that it reads again
`, dryrun.Spec{}, []left{ran(plain, line(8, 3)), ran(other, line(8, 3)), ran(other, line(8, 3))}},
		{"the first run leaves what leads another elsewhere", "zero one zero", `value_dependent
train.py:9: a further run ended otherwise: it ended with exit code 1: ZeroDivisionError: division by zero: fix its seeds, and have it write nothing that it reads again
`, dryrun.Spec{}, []left{ran(plain, line(8, 1)), badly, badly}},
		{"the other value ends it badly", "zero one zero", `value_dependent
train.py:9: where it reads 1, it ended with exit code 1: ZeroDivisionError: division by zero
`, dryrun.Spec{}, []left{ran(plain, line(8, 1)), badly, ran(plain, line(8, 1))}},
		{"one value ends it badly", "zero one", `value_dependent
train.py:9: where it reads 0, it ended with exit code 1: ZeroDivisionError: division by zero
`, dryrun.Spec{}, []left{
			badly, ran(plain, line(8, 1))}},
		{"a loop that one value ends", "zero one", `value_dependent
train.py:8: where it reads 0, it waits for a value that nothing computes, or takes too many steps: the same lines read from the device again and again (train.py:8 step), and it was ended
`, dryrun.Spec{}, []left{ran(plain).with("pid7.json", waits(8)).ending(dryrun.End{Code: 70}), ran(plain, line(8, 1))}},
		{"a loop that none ends", "zero one", `did_not_run
train.py:8: it waits for a value that nothing computes, or takes too many steps: the same lines read from the device again and again (train.py:8 step), and it was ended
`, dryrun.Spec{}, []left{ran(plain).with("pid7.json", waits(8)).ending(dryrun.End{Code: 70}), ran(plain).with("pid7.json", waits(8)).ending(dryrun.End{Code: 70})}},
		{"out of time", "zero", `did_not_run
train.py:8: it did not end within 10m (train.py:8 step)
`, dryrun.Spec{}, []left{ran(plain).with("pid7.json", says(report{Stopped: stoppedTime, At: line(8, 1).At, Lines: []readLine{line(8, 1)}})).ending(dryrun.End{Code: 70})}},
		{"out of time, and ended from outside", "zero", "did_not_run\nit did not end within 1h\n", dryrun.Spec{Timeout: time.Hour}, []left{{end: dryrun.End{Signal: "SIGKILL", TimedOut: true}}}},
		{"a call that nothing answers", "zero", `did_not_run
train.py:9: the pretend device cannot answer cusolverDnSgetrf, and the program ended with RuntimeError: cusolver error
`, dryrun.Spec{}, []left{ran(plain).with("notes-7", "unsupported cusolverDnSgetrf\nunsupported cusolverDnSgetrs\n").
			with("pid7.json", says(report{Error: "RuntimeError: cusolver error", ErrorAt: line(9, 0).At, Lines: []readLine{line(8, 1)}})).ending(failed)}},
		{"a call that nothing answers, and the program went on", "zero", "did_not_run\nthe pretend device cannot answer x\n", dryrun.Spec{}, []left{ran(plain).with("notes-7", "unsupported x\n")}},
		{"a call of another program that nothing answers", "zero", "exact\n", dryrun.Spec{}, []left{ran(plain).with("notes-8", "unsupported x\n")}},
		{"a call that nothing answers, and a crash at once", "zero", "did_not_run\nthe pretend device cannot answer x\n", dryrun.Spec{}, []left{
			{end: dryrun.End{Signal: "SIGSEGV"}, files: map[string]string{"notes-7": "unsupported x\n"}}}},
		{"a failure of its own", "zero", "did_not_run\ntrain.py:9: it ended with exit code 1: ValueError: no\n", dryrun.Spec{}, []left{
			ran(plain).with("pid7.json", says(report{Error: "ValueError: no", ErrorAt: line(9, 0).At})).ending(failed)}},
		{"a failure before a device was used", "zero", "did_not_run\nit ended with exit code 1: ModuleNotFoundError: No module named 'x'\n", dryrun.Spec{}, []left{
			{end: failed, files: map[string]string{"pid7.json": says(report{Error: "ModuleNotFoundError: No module named 'x'"})}}}},
		{"a failure of a process that torchrun started", "zero", "did_not_run\ntrain.py:9: it ended with exit code 1: ValueError: no\n", dryrun.Spec{}, []left{
			{end: failed, files: map[string]string{"pid7.json": says(report{Error: "ChildFailedError: ====="}),
				"rank0-pid8.json": says(report{Error: "ValueError: no", ErrorAt: line(9, 0).At}), "rank1-pid9.json": says(report{Error: "ValueError: other"})}}}},
		{"a bare exit code", "zero", "did_not_run\nit ended with exit code 3\n", dryrun.Spec{}, []left{ran(plain).ending(dryrun.End{Code: 3})}},
		{"a signal", "zero", "did_not_run\nit was ended by SIGSEGV\n", dryrun.Spec{}, []left{ran(plain).ending(dryrun.End{Signal: "SIGSEGV"})}},
		{"memory runs out", "zero one", "exact\n", dryrun.Spec{}, []left{
			ran(plain, line(8, 3)).with("oom-pid7.pickle", string(plain)).ending(failed), ran(plain, line(8, 3)).with("oom-pid7.pickle", string(plain)).ending(failed)}},
		{"an assumption of ours", "zero", "assumption\ncudnn workspace: the pretend device answers with a number of its own\n", dryrun.Spec{}, []left{ran(plain).with("notes-7", "assumption cudnn workspace\n")}},
		{"code that inductor generated", "zero", "assumption\ntorch.compile generated code (inductor): on a real device it may try out and choose other kernels, with other buffers\n", dryrun.Spec{}, []left{
			ran(plain).with("pid7.json", says(report{Compiled: true}))}},
		{"a second stream", "zero", "assumption\ntrain.py:8: 5 blocks are given to another stream (record_stream) and are free as soon as the program gives them up: on a real device that stream may be behind, and the peak more\n", dryrun.Spec{}, []left{
			ran(plain).with("pid7.json", says(report{Streams: []readLine{line(8, 3), line(9, 2)}}))}},
		{"an assumption of the user's", "one", "assumption\neach of 3 values that it read from the device was taken to be 1, as it was asked for\n", dryrun.Spec{Assume: "1"}, []left{ran(plain, line(8, 3))}},
		{"an assumption that nothing needed", "zero", "exact\n", dryrun.Spec{Assume: "0"}, []left{ran(plain)}},
		{"another torch", "zero", "did_not_run\nit ran with torch 2.3.1 of /lib/torch, and " + version + " was found before: name the Python that runs\n", dryrun.Spec{}, []left{
			ran(plain).with("pid7.json", says(report{Torch: "2.3.1", Root: "/lib/torch"}))}},
		{"reads that nobody saw", "zero", "did_not_run\nwhat it reads from the device could not be seen\n", dryrun.Spec{}, []left{ran(plain).with("pid7.json", says(report{Root: "unwatched"}))}},
		{"a process that is lost", "zero", "did_not_run\n1 of its processes that used a device ended without a word of it: killed, or by os.abort\n", dryrun.Spec{}, []left{ran(plain).with("pid8.began", "")}},
		{"no device", "zero", "did_not_run\nit used no CUDA device\n", dryrun.Spec{}, []left{{}}},
		{"no hook", "zero", "did_not_run\nno Python took the hook that records the allocator: it is shut out by Python's -I, -E and -S and by a program that clears PYTHONPATH\n", dryrun.Spec{}, []left{
			{files: map[string]string{"loaded": "no"}}}},
		{"a second rank parts", "zero one zero", `value_dependent
train.py:4: what it reads steers what it allocates: on device 0, where it reads 0 it allocates 2.00 KiB at train.py:4 step, and where it reads 1 it allocates 4.00 KiB at train.py:4 step; its peak is 3.00 KiB and 5.50 KiB
`, dryrun.Spec{}, []left{
			ranks(plain, plain), ranks(plain, other), ranks(plain, plain)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			result, fills := judged(t, c.spec, c.runs...)
			if fills != c.fills {
				t.Errorf("the runs read %q, want %q", fills, c.fills)
			}
			if diff := cmp.Diff(c.want, told(result.Facts[0])); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if ran := result.Facts[0].Class != measure.DryrunDidNotRun; ran != (len(result.Captures) > 0) {
				t.Errorf("%d captures", len(result.Captures))
			}
			for _, at := range result.Captures {
				if _, err := os.Stat(at.Path); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestFact has what a report shows beside the class.
func TestFact(t *testing.T) {
	run := ran(history(0, event{512, 3}), line(8, 3), line(9, 1), line(8, 2))
	result, _ := judged(t, dryrun.Spec{Memory: 40 << 30, Devices: 2}, run, run)
	want := measure.DryrunFact{Framework: "torch", Class: "exact", Capability: "9.0", Devices: 2, MemoryBytes: 40 << 30, ContextBytes: 512 << 20, Fits: "yes", Reads: 6,
		ReadLines: []measure.DryrunRead{
			{Source: &measure.Source{File: "train.py", Line: 8}, Function: "step", Count: 5, Bytes: 4},
			{Source: &measure.Source{File: "train.py", Line: 9}, Function: "step", Count: 1, Bytes: 4},
		}}
	if diff := cmp.Diff(want, result.Facts[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestFits holds the margin to its edge.
func TestFits(t *testing.T) {
	const memory, context = 80 << 30, 512 << 20 // so the margin is 2 GiB
	for _, c := range []struct {
		reserved, memory int64
		want             string
	}{
		{memory - context - memory/40, memory, "yes"},
		{memory - context - memory/40 + 1, memory, "unsure"},
		{7<<30 - context, 8 << 30, "yes"},
		{7<<30 - context + 1, 8 << 30, "unsure"},
	} {
		result, _ := judged(t, dryrun.Spec{Memory: c.memory}, ran(history(c.reserved, event{512, 3})))
		if f := result.Facts[0]; f.Fits != c.want || int64(f.ReservedBytes) != c.reserved {
			t.Errorf("%d of %d bytes reserved: fits %s, %d; want %s", c.reserved, c.memory, f.Fits, f.ReservedBytes, c.want)
		}
	}
	// Two processes on one device may be there at one time.
	large := history(memory/2-context, event{512, 3})
	result, _ := judged(t, dryrun.Spec{Memory: memory}, ranks(large, large), ranks(large, large))
	if f := result.Facts[0]; f.Fits != "unsure" || f.ReservedBytes != memory/2-context {
		t.Errorf("two processes: fits %s, %d reserved", f.Fits, f.ReservedBytes)
	}
	run := ran(history(0, event{512, 3}))
	result, _ = judged(t, dryrun.Spec{}, run.with("oom-pid7.pickle", string(history(0, event{512, 3}, event{1024, 3}))).ending(dryrun.End{Code: 1}))
	if f := result.Facts[0]; f.Fits != "no" || f.Class != "exact" {
		t.Errorf("out of memory: fits %s, class %s", f.Fits, f.Class)
	}
}

// TestHostileFiles: the program can write what the hook writes. What it writes is
// bounded and is no fault of ours.
func TestHostileFiles(t *testing.T) {
	plain := history(0, event{512, 3})
	for name, text := range map[string]string{
		"not JSON":     "{",
		"another kind": `{"reads": "many"}`,
		"below zero":   `{"reads": -1}`,
		"too many":     `{"reads": 9223372036854775807}`,
		"many streams": `{"streams": [{"count": 9223372036854775807}]}`,
		"more lines":   `{"reads": 1, "lines": [{"count": 9223372036854775807}, {"count": 9223372036854775807}]}`,
		"a word":       `{"stopped": "never"}`,
		"large":        `{"torch": "` + strings.Repeat("x", maxReport) + `"}`,
		"deep":         strings.Repeat("[", 1<<20),
	} {
		result, _ := judged(t, dryrun.Spec{}, ran(plain).with("pid7.json", text))
		if f := result.Facts[0]; f.Class != measure.DryrunDidNotRun {
			t.Errorf("%s: class %s", name, f.Class)
		}
		if len(result.Warnings) != 1 || len(result.Warnings[0]) > 1000 {
			t.Errorf("%s: warnings %.2000q", name, result.Warnings)
		}
	}
	evil := "a\x1b[31m\n::error::\x00" + strings.Repeat("y", 1<<12)
	run := ran(plain).with("pid7.json", says(report{Error: evil, ErrorAt: &spot{File: evil, Line: 1, Function: evil},
		Reads: 1, Lines: []readLine{{At: &spot{File: evil, Line: 1 << 40, Function: evil}, Count: 1}}})).
		with("notes-7", "unsupported "+evil+"\nunsupported\nassumption \n"+strings.Repeat("assumption x\n", 1<<17))
	result, _ := judged(t, dryrun.Spec{}, run.ending(dryrun.End{Code: 1}))
	text, err := json.Marshal(result.Facts)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 8<<10 || strings.Contains(string(text), `\u001b`) || strings.Contains(string(text), `\n`) || strings.Contains(string(text), `\u0000`) {
		t.Errorf("%d bytes: %.3000s", len(text), text)
	}
	result, _ = judged(t, dryrun.Spec{}, ran(plain).with("pid7.pickle", "cos\nsystem\n(S'true'\ntR."))
	if f := result.Facts[0]; f.Class != measure.DryrunDidNotRun || len(f.Reasons) != 1 {
		t.Errorf("a snapshot with code: %s", told(f))
	}
	other := filepath.Join(t.TempDir(), "other") // such as a pipe, which would be waited for
	if err := os.WriteFile(other, plain, 0o600); err != nil {
		t.Fatal(err)
	}
	result, _ = judged(t, dryrun.Spec{}, ran(plain).with("pid7.pickle", linkTo+other))
	if f := result.Facts[0]; f.Class != measure.DryrunDidNotRun || f.Reasons[0].Text != "process0.pickle: want a plain file" {
		t.Errorf("a link for a snapshot: %s", told(f))
	}
	result, _ = judged(t, dryrun.Spec{}, ran(plain).with("notes-7", linkTo+other).with("pid7.log", linkTo+other))
	if len(result.Warnings) != 1 || result.Warnings[0] != "notes-7: want a plain file" {
		t.Errorf("links for notes: warnings %q", result.Warnings)
	}
}

func TestSpecErrors(t *testing.T) {
	for want, spec := range map[string]dryrun.Spec{
		`assume: want 0 or 1, found "2"`: {Assume: "2"},
		"memory: want more than the context, the 512.00 MiB that the driver holds of it; found 512.00 MiB": {Memory: DefaultContext},
		"no program: give the command that runs it, such as python train.py":                               {},
	} {
		if _, err := Run(spec, t.TempDir(), nil); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
