"""Trains a Llama of 1.1 billion parameters from random weights on random tokens."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

STEPS, BATCH, TOKENS, WORDS = 3, 8, 2048, 32_000


def build() -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=WORDS,
        hidden_size=2048,
        intermediate_size=5632,
        num_hidden_layers=22,
        num_attention_heads=32,
        num_key_value_heads=4,
        use_cache=False,
    )
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    model.gradient_checkpointing_enable()
    return model.train()


def train(model: LlamaForCausalLM) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for step in range(STEPS):
        text = torch.randint(0, WORDS, (BATCH, TOKENS), device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(input_ids=text, labels=text).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step} loss {loss.item():.3f}", flush=True)


if __name__ == "__main__":
    train(build())
