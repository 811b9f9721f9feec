"""A selection by a mask: x[x > 0]"""
# class: value_dependent
# source: 7
import torch

x = torch.randn(1000, 64, device="cuda")
y = x[x[:, 0] > 0]
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
