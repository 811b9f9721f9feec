// Package growth tells how much a series grows: pure functions of its numbers.
//
// Two kinds of series exist. Exact levels (requested bytes that are live at the
// same point of each step) hold no noise: Exact gives their growth as a quotient of
// two integers, and one run decides. Sampled levels (a footprint) need an estimate
// with a stated error: Judge.
//
// # The verdict of Judge
//
// The warm-up is left out, and the rest cut into B blocks of equal size: 12 from 60
// points on, 8 from 24 on, and with fewer nothing is tested. From the medians of the
// blocks come Kendall's S with its exact chance p, and the slopes of all pairs: their
// median (Theil, Sen) is the growth, and the k-th smallest and largest are its bounds
// (Sen 1968), with k from the exact null of S. Medians of blocks, since neighbours in a
// series of memory are alike: on single points a test at 1 % gives 10 to 40 % false
// alarms (F. Machida et al., ISSREW 2013), on blocks that last some five times as long
// as a level is remembered it keeps what it says.
//
//   - fail: p <= alpha, and the lower bound is above the budget, and slope × horizon is
//     above the floor, and the second half's slope is above the budget and at least half the first's;
//   - decelerating: the same, but the second half's slope is less than half the first's;
//   - pass: the upper bound is within the budget, or (a bounded cache) what it
//     makes over the horizon is within UpTo;
//   - inconclusive: all else.
//
// One level at all steps passes any budget of 0 or more. High-water marks can only
// rise, so they are inconclusive. A floor makes no pass: growth that is surely above
// the budget, and too little to fail, is inconclusive.
//
// The chance of a false alarm is below alpha where noise is forgotten within a block,
// at any budget. A level that wanders for a sixth of the run or longer looks like
// growth to any rule, and a sawtooth without noise does where its period is within 1 % of a
// block's length: there the budget in bytes does the work. A test of simulated
// runs holds the rates, and prints them. A wrong pass has a chance of alpha too, and of
// twice that where an extended warm-up gave the verdict.
//
// # Units and cost
//
// Units are the caller's. Exact is linear in the number of points, times MaxPeriod; Judge is linear, and
// allocates little more than its result where X rises: 0.1 ms and 4 allocations for 4,096 points.
//
// What is promised: sums never overflow silently, and equal input gives equal output.
package growth
