package diagnose

import (
	"fmt"
	"slices"

	"github.com/peakgate/peakgate/measure"
)

var torchPeakRules = []Rule{
	{
		Name: "torch-activation-pressure", Family: "torch", Standing: true, Find: eachSnapshot(activationPressure),
		Doc: "Most of the peak are activations of the forward pass that the backward pass frees: a sawtooth over the steps. Fix: activation checkpointing (`torch.utils.checkpoint`); " +
			"the saving is what N repeated modules hold minus what one of them does, the cost one more forward pass of what is checkpointed. Not told where recomputation is seen already.",
	},
	{
		Name: "torch-replication", Family: "torch", Standing: true, Find: replication,
		Doc: "Parameters, gradients and optimizer state are most of the live memory, and each rank holds all of them (equal on all ranks, or a communication buffer as large as the parameters): " +
			"as data parallelism (DDP) does. Fix: shard them (FSDP, ZeRO).",
	},
	{
		Name: "torch-workspaces", Family: "torch", Standing: true, Find: eachSnapshot(workspaces),
		Doc: "Workspaces of cuBLAS and alike: one for each handle and stream, kept for the life of the process. Expected, not a leak, and not the memory of the line that happened to come first.",
	},
	{
		Name: "torch-host-memory", Family: "torch", Standing: true, Find: eachSnapshot(hostMemory),
		Doc: "Pinned host memory, which is in the file and in no number of a device.",
	},
}

// activation is what a site holds at the peak for one backward pass. With steps
// it is what a step's backward pass frees of it: a site may also make
// temporaries, and keep blocks of earlier steps.
func activation(s *measure.SnapshotFact) func(measure.SiteFact) measure.Bytes {
	stepped := s.Steps != nil && s.Steps.Counted > 0
	return func(e measure.SiteFact) measure.Bytes {
		switch {
		case e.Phase == measure.PhaseBackward || e.Phase == measure.PhaseOptimizer:
			return 0
		case stepped:
			return min(e.PeakBytes, e.BackwardFreedBytes)
		case e.Class == measure.ClassActivation && e.Evidence == "forward_to_backward":
			return e.PeakBytes
		}
		return 0
	}
}

func activationPressure(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	size := activation(s)
	sites := sitesOf(s, size)
	live, _ := liveSet(s)
	var held measure.Bytes
	for _, e := range sites {
		held += size(e)
	}
	// "Most" is two fifths: a temporary of the backward pass shares the peak.
	if !s.AtPeak || held < 16<<20 || 5*held < 2*live || recomputes(s) {
		return nil
	}
	f := measure.Finding{Severity: Note, Evidence: Inferred, Source: firstSource(sites)}
	f.Text = fmt.Sprintf("activations that the backward pass frees are %s of the peak (%s of %s)", percent(held, live), held, live)
	if end, ok := stepEnd(s); ok {
		f.Text += fmt.Sprintf("; at the end of steps %s are live", end)
	}
	f.Text += "; most is allocated at " + topSites(sites, size)
	f.Fix = "checkpoint the repeated modules: torch.utils.checkpoint.checkpoint(module, x, use_reentrant=False)"
	f.Cost = "one more forward pass of what is checkpointed: about a third more computation of a training step"
	if n := repeats(sites, size, held); n >= 2 {
		f.SavingBytes = held - held/measure.Bytes(n)
		f.Fix += fmt.Sprintf("; with each of %d repeated modules checkpointed the peak falls by up to %s (%s minus one module's share; the modules' inputs stay)", n, f.SavingBytes, held)
	} else {
		f.Fix += "; no module repeats visibly, so the saving depends on where the checkpoints lie"
	}
	return []measure.Finding{f}
}

// recomputes tells that activation checkpointing is in use.
func recomputes(s *measure.SnapshotFact) bool {
	return slices.ContainsFunc(s.Sites, func(e measure.SiteFact) bool { return e.Recomputed || e.Phase == measure.PhaseRecompute })
}

