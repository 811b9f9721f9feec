package measure

// AffonFact is what Affon's telemetry says of one process, over the snapshots of one
// file.
type AffonFact struct {
	Labels Labels `json:"labels"` // file, where several were read
	// Names is the generation of the metric names, 0 to 3.
	Names int `json:"names"`
	// Snapshots is how many there are; those before Warm are warm-up. Dropped were
	// lost before the first, because the monitor keeps only the newest.
	Snapshots int64 `json:"snapshots"`
	Warm      int64 `json:"warm"`
	Dropped   int64 `json:"dropped,omitempty"`
	// Signals are the numbers by name; a name that is not there was not given.
	Signals map[string]AffonSignal `json:"signals"`
	// Misses and Drops count the requests that the pool could not serve, and the
	// buffers that it did not keep, by rounded size, over the process's life; Warm of
	// a bucket is what it was when warm-up ended, where the snapshot then had it.
	Misses []AffonBucket `json:"misses,omitempty"`
	Drops  []AffonBucket `json:"drops,omitempty"`
	// Trimmed tells that the pool was trimmed between the last two snapshots.
	Trimmed bool `json:"trimmed,omitempty"`
	// PeakBytes is the process's peak by a memory report, PreviousBytes that of the run
	// of the same program before it.
	PeakBytes     Bytes `json:"peak_bytes,omitempty"`
	PreviousBytes Bytes `json:"previous_peak_bytes,omitempty"`
}

// AffonSignal is one number over the snapshots of a run: of the first and the last
// one; the medians of the first and the last third after warm-up, which tell growth
// from noise; and its largest after warm-up.
type AffonSignal struct {
	First int64 `json:"first"`
	Warm  int64 `json:"warm"`
	Early int64 `json:"early"`
	Late  int64 `json:"late"`
	Last  int64 `json:"last"`
	Max   int64 `json:"max"`
}

// AffonBucket is one size of the pool's buffers.
type AffonBucket struct {
	Bytes Bytes  `json:"bytes"`
	Count int64  `json:"count"`
	Warm  *int64 `json:"warm,omitempty"`
}

// Names of the signals that rules look at, as the newest Affon has them; older names
// of the same number are given under these.
const (
	AffonLiveCPU      = "live_cpu_bytes"
	AffonLiveMetal    = "live_metal_bytes"
	AffonLiveCUDA     = "live_cuda_bytes"
	AffonPoolHits     = "device_pool_hit_count"
	AffonPoolMisses   = "device_pool_miss_count"
	AffonPoolDrops    = "device_pool_drop_count"
	AffonPoolTrims    = "device_pool_trim_count"
	AffonPoolLive     = "device_pool_live_bytes"
	AffonPoolPeak     = "device_pool_peak_bytes"
	AffonDeviceMetal  = "metal_device_current_allocated_bytes"
	AffonDeviceCUDA   = "cuda_device_current_allocated_bytes"
	AffonScratchCPU   = "region_cpu_scratch_bytes"
	AffonScratchMetal = "region_metal_scratch_bytes"
	AffonHeap         = "qjs_heap_used_bytes"
	AffonAllocator    = "allocator_active_bytes"
	AffonResident     = "resident_bytes"
	AffonFootprint    = "physical_footprint_bytes"
	AffonUnattributed = "unattributed_bytes"
	AffonToHost       = "transfer_to_host_bytes"
	AffonFromHost     = "transfer_from_host_bytes"
	AffonFixups       = "contiguity_fixup_bytes"
	AffonFallbacks    = "fusion_fallback_count"
)
