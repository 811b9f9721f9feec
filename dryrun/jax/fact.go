package jax

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
)

const (
	// fraction is the part of a GPU's memory that JAX takes at its start unless
	// XLA_PYTHON_CLIENT_MEM_FRACTION says otherwise.
	// https://docs.jax.dev/en/latest/gpu_memory_allocation.html
	fraction = 0.75
	// margin is the part of a TPU's memory that is left for what no plan has: code of
	// programs, 1 % of 16 GB for a model of four layers, and arrays that wait.
	margin = 0.025
)

// fact tells how far the plan can be trusted, and whether it fits.
func (r *run) fact(end dryrun.End, plan error) measure.DryrunFact {
	f := measure.DryrunFact{
		Framework: dryrun.JAX, Class: measure.DryrunExact, Device: r.label, Devices: r.answer.Devices,
		MemoryBytes: cmp.Or(measure.Bytes(r.spec.Memory), r.memory),
	}
	full := outOfMemory(r.answer.Error)
	switch {
	// What fails after a plan of these is the generation of code, which nobody waits for.
	case r.planned && (r.answer.Error == "" || full || r.platform != tpu):
		r.fit(&f)
	default:
		f.Class = measure.DryrunDidNotRun
		f.Reasons = []measure.DryrunReason{{Text: r.why(end, plan), Source: r.spec.Source(r.answer.Place)}}
	}
	if full {
		f.Fits, f.FitsReason = measure.FitsNo, dryrun.FirstLine(r.answer.Error)
	}
	if f.Class == measure.DryrunExact && r.platform == cuda {
		f.Class = measure.DryrunAssumption
		f.Reasons = []measure.DryrunReason{{Text: "on its device XLA times the kernels of matrix products and convolutions and may choose others, with other workspaces; here it takes the default ones"}}
		if f.Devices > 1 {
			f.Reasons = append(f.Reasons, measure.DryrunReason{Text: "the buffers of NCCL, which joins the devices, are in no plan"})
		}
	}
	return f
}

// outOfMemory tells what XLA says when a program does not fit, of any memory.
func outOfMemory(text string) bool {
	return strings.Contains(text, "RESOURCE_EXHAUSTED") || strings.Contains(text, "Ran out of memory")
}

// fit compares what one execution needs with what programs have.
func (r *run) fit(f *measure.DryrunFact) {
	if f.MemoryBytes == 0 {
		return
	}
	usable, rest := measure.Bytes(float64(f.MemoryBytes)*(1-margin)), "the rest is for the program's code and for arrays that wait"
	if r.platform == cuda {
		part := r.fraction()
		usable, rest = measure.Bytes(float64(f.MemoryBytes)*part), fmt.Sprintf("JAX takes %g %% of a GPU's memory; XLA_PYTHON_CLIENT_MEM_FRACTION changes that", 100*part)
	}
	switch {
	case r.need > f.MemoryBytes:
		f.Fits, f.FitsReason = measure.FitsNo, fmt.Sprintf("one execution needs %s, the device has %s", r.need, f.MemoryBytes)
	case r.need > usable:
		f.Fits, f.FitsReason = measure.FitsUnsure, fmt.Sprintf("one execution needs %s, of which %s of %s are sure: %s", r.need, usable, f.MemoryBytes, rest)
	default:
		f.Fits = measure.FitsYes
	}
}

// fraction is what JAX takes of a GPU, as the environment says.
func (r *run) fraction() float64 {
	for _, name := range []string{"XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION"} {
		if n, err := strconv.ParseFloat(dryrun.Variable(r.spec.Env, name), 64); err == nil && n > 0 && n <= 1 {
			return n
		}
	}
	return fraction
}

// why tells why there is no plan.
func (r *run) why(end dryrun.End, plan error) string {
	a, name := &r.answer, fmt.Sprintf("%.100q", r.spec.Argv[0])
	text := dryrun.FirstLine(a.Error)
	switch {
	case a.Stage == "":
		return fmt.Sprintf("%.100q did not begin: it %s; want a Python that has JAX", r.python, how(end))
	case !a.Ended:
		return fmt.Sprintf("the process %s while %s", how(end), a.doing(name))
	case plan != nil:
		return "the plan that XLA wrote cannot be read: " + plan.Error()
	case a.Refused:
		return name + ": " + text
	case a.Stage == "jax" && text != "":
		return "JAX cannot be imported: " + text + "; pip install jax, or name the Python that has it"
	case a.Stage == "device" && text != "":
		return fmt.Sprintf("JAX cannot make the device %s: %s%s", r.label, text, r.install())
	case text != "":
		return a.doing(name) + " failed: " + text
	}
	return "XLA was asked for a plan and wrote none; it may be that " + name + " sets XLA_FLAGS after its first use of JAX"
}

// doing is what the driver was at.
func (a *answer) doing(name string) string {
	switch a.Stage {
	case "jax":
		return "importing JAX"
	case "import":
		return "importing " + name
	case "device":
		return "making the device"
	case "function":
		return "calling " + name
	case "lower":
		return "tracing what " + name + " returns"
	case "compile":
		return "compiling what " + name + " returns"
	}
	return "at an unknown stage"
}

func how(end dryrun.End) string {
	switch {
	case end.TimedOut:
		return "ran past its time"
	case end.Signal != "":
		return "ended by " + end.Signal
	}
	return fmt.Sprintf("ended with exit code %d", end.Code)
}

// install tells which packages the device wants, if they are not there or too old.
func (r *run) install() string {
	v := r.answer.Versions
	switch {
	case strings.Contains(r.answer.Error, "GpuTargetConfigProto"):
		return "; GPUs want jax 0.6 or newer"
	case r.platform == tpu && (v["libtpu"] == "" || r.mismatch() != ""):
		return fmt.Sprintf("; pip install '%s'", cmp.Or(r.answer.Wanted, "libtpu"))
	case r.platform == cuda && (v[plugin] == "" || r.mismatch() != ""):
		return fmt.Sprintf("; pip install --no-deps %[1]s==%[3]s %[2]s==%[3]s", plugin, "jax-cuda12-pjrt", v["jaxlib"])
	}
	return ""
}

const plugin = "jax-cuda12-plugin"

// mismatch tells of packages that this jax does not ask for.
func (r *run) mismatch() string {
	a := &r.answer
	v, jax := a.Versions, a.Versions["jax"]
	begin, ok := strings.CutSuffix(strings.TrimPrefix(a.Wanted, "libtpu=="), "*")
	switch {
	case r.platform == tpu && v["libtpu"] != "" && ok && !strings.HasPrefix(v["libtpu"]+".", begin):
		return fmt.Sprintf("%s: libtpu %s is not the one that jax %s asks for: %s", r.label, v["libtpu"], jax, a.Wanted)
	case r.platform == cuda && v[plugin] != "" && v[plugin] != v["jaxlib"]:
		return fmt.Sprintf("%s: %s %s is not the one of jaxlib %s", r.label, plugin, v[plugin], v["jaxlib"])
	}
	return ""
}
