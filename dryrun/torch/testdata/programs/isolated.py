"""A Python that takes no hook (-I, -E, -S)"""
# argv: python -I isolated.py
# class: did_not_run
# says: no Python took the hook
import torch

x = torch.zeros(1000, device="cuda")
