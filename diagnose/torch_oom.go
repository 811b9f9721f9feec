package diagnose

import (
	"fmt"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// The verdicts on a failed allocation exclude each other: see verdict. All look
// at the moment of the failure, not at the dump, which may be much later.
var torchOOMRules = []Rule{
	{
		Name: "torch-oom-fragmentation", Family: "torch", Find: eachOOM("fragmentation", fragmentation),
		Doc: "An allocation failed although more than the request was free: in pieces, none of them large enough. " +
			"Evidence: the request, the sum of the free ranges that this request could use (its stream, pool and size class) and the largest of them. " +
			"Fix, in this order: `expandable_segments:True` where it is not on and no private pool is in use; else `max_split_size_mb` near the request; never both. Then fewer different sizes (padding).",
	},
	{
		Name: "torch-oom-pressure", Family: "torch", Find: eachOOM("pressure", pressure),
		Doc: "An allocation failed because live tensors fill what the process can have: the free ranges and what the driver has left add up to less than the request, or live tensors are 95 % of all. " +
			"No allocator setting helps. Fix: a smaller batch, checkpointing, sharding, lower precision, by what holds the bytes. The saving is what activations and temporaries hold at that moment, the most that checkpointing or a smaller batch can free; what the request lacked is in the text.",
	},
	{
		Name: "torch-oom-stranded", Family: "torch", Find: eachOOM("stranded", stranded),
		Doc: "An allocation failed while enough was free in places that this request may not use: a private pool (a CUDA graph's or the user's), another stream, the pool of small blocks.",
	},
	{
		Name: "torch-oom-limit", Family: "torch", Find: eachOOM("limit", limited),
		Doc: "An allocation failed although the driver had more left than was asked for: the process has a limit of its own (`torch.cuda.set_per_process_memory_fraction`, MPS).",
	},
	{
		Name: "torch-oom-foreign", Family: "torch", Find: foreign,
		Doc: "Memory outside PyTorch's allocator made the allocation fail. Evidence: reserved and free memory together lie well below the device's memory (`explain --device-memory`, or PyTorch's message in a log: `--log`), and the request would have fitted into the rest; or they shrank between two failures in one file. " +
			"The rest is held by another process, NCCL, the CUDA context or libraries: a snapshot cannot see it.",
	},
	{
		Name: "torch-alloc-retries", Family: "torch", Find: eachSnapshot(retries),
		Doc: "The device was full: the allocator gave cached segments back and tried again, with success. Nothing failed yet; each retry waits for the device and costs time.",
	},
}

// eachOOM gives the findings on the newest failed allocation of each device;
// its text says how many there were.
func eachOOM(want string, judge func(m *measure.Measurement, s *measure.SnapshotFact, o measure.OOMFact) []measure.Finding) func(Input) []measure.Finding {
	return func(in Input) []measure.Finding {
		return eachSnapshot(func(m *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
			if len(s.OOMs) == 0 {
				return nil
			}
			o := s.OOMs[len(s.OOMs)-1]
			if verdict(o, in.deviceMemory()) != want {
				return nil
			}
			out := judge(m, s, o)
			for i := range out {
				out[i].Severity, out[i].Source = Error, o.Source
				out[i].Evidence = Inferred
				if o.Layout == "exact" && o.DeviceFreeBytes != nil {
					out[i].Evidence = Measured
				}
				if n := len(s.OOMs); n > 1 {
					out[i].Text += fmt.Sprintf("; it is the last of %d failures in this file", n)
				}
			}
			return out
		})(in)
	}
}

// verdict is one of "limit", "foreign", "pressure", "stranded" and
// "fragmentation", decided by the numbers that the texts print. device is what
// the device has, 0 where that is not known.
//
// At a failure the allocator has already returned every segment that was wholly
// free, so what is free then are holes of segments in use (and private pools).
func verdict(o measure.OOMFact, device measure.Bytes) string {
	var left measure.Bytes
	if o.DeviceFreeBytes != nil {
		left = *o.DeviceFreeBytes
	}
	switch all := o.ReservedBytes + left; {
	case left >= o.RequestBytes+2<<20: // a segment is rounded up to 2 MiB
		return "limit"
	case freeBytes(o)+left < o.RequestBytes,
		o.LiveBytes >= all-all/20: // pieces of less than 5 %: the next request would fail
		if n := outside(o, device); n >= contextBytes+device/20 && n-contextBytes >= o.RequestBytes-left {
			return "foreign"
		}
		return "pressure"
	case o.Layout != "" && (o.UsableBytes+left < o.RequestBytes || elsewhere(o)):
		return "stranded"
	}
	return "fragmentation"
}

// elsewhere tells that a range which this request may not use would have served it,
// and that most of what is free is of that kind.
func elsewhere(o measure.OOMFact) bool {
	return o.LargestUsableBytes < o.RequestBytes && o.LargestBytes >= o.RequestBytes && o.InactiveBytes > 2*o.UsableBytes
}

// freeBytes are the free ranges of all segments: where the layout is not known,
// what is reserved and not live.
func freeBytes(o measure.OOMFact) measure.Bytes {
	if o.Layout == "" {
		return max(0, o.ReservedBytes-o.LiveBytes)
	}
	return o.InactiveBytes
}

// figures is the sentence that all verdicts begin with.
func figures(o measure.OOMFact) string {
	var b strings.Builder
	fmt.Fprintf(&b, "an allocation of %s failed", o.RequestBytes)
	if o.Site != "" {
		fmt.Fprintf(&b, " at %s", o.Site)
	}
	fmt.Fprintf(&b, ": live %s, reserved %s", o.LiveBytes, o.ReservedBytes)
	if o.DeviceFreeBytes != nil {
		fmt.Fprintf(&b, ", left on the device %s", *o.DeviceFreeBytes)
	}
	return b.String()
}

func about(o measure.OOMFact) string {
	if o.Layout == "rebuilt" {
		return " (rebuilt from the events; a range may be up to 1 MiB too long)"
	}
	return ""
}

func fragmentation(m *measure.Measurement, s *measure.SnapshotFact, o measure.OOMFact) []measure.Finding {
	f := measure.Finding{SavingBytes: freeBytes(o)}
	if o.Layout == "" {
		f.Text = figures(o) + fmt.Sprintf("; %s are reserved and free, so this is fragmentation, but the file does not show the free ranges", freeBytes(o))
	} else {
		f.Text = figures(o) + fmt.Sprintf("; %s that it could use are free%s, in %s of %s, and the largest is %s: fragmentation", o.UsableBytes, about(o),
			plural(o.UsableHoles, "piece", "pieces"), plural(o.UsableSegments, "segment", "segments"), o.LargestUsableBytes)
	}
	f.Fix, f.Cost = unfragment(m, s, o.RequestBytes)
	return []measure.Finding{f}
}

// unfragment gives the advice against fragmentation in its order, without what
// the settings have already, and what it costs.
func unfragment(m *measure.Measurement, s *measure.SnapshotFact, request measure.Bytes) (fix, cost string) {
	var steps []string
	variable := allocatorVariable(m)
	n := splitSize(s, request)
	switch {
	case expandable(s) && splitLimit(s):
		steps = append(steps, "take max_split_size_mb out of "+variable+": with expandable_segments, which is on too, reserved memory can grow without bound")
	case expandable(s):
		steps = append(steps, "expandable_segments is on already; do not add max_split_size_mb to it")
	case privatePools(s):
		if !splitLimit(s) {
			steps = append(steps, fmt.Sprintf("%s=max_split_size_mb:%d (not expandable_segments: private pools are in use)", variable, n))
			cost = "max_split_size_mb: more cudaMalloc calls, from no to much time a step"
		}
	case splitLimit(s):
		steps = append(steps, variable+"=expandable_segments:True instead of max_split_size_mb (never both)")
		cost = "expandable_segments: time to map pages while the pool grows"
	default:
		steps = append(steps, variable+"=expandable_segments:True", fmt.Sprintf("if that is not possible, %s=max_split_size_mb:%d (never both)", variable, n))
		cost = "expandable_segments: time to map pages while the pool grows; max_split_size_mb: more cudaMalloc calls, from no to much time a step"
	}
	steps = append(steps, "let sizes vary less: pad batches and sequences to a few lengths")
	for i, text := range steps {
		steps[i] = fmt.Sprintf("%d. %s", i+1, text)
	}
	return strings.Join(steps, "\n"), cost
}

// splitSize is the max_split_size_mb to try, in MiB: near the request, but not
// above the segments in use, or they would still be split. The allocator
// refuses 20 and less (kLargeBuffer in CUDACachingAllocator).
func splitSize(s *measure.SnapshotFact, request measure.Bytes) int64 {
	var segments, reserved int64
	for _, p := range s.Pools {
		if !p.Private && p.Class == "large" && p.Holes > 0 {
			segments, reserved = segments+p.Segments, reserved+int64(p.ReservedBytes)
		}
	}
	n := int64(request)
	if segments > 0 {
		n = min(n, reserved/segments)
	}
	return max(21, n>>20)
}

func pressure(m *measure.Measurement, s *measure.SnapshotFact, o measure.OOMFact) []measure.Finding {
	var left measure.Bytes
	if o.DeviceFreeBytes != nil {
		left = *o.DeviceFreeBytes
	}
	all := o.ReservedBytes + left
	lacks := max(0, o.RequestBytes-max(left, o.LargestUsableBytes))
	f := measure.Finding{SavingBytes: activationsOf(o)}
	f.Text = figures(o) + fmt.Sprintf("; only %s of what is reserved is free%s, live tensors are %s of the %s that this process can have: memory pressure, allocator tuning will not help; this request alone lacks %s, and what comes after it needs more",
		freeBytes(o), about(o), percent(o.LiveBytes, all), all, lacks)
	if f.SavingBytes > 0 {
		f.Text += fmt.Sprintf("; activations and temporaries hold %s, the most that a smaller batch or checkpointing can free", f.SavingBytes)
	}
	if len(o.Holders) > 0 {
		var names []string
		for _, h := range o.Holders[:min(3, len(o.Holders))] {
			names = append(names, fmt.Sprintf("%s (%s)", h.Display, h.Bytes))
		}
		f.Text += "; most is allocated at " + strings.Join(names, ", ")
	}
	if o.DeviceFreeBytes != nil && len(m.Facts.Dryrun) == 0 { // else what it has is known
		f.Text += "; if the device has more than that, the rest is held outside PyTorch's allocator: compare with nvidia-smi, or give --device-memory, or --log with PyTorch's message"
	}
	f.Fix = relieve(o)
	if native(s) {
		f.Fix = nativeRelieve
	}
	return []measure.Finding{f}
}

const nativeRelieve = "smaller batches or shorter sequences, lower precision, c10::InferenceMode where nothing is trained, or the model over more devices"

// activationsOf is what of the largest holders checkpointing could free at most; 0
// where parameters and what belongs to them hold more.
func activationsOf(o measure.OOMFact) measure.Bytes {
	states, activations := sums(o)
	if states > activations {
		return 0
	}
	return activations
}

// relieve chooses the measures by what holds the bytes at the failure.
func relieve(o measure.OOMFact) string {
	states, activations := sums(o)
	shard := "shard parameters, gradients and optimizer state (FSDP, ZeRO), or use an optimizer with less state"
	smaller := "a smaller batch or shorter sequences, activation checkpointing (torch.utils.checkpoint) around the modules named here, or lower precision"
	if states > activations {
		return shard + "; then " + smaller
	}
	return smaller + "; then " + shard
}

// sums adds up what the holders at a failure keep for the model, and for one pass.
func sums(o measure.OOMFact) (states, activations measure.Bytes) {
	for _, h := range o.Holders {
		switch h.Class {
		case measure.ClassParameter, measure.ClassGradient, measure.ClassOptimizer:
			states += h.Bytes
		case measure.ClassActivation, measure.ClassTemporary:
			activations += h.Bytes
		}
	}
	return states, activations
}

func limited(_ *measure.Measurement, _ *measure.SnapshotFact, o measure.OOMFact) []measure.Finding {
	return []measure.Finding{{
		Text: figures(o) + "; the device had more left than was asked for: a limit of the process made it fail",
		Fix:  "look for torch.cuda.set_per_process_memory_fraction, or a memory limit of MPS or of the container's device plugin",
	}}
}

func stranded(_ *measure.Measurement, s *measure.SnapshotFact, o measure.OOMFact) []measure.Finding {
	other := max(0, o.InactiveBytes-o.UsableBytes-o.PrivateBytes)
	f := measure.Finding{SavingBytes: o.PrivateBytes + other}
	f.Text = figures(o) + fmt.Sprintf("; of what is reserved and free it can use only %s%s: %s are in private pools, %s belong to another stream or to the pool of small blocks",
		o.UsableBytes, about(o), o.PrivateBytes, other)
	if elsewhere(o) {
		f.Text += fmt.Sprintf("; the largest free range, %s, would have served it", o.LargestBytes)
	}
	if o.PrivateBytes >= other {
		f.Fix = "drop CUDA graphs and torch.cuda.MemPool objects that are no longer needed, or let graphs share one pool (torch.cuda.graph(…, pool=torch.cuda.graph_pool_handle()))"
	} else {
		f.Fix = "allocate on one stream and hand tensors over with record_stream, or allocate the large buffers before the streams part"
	}
	return []measure.Finding{f}
}

// contextBytes is what a process takes of a device beside PyTorch's allocator in
// any case: CUDA's context and the code of its libraries, 0.3 to 0.8 GiB.
const contextBytes = 1 << 30

// deviceMemory is what the device has: by the caller, else by what was pretended, else
// by PyTorch's message in a log.
func (in Input) deviceMemory() measure.Bytes {
	for _, f := range in.Head.Facts.Dryrun {
		if in.DeviceMemory == 0 && f.MemoryBytes > 0 {
			return f.MemoryBytes
		}
	}
	for _, l := range in.Head.Facts.Logs {
		if in.DeviceMemory == 0 && l.Kind == measure.LogTorch {
			return l.LimitBytes
		}
	}
	return in.DeviceMemory
}

// outside is what of a device neither PyTorch's allocator has nor is left; 0
// where it is not known.
func outside(o measure.OOMFact, device measure.Bytes) measure.Bytes {
	if device == 0 || o.DeviceFreeBytes == nil {
		return 0
	}
	return device - visible(&o)
}

const foreignFix = "look at nvidia-smi and torch.cuda.device_memory_used(device) for other processes, NCCL buffers and libraries; a snapshot cannot see them"

// foreign looks for memory that somebody else holds: beside a device whose size
// was given, else by what came between two failures.
func foreign(in Input) []measure.Finding {
	out := eachOOM("foreign", func(_ *measure.Measurement, _ *measure.SnapshotFact, o measure.OOMFact) []measure.Finding {
		n := outside(o, in.deviceMemory())
		return []measure.Finding{{SavingBytes: n, Fix: foreignFix,
			Text: figures(o) + fmt.Sprintf("; of the device's %s, %s are held outside of PyTorch's allocator", in.deviceMemory(), n)}}
	})(in)
	if len(out) > 0 {
		return out
	}
	return eachSnapshot(func(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
		most, least := shrunk(s)
		if least == nil {
			return nil
		}
		lost := visible(most) - visible(least)
		return []measure.Finding{{
			Severity: Error, Evidence: Measured, SavingBytes: lost, Source: least.Source, Fix: foreignFix,
			Text: fmt.Sprintf("between two failed allocations (events %d and %d) what this process can have (reserved + left on the device) fell from %s to %s: %s went to something outside PyTorch's allocator",
				most.Event, least.Event, visible(most), visible(least), lost),
		}}
	})(in)
}

// shrunk finds the failure at which the process could have most, and a later one
// at which it could have notably less.
func shrunk(s *measure.SnapshotFact) (most, least *measure.OOMFact) {
	for i := range s.OOMs {
		o := &s.OOMs[i]
		switch {
		case o.DeviceFreeBytes == nil:
		case most == nil || visible(o) > visible(most):
			most, least = o, nil
		case least == nil || visible(o) < visible(least):
			least = o
		}
	}
	if least != nil && !notable(visible(most)-visible(least), visible(most)) {
		least = nil
	}
	return most, least
}

func visible(o *measure.OOMFact) measure.Bytes { return o.ReservedBytes + *o.DeviceFreeBytes }

func retries(m *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	c := s.Churn
	if c == nil || c.Retries == 0 || len(s.OOMs) > 0 {
		return nil
	}
	f := measure.Finding{
		Severity: Warning, Evidence: Inferred,
		Text: fmt.Sprintf("the device was full %s: the allocator gave back %s of cached memory and then got what it needed; no allocation failed (a retry leaves no event of its own: seen by segments that go right before one comes)",
			plural(c.Retries, "time", "times"), c.RetriedBytes),
		Fix:  "leave room: a smaller batch, fewer different sizes; compare torch.cuda.memory_stats()[\"num_alloc_retries\"]",
		Cost: "none; each retry waits for the device",
	}
	if !expandable(s) && !splitLimit(s) && !privatePools(s) {
		f.Fix = "leave room: a smaller batch, or " + allocatorVariable(m) + "=expandable_segments:True where sizes vary; compare torch.cuda.memory_stats()[\"num_alloc_retries\"]"
	}
	return []measure.Finding{f}
}
