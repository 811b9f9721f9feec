// Package budget holds the budget language: the YAML file, reviewed like code, that
// names the workloads of a repository and what each of them may use.
//
// Load reads a file with what it includes, Parse one file alone. Lint finds what is
// legal and yet mistaken, Changes what a new version of a file loosens or tightens,
// Update makes limits tighter in place, Init writes a first file, Schema is for
// editors.
//
// Format: YAML as gopkg.in/yaml.v3 reads it, in UTF-8, one document a file, at most
// MaxSize bytes each and MaxFiles files. The keys are one table (keys.go), from which
// docs/budget.md and peakgate.schema.json are made; the reader asks that table what is
// legal where, so they cannot drift.
//
// Units: bytes are whole int64 and need their unit in the file; a growth limit is an
// exact rational, and what it allows, like every number that Update writes, is
// computed without floats.
//
// Places: lines and columns count from 1, columns in runes, as editors show them, and
// each place has its file. Where a value comes from an anchor its place is the
// anchored scalar, which is what an update would edit. All errors of all files are
// given at once, in order.
//
// Aliases and merge keys are followed. Explicit tags, several documents, and the
// characters that YAML but no editor takes for a line break are refused.
//
// Cost: the files, their node trees, and the entries. What aliases, includes and
// defaults multiply is bounded: at most MaxNodes nodes are visited in all, however
// they are reached. Nothing is executed, and nothing is read but what the caller's
// function gives.
package budget
