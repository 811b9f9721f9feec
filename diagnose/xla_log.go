package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// logRules read what a compiler or runtime printed, beside the plan.
var logRules = []Rule{
	{
		Name: "gpu-out-of-memory", Family: "xla",
		Doc: "The log holds the error of XLA's GPU allocator. Where its size is that of a module's temp block or of an output, the finding says which: the request must be met by one free piece of memory.",
		Find: func(in Input) []measure.Finding {
			return fromLog(in, measure.LogGPU, func(l measure.LogFact) measure.Finding {
				f := measure.Finding{Text: fmt.Sprintf("the allocator could not give %s in one piece (%s:%d)", l.WantedBytes, l.File, l.Line)}
				for _, m := range in.modules {
					if p := m.space(device); p.fact.BlockBytes > 0 && near(p.fact.BlockBytes, l.WantedBytes) {
						f.Labels = m.labels
						f.Text += fmt.Sprintf(": it is the temp block of this module, %s without a gap", p.fact.BlockBytes.Exact())
						f.Fix = "lower the peak of this module (see its other findings); memory that is free in smaller pieces does not help"
						return f
					}
				}
				if _, op, ok := strings.Cut(l.Text, "requested by op "); ok && op != "" {
					f.Text += "; asked for by the operation " + op
				}
				f.Fix = "explain the capture of the run that failed: the request is a module's temp block or an output"
				if len(in.modules) == 0 && len(in.Head.Facts.Timelines) > 0 {
					f.Fix = operationFix
				}
				return f
			})
		},
	},
	{
		Name: "tpu-hbm-out-of-memory", Family: "xla",
		Doc: "libtpu refused to compile: the plan in the device's main memory, arguments included, is above what there is. The compiler dumps the full plan before it fails: explain that file.",
		Find: func(in Input) []measure.Finding {
			return fromLog(in, measure.LogHBM, func(l measure.LogFact) measure.Finding {
				f := measure.Finding{Text: fmt.Sprintf("the TPU compiler ran out of HBM: %s wanted, %s available (%s:%d); the count includes arguments", l.WantedBytes, l.LimitBytes, l.File, l.Line)}
				f.Fix = "lower the plan of the module that was dumped last (see its other findings)"
				for _, m := range in.modules {
					// The text has two decimals of GiB: 0.005 GiB are 5.4 MB.
					if p := m.space(device); near(p.size("plan.need_bytes"), l.WantedBytes) {
						f.Labels = m.labels
						f.Text += "; it is the total of this module, " + p.size("plan.need_bytes").Exact()
						f.Fix = "lower the plan of this module (see its other findings)"
					}
				}
				return f
			})
		},
	},
	{
		Name: "tpu-run-out-of-memory", Family: "xla",
		Doc: "The TPU runtime could not give HBM: for the temp block of a program that it loads (\"attempting to reserve … at the bottom of memory\"), or for one array. What is free is what arrays and other loaded programs leave.",
		Find: func(in Input) []measure.Finding {
			return fromLog(in, measure.LogHBMRun, func(l measure.LogFact) measure.Finding {
				f := measure.Finding{Text: fmt.Sprintf("the TPU runtime could not give %s of HBM, %s were free (%s:%d)", l.WantedBytes, l.LimitBytes, l.File, l.Line), SavingBytes: max(0, l.WantedBytes-l.LimitBytes)}
				f.Fix = "free arrays before the program is loaded (donate the old state, keep one copy, drop other programs), or lower the plan of the program"
				for _, m := range in.modules {
					if p := m.space(device); p.fact.BlockBytes > 0 && near(p.fact.BlockBytes, l.WantedBytes) {
						f.Labels = m.labels
						f.Text += "; it is the temp block of this module, " + p.fact.BlockBytes.Exact()
						break
					}
				}
				return f
			})
		},
	},
	{
		Name: "tpu-vmem-out-of-memory", Family: "xla",
		Doc: "libtpu ran out of on-chip memory (VMEM) for one kernel. It has nothing to do with HBM: the kernel's blocks are too large.",
		Find: func(in Input) []measure.Finding {
			return fromLog(in, measure.LogVMEM, func(l measure.LogFact) measure.Finding {
				f := measure.Finding{Text: "the TPU compiler ran out of VMEM (on-chip memory), not of HBM: "}
				if l.WantedBytes > 0 {
					f.Text += fmt.Sprintf("%s wanted, %s available (%s:%d)", l.WantedBytes, l.LimitBytes, l.File, l.Line)
				} else {
					f.Text += fmt.Sprintf("the message gives no sizes (%s:%d)", l.File, l.Line)
				}
				if _, kernel, ok := strings.Cut(l.Text, "allocating on stack for "); ok {
					kernel, _, _ = strings.Cut(kernel, " ")
					f.Text += "; the kernel is " + kernel
				}
				f.Fix = "take smaller blocks in the Pallas kernel, or raise --xla_tpu_scoped_vmem_limit_kib"
				f.Cost, f.SavingBytes = "more grid steps; a higher limit leaves less VMEM to XLA's own prefetches", max(0, l.WantedBytes-l.LimitBytes)
				for _, m := range in.modules {
					if n := m.space("space1").fact.ScopedBytes; n > 0 {
						f.Text += fmt.Sprintf("; the largest scratch memory of a kernel in the plan is %s", n)
					}
				}
				return f
			})
		},
	},
	{
		Name: "remat-exhausted", Family: "xla",
		Doc: "XLA says that its rematerialization cannot reach the memory limit. The program still compiles on GPU, and then fails at run time: only a change of the program helps.",
		Find: func(in Input) []measure.Finding {
			return fromLog(in, measure.LogRemat, func(l measure.LogFact) measure.Finding {
				f := measure.Finding{Text: fmt.Sprintf("XLA's rematerialization cannot help any more: it reached %s, the limit is %s (%s:%d)", l.WantedBytes, l.LimitBytes, l.File, l.Line)}
				if l.BeforeBytes > 0 {
					f.Text = fmt.Sprintf("XLA's rematerialization cannot help any more: from %s it reached %s, the limit is %s (%s:%d)", l.BeforeBytes, l.WantedBytes, l.LimitBytes, l.File, l.Line)
				}
				f.Fix, f.Cost = rematFix, rematCost
				return f
			})
		},
	},
}

// operationFix is for programs without XLA modules (TensorFlow): each tensor is a
// request of its own.
const operationFix = "make room for this operation's tensor: see who holds the peak, take a smaller batch, or split the operation; memory that is free in smaller pieces does not help"

// fromLog makes a finding of each message of a kind.
func fromLog(in Input, kind string, find func(measure.LogFact) measure.Finding) (out []measure.Finding) {
	for i, l := range in.Head.Facts.Logs {
		// The allocator warns and the program fails: one event, told twice.
		again := slices.ContainsFunc(in.Head.Facts.Logs[:i], func(b measure.LogFact) bool {
			return b.Kind == kind && (near(b.WantedBytes, l.WantedBytes) || b.WantedBytes == l.WantedBytes)
		})
		if l.Kind == kind && !again {
			f := find(l)
			f.Severity, f.Evidence = Error, Measured
			out = append(out, f)
		}
	}
	return out
}

// near tells whether two sizes are the same but for what a text with two decimals
// of GiB, or rounding up to 256 bytes, leaves out.
func near(a, b measure.Bytes) bool {
	d := a - b
	return a > 0 && b > 0 && max(d, -d) <= max(256, min(b/200, 6<<20))
}
