"""Generation until each sequence has ended"""
# class: value_dependent
# source: 9
# says: it waits for a value
import torch

tokens = torch.zeros(2, 1, dtype=torch.long, device="cuda")
done = torch.zeros(2, dtype=torch.bool, device="cuda")
while not done.all():
    done |= tokens[:, -1] == 7
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
