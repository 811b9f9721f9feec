"""fully_shard (FSDP2) with one rank"""
# argv: torchrun --standalone --nproc-per-node=1 fsdp.py
# torch: 2.6
# class: assumption
# says: nccl
import torch
import torch.distributed
from torch.distributed.fsdp import fully_shard

torch.distributed.init_process_group("nccl")
torch.distributed.all_reduce(torch.ones(1, device="cuda"))
model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(3))).cuda()
for layer in model:
    fully_shard(layer)
fully_shard(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    model(torch.randn(8, 256, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
torch.distributed.destroy_process_group()
