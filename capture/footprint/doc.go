// Package footprint reads and writes what a watcher saw of a process tree: the
// memory of its processes over time, in lines of JSON.
//
// Format: our own, "peakgate.watch/1", whose types are in this package. Line 1 is
// a [Header]; then come [Sample] lines (no key event or summary), [Event] lines
// (key event) and, last, one [Summary] line (key summary). t_ms never falls. Keys
// that a reader does not know are skipped; keys are only ever added. A level that
// was not read at a tick has no key; one that could not be read is null, and
// reasons says why; neither is ever 0.
//
// Units: bytes, milliseconds of a monotonic clock, counts.
package footprint
