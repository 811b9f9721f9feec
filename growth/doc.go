// Package growth tells how much a series grows: pure functions of its numbers.
//
// Two kinds of series exist. Exact levels (requested bytes that are live at the
// same point of each step) hold no noise: Exact gives their growth as a quotient of
// two integers, and one run decides. Sampled levels need an estimate with a
// stated error; that is no part of this package yet.
//
// Units are the caller's. Cost: linear in the number of points, times MaxPeriod.
//
// What is promised: sums never overflow silently, and equal input gives equal output.
package growth
