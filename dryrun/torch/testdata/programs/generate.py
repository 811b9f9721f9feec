"""Generation until each sequence has ended"""
# class: value_dependent
# says: it waits for a value
import torch

tokens = torch.zeros(2, 1, dtype=torch.long, device="cuda")
done = torch.zeros(2, dtype=torch.bool, device="cuda")
while not done.all():
    tokens = torch.cat([tokens, tokens.max(1, keepdim=True).values], 1)
    done |= tokens[:, -1] == 7
    longest = tokens.tolist()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
