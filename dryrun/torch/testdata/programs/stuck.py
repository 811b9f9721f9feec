"""A program that does not end"""
# class: did_not_run
# says: it did not end within 12s (stuck.py:
# timeout: 12s
import torch

x = torch.zeros(1000, device="cuda")
while True: pass
