"""A step that is left out where the loss is not a number"""
# class: value_dependent
import torch

model = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(4):
    loss = model(torch.randn(8, 256, device="cuda")).pow(2).mean()
    if torch.isnan(loss):
        continue
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
