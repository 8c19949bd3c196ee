"""A small GPT whose output layer shares its embedding, in inference: the next token by greedy choice.

python examples/pytorch/gpt.py
"""

from __future__ import annotations

from typing import Any

import poptorch
import torch
from torch import nn

TOKENS, WIDTH, HEADS, LAYERS, LENGTH = 64, 32, 2, 2, 16


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.mix = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape
        parts = self.mix(self.norm1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(TOKENS, WIDTH)
        self.places = nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, TOKENS, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, text: Any) -> Any:
        x = self.tokens(text) + self.places(torch.arange(text.shape[1]))
        return self.head(self.norm(self.layers(x)))


def main() -> None:
    torch.manual_seed(0)
    model = Gpt().eval()
    device_model = poptorch.inferenceModel(model)
    text = torch.randint(0, TOKENS, (1, LENGTH))
    with torch.no_grad():
        expected = model(text)
    got = device_model(text)
    written = []
    for _ in range(8):
        chosen = int(device_model(text)[0, -1].argmax())
        written.append(chosen)
        text = torch.cat([text[:, 1:], torch.tensor([[chosen]])], dim=1)
    print(f"Largest difference from torch: {'below 1e-4' if (got - expected).abs().max() < 1e-4 else 'too large'}")
    print("Tokens:", *written)


if __name__ == "__main__":
    main()
