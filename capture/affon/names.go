package affon

import (
	"strings"

	"github.com/peakgate/peakgate/measure"
)

// signal is one number of a snapshot, whatever its name was in that generation.
type signal int

const (
	liveCPU signal = iota
	liveMetal
	liveCUDA
	peakCPU
	peakMetal
	peakCUDA
	poolHits
	poolMisses
	poolDrops
	poolTrims
	poolLive
	poolBuffers
	poolPeak
	deviceMetal
	deviceCUDA
	regionHostOwned
	regionHostScratch
	regionCPUOwned
	regionCPUScratch
	regionPool
	regionScratch
	qjsHeap
	allocatorActive
	allocatorPeak
	resident
	footprint
	footprintPeak
	toHostBytes
	fromHostBytes
	fixupBytes
	fusionFallbacks
	signals // how many there are
)

// canon names each signal in facts: the name of the newest generation.
var canon = [signals]string{
	liveCPU: measure.AffonLiveCPU, liveMetal: measure.AffonLiveMetal, liveCUDA: measure.AffonLiveCUDA,
	peakCPU: "peak_cpu_bytes", peakMetal: "peak_metal_bytes", peakCUDA: "peak_cuda_bytes",
	poolHits: measure.AffonPoolHits, poolMisses: measure.AffonPoolMisses, poolDrops: measure.AffonPoolDrops, poolTrims: measure.AffonPoolTrims,
	poolLive: measure.AffonPoolLive, poolBuffers: "device_pool_live_buffer_count", poolPeak: measure.AffonPoolPeak,
	deviceMetal: measure.AffonDeviceMetal, deviceCUDA: measure.AffonDeviceCUDA,
	regionHostOwned: "region_host_owned_bytes", regionHostScratch: "region_host_scratch_bytes",
	regionCPUOwned: "region_cpu_owned_bytes", regionCPUScratch: measure.AffonScratchCPU,
	regionPool: "region_metal_pool_bytes", regionScratch: measure.AffonScratchMetal,
	qjsHeap: measure.AffonHeap, allocatorActive: measure.AffonAllocator, allocatorPeak: "allocator_peak_bytes",
	resident: measure.AffonResident, footprint: measure.AffonFootprint, footprintPeak: "physical_footprint_peak_bytes",
	toHostBytes: measure.AffonToHost, fromHostBytes: measure.AffonFromHost,
	fixupBytes: measure.AffonFixups, fusionFallbacks: measure.AffonFallbacks,
}

// isCount tells the signals that are no bytes.
func (s signal) isCount() bool { return strings.HasSuffix(canon[s], "_count") }

// counter tells the signals that only rise while a process lives.
func (s signal) counter() bool {
	switch s {
	case poolHits, poolMisses, poolDrops, poolTrims, toHostBytes, fromHostBytes, fixupBytes, fusionFallbacks:
		return true
	}
	return false
}

// known is what a name stands for. Generations: 0 is the first registry, 1 the
// first std:telemetry, 2 the names metal_pool_*, 3 the names device_pool_*. A name
// that several generations have counts as the oldest.
type known struct {
	signal     signal
	generation int
}

// ambiguous are names that say one thing of storage and another of the pool.
var ambiguous = map[string]bool{"owned.current_bytes/live_bytes": true, "owned.peak_bytes/peak_bytes": true}

