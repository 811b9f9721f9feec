"""An exit code other than 0"""
# class: did_not_run
# says: exit code 3
# exit: 3
import sys

import torch

x = torch.zeros(1000, device="cuda")
sys.exit(3)
