package measure

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// DryrunFact tells how far the numbers of a dry run can be trusted, and why.
type DryrunFact struct {
	Framework string `json:"framework"` // torch, jax or tf
	// Class is one of the classes below.
	Class string `json:"class"`
	// Reasons say why it is not exact; none where it is.
	Reasons []DryrunReason `json:"reasons,omitempty"`

	// Device names what was pretended: "h100", "v5e:2x2"; of PyTorch the compute
	// capability alone decides.
	Device      string `json:"device,omitempty"`
	Capability  string `json:"capability,omitempty"`
	Devices     int64  `json:"devices,omitempty"`
	MemoryBytes Bytes  `json:"memory_bytes,omitempty"`
	// ContextBytes of each device were held from the start, as a driver does.
	ContextBytes Bytes `json:"context_bytes,omitempty"`
	// ReservedBytes is the most that the allocator had from the device at one time. It
	// depends on addresses that only a real device gives out, and is not judged.
	ReservedBytes Bytes `json:"reserved_bytes,omitempty"`
	// Fits is one of the answers below; empty where it was not asked.
	Fits string `json:"fits,omitempty"`
	// FitsReason says why it does not fit, in the compiler's words where it has any, or
	// what is needed beyond the capture, where that is unsure.
	FitsReason string `json:"fits_reason,omitempty"`

	// Reads counts how often the program read a value from the device that nothing had
	// computed, ReadLines where; Kernels is how many were asked for and not run.
	Reads     int64        `json:"reads,omitempty"`
	ReadLines []DryrunRead `json:"read_lines,omitempty"`
	Kernels   int64        `json:"kernels,omitempty"`
	// Assumed is the value that each read gave because the budget says so.
	Assumed string `json:"assumed,omitempty"`
	// Unrepeatable tells that a run with the same values allocates otherwise: values that
	// nothing computed are not to blame.
	Unrepeatable bool `json:"unrepeatable,omitempty"`
	// Unsupported is the first call of a library that the pretend device cannot answer.
	Unsupported string `json:"unsupported,omitempty"`
}

// Classes of a dry run's result.
const (
	DryrunExact          = "exact"           // the bytes of this configuration
	DryrunAssumption     = "assumption"      // exact but for what the reasons name
	DryrunValueDependent = "value_dependent" // values that nothing computed steer the memory, or no two runs are alike
	DryrunDidNotRun      = "did_not_run"
)

// Judged tells whether the numbers may be held against a budget.
func (f *DryrunFact) Judged() bool {
	return f.Class == DryrunExact || f.Class == DryrunAssumption
}

// DryrunTells tells whether a dry run of a framework says anything of a metric. Of
// PyTorch it is what the program asks for: what is taken from the device depends on
// addresses that only a real one gives out. JAX is compiled and not run. The memory of
// the machine itself says nothing of a device.
func DryrunTells(framework, metric string) bool {
	kind, _, _ := strings.Cut(metric, ".")
	switch framework {
	case "torch":
		return slices.Contains([]string{"live", "oom", "growth"}, kind)
	case "jax":
		return kind == "plan"
	}
	return !slices.Contains([]string{"footprint", "process", "descriptor"}, kind)
}

// About tells whether a row with these labels is from this dry run: of several, each
// was for a device of its own.
func (f *DryrunFact) About(labels Labels, of []DryrunFact) bool {
	return len(of) == 1 || f.Device == "" || f.Device == labels["device"]
}

// DryrunClass is that of the run that can be trusted least; empty where there is none.
func DryrunClass(facts []DryrunFact) string {
	classes := []string{DryrunExact, DryrunAssumption, DryrunValueDependent, DryrunDidNotRun}
	worst, least := "", -1
	for _, f := range facts {
		i := slices.Index(classes, f.Class)
		if i < 0 {
			i = len(classes) // of a later version: nothing is known of it
		}
		if i > least {
			worst, least = f.Class, i
		}
	}
	return worst
}

// DescribeDryrun writes what decides the numbers of dry runs into the environment, so
// that only like is compared with like. What it said of dry runs before is gone.
func (e Environment) DescribeDryrun(facts []DryrunFact) {
	maps.DeleteFunc(e, func(k, _ string) bool { return strings.HasPrefix(k, dryrunPrefix) })
	for _, f := range facts {
		for name, value := range map[string]string{
			"framework": f.Framework, "device": f.Device, "capability": f.Capability, "assumed": f.Assumed,
			"devices": exactCount(f.Devices), "memory": exactBytes(f.MemoryBytes), "context": exactBytes(f.ContextBytes),
		} {
			have, ok := e[dryrunPrefix+name]
			switch {
			case value == "" || ok && slices.Contains(strings.Split(have, ", "), value):
			case ok:
				e[dryrunPrefix+name] = have + ", " + value
			default:
				e[dryrunPrefix+name] = value
			}
		}
	}
	if class := DryrunClass(facts); class != "" {
		e[dryrunPrefix+"class"] = class
	}
}

func exactCount(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func exactBytes(n Bytes) string {
	if n == 0 {
		return ""
	}
	return n.Exact()
}

// Whether a dry run fits the device: surely, not at all, or only without the margin
// that the context and the reserved bytes of a real one need.
const (
	FitsYes    = "yes"
	FitsNo     = "no"
	FitsUnsure = "unsure"
)

// DryrunReason is one thing that keeps a result from being exact.
type DryrunReason struct {
	Text   string  `json:"text"`
	Source *Source `json:"source,omitempty"` // the user's line
}

// DryrunRead is a line that reads values from the device.
type DryrunRead struct {
	Source   *Source `json:"source,omitempty"` // the user's line; absent where none is known
	Function string  `json:"function,omitempty"`
	Count    int64   `json:"count"`
	Bytes    Bytes   `json:"bytes"` // of one read
	// Waits tells that the program was ended here: it read again and again.
	Waits bool `json:"waits,omitempty"`
}
