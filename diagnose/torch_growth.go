package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

var torchGrowthRules = []Rule{
	{
		Name: "torch-retained-graph", Family: "torch", Find: eachSnapshot(retainedGraph),
		Doc: "Live memory grows at each step, and many sites of the forward pass keep blocks at each step: a tensor that still has its autograd graph is kept (a loss that is logged or summed, an output in a list). " +
			"Fix: `.detach()` or `.item()` before it is kept, `torch.no_grad()` around evaluation, no `retain_graph=True`.",
	},
	{
		Name: "torch-growing-container", Family: "torch", Find: eachSnapshot(growingContainer),
		Doc: "Live memory grows at each step, and few sites keep blocks of their own at each step: a list, dict, queue or cache of tensors grows. Fix: detach and move to the CPU before it is kept, or bound its length.",
	},
	{
		Name: "torch-growth", Family: "torch", Find: eachSnapshot(plainGrowth),
		Doc: "Live memory grows from step to step, and no site explains it: stacks are missing, or what grows is spread over too many sites.",
	},
	{
		Name: "torch-optimizer-state", Family: "torch", Find: eachSnapshot(optimizerState),
		Doc: "The optimizer's state appeared in the first step and stayed as it is: expected, never a leak, and no reason to fail a gate that has a warm-up. " +
			"The saving is that of 8-bit state (a quarter of 32-bit state).",
	},
	{
		Name: "torch-reference-cycles", Family: "torch", Find: eachSnapshot(referenceCycles),
		Doc: "Tensors are freed in bursts by Python's cycle collector: objects that hold them refer to each other in a circle. Measured where free stacks tell (context=\"all\"), " +
			"inferred where the end of steps rises for several steps and falls back at once.",
	},
}

// growthHorizon is over how many steps a growth must come to matter: as the
// horizon of a budget's growth rule. A list of scalars (4 B a step) does not.
const growthHorizon = 1000

// growthFloor is what a growth must add up to over the horizon: 16 MiB or 1 %
// of the live set.
func growthFloor(live measure.Bytes) measure.Bytes { return max(16<<20, live/100) }

// growth tells whether the counted steps grow by so much that it matters, and
// which sites keep blocks in most of the steps that grew.
func growth(s *measure.SnapshotFact) (perStep measure.Bytes, sites []measure.SiteFact, ok bool) {
	t := s.Steps
	if t == nil || t.Counted < 3 || t.GrewSteps < 3 || t.BytesPerStep <= 0 || math.IsNaN(t.BytesPerStep) || t.BytesPerStep > 1<<50 {
		return 0, nil, false
	}
	perStep = measure.Bytes(math.Round(t.BytesPerStep))
	live, _ := liveSet(s)
	if perStep*growthHorizon < growthFloor(live) || level(s) {
		return 0, nil, false
	}
	return perStep, growing(s), true
}

// growing gives the sites that keep blocks in at least half of the steps that
// grew, and in three at least; scalars are left out beside what matters.
func growing(s *measure.SnapshotFact) []measure.SiteFact {
	sites := sitesOf(s, func(e measure.SiteFact) measure.Bytes {
		if e.GrewBlocks <= 0 || e.GrewSteps < 3 || 2*e.GrewSteps < s.Steps.GrewSteps || e.Class == measure.ClassWorkspace {
			return 0
		}
		return e.GrewBytes
	})
	least := grew(sites) / 10_000
	return slices.DeleteFunc(sites, func(e measure.SiteFact) bool { return e.GrewBytes < least })
}

// graphSites is how many sites that grow together are taken for a graph: a
// container keeps what one or two lines make.
const graphSites = 3

// graph tells sites that grow because an autograd graph is kept: several of
// them, not made by the backward pass or the optimizer.
func graph(sites []measure.SiteFact) bool {
	n := 0
	for _, e := range sites {
		if e.Phase != measure.PhaseBackward && e.Phase != measure.PhaseOptimizer {
			n++
		}
	}
	return n >= graphSites
}

// growthText is the sentence that both kinds of growth begin with.
func growthText(s *measure.SnapshotFact, perStep measure.Bytes, sites []measure.SiteFact) string {
	size := func(e measure.SiteFact) measure.Bytes { return e.GrewBytes / measure.Bytes(max(1, s.Steps.Counted)) }
	out := fmt.Sprintf("live memory grows by %s (%s) a step over %d whole steps (marks: %s)", perStep, perStep.Exact(), s.Steps.Counted, s.Steps.Mark)
	if s.Steps.Mark == measure.DumpMark {
		out = fmt.Sprintf("live memory grows by %s (%s) from dump to dump, %d times (what lies between two dumps counts as a step here)", perStep, perStep.Exact(), s.Steps.Counted)
	}
	if len(sites) > 0 {
		out += fmt.Sprintf("; %s at each step, allocated at %s", plural(int64(len(sites)), "site keeps blocks", "sites keep blocks"), topSites(sites, size))
	}
	return out
}

