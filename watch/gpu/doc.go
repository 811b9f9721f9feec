// Package gpu reads what nvidia-smi prints about memory.
//
// Source: nvidia-smi --help-query-compute-apps and --help-query-gpu; the forms of
// the answers are those of https://github.com/NVIDIA/nvidia-docker/issues/1483.
// Sizes are MiB. "[N/A]", "[Not Supported]" and "[Insufficient Permissions]" are
// unknown, and so is every sum that one of them would be part of: never 0.
package gpu
