package jax

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/peakgate/peakgate/dryrun"
	"github.com/peakgate/peakgate/measure"
)

// Platforms as JAX names them.
const (
	cpu  = "cpu"
	cuda = "cuda"
	tpu  = "tpu"
)

// device is one that can be compiled for.
type device struct {
	name, platform string
	// topology is the smallest there is, and what is taken where none is named.
	topology string
	// memory is what programs have of one device; 0 where nothing is known.
	memory measure.Bytes
}

// devices are the known ones. The memory of a GPU is all that the driver reports of it.
// That of a TPU is what libtpu 0.0.42.1 tells a program that is too large ("exceeds
// available HBM (15.75G)"), which is given in hundredths of a GiB. A device of v3 and
// tpu7x is a core, half a chip; one of v4 is a chip.
var devices = []device{
	{"a100", cuda, "1", gpus["a100"].memory},
	{"h100", cuda, "1", gpus["h100"].memory},
	{"h200", cuda, "1", gpus["h200"].memory},
	{"b200", cuda, "1", gpus["b200"].memory},
	{"v3", tpu, "2x2", 1548 << 30 / 100},
	{"v4", tpu, "2x2x1", 3075 << 30 / 100},
	{"v5e", tpu, "2x2", 1575 << 30 / 100},
	{"v5p", tpu, "2x2x1", 9574 << 30 / 100},
	{"v6e", tpu, "2x2", 3125 << 30 / 100},
	{"tpu7x", tpu, "2x2x1", 9475 << 30 / 100},
	{"cpu", cpu, "1", 0},
}

// target is a device in a topology.
type target struct {
	device
	label string // as the user wrote it
	dims  []int  // of the topology
}

var sides = regexp.MustCompile(`^[1-9][0-9]{0,3}(x[1-9][0-9]{0,3}){0,2}$`)

// parseTarget reads NAME or NAME:TOPOLOGY.
func parseTarget(text string) (target, error) {
	name, topology, named := strings.Cut(text, ":")
	var names []string
	for _, d := range devices {
		names = append(names, d.name)
		if d.name != name {
			continue
		}
		if !named {
			topology = d.topology
		}
		// Of GPUs 8, 2x8 and 1x2x8 are right.
		like := d.platform == cuda || strings.Count(topology, "x") == strings.Count(d.topology, "x")
		if !like || !sides.MatchString(topology) {
			return target{}, dryrun.Wrong("device %.60q: want a topology such as %s:%s, found %.60q", text, d.name, d.topology, topology)
		}
		t := target{device: d, label: text}
		for side := range strings.SplitSeq(topology, "x") {
			n, _ := strconv.Atoi(side)
			t.dims = append(t.dims, n)
		}
		return t, nil
	}
	return target{}, dryrun.Wrong("device %.60q: want %s or one of them with a topology, such as v5e:4x4; found %.60q", text, strings.Join(names, ", "), name)
}

// file is the name of the target's files.
func (t *target) file() string { return strings.ReplaceAll(t.label, ":", "-") }

// topology is what JAX's get_topology_desc is asked for, and with which options.
func (t *target) topology() (name string, options map[string]any) {
	switch t.platform {
	case cuda:
		// Slices, hosts of each, devices of each.
		dims := append([]int{1, 1}, t.dims...)
		return t.name, map[string]any{"target_config": gpus[t.name].description(), "topology": join(dims[len(dims)-3:])}
	case tpu:
		options = map[string]any{}
		// A host has 2×2 chips; a topology that is smaller is of a part of one.
		bounds, small := []int{1, 1, 1}, false
		for i, n := range t.dims[:2] {
			bounds[i] = min(n, 2)
			small = small || n < 2
		}
		if small {
			options["chips_per_host_bounds"] = bounds
		}
		if t.name == "v4" {
			options["chip_config_name"] = "megacore" // the two cores of a chip are one device, as on Cloud TPUs
		}
		return t.name + ":" + join(t.dims), options
	}
	return t.name, map[string]any{}
}

// flags are XLA's for this target, beside those of the dump.
func (t *target) flags() string {
	switch t.platform {
	case cuda:
		// Nothing can be timed, and no code is generated: without the second, XLA of 2025
		// does not begin where there is no ptxas.
		return " --xla_gpu_autotune_level=0 --xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found=true"
	case cpu:
		return fmt.Sprintf(" --xla_force_host_platform_device_count=%d", t.dims[0])
	}
	return ""
}

// environment is what JAX's plugin wants in order to work without its device. Its logs go
// to a folder.
func (t *target) environment(dir string) map[string]string {
	env := map[string]string{"JAX_PLATFORMS": "cpu", "JAX_ENABLE_COMPILATION_CACHE": "false"}
	switch t.platform {
	case cuda:
		env["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
	case tpu:
		env["TPU_SKIP_MDS_QUERY"] = "1"
		env["TPU_WORKER_HOSTNAMES"] = "localhost"
		env["TPU_ACCELERATOR_TYPE"] = "v5litepod-4" // of the machine; the topology alone counts
		env["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"
		env["TPU_LOG_DIR"] = dir // else each run leaves files in /tmp/tpu_logs
	}
	return env
}

func join(dims []int) string {
	text := make([]string, len(dims))
	for i, n := range dims {
		text[i] = strconv.Itoa(n)
	}
	return strings.Join(text, "x")
}
