"""Train a transformer encoder to tell which of two halves of a sequence has the larger sum.

    python examples/pytorch/transformer.py             4 layers of width 256, 4 heads, 128 steps
    python examples/pytorch/transformer.py --small     1 layer of width 32, 16 steps

Both fit into one IPU with default options.
"""

from __future__ import annotations

import argparse

import poptorch
import torch
from transformer_network import Encoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=10)
    arguments = parser.parse_args()
    layers, width, heads, length, batch = (1, 32, 2, 16, 8) if arguments.small else (arguments.layers, 256, 4, 128, 2)
    torch.manual_seed(0)
    model = Encoder(layers, width, heads)
    optimizer = poptorch.optim.SGD(model.parameters(), lr=0.01)
    training = poptorch.trainingModel(model, poptorch.Options(), optimizer)
    for step in range(1, arguments.steps + 1):
        sequence = torch.randn(batch, length)
        first, second = sequence.chunk(2, dim=1)
        _, loss = training(sequence, (first.sum(1) > second.sum(1)).long())
        print(f"Step {step}: loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
