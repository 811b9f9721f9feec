// Package tf runs a program of TensorFlow on the CPU with the allocator of its GPUs.
package tf
