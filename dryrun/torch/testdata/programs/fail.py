"""A program that fails of itself"""
# class: did_not_run
# source: 7
# says: exit code 1: ValueError: no data
import torch

x = torch.zeros(1000, device="cuda"); raise ValueError("no data")
