"""AdamW on a linear layer; each loss is printed with .item()"""
# class: exact
# reads: 10:4
import torch

model = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(4):
    loss = model(torch.randn(8, 256, device="cuda")).pow(2).mean()
    print("loss", loss.item())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
