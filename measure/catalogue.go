package measure

import (
	"slices"
	"strings"
)

// Unit is the unit of a metric's values.
type Unit string

// The units of the catalogue.
const (
	ByteUnit     Unit = "B"
	Count        Unit = "count"
	Ratio        Unit = "ratio"
	Seconds      Unit = "s"
	BytesPerStep Unit = "B/step"
	BytesPerHour Unit = "B/h"
	CountPerStep Unit = "count/step"
	CountPerHour Unit = "count/h"
)

// Kind says how a metric varies between two runs of one program.
type Kind string

// The kinds. An exact metric may be gated at a tolerance of 0.
const (
	Exact     Kind = "exact"      // the same program gives the same number
	Observed  Kind = "observed"   // true of this run; reruns differ
	Sampled   Kind = "sampled"    // estimated from samples
	HighWater Kind = "high_water" // a kernel's own maximum
)

// Metric is one entry of the catalogue.
type Metric struct {
	Name string
	Unit Unit
	Kind Kind // the usual kind; a row may say otherwise
	// HigherIsBetter tells that a fall is the regression (hit ratios, donated bytes).
	HigherIsBetter bool
	// Information marks what is shown but rarely worth a budget.
	Information bool
	// From names whose captures give the metric; empty where no reader does yet.
	From string
	// ExplainedBy names the metric whose contributors explain this one where
	// a measurement holds none under its own name.
	ExplainedBy string
	Doc         string
}

// Catalogue lists every metric, in the order of the documentation.
func Catalogue() []Metric { return slices.Clone(catalogue) }

