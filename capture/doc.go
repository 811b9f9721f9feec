// Package capture opens memory captures of any supported kind.
//
// Open looks at the first bytes of a file (never at its name), chooses exactly
// one reader and reports that reader's error; it does not try readers until one
// accepts. A layer of gzip or zstd around any format is undone on the way. Find turns the
// paths and patterns of a budget or a command line into files.
//
// Cost: files are streamed; what is held is what the reader keeps.
package capture
