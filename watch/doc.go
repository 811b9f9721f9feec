// Package watch runs a workload and writes down what memory it takes: it follows
// the whole process tree, samples it at a cost that nobody notices, takes peaks
// from the kernel, finds steps in what the workload prints, and writes the lines
// of capture/footprint, each with one write, so a file that is cut off is still
// good up to there.
//
// What is read, on Linux: each tick (250 ms) the RSS of every member through a
// kept descriptor of statm; at a step mark and each second the status files; PSS
// from smaps_rollup whenever a token bucket of 0.2 % of the time has enough, since
// a process cannot map memory while it is read. Where no memory is shared the
// status files say what PSS would, for 4 µs, and PSS is read each ten seconds
// only. The tree is walked when the newest process id changed. On macOS the
// physical footprint comes from proc_pid_rusage and the regions from vmmap.
//
// The footprint is PSS plus swap of the tree. Where memory is shared and the bucket
// is empty, a control group of the workload's own tells it, for 50 µs: anon, shmem
// and swap. Without one such a tick has none.
//
// Peaks: an interval. Its lower end is the largest sampled footprint or the
// largest maximum that the kernel kept of one process (VmHWM, wait4), whichever is
// more; the upper end is the largest sum of high-water marks of processes that
// lived together. Where the workload can be put into a control group of its own,
// that group's peak is told too, and is the upper end where it is less, or more by
// more than page cache explains: then processes lived that no tick saw.
//
// Not seen: work that is handed to a daemon that ran before (docker run, ray
// start), unless its process is named; memory of tmpfs that nobody has mapped,
// but in the control group's numbers.
//
// [Run] owns its process while it runs: it becomes the reaper of orphans, so no
// one else there may start processes. It leaves none behind: what outlives the
// workload's first process is ended after a while.
package watch
