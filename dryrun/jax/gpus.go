package jax

import (
	"fmt"

	"github.com/peakgate/peakgate/measure"
)

// gpu is what XLA's compiler wants to know of a GPU beside what all have in common. The
// numbers are those that CUDA reports: of the H100 as one printed them, of the others
// from xla/backends/gpu/target_config/specs (a100_sxm_80, h200, b200) of 2026.
type gpu struct {
	name       string
	capability int // major
	cores      int // multiprocessors
	units      int // for 32-bit arithmetic, of a multiprocessor
	// shared is the on-chip memory of a multiprocessor, of which one block can have all
	// but 1 KiB.
	shared    int
	cache     int     // L2, bytes
	bandwidth int64   // bytes per second
	clock     float64 // GHz
	memory    measure.Bytes
}

var gpus = map[string]gpu{
	"a100": {"NVIDIA A100-SXM4-80GB", 8, 108, 64, 167_936, 41_943_040, 2_039_040_000_000, 1.41, 85_100_068_864},
	"h100": {"NVIDIA H100 80GB HBM3", 9, 132, 128, 233_472, 52_428_800, 3_352_320_000_000, 1.98, 84_929_347_584},
	"h200": {"NVIDIA H200 141GB HBM3e", 9, 132, 128, 233_472, 52_428_800, 4_800_000_000_000, 1.98, 151_397_597_184},
	"b200": {"NVIDIA B200", 10, 148, 128, 233_472, 132_644_864, 7_672_320_000_000, 1.965, 191_514_411_008},
}

// description is the text of a GpuTargetConfigProto
// (xla/stream_executor/device_description.proto) for CUDA 12.8 and cuDNN 9.7.
func (g gpu) description() string {
	return fmt.Sprintf(`gpu_device_info {
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: %d
  threads_per_core_limit: 2048
  core_count: %d
  fpus_per_core: %d
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: %d
  l2_cache_size: %d
  clock_rate_ghz: %g
  device_memory_size: %d
  shared_memory_per_block_optin: %d
  cuda_compute_capability { major: %d }
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}
runtime_version { major: 12 minor: 8 patch: 0 }
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 7 }
device_description_str: "%s"
`, g.shared, g.cores, g.units, g.bandwidth, g.cache, g.clock, int64(g.memory), g.shared-1024, g.capability, g.name)
}
