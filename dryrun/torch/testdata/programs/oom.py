"""Memory that runs out: it does not fit"""
# class: exact
# fits: no
# memory: 4000000000
# exit: 1
import torch

x = torch.zeros(500_000_000, dtype=torch.uint8, device="cuda")
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"], flush=True)
y = torch.zeros(3_500_000_000, dtype=torch.uint8, device="cuda")
