"""Random sizes, with a value read between: no two runs are alike"""
# class: value_dependent
# says: a further run allocates otherwise
import random

import torch

x = torch.zeros(random.randrange(1, 1 << 30), device="cuda")
print(x[0].item() > 1)
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
