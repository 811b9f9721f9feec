// Package hook has PyTorch write the history of its CUDA allocator, without a change of
// the program: a folder with a sitecustomize.py comes first in PYTHONPATH.
//
// When torch is imported, and not before, it asks torch to record the allocator's
// history once CUDA is initialised, which is before the first allocation and at no
// time of its own: initialising it earlier would break forks and CUDA_VISIBLE_DEVICES.
// The snapshot is written at the end of the process, when memory runs out, and at
// SIGTERM. The history has at most 200,000 events with Python stacks; a reader tells
// where it was cut. The hook then runs the sitecustomize that it stands before, and
// takes its folder off sys.path. Without torch nothing happens. Python's -I, -E and -S
// shut it out.
//
// An extension is a second file, in which what the first one defines can be used and
// replaced. It runs before torch is imported, or the module that the variable Module
// names: so a hook can write profiles of TensorFlow, PID.xplane.pb.
//
// Nothing here changes a program's output or exit code; no fault of the hook reaches
// the program.
package hook
