// Package xla reads what XLA and the JAX profiler write about memory: the plan
// that the compiler made for each module.
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
// between two allocations cannot be told from it.
//
// Units: every size is a number of bytes in the memory of one device. Events have
// positions, not times.
//
// Cost: one pass. An XSpace is skipped but for its metadata plane, at the speed of
// the disk; of modules, names, shapes, operands and the buffer assignment are kept,
// of the order of the bytes they take in the file. Literals and backend
// configurations are skipped.
//
// Definitions are XProf's and XLA's where those have one. Where the two differ, both are
// given under different names: Plan and Peak follow XProf's Memory Viewer (without
// thread-local memory, as from 2.24 on), CompilerPeak follows XLA. Several temp
// blocks in one memory space, which no file seen has, have no heap peak here; XProf
// shows that of one of them.
//
// Left out: the allocator's events of /host:CPU, the generated code's size (it is in
// none of these files), and the scoped vmem that custom calls reserve.
//
// What is promised: no input makes Read panic, hang, or hold memory out of proportion
// to what it read; a capture that Validate accepts has a Measurement whose
// contributors add up. Types and functions may still change.
package xla
