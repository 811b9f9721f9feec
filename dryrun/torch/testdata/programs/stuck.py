"""A program that does not end"""
# class: did_not_run
# source: 9
# says: it did not end within 8s
# timeout: 8s
import torch

x = torch.zeros(1000, device="cuda")
while True: pass
