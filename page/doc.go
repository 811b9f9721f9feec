// Package page turns captures into the plain data of the viewer's page: curves
// over program order, the live ranges of buffers, their places in memory, and the
// figures of the overview. It draws nothing and reads no file.
//
// Source: the definitions are XProf's Memory Viewer's
// (xprof/convert/hlo_proto_to_memory_visualization_utils.cc), as package
// capture/xla keeps them; each figure says its formula. Where XProf's number is
// known to hide something (the padding of arguments), a second one stands beside it.
//
// Of a PyTorch snapshot the curve is what is live after each recorded event, and the
// allocations are the segments of the dump and what was given back before it. Where its
// history tells no peak, there is no curve, and the buffers are the blocks of the dump.
//
// Of a series the curve is its samples, with the growth that package growth fits.
//
// Units: sizes are bytes, positions are events of the heap simulator or of the
// allocator: no times. Position 0 of a curve is before the first event, so the peak that event e made
// is at e+1.
//
// Cost: what is kept is bounded ([Limits]) whatever a capture holds. Curves
// keep the lowest and highest point of each stretch, and the peak; of buffers the
// largest are kept. What is left out is counted in the view.
//
// Skipped: thread-local memory, which is part of no total. Names are cut and freed
// of control characters here, and are escaped where they are shown.
//
// Promised: the numbers are exact; a curve holds its true peak.
package page