// Lookup finds a metric of the catalogue by its name.
func Lookup(name string) (Metric, bool) {
	for _, m := range catalogue {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

// aliases are names that other tools have for a metric of the catalogue.
var aliases = map[string]string{
	"requested_bytes.all.peak": "live.peak_bytes", "requested_bytes.all.current": "live.end_bytes",
	"max_memory_allocated": "live.peak_bytes", "max_memory_reserved": "reserved.peak_bytes", "memory_allocated": "live.end_bytes",
	"allocated_bytes.all.peak": "live.rounded_peak_bytes", "reserved_bytes.all.peak": "reserved.peak_bytes",
	"peak_memory_in_bytes": "plan.compiler_peak_bytes", "temp_size_in_bytes": "plan.temp_bytes", "argument_size_in_bytes": "plan.argument_bytes",
	"output_size_in_bytes": "plan.output_bytes", "alias_size_in_bytes": "plan.donated_bytes", "peak_memory": "live.peak_bytes",
	"rss": "footprint.peak_bytes", "max_rss": "footprint.peak_bytes",
}

// Nearest gives the metric that a wrong name most likely means, for hints: by the
// name that another tool has for it, by its end, or by likeness. It is empty
// where none is close.
func Nearest(name string) string {
	if m, ok := aliases[strings.ToLower(name)]; ok {
		return m
	}
	for _, m := range catalogue {
		if len(name) > 5 && strings.HasSuffix(m.Name, "."+strings.ToLower(name)) {
			return m.Name
		}
	}
	names := make([]string, len(catalogue))
	for i, m := range catalogue {
		names[i] = m.Name
	}
	return Closest(name, names)
}

// Closest gives the candidate with the smallest edit distance to the word, for
// "did you mean" hints; it is empty where all are more than a third away.
func Closest(word string, candidates []string) string {
	if len(word) > 128 {
		return ""
	}
	best, bestDistance := "", len(word)/3+1
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(word), strings.ToLower(c)); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

// catalogue is the one table of metrics; the documentation page is made from it.
var catalogue = []Metric{
	{Name: "plan.need_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, Doc: "what one execution needs in this memory space: arguments + unaliased outputs + constants + temp block, plus generated code where known. The one to budget first."},
	{Name: "plan.total_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, ExplainedBy: "plan.need_bytes", Doc: "sum of the sizes of all buffer allocations without the thread-local ones."},
	{Name: "plan.argument_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, Doc: "entry parameters, donated ones included."},
	{Name: "plan.output_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, Doc: "allocations that may be live out, aliased parameters included."},
	{Name: "plan.unaliased_output_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, ExplainedBy: "plan.output_bytes", Doc: "outputs that have memory of their own."},
	{Name: "plan.donated_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, HigherIsBetter: true, ExplainedBy: "plan.argument_bytes", Doc: "parameters whose memory an output reuses."},
	{Name: "plan.constant_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, ExplainedBy: "plan.need_bytes", Doc: "constants that are neither parameters nor outputs."},
	{Name: "plan.temp_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, Doc: "the temp block that intermediates share. It can fall while the need rises (lost donation): never gate it alone."},
	{Name: "plan.thread_local_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, Information: true, Doc: "host stack of reducers; part of no other number."},
	{Name: "plan.heap_peak_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, Doc: "largest total of live buffers over the schedule: simulated heap + arguments, outputs and constants, as XProf 2.24 shows it."},
	{Name: "plan.compiler_peak_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, ExplainedBy: "plan.heap_peak_bytes", Doc: "XLA's own ComputePeakMemory over all memory spaces together; never comparable with plan.heap_peak_bytes."},
	{Name: "plan.padding_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, ExplainedBy: "plan.heap_peak_bytes", Doc: "padded minus unpadded bytes of what is live at the heap peak, arguments and outputs included."},
	{Name: "plan.viewer_padding_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, Information: true, ExplainedBy: "plan.heap_peak_bytes", Doc: "padding as XProf's Memory Viewer counts it: arguments and outputs enter padded, so theirs is invisible."},
	{Name: "plan.fragmentation_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, ExplainedBy: "plan.temp_bytes", Doc: "temp block minus the simulated peak inside it."},
	{Name: "plan.remat_instructions", From: "XLA", Unit: Count, Kind: Exact, Information: true, Doc: "instructions that XLA made by rematerialization (names with .remat)."},
	{Name: "plan.forward_kept_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, ExplainedBy: "plan.heap_peak_bytes", Doc: "live at the heap peak: made by the forward pass and kept for the backward pass."},
	{Name: "plan.backward_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, ExplainedBy: "plan.heap_peak_bytes", Doc: "live at the heap peak: made by the backward pass."},
	{Name: "plan.workspace_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, ExplainedBy: "plan.heap_peak_bytes", Doc: "live at the heap peak: workspace of library calls."},
	{Name: "plan.other_bytes", From: "XLA", Unit: ByteUnit, Kind: Exact, ExplainedBy: "plan.heap_peak_bytes", Doc: "live at the heap peak: all else, arguments, outputs and constants included."},

	{Name: "live.peak_bytes", From: "Affon, PyTorch, XLA", Unit: ByteUnit, Kind: Exact, Doc: "largest total of live requested bytes (PyTorch: requested_bytes.all.peak), or the most bytes that an XLA or TensorFlow allocator had in use in the profile (observed); of Affon, its own high-water mark (observed)."},
	{Name: "live.end_bytes", From: "Affon, JAX, PyTorch, XLA", Unit: ByteUnit, Kind: Exact, Doc: "live requested bytes at the end of the capture; of a JAX device memory profile, the live arrays (observed); of an XLA allocator, the bytes in use (observed); of Affon, the tensors of each backend, Hao's allocator and the QuickJS heap (observed)."},
	{Name: "executable.code_bytes", From: "JAX", Unit: ByteUnit, Kind: Observed, Information: true, Doc: "code of the compiled programs that the process holds on its devices."},
	{Name: "live.baseline_bytes", From: "PyTorch, XLA", Unit: ByteUnit, Kind: Exact, Information: true, ExplainedBy: "live.peak_bytes", Doc: "live when the recorded history begins."},
	{Name: "live.rounded_peak_bytes", From: "PyTorch", Unit: ByteUnit, Kind: Exact, Information: true, ExplainedBy: "live.peak_bytes", Doc: "the peak with every request rounded up as the allocator rounds it: a lower bound of what it holds."},
	{Name: "used.peak_bytes", From: "XLA", Unit: ByteUnit, Kind: Observed, ExplainedBy: "live.peak_bytes", Doc: "heap plus reserved stack at its largest: what is compared with the capacity."},
	{Name: "reserved.peak_bytes", From: "PyTorch", Unit: ByteUnit, Kind: Exact, Information: true, ExplainedBy: "live.peak_bytes", Doc: "largest total taken from the device. It depends on the pool's history: budget live.peak_bytes instead."},
	{Name: "reserved.end_bytes", From: "Affon, PyTorch", Unit: ByteUnit, Kind: Exact, Information: true, ExplainedBy: "live.end_bytes", Doc: "taken from the device at the end of the capture; of Affon, what the device counts as allocated (observed)."},
	{Name: "inactive.bytes", From: "PyTorch", Unit: ByteUnit, Kind: Exact, Information: true, Doc: "reserved but held by no tensor at the end of the capture."},
	{Name: "inactive.largest_bytes", From: "PyTorch", Unit: ByteUnit, Kind: Exact, Information: true, Doc: "largest free range at the end of the capture."},
	{Name: "inactive.largest_usable_bytes", From: "PyTorch", Unit: ByteUnit, Kind: Exact, Information: true, Doc: "largest free range in the default pool, which ordinary allocations can use."},
	{Name: "pending_free.bytes", From: "PyTorch", Unit: ByteUnit, Kind: Exact, Information: true, Doc: "freed by the program, still awaited by another stream."},
	{Name: "pool.private_bytes", From: "PyTorch", Unit: ByteUnit, Kind: Exact, Information: true, Doc: "reserved by private pools (graphs, user pools)."},
	{Name: "pool.hit_ratio", From: "Affon, PyTorch", Unit: Ratio, Kind: Exact, HigherIsBetter: true, Doc: "share of allocations that the pool served without asking the device; of Affon, after warm-up (observed)."},
	{Name: "pool.misses", From: "Affon, PyTorch", Unit: Count, Kind: Exact, Doc: "allocations for which the pool had to ask the device; of Affon, after warm-up (observed)."},
	{Name: "pool.drops", From: "Affon", Unit: Count, Kind: Observed, Doc: "buffers that the pool did not keep, for want of room or because they are too large for it; after warm-up."},
	{Name: "pool.live_peak_bytes", From: "Affon", Unit: ByteUnit, Kind: Observed, Doc: "most bytes that the pool kept for reuse."},
	{Name: "pool.live_end_bytes", From: "Affon", Unit: ByteUnit, Kind: Observed, Doc: "bytes that the pool keeps for reuse at the end of the capture."},
	{Name: "region.end_bytes", From: "Affon", Unit: ByteUnit, Kind: Observed, Information: true, Doc: "one of Affon's memory regions (owned, scratch, pool) at the end of the capture."},

	{Name: "growth.bytes_per_step", From: "Affon, PyTorch, XLA, series, watch", Unit: BytesPerStep, Kind: Sampled, Doc: "growth per step after warm-up; exact where it is net requested bytes. With the label `step: dump` a step is what lies between two dumps, which may be many steps of the program."},
	{Name: "growth.blocks_per_step", From: "PyTorch", Unit: CountPerStep, Kind: Sampled, Doc: "growth of the number of live blocks per step, of the same steps."},
	{Name: "growth.regions_per_step", From: "series", Unit: CountPerStep, Kind: Sampled, Doc: "growth of the number of memory regions per step."},
	{Name: "growth.bytes_per_hour", From: "series, watch", Unit: BytesPerHour, Kind: Sampled, Doc: "growth per hour where there are no steps."},
	{Name: "growth.regions_per_hour", From: "watch", Unit: CountPerHour, Kind: Sampled, Doc: "growth of the number of memory regions per hour."},
	{Name: "footprint.peak_bytes", From: "Affon, series, watch", Unit: ByteUnit, Kind: Sampled, Doc: "largest sampled footprint of the process tree, or the largest kernel maximum of one process."},
	{Name: "footprint.peak_upper_bytes", From: "watch", Unit: ByteUnit, Kind: HighWater, Information: true, Doc: "sum of the processes' high-water marks: an upper bound, never judged."},
	{Name: "footprint.end_bytes", From: "Affon", Unit: ByteUnit, Kind: Sampled, Information: true, Doc: "footprint at the end of the capture."},
	{Name: "footprint.plateau_bytes", From: "watch", Unit: ByteUnit, Kind: Sampled, Doc: "where the footprint settles after warm-up."},
	{Name: "footprint.unattributed_bytes", From: "Affon", Unit: ByteUnit, Kind: Sampled, ExplainedBy: "footprint.end_bytes", Doc: "footprint that no telemetry accounts for, at the end of the capture: of Affon, what is neither tensors on Metal or the CPU, nor its pool, nor the QuickJS heap."},
	{Name: "series.peak_bytes", From: "series", Unit: ByteUnit, Kind: Sampled, Doc: "largest level of a series that another tool wrote."},
	{Name: "process.count", From: "watch", Unit: Count, Kind: Sampled, Information: true, Doc: "processes of the watched tree."},
	{Name: "descriptor.count", From: "watch", Unit: Count, Kind: Sampled, Information: true, Doc: "open file descriptors of the watched tree."},
	{Name: "oom.events", From: "PyTorch, XLA", Unit: Count, Kind: Exact, Doc: "failed allocations that the capture holds; of a profile, the operations that waited as long as the allocator waits before it fails (observed)."},
	{Name: "oom.kills", From: "watch", Unit: Count, Kind: Exact, Doc: "processes that the kernel killed for memory."},
	{Name: "retry.events", From: "XLA", Unit: Count, Kind: Exact, Doc: "allocations that waited for memory."},
	{Name: "retry.longest_seconds", From: "XLA", Unit: Seconds, Kind: Exact, Doc: "the longest such wait."},
	{Name: "launch.never_started", From: "XLA", Unit: Count, Kind: Exact, Doc: "executions that never launched a kernel."},
}

// Page is the documentation page of the metrics, in markdown. docs/metrics.md
// holds it; a test keeps the two equal.
func Page() string {
	var out strings.Builder
	out.WriteString(`# Metrics

A budget names these. A row is one metric with its labels; [budget.md](budget.md) tells how labels are selected.

- *exact*: the same program gives the same number, so one run decides and a tolerance of 0 bytes is possible.
- *observed*: true of this run; reruns differ.
- *sampled*: estimated from samples.
- *high_water*: a kernel's own maximum.

Bytes are exact integers. A metric that a capture does not give is absent, never 0, and a budget over it is ` + "`no_data`" + `.
`)
	for _, group := range [][2]string{
		{"plan.", "Plans of XLA, per module and memory space"},
		{"", "Allocators, pools, series and processes"},
	} {
		out.WriteString("\n## " + group[1] + "\n\n| metric | unit | kind | given by | definition |\n|---|---|---|---|---|\n")
		for _, m := range catalogue {
			if strings.HasPrefix(m.Name, "plan.") != (group[0] == "plan.") {
				continue
			}
			doc := m.Doc
			if m.HigherIsBetter {
				doc += " Higher is better: a growth limit bounds its fall."
			}
			if m.Information {
				doc += " Information: rarely worth a budget."
			}
			from := m.From
			if from == "" {
				from = "not yet"
			}
			out.WriteString("| `" + m.Name + "` | " + string(m.Unit) + " | " + string(m.Kind) + " | " + from + " | " + doc + " |\n")
		}
	}
	return out.String()
}
