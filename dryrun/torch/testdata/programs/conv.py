"""A convolution by cuDNN: the workspace of its engine is a guess"""
# class: assumption
# says: cudnn
import torch

model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU()).cuda()
model(torch.randn(2, 3, 32, 32, device="cuda")).sum().backward()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
