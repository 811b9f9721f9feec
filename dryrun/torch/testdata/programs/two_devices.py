"""A model on two devices: whether they reach each other's memory is a guess"""
# class: assumption
# says: reach each other
# devices: 2
import torch

first, second = torch.nn.Linear(512, 512).to("cuda:0"), torch.nn.Linear(512, 512).to("cuda:1")
for _ in range(2):
    x = torch.randn(32, 512, device="cuda:0")
    second(first(x).to("cuda:1")).sum().backward()
print("peak", *(torch.cuda.memory_stats(d)["requested_bytes.all.peak"] for d in range(2)))
