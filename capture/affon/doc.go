// Package affon reads what Affon and its runtime Hao say about memory, as JSON:
//
//   - affon.telemetry: the array of telemetry.metrics(), or of GET /metrics on the
//     telemetry console. Several snapshots of one process may be in one file: one
//     array after another (a line each), an array of arrays, or an object with the
//     arrays before and after.
//   - affon.monitor: the monitor file of the decoder-LM workflow, a snapshot every so
//     many batches and at the end of each epoch.
//   - affon.report: what tools/memory-report.sh writes: its report (which holds the
//     monitor file), its history (an array, or an entry a line) and its comparison.
//
// Source: the public text of neucine/affon (docs/runtime/memory-debugging.md,
// docs/runtime/configuration.md, tools/memory-report.sh, apps/decoder-lm) and of
// neucine/hao, whose metric names changed three times: names.go has them all. Affon's
// footprint watch is read by capture/footprint.
//
// A metric that a snapshot lacks is absent, although Affon's own programs read it as
// 0. Its values are doubles; those of memory are whole numbers, and what is not (or is
// below zero, or larger than any machine) is left out with a warning. So is what one
// name says twice: the oldest generation gives the live bytes of storage and of the
// pool under one name, and nothing tells which is which. On Linux Affon does not
// measure the physical footprint and gives 0, which is no data; memory-report.sh
// stores the kB of GNU time as bytes there, which is corrected.
//
// Units: bytes and counts. Snapshots of one process count as its steps, where they
// have no step of their own. The first fifth of three or more is warm-up: counters
// are counted from there.
//
// Cost: a file is held as a whole, up to MaxFile; of each snapshot only the numbers
// that are known are kept. Histograms, traces, labels and unknown metrics are
// skipped.
//
// What is promised: no input makes Read panic, hang, recurse without bound, or hold
// memory out of proportion to what it read. Types and functions may still change.
package affon
