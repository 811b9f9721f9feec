"""A CUDA graph with its private pool"""
# class: exact
import torch

model = torch.nn.Linear(64, 64).cuda()
x = torch.randn(16, 64, device="cuda")
step = torch.cuda.make_graphed_callables(model, (x,))
step(x).sum().backward()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
