"""Memory that runs out, and a program that tries a smaller batch"""
# class: assumption
# source: 11
# says: memory ran out at
# fits: yes
# memory: 4000000000
import torch

for size in (8_000_000_000, 1_000_000_000):
    try:
        x = torch.zeros(size, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        print("too large")
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
