// Package compare judges measurements: a measurement, a budget and a base in,
// one Result out, from which every report is made.
//
// A growth limit fails if and only if the head is beyond base × (1 + growth)
// and the difference is beyond the floor; both are decided in exact arithmetic
// (package budget). Fail outranks no_data, no_data outranks warn: what was not
// measured never passes, and a severity of warn never softens it.
//
// Contributors pairs what holds the bytes on the two sides although lines
// shift, files move and names change; its cost is quadratic in the call sites
// of one function and linear in all else.
package compare
