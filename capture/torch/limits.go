package torch

import (
	"fmt"

	"github.com/peakgate/peakgate/measure"
)

// What makes the next capture answer what this one cannot.
const (
	fixRecord = "torch.cuda.memory._record_memory_history(max_entries=1_000_000)  # before the model is built\n" +
		`torch.cuda.memory._dump_snapshot("snapshot.pickle")  # after a few steps`
	fixStacks = `torch.cuda.memory._record_memory_history(context="all", stacks="all", max_entries=1_000_000)` + "\n" +
		`torch.cuda.memory._dump_snapshot("snapshot.pickle")`
	fixPython = `torch.cuda.memory._record_memory_history(context="all", stacks="python", max_entries=1_000_000)` + "\n" +
		`torch.cuda.memory._dump_snapshot("snapshot.pickle")`
	fixLonger = "torch.cuda.memory._record_memory_history(max_entries=10_000_000)\n" +
		`torch.cuda.memory._dump_snapshot("snapshot.pickle")  # after fewer steps`
	fixActions = "torch.cuda.memory._record_memory_history(max_entries=1_000_000)  # without skip_actions\n" +
		`torch.cuda.memory._dump_snapshot("snapshot.pickle")  # before recording is stopped`
	fixSteps = "for step in range(10):  # at least four whole steps\n" +
		`    with torch.profiler.record_function(f"train_step#{step}"): train_step()`
	fixDump = `torch.cuda.memory._dump_snapshot("snapshot.pickle")` + "\n" +
		`# in place of pickle.dump(torch.cuda.memory._snapshot()["device_traces"], f)`
)

// limits lists what the file cannot answer for a device.
func (s *Snapshot) limits(d *Device, steps *measure.StepsFact) (out []measure.LimitFact) {
	h := &d.History
	add := func(code, fix string, bytes int64, format string, args ...any) {
		out = append(out, measure.LimitFact{Code: code, Text: fmt.Sprintf(format, args...), Fix: fix, Bytes: measure.Bytes(bytes)})
	}
	if !s.hasSegments {
		add(measure.LimitNoSegments, fixDump, 0, "the file has no segments: what is live at the dump is not known")
	}
	switch h.Kind {
	case "none":
		add(measure.LimitNoHistory, fixRecord, 0, "no history was recorded: peak, steps and frees are not known")
	case "state_only":
		add(measure.LimitStateOnly, fixRecord, 0, "the history holds one event: peak, steps and frees are not known")
	case "truncated":
		if h.Baseline < 0 {
			break // told below
		}
		if h.LeftOut > 0 {
			add(measure.LimitCapped, "", 0, "%d older events were left out as asked for", h.LeftOut)
			break
		}
		add(measure.LimitTruncated, fixLonger, h.Baseline, "older events were dropped: the history holds the newest %d", h.Events)
	case "starts_mid_run":
		add(measure.LimitMidRun, fixRecord, h.Baseline, "recording began while %s were live", measure.Bytes(h.Baseline))
	}
	if h.Events > 1 {
		switch frees := h.Counts[FreeRequested] + h.Counts[FreeCompleted]; {
		case h.Counts[Alloc] > 0 && h.Counts[FreeCompleted] == 0 && h.Counts[FreeRequested] > 0 && h.NoPeak != "":
			add(measure.LimitSkippedActions, fixActions, 0, "the history has %d free_requested and no free_completed", h.Counts[FreeRequested])
		case h.Baseline < 0:
			add(measure.LimitNegative, fixRecord, 0, "%s would have been live when the history begins: the file is damaged or cut", measure.Bytes(h.Baseline))
		case h.NoPeak != "" && (h.Counts[Alloc] == 0 || frees == 0):
			add(measure.LimitSkippedActions, fixActions, 0, "%s", h.NoPeak)
		case h.NoPeak == "" && h.Counts[FreeCompleted] > 0 && h.Counts[FreeRequested] == 0:
			add(measure.LimitSkippedActions, fixActions, 0, "the history has no free_requested: how long blocks wait for another stream is not known")
		case h.NoPeak != "":
			add(measure.LimitContradiction, fixActions, 0, "%s", h.NoPeak)
		}
	}
	out = append(out, s.stackLimits(d)...)
	if h.Events > 1 && (steps == nil || steps.Counted == 0) && h.NoPeak == "" {
		if steps == nil {
			add(measure.LimitNoSteps, fixSteps, 0, "nothing marks the steps of the program, or fewer than three times")
		} else {
			add(measure.LimitNoSteps, fixSteps, 0, "%d marks of %s leave no whole step between the first and the last", steps.Marks, steps.Mark)
		}
	}
	return out
}

// stackLimits tells which part of the largest live set has no line of Python.
func (s *Snapshot) stackLimits(d *Device) (out []measure.LimitFact) {
	var total, before, none, thread, native int64
	for _, h := range d.largestSet() {
		total += h.Bytes
		switch {
		case h.Stack == BeforeRecording:
			before += h.Bytes
		case h.Stack == NoStack || h.Stack == StackUnknown:
			none += h.Bytes
		case h.Stack == EmptyStack:
			thread += h.Bytes
		case !s.python(h.Stack) && s.phase(h.Stack) != backwardPhase: // autograd's thread names its nodes
			native += h.Bytes
		}
	}
	for _, l := range [...]struct {
		code, fix, text string
		bytes           int64
	}{
		{measure.LimitBeforeRecording, fixRecord, "were allocated before recording began", before},
		{measure.LimitNoStacks, fixPython, "were recorded without stacks", none},
		{measure.LimitAutogradThread, fixStacks, `were allocated by the autograd thread, which has no Python frames (stacks="python")`, thread},
		{measure.LimitCppStacks, fixPython, "have stacks of C++ frames alone", native},
	} {
		if l.bytes > 0 && l.bytes >= total/20 {
			out = append(out, measure.LimitFact{Code: l.code, Fix: l.fix, Bytes: measure.Bytes(l.bytes),
				Text: fmt.Sprintf("%s of %s %s", measure.Bytes(l.bytes), measure.Bytes(total), l.text)})
		}
	}
	return out
}

// python tells whether a stack has a frame of Python.
func (s *Snapshot) python(id StackID) bool {
	for _, f := range s.Stacks[id-firstStack] {
		if file := s.Frames[f].File; len(file) > 3 && file[len(file)-3:] == ".py" || notebookCell.MatchString(file) || evalKey.MatchString(file) {
			return true
		}
	}
	return false
}
