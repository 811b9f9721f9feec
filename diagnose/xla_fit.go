package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// limit is the memory that a program may take, and who says so.
type limit struct {
	bytes measure.Bytes
	says  string
	// fraction tells that a larger share of the device is a way out: the limit is
	// the allocator's.
	fraction bool
	// hard is 0 where the limit is; else the limit only steers the compiler, and a
	// program above hard cannot run.
	hard measure.Bytes
	// guess tells that the limit is what such devices have as a rule.
	guess bool
}

// deviceOf gives the memory of the GPU that a message of XLA's rematerialization is
// about. The limit that XLA aims at is (80 % of the device - io) × 95 %, where io are
// arguments and outputs, donated ones once: GetSchedulerMemoryLimit in
// xla/service/gpu/gpu_hlo_schedule.cc and xla_gpu_memory_limit_slop_factor (95 unless it
// is set). The message shows that limit with the outputs added: jaxlib 0.10.2 for an H100
// of 84,929,347,584 B prints it so to the byte. The log does not say which module it is
// of; the largest is taken.
func deviceOf(l measure.LogFact, modules []module) measure.Bytes {
	var p plan
	for i := range modules {
		if q := modules[i].space(device); i == 0 || q.size("plan.need_bytes") > p.size("plan.need_bytes") {
			p = q
		}
	}
	if p.module == nil {
		return 0
	}
	out := p.size("plan.output_bytes")
	io := p.size("plan.argument_bytes") + out - p.size("plan.donated_bytes")
	return measure.Bytes((float64(l.LimitBytes-out)/0.95 + float64(io)) / 0.80)
}

// limits gives what is known of the memory that the module may take, the surest first.
func limits(in Input, m *module) (out []limit) {
	if in.DeviceMemory > 0 {
		out = append(out, limit{bytes: in.DeviceMemory, says: "the device's memory, as the command line says"})
	}
	for _, f := range in.Head.Facts.Dryrun {
		if f.MemoryBytes > 0 && f.About(m.labels, in.Head.Facts.Dryrun) {
			out = append(out, limit{bytes: f.MemoryBytes, says: "the memory of " + cmp.Or(f.Device, "the device") + " that the program was compiled for"})
		}
	}
	for _, l := range in.Head.Facts.Logs {
		switch {
		case l.Kind == measure.LogHBM && l.LimitBytes > 0:
			out = append(out, limit{bytes: l.LimitBytes, says: fmt.Sprintf("available HBM, by %s:%d", l.File, l.Line)})
		case l.Kind == measure.LogRemat:
			aim := max(l.LimitBytes, 0)
			most := max(aim, deviceOf(l, in.modules))
			if most > 0 {
				out = append(out, limit{bytes: cmp.Or(aim, most), hard: most, says: fmt.Sprintf("what XLA's rematerialization aims at on a device of about %s, by %s:%d", most, l.File, l.Line)})
			}
		}
	}
	out = append(out, runtimeLimits(in, m)...)
	if l, ok := usualLimit(in.Head.Environment["device"]); ok && len(out) == 0 {
		out = append(out, l)
	}
	if len(out) == 0 && in.Head.Environment["device"] == "" {
		out = append(out, limit{bytes: commonMemory, guess: true, says: "what an A100 or H100 with 80 GB has"})
	}
	return out
}

// commonMemory is that of the GPUs which most programs are made for, 80 GB: what CUDA
// reports of an H100 80GB HBM3. Where a file names no device, a program above it is told.
const commonMemory = 84_929_347_584

// usualMemory is what devices have for programs, by the name that a profile gives them.
//
// TPUs: hbm_capacity_bytes of jax/_src/pallas/mosaic/tpu_info.py, in whole GiB; of v2, v3
// and 7x, whose cores are devices of their own, that of one core, and of v4 and v5p that of
// the chip. NVIDIA: a profile gives the compute capability alone, so it is the largest of
// https://developer.nvidia.com/cuda-gpus that has it (V100, Quadro RTX 8000, A100, A40, L40S,
// GH200). AMD: the digits are those of gfx942 (MI325X; MI300X has 192) and gfx950 (MI355X),
// https://rocm.docs.amd.com/en/latest/reference/gpu-arch-specs.html.
var usualMemory = []struct {
	name string // or how it begins
	gib  measure.Bytes
}{
	{"TPU v2", 8}, {"TPU v3", 16}, {"TPU v4 lite", 8}, {"TPU v4", 32}, {"TPU v5 lite", 16}, {"TPU v5e", 16}, {"TPU v5", 96},
	{"TPU v6 lite", 32}, {"TPU v6e", 32}, {"TPU7x", 96},
	{"compute 7.0", 32}, {"compute 7.5", 48}, {"compute 8.0", 80}, {"compute 8.6", 48}, {"compute 8.9", 48}, {"compute 9.0", 144},
	{"AMD compute 9.4", 256}, {"AMD compute 9.5", 288},
}

