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
// PyTorch: a folder with a sitecustomize.py comes first in PYTHONPATH. When torch is
// imported, and not before, it asks torch to record the allocator's history once CUDA
// is initialised, which is before the first allocation and at no time of its own:
// initialising it earlier would break forks and CUDA_VISIBLE_DEVICES. The snapshot is
// written at the end of the process, when memory runs out, and at SIGTERM. The
// history has at most 200,000 events with Python stacks; a reader tells where it was
// cut. The hook then runs the sitecustomize that it stands before, and takes its
// folder off sys.path. Without torch nothing happens. Python's -I, -E and -S shut it
// out, and that is told. PyTorch without a GPU has no allocator's history.
//
// Affon: when the workload prints where its telemetry console listens, its metrics are
// read from there, each five seconds.
//
// PYTHONUNBUFFERED=1 lets a step be seen when it is printed.
//
// Nothing here changes a program's output or exit code; no fault of the hook reaches
// the program. The environment itself can be seen by it.
package collect
