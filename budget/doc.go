// Package budget reads the budget language: the YAML file, reviewed like code,
// that names the workloads of a repository and what each of them may use.
//
// Format: YAML as gopkg.in/yaml.v3 reads it, in UTF-8, one document, at most
// MaxSize bytes. The keys are one table (keys.go), from which docs/budget.md is
// made; the reader asks that table what is legal where, so the two cannot drift.
// A key of the language whose behaviour is still to come is an error that says
// so: a key is obeyed or refused, never ignored.
//
// Units: bytes are whole int64 and need their unit in the file; a growth limit is
// an exact rational, and what it allows is decided without floats.
//
// Places: lines and columns count from 1, columns in runes, as editors show them.
// Where a value comes from an anchor its place is the anchored scalar, which is
// what an update would edit. All errors of a file are given at once, in order.
//
// Aliases and merge keys are followed. Explicit tags, several documents, and the
// characters that YAML but no editor takes for a line break are refused.
//
// Cost: the file, its node tree, and the entries. What aliases multiply is
// bounded: at most MaxNodes nodes are visited, however they are reached. Nothing
// is read from disk and nothing is executed.
package budget
