// Package pretend builds CUDA libraries that have no GPU, for one PyTorch wheel.
//
// PyTorch's own caching allocator runs over them unchanged: memory, capacity, streams,
// events, graph capture and virtual memory are modelled to the byte, kernels are
// accepted and never run. The C sources are embedded; Build reads which symbols the
// wheel wants, compiles in about two seconds with the C compiler of the machine, and
// keeps the result in a cache folder; found there it costs 0.2 s. No header or library
// of a vendor is needed. Linux alone; torch 2.3 and newer, of CUDA 12 and 13.
//
// # What becomes of a call
//
// Each call that the wheel, or a package beside it, wants is one of four: written by
// hand, where something is given back; accepted, where nothing but a success is wanted;
// a kernel, which counts as launched; or refused, which is what the table of families
// leaves. A refused call gives its library's error, so that torch raises, and is noted.
// Functions of the driver that are asked for by name and are not there are not found.
//
// Pool allocators of the driver (backend:cudaMallocAsync), managed memory, memory shared
// between processes and host memory that kernels write to are refused: their bytes
// would not be the allocator's.
//
// Memory is given out in grains of 2 MiB, which torch's requests are multiples of.
// Devices are held to their capacity by the byte. Addresses are taken and no memory:
// a model of 44 GB took 0.6 GB of the host.
//
// # Sources
//
// Names, numbers and layouts are those of CUDA's public headers. The layouts of
// cudaDeviceProp and others, of which c/runtime.c has the offsets, were held against the
// headers of CUDA 12.1, 12.4, 12.6, 12.8, 12.9, 13.0 and 13.5 by a program that reads
// each field. Versions of cuDNN, cuBLAS and NCCL are those that the wheel requires, as
// what torch chooses depends on them: attention on capability 9.0 is cuDNN's in torch
// 2.11 and not in 2.9. Compute capabilities are those of cards in c/card.c; code for
// them is looked for in the list of torch.cuda.get_arch_list.
//
// # To run a program over them
//
// Put Libraries.Dir first in LD_LIBRARY_PATH of the child, add Claim.Environ to its
// environment, and, because an installed vendor library would win by the wheel's own
// search path, load each of Libraries.Preload in order with RTLD_GLOBAL before torch:
//
//	for path in preload: ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
//
// # Environment
//
//	PRETEND_DEVICES     how many devices there are (1; at most 64)
//	PRETEND_MEMORY      bytes of each (85899345920, which is 80 GiB)
//	PRETEND_MEMORY_N    bytes of device N alone
//	PRETEND_CONTEXT     bytes of each that the driver holds from the start (536870912)
//	PRETEND_CAPABILITY  compute capability (9.0)
//	PRETEND_READS       what a read from the device gives: keep, zero or one (keep)
//	PRETEND_DIR         folder for the notes; without it there are none
//	PRETEND_TOPDOWN     1: addresses are given out from above
//	PRETEND_BASE        first address, hexadecimal (100000000000)
//	PRETEND_EVENT_LAG   an event is not ready at its first N queries (0)
//
// # What is read from the device
//
// A small value that the host wrote, and that was at most copied since, is read back as
// it is until the next kernel is launched, which may write anywhere. Any other value
// was computed by nothing, as no kernel ran. Each copy of such a one passes one
// function, which counts it, calls back, and fills the target. keep copies what the
// memory holds: zero, or what the host wrote there. zero and one write zeroes, or the
// byte 1 at every eighth byte and 0 between: the number 1 to a reader of one integer or
// truth value of 1 to 8 bytes, and to each of many integers of 8 bytes. To a reader of
// floating-point numbers it is a positive number below 1e-39, so a comparison with a
// limit is not turned by it: two fills that give the same allocations are evidence that
// values steer no memory, not proof. Under zero and one nothing else that the host
// writes is kept, so it takes no host memory.
//
// # Functions for the process itself
//
// libcuda.so.1 exports, beside the driver's own:
//
//	void pretend_on_read(void (*)(const void *src, size_t bytes, long ordinal))
//	    called at each read, before the fill; ordinal counts from 1. NULL ends it.
//	    The thread that reads calls, and it may hold no lock of Python: a callback
//	    through ctypes takes it.
//	long pretend_reads(void), pretend_read_bytes(void), pretend_launches(void)
//	const char *pretend_unsupported(void)   the first refused call; NULL where none
//	long pretend_unsupported_calls(void)    how many there were
//	size_t pretend_used(int device)         bytes taken from the device, with the context
//
// # Notes
//
// PRETEND_DIR/notes-PID is written line by line as things happen, each line once in a
// process, so that it is there after a crash:
//
//	unsupported NAME    a call was refused: its library's error status was returned
//	assumption WHAT     a call was answered with a number of our own: what follows from
//	                    it is no fact of a device, such as the time between two events
//	missing NAME        a function was asked for by name and is not there; many callers
//	                    do without, so it matters only where the program then fails
package pretend