// repeats is how many alike modules there seem to be: the fewest blocks of any
// site that holds a twentieth of the activations.
func repeats(sites []measure.SiteFact, size func(measure.SiteFact) measure.Bytes, held measure.Bytes) int64 {
	var n int64
	for _, e := range sites {
		if e.PeakBytes > 0 && size(e) >= held/20 {
			// Of a site that keeps earlier steps as well, this step's share.
			blocks := int64(float64(e.PeakBlocks) * float64(size(e)) / float64(e.PeakBytes))
			if n == 0 || blocks < n {
				n = blocks
			}
		}
	}
	return n
}

// stepEnd is what is live between the last counted steps.
func stepEnd(s *measure.SnapshotFact) (measure.Bytes, bool) {
	if s.Steps == nil {
		return 0, false
	}
	for i := len(s.Steps.Steps) - 1; i >= 0; i-- {
		if t := s.Steps.Steps[i]; t.Counted {
			return t.StartBytes + t.NetBytes, true
		}
	}
	return 0, false
}

// states are what data parallelism holds on each rank.
type states struct{ parameters, gradients, optimizer, communication, live measure.Bytes }

func (t states) replicated() measure.Bytes {
	return t.parameters + t.gradients + t.optimizer + t.communication
}

func statesOf(s *measure.SnapshotFact) states {
	live, by := liveSet(s)
	return states{by[measure.ClassParameter], by[measure.ClassGradient], by[measure.ClassOptimizer], by[measure.ClassCommunication], live}
}

// replication needs ranks that are alike, or a communication buffer of about
// the parameters' size beside them.
func replication(in Input) []measure.Finding {
	m := in.Head
	var of []*measure.SnapshotFact
	alike := true
	for i := range m.Facts.Snapshots {
		s := &m.Facts.Snapshots[i]
		t := statesOf(s)
		if !notable(t.parameters, t.live) || 2*t.replicated() < t.live {
			return nil
		}
		if len(of) > 0 {
			first := statesOf(of[0])
			alike = alike && t.parameters == first.parameters && t.optimizer == first.optimizer && s.Labels["rank"] != of[0].Labels["rank"]
		}
		of = append(of, s)
	}
	if len(of) == 0 {
		return nil
	}
	t := statesOf(of[0])
	buffers := 5*t.communication >= 4*t.parameters
	ranks := int64(len(of))
	if !buffers && (ranks < 2 || !alike) {
		return nil
	}
	f := measure.Finding{Severity: Note, Evidence: Inferred}
	each := "this rank holds"
	if ranks > 1 && alike {
		each = fmt.Sprintf("each of %d ranks holds", ranks)
		f.SavingBytes = t.replicated() - t.replicated()/measure.Bytes(ranks)
	}
	f.Text = fmt.Sprintf("%s %s of parameters, %s of gradients, %s of optimizer state and %s of communication buffers, %s of its live memory: all of the model, as data parallelism (DDP) replicates it",
		each, t.parameters, t.gradients, t.optimizer, t.communication, percent(t.replicated(), t.live))
	f.Fix = "if memory is short, shard parameters, gradients and optimizer state over the ranks (FSDP, ZeRO); with DDP, gradient_as_bucket_view=True saves one copy of the gradients"
	f.Cost = "sharding adds communication to each step"
	return []measure.Finding{f}
}

func workspaces(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	live, by := liveSet(s)
	held := by[measure.ClassWorkspace]
	if held < max(8<<20, live/100) {
		return nil
	}
	var blocks int64
	for _, c := range s.Classes {
		if c.Class == measure.ClassWorkspace {
			blocks += c.Count
		}
	}
	return []measure.Finding{{
		Severity: Note, Evidence: Measured, SavingBytes: held,
		Text: fmt.Sprintf("workspaces of cuBLAS hold %s %s, in %s: one for each handle and stream, expected and not a leak", held, moment(s), plural(blocks, "block", "blocks")),
		Fix:  "nothing, if it fits; else fewer streams, CUBLAS_WORKSPACE_CONFIG=:4096:2 (or :16:8), or torch._C._cuda_clearCublasWorkspaces() before the tight phase",
		Cost: "smaller workspaces can make matrix products slower",
	}}
}

func hostMemory(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	if s.HostBytes < 64<<20 {
		return nil
	}
	return []measure.Finding{{
		Severity: Note, Evidence: Measured,
		Text: fmt.Sprintf("%s of pinned host memory in %s; they are part of no device's numbers", s.HostBytes, plural(s.HostSegments, "segment", "segments")),
	}}
}
