"""The smallest PopTorch program: add two numbers on the device.

python examples/pytorch/simple_adder.py
"""

from __future__ import annotations

from typing import Any

import poptorch
import torch


class Adder(torch.nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x + y


def main() -> None:
    model = poptorch.inferenceModel(Adder())
    total = model(torch.tensor([1.0]), torch.tensor([2.0]))
    print("Success" if float(total) == 3.0 else f"Failure: {total}")


if __name__ == "__main__":
    main()
