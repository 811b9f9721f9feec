"""A loop that waits for a certain value"""
# class: did_not_run
# source: 7
# says: it waits for a value
import torch

while torch.ones(1, device="cuda").item() != 7:
    pass
