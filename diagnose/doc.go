// Package diagnose is the rule book: from the facts of one measurement, or of two
// of one workload, to findings that say what takes the memory, what to do about
// it, how many bytes that saves and what it costs.
//
// A rule reads measurements only (rows, contributors, facts), never a capture, so
// it works on a committed base as well. It knows no names of files, folders or
// modules: a program under another name gives the same findings. Numbers are
// bytes; a saving is a bound that this capture's own bytes give, and is absent
// where they give none. Evidence is "measured" where the text repeats what was
// read, and "inferred" where an assumption lies between.
//
// Cost: each rule is one pass over the facts; nothing is kept.
package diagnose
