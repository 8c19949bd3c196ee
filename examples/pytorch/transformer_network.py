"""The network of the transformer example, and its loss."""

from __future__ import annotations

from typing import Any

from torch import nn


class Encoder(nn.Module):
    def __init__(self, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.embed = nn.Linear(1, width)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.head = nn.Linear(width, 2)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, sequence: Any, labels: Any) -> Any:
        hidden = self.encoder(self.embed(sequence.unsqueeze(-1)))
        scores = self.head(hidden.mean(1))
        return scores, self.loss(scores, labels)