// names maps SCOPE/NAME to what it stands for.
var names = func() map[string]known {
	table := map[string]known{}
	add := func(generation int, scope string, list map[string]signal) {
		for name, s := range list {
			table[scope+"/"+name] = known{s, generation}
		}
	}
	add(0, "allocator.events", map[string]signal{"hits": poolHits, "misses": poolMisses, "drops": poolDrops, "trims": poolTrims})
	add(0, "owned.current_count", map[string]signal{"live_buffers": poolBuffers})
	add(0, "owned.current_bytes", map[string]signal{
		"live_cpu_bytes": liveCPU, "live_metal_bytes": liveMetal, "live_cpu_owned_bytes": regionCPUOwned,
		"live_cpu_scratch_bytes": regionCPUScratch, "live_metal_pool_bytes": regionPool, "live_metal_scratch_bytes": regionScratch})
	add(0, "observed.current_bytes", map[string]signal{"physical_footprint": footprint})
	add(1, "compute.execution", map[string]signal{"fusion_fallback": fusionFallbacks})
	add(1, "compute.memory", map[string]signal{
		"metal_pool_hits": poolHits, "metal_pool_misses": poolMisses, "metal_pool_drops": poolDrops, "metal_pool_trims": poolTrims,
		"metal_pool_live_buffers": poolBuffers, "region_compute_host_owned_bytes": regionHostOwned,
		"region_compute_host_scratch_bytes": regionHostScratch, "region_compute_cpu_owned_bytes": regionCPUOwned,
		"region_compute_cpu_scratch_bytes": regionCPUScratch, "region_compute_metal_pool_bytes": regionPool,
		"region_compute_metal_scratch_bytes": regionScratch})
	for generation, prefix := range map[int]string{2: "metal_pool_", 3: "device_pool_"} {
		add(generation, "compute.memory", map[string]signal{
			prefix + "hit_count": poolHits, prefix + "miss_count": poolMisses, prefix + "drop_count": poolDrops, prefix + "trim_count": poolTrims,
			prefix + "live_bytes": poolLive, prefix + "peak_bytes": poolPeak, prefix + "live_buffer_count": poolBuffers})
	}
	add(2, "compute.memory", map[string]signal{
		"metal_device_current_allocated_bytes": deviceMetal, "region_host_owned_bytes": regionHostOwned,
		"region_host_scratch_bytes": regionHostScratch, "region_cpu_owned_bytes": regionCPUOwned,
		"region_cpu_scratch_bytes": regionCPUScratch, "region_metal_pool_bytes": regionPool, "region_metal_scratch_bytes": regionScratch})
	add(2, "compute.execution", map[string]signal{
		"transfer_to_host_bytes": toHostBytes, "transfer_from_host_bytes": fromHostBytes,
		"contiguity_fixup_bytes": fixupBytes, "fusion_fallback_count": fusionFallbacks})
	add(2, "compute.storage", map[string]signal{
		"live_cpu_bytes": liveCPU, "live_metal_bytes": liveMetal, "peak_cpu_bytes": peakCPU, "peak_metal_bytes": peakMetal})
	add(2, "runtime.memory", map[string]signal{
		"qjs_heap_used_bytes": qjsHeap, "allocator_active_bytes": allocatorActive, "allocator_peak_bytes": allocatorPeak,
		"resident_bytes": resident, "physical_footprint_bytes": footprint, "physical_footprint_peak_bytes": footprintPeak})
	add(3, "compute.storage", map[string]signal{"live_cuda_bytes": liveCUDA, "peak_cuda_bytes": peakCUDA})
	add(3, "compute.memory", map[string]signal{"cuda_device_current_allocated_bytes": deviceCUDA})
	return table
}()

// top is how many buckets a snapshot's tables of misses and drops have.
const top = 8

// slot is a place in one of the tables of buckets.
type slot struct {
	drops, count bool
	at           int // from 0
	generation   int
}

// bucketSlot reads compute.memory/metal_pool_top_drop_bucket_bytes_1 and its like.
func bucketSlot(scope, name string) (slot, bool) {
	if scope != "compute.memory" {
		return slot{}, false
	}
	s := slot{generation: 2}
	rest, ok := strings.CutPrefix(name, "metal_pool_top_")
	if !ok {
		if rest, ok = strings.CutPrefix(name, "device_pool_top_"); !ok {
			return slot{}, false
		}
		s.generation = 3
	}
	n := len(rest) - 1
	if n < 0 || rest[n] < '1' || rest[n] > '0'+top {
		return slot{}, false
	}
	s.at = int(rest[n] - '1')
	switch rest[:n] {
	case "miss_bucket_bytes_":
	case "miss_count_":
		s.count = true
	case "drop_bucket_bytes_":
		s.drops = true
	case "drop_count_":
		s.drops, s.count = true, true
	default:
		return slot{}, false
	}
	return s, true
}
