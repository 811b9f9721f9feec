"""A DataLoader with worker processes and pinned memory"""
# class: exact
import torch

if __name__ == "__main__":
    data = torch.utils.data.TensorDataset(torch.randn(64, 32))
    model = torch.nn.Linear(32, 32).cuda()
    for (x,) in torch.utils.data.DataLoader(data, batch_size=16, num_workers=2, pin_memory=True):
        model(x.cuda(non_blocking=True)).sum().backward()
    print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
