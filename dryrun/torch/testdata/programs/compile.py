"""torch.compile without code generation (aot_eager)"""
# class: exact
import torch

model = torch.compile(torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 64)).cuda(), backend="aot_eager")
for _ in range(2):
    model(torch.randn(16, 64, device="cuda")).sum().backward()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
