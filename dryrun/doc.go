// Package dryrun runs a program for a GPU or TPU that is not there, and tells how far
// the numbers can be trusted.
//
// PyTorch runs unchanged over pretend CUDA libraries (dryrun/torch): its own caching
// allocator answers each request, no kernel runs. JAX compiles the user's function
// ahead of time for the device (dryrun/jax). TensorFlow runs on the CPU with the
// allocator that it uses on GPUs (dryrun/tf).
//
// Each gives captures, which are then measured like any other, and a
// measure.DryrunFact with the class of the result.
//
// The program is code of whoever wrote the pull request and runs with the rights of
// this process: give the job no secrets and a token that can only read.
package dryrun
