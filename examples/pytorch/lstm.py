"""An LSTM layer on the device: a sequence and a pair of first states go in, outputs and last states come back.

python examples/pytorch/lstm.py
"""

from __future__ import annotations

from typing import Any

import poptorch
import torch

STEPS, BATCH, FEATURES, HIDDEN = 5, 2, 4, 3


class Memory(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = torch.nn.LSTM(FEATURES, HIDDEN)

    def forward(self, sequence: Any, states: Any) -> Any:
        outputs, (hidden, cell) = self.lstm(sequence, states)
        return outputs, {"hidden": hidden, "cell": cell}


def main() -> None:
    torch.manual_seed(0)
    model = Memory()
    sequence = torch.randn(STEPS, BATCH, FEATURES)
    states = torch.randn(1, BATCH, HIDDEN), torch.randn(1, BATCH, HIDDEN)
    outputs, last = poptorch.inferenceModel(model)(sequence, states)
    expected, ends = model(sequence, states)
    print(f"Outputs {tuple(outputs.shape)}, last cell {tuple(last['cell'].shape)}")
    error = max(float((outputs - expected).abs().max()), float((last["cell"] - ends["cell"]).abs().max()))
    print(f"Largest difference from torch: {'below 1e-5' if error < 1e-5 else error}")


if __name__ == "__main__":
    main()
