"""Processes of multiprocessing that use the device, each with its own allocator"""
# class: exact
# processes: 2
import torch
import torch.multiprocessing


def work(n, _):
    torch.zeros(1000 + n, device="cuda")


if __name__ == "__main__":
    for method in ("fork", "spawn"):
        torch.multiprocessing.start_processes(work, args=(0,), nprocs=1, start_method=method)
