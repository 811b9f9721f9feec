"""A program that records and ends an allocator's history of its own"""
# class: exact
import os
import tempfile

import torch

torch.cuda.memory._record_memory_history(max_entries=100)
x = [torch.zeros(1000, device="cuda") for _ in range(1000)]
with tempfile.TemporaryDirectory() as d:
    torch.cuda.memory._dump_snapshot(os.path.join(d, "mine.pickle"))
torch.cuda.memory._record_memory_history(enabled=None)
y = torch.zeros(1000, device="cuda")
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
