"""nn.LSTM by cuDNN (with torch.backends.cudnn.enabled = False it runs)"""
# class: did_not_run
# source: 7
# says: cannot answer cudnn
import torch

y, _ = torch.nn.LSTM(256, 256, 2).cuda()(torch.randn(64, 8, 256, device="cuda"))
