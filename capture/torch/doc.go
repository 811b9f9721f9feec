// Package torch reads the memory snapshots of PyTorch's caching allocators: what
// torch.cuda.memory._dump_snapshot writes, the same state pickled or dumped as
// JSON by a program of its own, the bare list of torch.cuda.memory_snapshot(),
// what torch::cuda::_memory_snapshot_pickled writes in C++, and the pages of
// `python -m torch.cuda._memory_viz trace_plot`, which hold the pickle as base64.
//
// The format has no specification but its writers: torch/csrc/cuda/Module.cpp
// and memory_snapshot.cpp, and c10/cuda/CUDACachingAllocator for what the
// numbers mean. Files of torch 2.0 to 2.15 were tried, in pickle protocols 0, 2,
// 4 and 5 and as JSON. Keys are all optional, the order of keys does not matter,
// and unknown keys, actions and states are counted, named and otherwise ignored.
// Compression is the caller's to undo.
//
// Units: sizes are bytes, exact. A trace counts requests as the program made
// them; blocks and segments are rounded by the allocator. live.peak_bytes is
// requested_bytes.all.peak of torch.cuda.memory_stats(), not
// max_memory_allocated(), which is rounded and falls when a free is requested
// rather than when it completes. A number with a fraction is an error where an
// integer belongs; a float that is a whole number below 2^53 counts as one.
//
// Cost: one pass over the file, about 300 MB/s on one core, 230 MB/s where the
// entries have no stacks and are shorter. Memory holds the distinct frames and
// stacks, the final blocks, the blocks live at one time, 1 to 8 bytes for each
// object that the pickle shares, and of the newest 8 million events some 8 bytes
// each, as annotations, which divide them into steps, come after them: a file of
// 1 GiB takes 120 MiB, one with two million blocks live at one time 340 MiB.
// Events are folded as they come.
//
// Safety: the pickle machine knows the opcodes that build plain data. Opcodes
// that import, call or restore anything are refused by name, with their offset.
// Lengths are checked against what is left and never allocated on their word.
// Nothing recurses; depth, open containers and the stack have limits.
//
// Skipped: the text of user metadata, compile contexts, and the events
// themselves once they are folded. Pinned host memory is told apart and is part
// of no device's numbers.
//
// The peak is given only where the file proves it. A history that starts
// mid-run or was cut gives the peak of its window, with what was live before
// it, and a warning. There is no peak without a history, where frees were not
// recorded, and where events and segments contradict each other.
//
// Steps go from one mark to the next: ProfilerStep#N, Optimizer.step, zero_grad,
// the data loader, earlier dumps, or the program's own annotations with a number,
// the first of these that is there. Where dumps mark the steps, a step may be many
// steps of the program. The first step never counts, the last only where it ends
// with this dump;
// growth per step is the median of the slopes between all counted step ends.
//
// The state at a failed allocation is rebuilt from the end of the file, where it
// is exact: what was live and reserved, and for the newest ones who held it and
// which ranges were free. Blocks that were freed since have no rounded size in
// the file; a range beside one may be up to 1 MiB too long.
//
// Contributors are allocation sites: the innermost line of the user's own code
// and, if that went through a library, the innermost line of the library. A
// site says where bytes were allocated, never what retains them. Its class
// follows from the names of torch's own functions in its stacks and from which
// pass (forward, backward, optimizer) freed the blocks that were live.
//
// Promised to stay: Sniff, Read, Options, and the keys of contributors.
package torch
