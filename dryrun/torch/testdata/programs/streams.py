"""Blocks that a second stream uses (record_stream): when they are free is a guess"""
# class: assumption
# source: 13
# says: 3 blocks are given to another stream
import torch

side = torch.cuda.Stream()
sums = []
for _ in range(3):
    x = torch.zeros(1_000_000, device="cuda")
    with torch.cuda.stream(side):
        sums.append(x.sum())
    x.record_stream(side)
    del x
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
