package diagnose

import (
	"fmt"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

var torchPoolRules = []Rule{
	{
		Name: "torch-fragmentation", Family: "torch", Find: eachSnapshot(poolFragmentation),
		Doc: "At its largest the pool held much more than was ever live (256 MiB and a fifth of it). The text tells three kinds apart at the dump: hard (holes of segments in use: nobody else can have them), " +
			"soft (segments that are wholly free: `empty_cache()` returns them) and stream (free, but of another stream than the default one). Nothing failed.",
	},
	{
		Name: "torch-rounding", Family: "torch", Standing: true, Find: eachSnapshot(rounding),
		Doc: "The blocks at the dump are much larger than what was asked for (64 MiB and a twentieth): `roundup_power2_divisions`, or sizes that do not fit the allocator's steps.",
	},
	{
		Name: "torch-pending-free", Family: "torch", Find: eachSnapshot(pendingFree),
		Doc: "Blocks that the program has freed and another stream still uses (`record_stream`): they wait for its events. Pending, not a leak.",
	},
	{
		Name: "torch-private-pools", Family: "torch", Find: eachSnapshot(privatePoolRule),
		Doc: "Memory that is free in private pools (CUDA graphs, `torch.cuda.MemPool`): ordinary allocations cannot have it. A graph uses its pool whenever it is replayed, although the allocator shows the ranges as free.",
	},
	{
		Name: "torch-thrash", Family: "torch", Find: eachSnapshot(thrash),
		Doc: "Segments are returned to the device and taken again while the program runs warm: `empty_cache()` in the loop, a garbage collection threshold, changing shapes. It costs time (each cudaFree waits for the device), and no memory.",
	},
	{
		Name: "torch-settings-conflict", Family: "torch", Find: eachSnapshot(settingsConflict),
		Doc: "`expandable_segments` and `max_split_size_mb` are set together: reserved memory can then grow without bound.",
	},
}

// hard, soft and stream fragmentation at the dump, in rounded bytes.
type kinds struct {
	hard, soft, stream measure.Bytes
	holes              int64
	largest            measure.Bytes
}

func kindsOf(s *measure.SnapshotFact) (k kinds) {
	for _, p := range s.Pools {
		switch {
		case p.Private:
			continue
		case p.Stream != 0:
			k.stream += p.InactiveBytes
		case p.Expandable:
			// Its free pages can be unmapped.
			k.soft += p.InactiveBytes
		default:
			k.hard += p.InactiveBytes - p.EmptyBytes
			k.soft += p.EmptyBytes
		}
		k.holes += p.Holes
		k.largest = max(k.largest, p.LargestBytes)
	}
	return k
}

func poolFragmentation(m *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	reserved, ok := rowValue(m, "reserved.peak_bytes", s.Labels)
	peak, ok2 := rowValue(m, "live.rounded_peak_bytes", s.Labels)
	unused := reserved - peak
	if !ok || !ok2 || len(s.OOMs) > 0 || unused < 256<<20 || 5*unused < reserved {
		return nil
	}
	k := kindsOf(s)
	var private measure.Bytes
	for _, p := range s.Pools {
		if p.Private {
			private += p.ReservedBytes
		}
	}
	if 2*private >= unused {
		return nil // torch-private-pools tells it
	}
	f := measure.Finding{Severity: Note, Evidence: Inferred, SavingBytes: unused}
	kind, most := "hard fragmentation (holes of segments in use)", k.hard
	if k.soft > most {
		kind, most = "soft fragmentation (cached segments that are wholly free, or can be unmapped)", k.soft
	}
	if k.stream > most {
		kind = "stream fragmentation (free ranges of other streams)"
	}
	f.Text = fmt.Sprintf("%s were reserved at most, while never more than %s was live: %s was cached and free; at the dump mostly %s: hard %s, soft %s, stream %s, in %s",
		reserved, peak, unused, kind, k.hard, k.soft, k.stream, plural(k.holes, "free range", "free ranges"))
	if k.holes > 1 {
		f.Text += fmt.Sprintf(", the largest %s", k.largest)
	}
	switch {
	case k.stream > k.hard && k.stream > k.soft:
		f.Fix = "allocate on one stream and hand tensors over with record_stream: a free range belongs to the stream it was allocated on"
	case k.soft > k.hard:
		f.SavingBytes = min(unused, k.soft)
		f.Text += "; this process can use all of it again, others cannot"
		f.Fix, f.Cost = emptyCache(s), "empty_cache() waits for the device, and what is needed again is allocated anew: once between phases, never in each step"
	default:
		f.Fix, f.Cost = unfragment(m, s, max(k.largest, 20<<20))
	}
	return []measure.Finding{f}
}

// emptyCache is the advice on segments that are wholly free.
func emptyCache(s *measure.SnapshotFact) string {
	call := "torch.cuda.empty_cache()"
	if native(s) {
		call = "c10::cuda::CUDACachingAllocator::emptyCache()"
	}
	return "nothing, if no one else needs the memory; else " + call + " after the phase that needed it (before evaluation, saving, or another process starts)"
}

// rounding compares what the blocks hold with what was asked for.
func rounding(m *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	var blocks measure.Bytes
	for _, p := range s.Pools {
		blocks += p.LiveBytes + p.PendingBytes
	}
	asked, ok := rowValue(m, "live.end_bytes", s.Labels)
	lost := blocks - asked
	if !ok || lost < 64<<20 || lost < blocks/20 {
		return nil
	}
	f := measure.Finding{Severity: Note, Evidence: Measured, SavingBytes: lost,
		Text: fmt.Sprintf("the live blocks at the dump hold %s for requests of %s: rounding takes %s (%s)", blocks, asked, lost, percent(lost, blocks)),
		Fix:  "ask for sizes that are multiples of 2 MiB where they are above 10 MiB, or pad batches to fewer sizes",
	}
	if s.Settings["roundup_power2_divisions"] != "" || strings.Contains(s.Settings["PYTORCH_CUDA_ALLOC_CONF"], "roundup_power2") {
		f.Fix = "more divisions in roundup_power2_divisions, or take it out of " + allocatorVariable(m)
		f.Cost = "freed blocks fit later requests less often"
	}
	return []measure.Finding{f}
}

func pendingFree(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	live, _ := liveSet(s)
	if s.PendingBytes < max(16<<20, live/50) {
		return nil
	}
	return []measure.Finding{{
		Severity: Warning, Evidence: Measured, SavingBytes: s.PendingBytes,
		Text: fmt.Sprintf("%s (%s) in %s are freed by the program and wait for another stream at the dump: pending, not a leak", s.PendingBytes, s.PendingBytes.Exact(), plural(s.PendingBlocks, "block", "blocks")),
		Fix:  "look at record_stream and side streams: make the side stream wait less, or hold the tensor until its work is done (stream.synchronize, an event) instead of record_stream",
		Cost: "waiting for a stream can make the step slower",
	}}
}

func privatePoolRule(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	var reserved, free, empty, all measure.Bytes
	var names []string
	graphs, users := false, false
	for _, p := range s.Pools {
		all += p.ReservedBytes
		if !p.Private {
			continue
		}
		reserved, free, empty = reserved+p.ReservedBytes, free+p.InactiveBytes, empty+p.EmptyBytes
		if n := len(names); n == 0 || names[n-1] != p.Pool {
			names = append(names, p.Pool)
		}
		if strings.HasPrefix(p.Pool, "(0,") {
			users = true
		} else {
			graphs = true
		}
	}
	if free < max(16<<20, all/50) {
		return nil
	}
	f := measure.Finding{Severity: Note, Evidence: Measured, SavingBytes: free}
	f.Text = fmt.Sprintf("private pools %s hold %s, of which %s (%s) are free and stranded: ordinary allocations cannot use them; %s of that are whole segments", strings.Join(names, ", "), reserved, free, free.Exact(), empty)
	var fix []string
	if graphs {
		f.Text += "; a CUDA graph still uses its pool when it is replayed"
		fix = append(fix, "let graphs share one pool (torch.cuda.graph(…, pool=torch.cuda.graph_pool_handle())) and reset those that are no longer replayed")
	}
	if users {
		fix = append(fix, "drop torch.cuda.MemPool objects that are no longer needed")
	}
	f.Fix = strings.Join(fix, "; ")
	return []measure.Finding{f}
}

// warmHits is the share of allocations that a warm pool serves without a new
// segment; real training runs reach 1.0, those with a cold start 0.68 to 0.99.
const warmHits = 0.95

func thrash(_ *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	c := s.Churn
	if c == nil {
		return nil
	}
	f := measure.Finding{Severity: Warning, Evidence: Measured, Source: c.EmptyCacheAt}
	// A pool that only grows misses as well; it gives nothing back.
	low := c.WarmAllocations >= 100 && 2*c.SegmentFrees >= c.WarmMisses && c.Retries == 0 && float64(c.WarmAllocations-c.WarmMisses) < warmHits*float64(c.WarmAllocations)
	calls := c.EmptyCacheFrees >= 4 && c.StepSegmentFrees > 0
	frees := c.StepSegmentFrees >= 4 && c.Retries == 0
	if !low && !calls && !frees {
		return nil
	}
	f.Text = fmt.Sprintf("the pool thrashes: %s of segments inside whole steps", plural(c.StepSegmentFrees, "return", "returns"))
	if c.WarmAllocations > 0 {
		f.Text += fmt.Sprintf(", %d of %d warm allocations needed a new segment (hit ratio %.3f)", c.WarmMisses, c.WarmAllocations, 1-float64(c.WarmMisses)/float64(c.WarmAllocations))
	}
	switch _, collects := s.Settings["garbage_collection_threshold"]; {
	case c.EmptyCacheFrees > 0:
		f.Text += fmt.Sprintf("; empty_cache() returned %s", plural(c.EmptyCacheFrees, "segment", "segments"))
		if c.EmptyCacheAt != nil {
			f.Text += " at " + place(c.EmptyCacheAt)
		}
		f.Fix = "take torch.cuda.empty_cache() out of the loop: it frees no live memory, and the next step takes the segments again"
	case collects:
		f.Fix = "raise garbage_collection_threshold, or leave it out: the pool gives segments back that the next step needs"
	case c.Retries > 0:
		f.Fix = "the device is full in each step: leave room (a smaller batch, checkpointing)"
	default:
		f.Evidence = Inferred
		f.Fix = "look for torch.cuda.empty_cache() in the loop and for shapes that change from step to step (pad them to a few lengths)"
	}
	f.Text += "; that costs time, not memory"
	return []measure.Finding{f}
}

func settingsConflict(m *measure.Measurement, s *measure.SnapshotFact) []measure.Finding {
	if !expandable(s) || !splitLimit(s) {
		return nil
	}
	return []measure.Finding{{
		Severity: Warning, Evidence: Measured,
		Text: "expandable_segments and max_split_size_mb are set together: reserved memory can grow without bound",
		Fix:  "take max_split_size_mb out of " + allocatorVariable(m),
	}}
}
