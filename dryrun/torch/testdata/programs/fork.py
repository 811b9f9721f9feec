"""A fork that uses no device beside the process that does"""
# class: exact
import os
import sys

import torch

x = torch.zeros(1000, device="cuda")
child = os.fork()
if child == 0:
    sys.exit(5)
print("child", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
y = torch.zeros(2000, device="cuda")
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
