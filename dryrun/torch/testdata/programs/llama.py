"""A transformer (layer norm, rotary positions, flash attention, SwiGLU) in bfloat16 autocast"""
# class: exact
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x, turn):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, -1))
        q, k = (t * turn.cos() + torch.roll(t, t.shape[-1] // 2, -1) * turn.sin() for t in (q, k))
        a = F.scaled_dot_product_attention(q.to(v.dtype), k.to(v.dtype), v, is_causal=True)
        x = x + self.out(a.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


device = torch.device("cuda")
with device:
    embed, head = nn.Embedding(1000, 128), nn.Linear(128, 1000, bias=False)
    blocks = nn.ModuleList(Block(128, 4) for _ in range(2))
    turn = torch.outer(torch.arange(64.0), torch.ones(32))
model = nn.ModuleList([embed, blocks, head])
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    tokens = torch.randint(0, 1000, (2, 64), device=device)
    with torch.autocast("cuda", torch.bfloat16), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        x = embed(tokens)
        for block in blocks:
            x = block(x, turn)
        loss = F.cross_entropy(head(x).flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak", torch.cuda.memory_stats()["requested_bytes.all.peak"])
