// Package torch runs a PyTorch program for GPUs that are not there.
package torch
