// Package footprint reads and writes what a watcher saw of a process tree: the
// memory of its processes over time, in lines of JSON.
//
// Format: our own, "peakgate.watch/1", whose types are in this package. Line 1 is
// a [Header]; then come [Sample] lines (no key event or summary), [Event] lines
// (key event) and, last, one [Summary] line (key summary). t_ms never falls. Keys
// and events that a reader does not know are skipped; keys are only ever added. A
// level that was not read at a tick has no key; one that could not be read is null,
// and reasons says why; neither is ever 0.
//
// Also the lines of Affon's script metal-footprint-watch.sh,
// https://github.com/neucine/affon: the 15 keys of [AffonSample], all of them in
// each line, growth counted from the first one. Its footprint is macOS's physical
// footprint; regions are those of the row "IOAccelerator (graphics)" of vmmap, whose
// text rounds sizes above 1 GiB to 0.1 GiB. The file tells neither limits nor how the
// run ended.
//
// Units: bytes, milliseconds of a monotonic clock, counts.
//
// What it gives: footprint.peak_bytes is the larger of the largest sampled
// footprint and the kernel's largest maximum of one process (then its kind is
// high_water); footprint.peak_upper_bytes the largest sum of such maxima, an upper
// bound. Growth of footprint and regions is per step, from the samples taken at the
// marks of steps, and per hour where there are fewer than two or where steps are an
// estimate. rss, gpu and cgroup are series without a growth row: a budget that selects them has it. Samples of no
// process are no levels of the run. A run that failed or was ended by a signal has
// no footprint; one that the kernel killed for memory, or that was over a limit,
// keeps its numbers, and its [measure.WatchFact] makes it fail.
//
// Lines that were torn, as by a full disk, and a last one that was cut off are left
// out, and said; so is that a summary is missing.
//
// Cost: one pass; a line and at most 4,096 points a series are held.
//
// What is promised: no input makes Read panic, hang, or hold memory out of proportion
// to what it read; errors name line and column; what a [Writer] wrote is read. Other
// types and functions may still change.
package footprint