func retainedGraph(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	perStep, sites, ok := growth(s)
	if !ok || !graph(sites) {
		return nil
	}
	f := measure.Finding{Severity: Warning, Evidence: Inferred, SavingBytes: grew(sites), Source: firstSource(sites)}
	f.Text = growthText(s, perStep, sites) + "; so many sites of one forward pass at once are an autograd graph that is kept"
	where := "in the code that calls these lines"
	if u := s.Steps.GrewUnder; len(u) > 0 && s.Steps.GrewUnderAt != nil {
		f.Text += "; all of it is allocated under " + strings.Join(u, " > ")
		f.Source = s.Steps.GrewUnderAt
		where = "at " + place(f.Source)
	}
	f.Text += ". Stacks say where memory was allocated, not what keeps it"
	f.Fix = "look " + where + " for a loss or output that is kept after its step (append, +=, a dict of metrics): keep loss.detach() or loss.item() instead; " +
		"evaluate under torch.no_grad(); remove retain_graph=True"
	if native(s) {
		f.Fix = nativeGraph
	}
	return []measure.Finding{f}
}

func growingContainer(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	perStep, sites, ok := growth(s)
	if !ok && (s.Steps == nil || s.Steps.Counted < 3) {
		return risingSites(s)
	}
	if !ok || graph(sites) || len(sites) == 0 {
		return nil
	}
	text := growthText(s, perStep, sites)
	if e := sites[0]; e.GrewBlocks > 0 && e.GrewBytes%measure.Bytes(e.GrewBlocks) == 0 {
		text += fmt.Sprintf("; the first keeps %d blocks of %s", e.GrewBlocks, e.GrewBytes/measure.Bytes(e.GrewBlocks))
	}
	f := measure.Finding{
		Severity: Warning, Evidence: Inferred, SavingBytes: grew(sites), Source: firstSource(sites),
		Text: text + ": a container or cache that grows (a bounded cache that still fills looks the same)",
		Fix:  "find what keeps the tensors that these lines make: append x.detach().cpu() instead of x, or bound the container (collections.deque(maxlen=N))",
	}
	if native(s) {
		f.Fix = nativeContainer
	}
	return []measure.Finding{f}
}

// What a program that is written in C++ does about growth.
const (
	nativeContainer = "find what keeps the tensors that these functions make (a std::vector, map or queue that grows): keep x.detach().cpu() instead of x, or bound it"
	nativeGraph     = "find where a loss or output is kept after its step: keep loss.detach() or loss.item<float>() instead; evaluate under torch::NoGradGuard (or c10::InferenceMode)"
)

// innerParts is how many parts of a history RoseParts can count.
const innerParts = 8

// risingSites stands in where nothing marks the steps: sites that rise in each
// inner tenth of the history, by a block a part at least, outside of setup.
func risingSites(s *measure.SnapshotFact) []measure.Finding {
	live, _ := liveSet(s)
	size := func(e measure.SiteFact) measure.Bytes { return e.EndBytes }
	sites := sitesOf(s, func(e measure.SiteFact) measure.Bytes {
		switch e.Class {
		case measure.ClassParameter, measure.ClassOptimizer, measure.ClassWorkspace:
			return 0
		}
		if e.RoseParts < innerParts || e.EndBlocks < innerParts || e.Phase == measure.PhaseSetup {
			return 0
		}
		return e.EndBytes
	})
	var held measure.Bytes
	for _, e := range sites {
		held += e.EndBytes
	}
	if len(sites) == 0 || held < 1<<20 || !notable(held, live) {
		return nil
	}
	e := sites[0]
	text := fmt.Sprintf("live memory rises through the whole history, in each tenth of it; fewer than three steps can be counted, so the growth a step is not sure; allocated at %s; the first keeps %d blocks", topSites(sites, size), e.EndBlocks)
	if e.EndBytes%measure.Bytes(e.EndBlocks) == 0 {
		text += fmt.Sprintf(" of %s", e.EndBytes/measure.Bytes(e.EndBlocks))
	}
	fix := "find what keeps the tensors that these lines make: append x.detach().cpu() instead of x, or bound the container"
	if len(sites) >= graphSites {
		text += "; so many sites at once may be an autograd graph that is kept"
		fix = "keep loss.detach() or loss.item() instead of the loss; evaluate under torch.no_grad()"
	}
	fix += "; mark the steps with torch.profiler.record_function(f\"train_step#{step}\") to be sure"
	if native(s) {
		fix = nativeContainer
		if len(sites) >= graphSites {
			fix = nativeGraph
		}
	}
	return []measure.Finding{{
		Severity: Warning, Evidence: Inferred, SavingBytes: held, Source: firstSource(sites),
		Text: text + " (a cache that still fills, as of a model that generates, looks the same)",
		Fix:  fix,
	}}
}

