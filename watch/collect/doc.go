// Package collect makes frameworks write what they know about memory without a
// change of the program: all that is set is its environment.
//
// XLA (JAX, TensorFlow with XLA, PyTorch/XLA): --xla_dump_to and
// --xla_dump_hlo_as_proto are added to XLA_FLAGS, which XLA reads when its backend
// starts (xla/parse_flags_from_env.cc: words that begin with "-", or else the name
// of a file with such words). A flag that XLA does not know ends the program, so
// only those are set that jaxlib has had from 0.4.30 to 0.10.2. The user's own
// flags stay, and his --xla_dump_to wins: that folder is then read. A program that
// sets XLA_FLAGS itself is not captured. JAX's persistent compilation cache is
// switched off: what comes from it is not compiled, and nothing is written then.
//
// PyTorch: package hook has it write the history of its allocator. Where Python's -I,
// -E or -S shut the hook out, that is told. PyTorch without a GPU has no allocator's
// history.
//
// Affon: when the workload prints where its telemetry console listens, its metrics are
// read from there, each five seconds.
//
// PYTHONUNBUFFERED=1 lets a step be seen when it is printed.
//
// Nothing here changes a program's output or exit code; no fault of the hook reaches
// the program. The environment itself can be seen by it.
package collect
