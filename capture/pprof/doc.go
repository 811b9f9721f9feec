// Package pprof reads device memory profiles of JAX: which arrays, and which
// compiled programs, a process holds on its devices at one moment, by the Python
// stack that made them.
//
// Format: what jax.profiler.save_device_memory_profile writes, a profile.proto of
// pprof (https://github.com/google/pprof/blob/main/proto/profile.proto), whose gzip
// layer the caller undoes. Its sample types are allocations/count and space/bytes;
// each sample is labelled kind=buffer with a device, or kind=executable:
// https://docs.jax.dev/en/latest/device_memory_profiling.html. Tried with profiles of
// 2022 to jaxlib 0.10.2, CPU and CUDA. Other programs (Go above all) write the same
// proto for their own heaps: those are refused by name.
//
// Units: bytes on a device, as the runtime sees them (padding included). A profile
// knows nothing of temporary memory: it is what is live, not a peak.
//
// Cost: one pass; samples, stacks and names are held, which come before the strings
// that they refer to. Mappings, comments and times are skipped.
//
// What is promised: no input makes Read panic, hang, or hold memory out of proportion
// to what it read; a profile that Read returns has contributors that add up. Types
// and functions may still change.
package pprof
