// Package mac reads what macOS tells about the memory of a process: the texts of
// vmmap -summary and of footprint, and proc_pid_rusage.
//
// Sources: https://keith.github.io/xcode-man-pages/vmmap.1.html and footprint.1.html,
// and real output of macOS 13 to 26. Sizes carry K, M, G or T, which are powers of
// 1024; with -pages they are pages and quarters of them. vmmap rounds: above 1 GiB
// one step is 0.1 GiB, so the physical footprint is taken from proc_pid_rusage, in
// bytes, and vmmap is for regions alone.
//
// The rows "IOAccelerator" and "IOAccelerator (graphics)" are never added: the
// first may be host memory of an allocator that uses its tag.
package mac
