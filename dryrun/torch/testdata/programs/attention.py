"""Attention by cuDNN, which newer releases take on capability 9.0: the workspace of its engine is a guess"""
# torch: 2.5
# class: assumption
# says: cudnn
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

q, k, v = (torch.randn(2, 8, 256, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
    scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
