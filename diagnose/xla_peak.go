package diagnose

import (
	"fmt"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

const (
	rematFix  = "wrap the block in jax.checkpoint (or a tighter policy), take a smaller micro-batch with gradient accumulation, or a shorter sequence"
	rematCost = "about one more forward pass of the wrapped block"
)

// heavy is the share of the heap peak, in percent, from which a class of buffers
// is worth a finding of its own.
const heavy = 30

// peakClass makes the rule for one class of live buffers.
func peakClass(name, class, metric, doc, words string, least float64, fill func(*measure.Finding, plan, []measure.PlanHolder)) Rule {
	return Rule{Name: name, Family: "xla", Standing: true, Doc: doc, Find: func(in Input) (out []measure.Finding) {
		for _, m := range in.modules {
			for _, p := range m.plans {
				n, peak := p.size(metric), p.size("plan.heap_peak_bytes")
				if p.space != device || n < 1<<20 || share(n, peak) < least {
					continue
				}
				hs := p.holders(ofClass(class))
				f := m.finding(Warning, Inferred, "%.1f %% of the heap peak, %s of %s, is %s: %s", share(n, peak), n, peak, words, list(hs, held))
				if len(hs) > 0 {
					f.Source = hs[0].Source
				}
				fill(&f, p, hs)
				out = append(out, f)
			}
		}
		return out
	}}
}

var peakRules = []Rule{
	peakClass("forward-kept", "forward_kept", "plan.forward_kept_bytes",
		"Most of what is live at the heap peak was made by the forward pass and is kept for the backward pass: activations, which grow with batch and sequence. The saving is all of it: what a checkpoint keeps at its edges comes off.",
		"made by the forward pass and kept for the backward pass", heavy,
		func(f *measure.Finding, p plan, hs []measure.PlanHolder) {
			f.Fix, f.Cost, f.SavingBytes = rematFix, rematCost, p.size("plan.forward_kept_bytes")
			if n, shape := squares(hs); n > 0 {
				f.Text += fmt.Sprintf("; %s of it is quadratic in one dimension (%s: half of it takes a quarter)", n, shape)
				f.Fix += "; check that a fused attention takes these out of the plan"
			}
		}),
	peakClass("backward", "backward", "plan.backward_bytes",
		"Most of what is live at the heap peak is of the backward pass: gradients and their temporaries.",
		"of the backward pass (gradients and their temporaries)", heavy,
		func(f *measure.Finding, p plan, hs []measure.PlanHolder) {
			f.Fix = "shard the gradients (FSDP) or accumulate them over micro-batches"
			f.Cost = "communication, or more steps for one batch"
			if n := wideGradients(p, hs); n > 0 {
				f.Text += fmt.Sprintf("; %s of it is f32 while parameters are bf16", n)
				f.Fix += "; keep gradients of bf16 parameters in bf16"
				f.SavingBytes = n / 2
			}
		}),
	peakClass("workspace", "workspace", "plan.workspace_bytes",
		"Workspace of library calls (GEMM, convolution) takes a notable part of the heap peak. On ROCm it is 64 MiB for each hipBLASLt GEMM (gfx950).",
		"workspace of library calls", 10,
		func(f *measure.Finding, p plan, _ []measure.PlanHolder) {
			f.Fix, f.Cost, f.SavingBytes = "limit autotuning or the workspace (--xla_gpu_autotune_level, --xla_gpu_enable_cublaslt), and check which call asks for it", "a slower algorithm may be chosen", p.size("plan.workspace_bytes")
		}),
	{
		Name: "state", Family: "xla", Standing: true,
		Doc: "Most of the need is the arguments: weights, optimizer state, inputs. Adam in f32 keeps 12 bytes for each parameter.",
		Find: func(in Input) (out []measure.Finding) {
			for _, m := range in.modules {
				p := m.space(device)
				n, need := p.size("plan.argument_bytes"), p.size("plan.need_bytes")
				if n < 1<<30 || share(n, need) < 50 {
					continue
				}
				f := m.finding(Note, Measured, "%.1f %% of the need, %s of %s, is arguments (weights, optimizer state, inputs): %s", share(n, need), n, need, list(p.holders(ofClass("argument")), held))
				f.Fix, f.Cost = "shard the state over devices (FSDP), keep optimizer moments in bf16 or factored, or offload them to the host", "communication; a change of numerics"
				out = append(out, f)
			}
			return out
		},
	},
	{
		Name: "padding-heavy", Family: "xla",
		Doc: "Tiling blows buffers up: TPU lays the last two dimensions out in tiles of 8×128, so a dimension of 1 to 4 takes 32 to 128 times its bytes. Arguments and outputs count too, which XProf's padding overhead leaves out; both numbers are given.",
		Find: func(in Input) (out []measure.Finding) {
			for _, m := range in.modules {
				for _, p := range m.plans {
					if p.space != device && p.space != host {
						continue
					}
					hs := p.holders(func(h measure.PlanHolder) bool {
						return padding(h) >= 1<<20 && h.Bytes >= 2*h.UnpaddedBytes && notable(padding(h), p.size("plan.need_bytes"))
					})
					if len(hs) == 0 {
						continue
					}
					var sum measure.Bytes
					for _, h := range hs {
						sum += padding(h)
					}
					f := m.finding(Warning, Measured, "padding takes %s in %s: %s; largest: %.1f times its values (padding by XProf's count, without arguments and outputs: %s)",
						sum, plural(int64(len(hs)), "group of buffers", "groups of buffers"), list(hs, padding), float64(hs[0].Bytes)/float64(max(1, hs[0].UnpaddedBytes)), viewer(p))
					f.Fix, f.Cost, f.SavingBytes, f.Source = "let the last dimension be large: merge or transpose small trailing dimensions (…,8,4 to …,32), or pad batch into them", "a reshape or transpose where the array is made", sum, hs[0].Source
					out = append(out, f)
				}
			}
			return out
		},
	},
	{
		Name: "checkpoint-without-effect", Family: "xla",
		Doc: "The program wraps functions in jax.checkpoint, but nothing in the compiled module computes them again: the compiler merged the second computation with the first (the CPU backend does), or the policy keeps everything.",
		Find: func(in Input) (out []measure.Finding) {
			for _, m := range in.modules {
				kept := m.all("plan.forward_kept_bytes")
				if m.fact.Scopes == 0 || m.fact.Checkpointed > 0 || kept < 1<<20 || share(kept, m.all("plan.heap_peak_bytes")) < 10 {
					continue
				}
				f := m.finding(Warning, Inferred, "jax.checkpoint has no effect: %s in wrapped functions, none is computed again, and %s of the forward pass is kept", plural(m.fact.Scopes, "instruction is", "instructions are"), kept)
				f.Fix, f.Cost, f.SavingBytes = "check the policy, and prevent_cse=True outside of lax.scan; the CPU backend drops it", rematCost, kept
				out = append(out, f)
			}
			return out
		},
	},
	{
		Name: "fragmentation", Family: "xla", Standing: true,
		Doc: "The temp block is notably larger than the live buffers in it ever are: gaps between live ranges. Not a leak; a smaller largest buffer helps.",
		Find: func(in Input) (out []measure.Finding) {
			for _, m := range in.modules {
				p := m.space(device)
				n, temp := p.size("plan.fragmentation_bytes"), p.size("plan.temp_bytes")
				if n < 16<<20 || share(n, temp) < 10 {
					continue
				}
				f := m.finding(Note, Measured, "%.1f %% of the temp block, %s of %s, is gaps between live buffers", share(n, temp), n, temp)
				f.Fix, f.Cost, f.SavingBytes = "split the largest buffers (chunk the loss or the attention): they leave the gaps", "more, smaller kernels", n
				out = append(out, f)
			}
			return out
		},
	},
	{
		Name: "xla-remat", Family: "xla",
		Doc: "XLA's own rematerialization ran: the plan met the memory limit. Expect the fix from the program, not from XLA.",
		Find: func(in Input) (out []measure.Finding) {
			for _, m := range in.modules {
				if n, ok := m.row("plan.remat_instructions", m.labels); ok && n > 0 {
					f := m.finding(Note, Measured, "XLA already rematerialized %s to come under its memory limit: the rest must come from the program", plural(n, "instruction", "instructions"))
					f.Fix = rematFix
					out = append(out, f)
				}
			}
			return out
		},
	},
}

func viewer(p plan) string {
	if n, ok := p.bytes("plan.viewer_padding_bytes"); ok {
		return n.String()
	}
	return "unknown"
}

// squares sums the holders whose last two dimensions are equal and large, in
// arrays of four dimensions or more: attention's B·H·S·S.
func squares(hs []measure.PlanHolder) (sum measure.Bytes, shape string) {
	for _, h := range hs {
		_, dims := parseShape(h.Shape)
		if n := len(dims); n >= 4 && dims[n-1] == dims[n-2] && dims[n-1] >= 128 {
			if sum += h.Bytes; shape == "" {
				shape = h.Shape
			}
		}
	}
	return sum, shape
}

// wideGradients sums the f32 holders where the module's large parameters are bf16.
func wideGradients(p plan, hs []measure.PlanHolder) (sum measure.Bytes) {
	half := 0
	for _, s := range p.module.fact.Parameters {
		if strings.HasPrefix(s, "bf16[") {
			half++
		}
	}
	if 2*half < len(p.module.fact.Parameters) || half == 0 {
		return 0
	}
	for _, h := range hs {
		if strings.HasPrefix(h.Shape, "f32[") {
			sum += h.Bytes
		}
	}
	return sum
}
