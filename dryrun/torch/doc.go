// Package torch runs a PyTorch program for GPUs that are not there.
//
// The program runs unchanged over the libraries of package pretend, with the hook of
// watch/hook and an extension of it (extension.py), which
//
//   - loads the pretend libraries before torch, as the wheel's own search path has
//     NVIDIA's first where they are installed;
//   - records the allocator's history from before the first allocation, up to 1,000,000
//     events of each device: some 1.5 GB of host memory when they are written;
//   - counts the reads from the device by the innermost line of the user's own, at some
//     2 µs each;
//   - ends the program after 10,000 reads of which none came from a new line, or when
//     its time is up;
//   - writes, at the end of each process that imported torch, a report in JSON beside
//     the snapshot: reads, the exception that ended it, where it was.
//
// A first run reads zeroes. Where it read at all, a second one reads ones, and the
// (action, size) sequences of both are compared for each process and device, frees
// between two allocations as a set: their order may follow addresses. Where they part, a
// third run with zeroes tells whether the program allocates otherwise from run to run.
// The runs follow one another, as a program may use ports and files.
//
// A run of which a call was refused gives no numbers, even if the program went on: on a
// real device it would have gone another way.
//
// Reports and notes are written by the program's own process: they are bounded, checked
// and cleaned, and can forge no more than the program could by allocating otherwise.
package torch
