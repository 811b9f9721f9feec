// Package measure holds the one model that every part of peakgate speaks:
// bytes and units, the metric catalogue, and the Measurement (labelled rows,
// contributors, series, facts) that a reader makes from a capture and that is
// judged, committed, merged and reported.
//
// Units: every byte count is an int64 (Bytes) from the reader's edge to the
// edge of the report; a value that is not known is absent, never zero.
//
// The JSON of a Measurement is the schema "peakgate.measurement/1": keys are
// only ever added, bytes are JSON integers. This package imports nothing of
// peakgate's own.
package measure
