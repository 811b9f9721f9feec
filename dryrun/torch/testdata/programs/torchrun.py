"""torchrun with one process: DistributedDataParallel over NCCL"""
# argv: torchrun --standalone --nproc-per-node=1 torchrun.py
# class: assumption
# says: nccl
import torch
import torch.distributed

torch.distributed.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(512, 512).cuda(), device_ids=[0])
for _ in range(2):
    model(torch.randn(8, 512, device="cuda")).sum().backward()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
torch.distributed.destroy_process_group()