// usualLimit gives the memory that a device of this name has as a rule.
func usualLimit(name string) (l limit, ok bool) {
	bare := strings.TrimPrefix(name, "Nvidia ") // TensorFlow's profiles of 2020 name no vendor
	for _, u := range usualMemory {
		if len(bare) >= len(u.name) && strings.EqualFold(bare[:len(u.name)], u.name) {
			return limit{bytes: u.gib << 30, guess: true, says: fmt.Sprintf("what %s has as a rule", name)}, true
		}
	}
	return limit{}, false
}

// remedy is what to do about the largest part of what is live.
type remedy struct{ words, fix, cost string }

var remedies = map[string]remedy{
	"argument":     {"arguments (weights, optimizer state, inputs)", "shard the state (FSDP), keep it in fewer bits, or offload it", "communication; a change of numerics"},
	"output":       {"outputs with memory of their own", donationFix, donationCost},
	"forward_kept": {"made by the forward pass and kept for the backward pass", rematFix, rematCost},
	"backward":     {"of the backward pass", "shard the gradients (FSDP) or accumulate them over micro-batches", "communication, or more steps for one batch"},
	"workspace":    {"workspace of library calls", "limit autotuning or the workspace of the library calls", "a slower algorithm may be chosen"},
	"temp":         {"intermediates of one pass", "compute the largest in chunks (loss, attention), or take a smaller batch", "more, smaller kernels"},
}

// largestClass is the class that holds most of the plan, with its bytes. Outputs
// without a donation count with the arguments that could be donated to them.
func largestClass(p plan) (class string, n measure.Bytes) {
	if d := p.fact.Donation; d != nil && d.Donated == 0 && 4*d.MissingBytes >= p.size("plan.need_bytes") {
		return "output", d.MissingBytes
	}
	classes := slices.Clone(p.fact.Classes)
	slices.SortStableFunc(classes, func(a, b measure.PlanClass) int { return cmp.Compare(b.Bytes, a.Bytes) })
	for _, c := range classes {
		if _, ok := remedies[c.Class]; ok {
			return c.Class, c.Bytes
		}
	}
	return "", 0
}

var fitRules = []Rule{
	{
		Name: "does-not-fit", Family: "xla",
		Doc: "One execution alone needs more than there is, by the allocator's limit, the compiler's, or the compiler's message; where none is known, than such a device has as a rule (inferred; 80 GB where the file names no device). The finding names the largest part of the plan and its fix, and says whether the saving is enough. More memory for the process (XLA_PYTHON_CLIENT_MEM_FRACTION) helps only where the device has it.",
		Find: func(in Input) (out []measure.Finding) {
			for _, m := range in.modules {
				p := m.space(device)
				need := p.size("plan.need_bytes")
				for _, l := range limits(in, &m) {
					if need <= l.bytes {
						continue
					}
					f := m.finding(Error, Measured, "one execution does not fit: it needs %s > %s (%s), %s too much", need, l.bytes, l.says, need-l.bytes)
					if class, n := largestClass(p); class != "" {
						r := remedies[class]
						f.Fix, f.Cost = r.fix, r.cost
						f.Text += fmt.Sprintf("; mostly %s: %s", r.words, n)
						if class == "output" {
							d := p.fact.Donation
							f.Text = fmt.Sprintf("one execution does not fit: it needs %s > %s (%s), %s too much; %s of parameters + %s of outputs, %d donated; the temp block is only %s",
								need, l.bytes, l.says, need-l.bytes, mib(p.size("plan.argument_bytes")), mib(p.size("plan.unaliased_output_bytes")), d.Donated, mib(p.size("plan.temp_bytes")))
						}
						if class != "argument" && class != "temp" && class != "backward" {
							f.SavingBytes = n
							f.Text += "; " + enough(need-n, l.bytes)
						}
						if hs := p.holders(ofClass(class)); len(hs) > 0 {
							f.Source = hs[0].Source
						}
					}
					if l.guess {
						f.Severity, f.Evidence, f.Text = Warning, Inferred, strings.Replace(f.Text, "does not fit", "may not fit", 1)
						f.Text += "; the limit of this run is not known: give --device-memory, or --log with what was printed"
					}
					if l.hard > 0 {
						f.Evidence = Inferred
						if need <= l.hard {
							f.Severity, f.Text = Warning, strings.Replace(f.Text, "does not fit", "may not fit", 1)
						}
					}
					if l.fraction {
						f.Fix += "; a larger XLA_PYTHON_CLIENT_MEM_FRACTION, if the device has room"
					}
					out = append(out, f)
					break
				}
			}
			return out
		},
	},
}

// enough says whether a need after the best case of a fix is within a limit.
func enough(need, limit measure.Bytes) string {
	if need <= limit {
		return fmt.Sprintf("at best %s would be left: it fits", need)
	}
	return fmt.Sprintf("at best %s would be left: not enough alone", need)
}

// mib writes whole MiB with separators, as tables of plans do: "1,902 MiB".
func mib(b measure.Bytes) string {
	s := fmt.Sprintf("%d", (int64(b)+1<<19)>>20)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s + " MiB"
}
