"""torch.linalg (qr, svd, eigh, inv) by cuSOLVER"""
# class: did_not_run
# source: 6
# says: cannot answer cusolver
import torch
torch.linalg.qr(torch.randn(64, 64, device="cuda"))
