"""The same where the budget says that it reads 0: no overflow"""
# class: assumption
# assume: 0
import torch

model = torch.nn.Linear(256, 256).cuda()
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda")
for _ in range(3):
    with torch.autocast("cuda", torch.float16):
        loss = model(torch.randn(8, 256, device="cuda")).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
