"""python -m of a package"""
# argv: python -m trainer
# class: exact
import torch

x = torch.zeros(1000, device="cuda")
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
