"""A program that uses no device"""
# class: did_not_run
# says: it used no CUDA device
import torch

x = torch.zeros(1000)
