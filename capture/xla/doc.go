// Package xla reads what XLA, the JAX profiler and TensorFlow's write about memory: the
// plan that the compiler made for each module, and what the allocators did at run time.
//
// Formats: XSpace, a profile (.xplane.pb; tsl/profiler/protobuf/xplane.proto), whose
// plane /host:metadata holds one HloProto for each module, and HloProto itself
// (.hlo.pb, .hlo_proto.pb; xla/service/hlo.proto), as XLA_FLAGS=--xla_dump_to with
// --xla_dump_hlo_as_proto, and XProf, write them. Tried with JAX 0.4.30 to 0.10.2 on
// CPU, CUDA, ROCm and TPU, and checked to the byte against XProf 2.24.2 and XLA's own
// reports. Compression is undone by the caller.
//
// What people have besides is read as far as it goes: a bare BufferAssignmentProto
// (memory_analysis().serialized_buffer_assignment_proto), XLA's texts
// (*-buffer-assignment.txt: allocations and values, without live ranges), its memory
// usage reports (.txt and .pb: totals alone) and JSON of memory_analysis()'s numbers. What
// looks like a plan's number and is none has the label source. A text that does not
// tell its own total (jaxlib 0.10) has values only after Confirm: whether it is cut off
// between two allocations cannot be told from it. Nor can it be told of a usage report
// cut off between two memory spaces: nothing in it says how many there are. It is then
// short of rows, which no budget takes for a pass, and Confirm finds it out.
//
// The allocators' timeline comes from the events MemoryAllocation and MemoryDeallocation
// of the plane /host:CPU, of every allocator (BFC of GPUs, of the host and of
// TensorFlow's CPU, and TPU), in the order of time over all threads. Each event says how
// many bytes are in use after it, so the replay checks itself: an event that contradicts
// those before it is a warning, and exact growth is then not told. live.peak_bytes is
// the heap's largest in the profile, used.peak_bytes heap and stack as XProf's memory
// profile shows it. The lifetime's peak is the largest value seen, where XProf takes
// the last. growth.bytes_per_step is of requested bytes: those in use jitter by whole
// chunks. Steps are the program's own marks, else executions.
//
// Units: every size is a number of bytes in the memory of one device. Events of a plan have
// positions; those of the host have times, picoseconds inside and seconds outside.
//
// Cost: one pass over most of the file. An XSpace is skipped but for its metadata plane
// and, if there are allocator events, its host plane; of modules, names, shapes, operands
// and the buffer assignment are kept, of the order of the bytes they take in the file.
// Literals and backend configurations are skipped. Of the host plane, whose meaning of ids
// comes after the events that use them, the ids are read first and the events then: 8 to
// 16 ns each in a thread that has nothing to do with memory (half again to twice
// what adding up the bytes of the file takes), and 20 to 40 ns in one that executes; about 100 bytes are kept for
// each allocator event and execution, and nothing for any other. A stream that cannot seek has its host plane set aside in a
// temporary file (in memory below 4 MiB).
//
// Definitions are XProf's and XLA's where those have one. Where the two differ, both are
// given under different names: Plan and Peak follow XProf's Memory Viewer (without
// thread-local memory, as from 2.24 on), CompilerPeak follows XLA. Several temp
// blocks in one memory space, which no file seen has, have no heap peak here; XProf
// shows that of one of them.
//
// Left out: the generated code's size (it is in none of these files), the scoped vmem that
// custom calls reserve, kernels on device planes, and memory that no allocator event shows
// (graphs of CUDA, other libraries). A failed allocation has no event: it is inferred from
// an operation that waited as long as the allocator does before it gives up.
//
// What is promised: no input makes Read panic, hang, or hold memory out of proportion
// to what it read; a capture that Validate accepts has a Measurement whose
// contributors add up. Types and functions may still change.
package xla
