// Package report renders results, measurements and diffs: text for a terminal
// and a log, markdown for a pull request, JSON for scripts. Every renderer is a
// pure function of its input: the same input gives the same bytes, and no file,
// clock or environment is read.
//
// Names come from captures and are hostile: text is freed of control
// characters, markdown puts every name into a code span that it cannot leave.
package report
