"""An end by os._exit"""
# class: exact
import os

import torch

x = torch.zeros(1000, device="cuda")
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"], flush=True)
os._exit(0)
