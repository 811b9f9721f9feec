// Package tf runs a program of TensorFlow on the CPU with the allocator of its GPUs.
//
// TF_CPU_ALLOCATOR_USE_BFC=true has TensorFlow place the CPU's tensors by the allocator
// that it has for GPUs, and TF_CPU_BFC_MEM_LIMIT_IN_MB (MiB in truth) limits it. Each
// process that imports tensorflow has a profile from that import to its end, which holds
// every event of the allocator: package hook starts it, capture/xla reads it.
//
// Growth is exact where the program marks its steps (tf.profiler.experimental.Trace; fit
// of Keras 3 does not): each byte that is asked for is an event. Peaks are
// observed. One operation runs after the other, as on a device, unless
// TF_NUM_INTEROP_THREADS is set; still they differ from run to run, with Keras by a
// tenth. Kernels are the CPU's, and no library of a GPU asks for a workspace, so that the
// class is assumption, and 1 GiB or 2.5 % of the memory is left for them before a program
// fits.
//
// Where memory runs out TensorFlow waits for ten seconds, then fails: the result does not
// fit, with its words. The program really computes, with real memory: it should be a few
// steps of a small model. A profile of the program's own cannot be made beside this one.
//
// Sources: tensorflow/core/common_runtime/process_state.cc for the variables,
// tensorflow/python/profiler/profiler_v2.py. Tried with tensorflow-cpu 2.21.0.
package tf