func plainGrowth(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	perStep, sites, ok := growth(s)
	if !ok || len(sites) > 0 {
		return nil
	}
	return []measure.Finding{{
		Severity: Warning, Evidence: Measured,
		Text: growthText(s, perStep, nil) + "; no site of its own explains it",
		Fix:  "record with stacks: torch.cuda.memory._record_memory_history(stacks=\"all\"), then compare two dumps of one process with peakgate diff --leak",
	}}
}

func grew(sites []measure.SiteFact) (sum measure.Bytes) {
	for _, e := range sites {
		sum += e.GrewBytes
	}
	return sum
}

func optimizerState(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	live, _ := liveSet(s)
	var held, first measure.Bytes
	var blocks int64
	sites := sitesOf(s, func(e measure.SiteFact) measure.Bytes {
		if e.Class != measure.ClassOptimizer || e.GrewSteps > 0 {
			return 0
		}
		return e.EndBytes
	})
	for _, e := range sites {
		held, blocks, first = held+e.EndBytes, blocks+e.EndBlocks, first+e.FirstStepBytes
	}
	if !notable(held, live) {
		return nil
	}
	f := measure.Finding{Severity: Note, Evidence: Measured, SavingBytes: held - held/4, Source: firstSource(sites)}
	f.Text = fmt.Sprintf("optimizer state holds %s (%s) in %s, allocated at %s", held, held.Exact(), plural(blocks, "block", "blocks"),
		topSites(sites, func(e measure.SiteFact) measure.Bytes { return e.EndBytes }))
	switch {
	case first > 0:
		f.Text += "; it appeared in the first step and has not grown since: expected, not a leak"
	case s.Steps == nil || s.Steps.Counted == 0:
		f.Text += "; it is allocated once, in the first step: expected, not a leak (this file does not show later steps)"
	default:
		f.Text += "; it has not grown: expected, not a leak"
	}
	f.Fix = "nothing, if it fits; else an optimizer with less state (8-bit Adam, Adafactor, SGD), or sharded state (ZeRO, FSDP)"
	f.Cost = "another optimizer may need other hyperparameters; sharding adds communication"
	return []measure.Finding{f}
}

func referenceCycles(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	fix := "from torch.utils.viz._cycles import warn_tensor_cycles\nwarn_tensor_cycles()"
	live, _ := liveSet(s)
	if c := s.Churn; c != nil && c.CycleFrees > 0 && notable(c.CycleBytes, live) {
		return []measure.Finding{{
			Severity: Warning, Evidence: Measured, Fix: fix,
			Text: fmt.Sprintf("Python's cycle collector freed %s of tensors in %s: objects that hold them refer to each other in a circle, so their memory stays until the collector runs",
				c.CycleBytes, plural(c.CycleFrees, "free", "frees")),
		}}
	}
	rise, falls := sawtooth(s)
	if falls < 2 || !notable(rise, live) {
		return nil
	}
	return []measure.Finding{{
		Severity: Warning, Evidence: Inferred, SavingBytes: rise, Fix: fix,
		Text: fmt.Sprintf("live memory at the end of steps rises by up to %s over several steps and then falls back at once, %d times: tensors wait for Python's cycle collector, or for code that runs every few steps",
			rise, falls),
	}}
}

// level tells a sawtooth whose low points do not rise: what is left of a rise that the
// history cuts is no growth.
func level(s *measure.SnapshotFact) bool {
	if _, falls := sawtooth(s); falls < 2 {
		return false
	}
	first, last := measure.Bytes(-1), measure.Bytes(0)
	for _, t := range s.Steps.Steps {
		if t.Counted && t.NetBytes < 0 {
			last = t.StartBytes + t.NetBytes
			if first < 0 {
				first = last
			}
		}
	}
	live, _ := liveSet(s)
	return (last-first)*growthHorizon < growthFloor(live)*measure.Bytes(s.Steps.Counted)
}

// sawtooth gives the largest rise over several steps that one step takes back,
// and how often that happens.
func sawtooth(s *measure.SnapshotFact) (rise measure.Bytes, falls int) {
	if s.Steps == nil {
		return 0, 0
	}
	var run measure.Bytes
	steps, last := 0, int64(-1)
	for _, t := range s.Steps.Steps {
		if !t.Counted || last >= 0 && t.Number != last+1 {
			run, steps = 0, 0
		}
		last = t.Number
		switch {
		case !t.Counted:
		case t.NetBytes > 0:
			run, steps = run+t.NetBytes, steps+1
		case t.NetBytes < 0:
			if steps >= 2 && -t.NetBytes >= run-run/4 {
				rise, falls = max(rise, run), falls+1
			}
			run, steps = 0, 0
		}
	}
	return rise, falls
}
