package diagnose

import (
	"slices"

	"github.com/peakgate/peakgate/measure"
)

const (
	recordFirst = "torch.cuda.memory._record_memory_history(max_entries=1_000_000)  # before the model is built\ntorch.cuda.memory._dump_snapshot(\"snapshot.pickle\")  # after the steps"
	moreEntries = "torch.cuda.memory._record_memory_history(max_entries=10_000_000)  # costs host memory, a few hundred bytes an entry\ntorch.cuda.memory._dump_snapshot(\"snapshot.pickle\")  # or after fewer steps"
	allStacks   = "torch.cuda.memory._record_memory_history(context=\"all\", stacks=\"all\")\ntorch.cuda.memory._dump_snapshot(\"snapshot.pickle\")"
	// pythonStacks stands where a program may be written in C++ or was recorded without Python frames.
	pythonStacks = "torch.cuda.memory._record_memory_history(context=\"all\", stacks=\"all\")  # of a Python program; one in C++ has no other stacks\ntorch.cuda.memory._dump_snapshot(\"snapshot.pickle\")"
	nativeStart  = "torch::cuda::_record_memory_history(\"all\", \"all\", \"all\", 1000000);  // torch/csrc/cuda/memory_snapshot.h; before the model is built\nstd::ofstream(\"snapshot.pickle\", std::ios::binary) << torch::cuda::_memory_snapshot_pickled();  // after the steps"
	stepMarks    = "with torch.profiler.record_function(f\"train_step#{step}\"):\n    train_step(batch)"
)

// snapshotLimits lists what a snapshot may not be able to answer. The reader finds it and
// words it with its numbers; fix stands in where it gives none.
var snapshotLimits = []struct{ code, name, fix, unseen, doc string }{
	{measure.LimitNoHistory, "torch-no-history", recordFirst, "the peak, growth from step to step, and when memory is freed", "The file has no history of events: no peak, no steps, no order of frees; only what is live at the dump."},
	{measure.LimitStateOnly, "torch-state-only", recordFirst, "the peak, growth from step to step, and when memory is freed", "The history holds one event (`enabled=\"state\"`): as good as none."},
	{measure.LimitTruncated, "torch-history-truncated", moreEntries, "what was before the events that are kept", "The ring buffer dropped older events: the peak, the steps and the sites are those of the window that is left."},
	{measure.LimitCapped, "torch-history-capped", "", "what was before the events that were read", "Older events were left out on request."},
	{measure.LimitMidRun, "torch-history-mid-run", recordFirst, "what was before recording began", "Recording began while memory was live: the peak is that of the recorded window."},
	{measure.LimitBeforeRecording, "torch-allocated-before-recording", recordFirst, "where most of the live bytes were allocated", "Most of the live bytes were allocated before recording began, so no site is known for them."},
	{measure.LimitNoStacks, "torch-no-stacks", allStacks, "which lines allocated", "Recorded without stacks: bytes are known, the lines that allocated them are not."},
	{measure.LimitCppStacks, "torch-cpp-stacks", allStacks, "which Python lines allocated", "Stacks without Python frames: sites are C++ functions, or none."},
	{measure.LimitAutogradThread, "torch-autograd-thread", allStacks, "which lines of the backward pass allocated", "`stacks=\"python\"` leaves what the autograd thread allocates without a frame: gradients and temporaries of the backward pass have no site."},
	{measure.LimitSkippedActions, "torch-skipped-actions", recordFirst, "what hangs on events that were not recorded", "Some kinds of events were not recorded (`skip_actions`): what depends on them is not known."},
	{measure.LimitContradiction, "torch-contradiction", recordFirst, "the peak", "Events and segments disagree: recording stopped before the dump, or the file is damaged. No peak is given."},
	{measure.LimitNegative, "torch-negative-baseline", recordFirst, "the peak", "Events and segments add up to less than nothing at the start: a damaged or cut file. No peak is given."},
	{measure.LimitNoSegments, "torch-no-segments", recordFirst, "the state at the dump, and fragmentation", "The file has events alone: the state at the dump is not known."},
	{measure.LimitNoSteps, "torch-no-steps", stepMarks, "growth from step to step", "Nothing marks the steps of the program (or too few are whole): growth from step to step cannot be told."},
}

// Unseen names what a capture does not show for which a rule reports it; empty for
// rules that report something else.
func Unseen(rule string) string {
	for _, l := range snapshotLimits {
		if l.name == rule {
			return l.unseen
		}
	}
	return ""
}

// Blind tells that a capture with a finding of the rule shows too little for a verdict
// on what went wrong.
func Blind(rule string) bool {
	for _, l := range snapshotLimits {
		if l.name == rule {
			return slices.Contains([]string{measure.LimitNoHistory, measure.LimitStateOnly, measure.LimitContradiction, measure.LimitNegative, measure.LimitNoSegments}, l.code)
		}
	}
	return false
}

var torchLimitRules = limitRules()

func limitRules() (out []Rule) {
	for _, l := range snapshotLimits {
		find := func(m *measure.Measurement, s *measure.SnapshotFact) (out []measure.Finding) {
			for _, fact := range s.Limits {
				if fact.Code != l.code {
					continue
				}
				f := measure.Finding{Severity: Note, Evidence: Measured, Text: fact.Text, Fix: fact.Fix}
				if f.Text == "" {
					f.Text = l.doc
				}
				if f.Fix == "" {
					f.Fix = l.fix
				}
				switch {
				case len(m.Facts.Dryrun) > 0 && l.code != measure.LimitNoSteps:
					f.Fix = "" // the program did not choose how it is recorded
				case !native(s):
				case l.code == measure.LimitCppStacks:
					f.Fix = pythonStacks
				case l.code == measure.LimitNoSteps:
					f.Fix = "" // no mark of a C++ program is known to be in its file
				default:
					f.Fix = nativeStart
				}
				out = append(out, f)
			}
			return out
		}
		out = append(out, Rule{Name: l.name, Family: "torch", Doc: l.doc, Find: eachSnapshot(find)})
	}
	return out
}
