"""Train the network of mnist.py on two IPUs, the convolutions on one and the dense layers on the other, as a pipeline.

    python examples/pytorch/pipelined_mnist.py
    python examples/pytorch/pipelined_mnist.py --sharded       one IPU after the other: the same losses, more time

While the second IPU works on one micro-batch, the first works on the next. In the execution trace the pipeline fills,
runs and drains in each step. A micro-batch has 32 images: the host prefetches the next one while the stages work, but
takes 60 us for it, longer than a stage works on a few images, and then a pipeline would gain nothing.
"""

from __future__ import annotations

import argparse

import poptorch
import torch
from mnist_network import Network, WithLoss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sharded", action="store_true")
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = WithLoss(Network(dropout=0.0))
    poptorch.BeginBlock(model.model.layer1, ipu_id=0)
    poptorch.BeginBlock(model.model.layer3, ipu_id=1)
    options = poptorch.Options()
    strategy = poptorch.ShardedExecution() if arguments.sharded else poptorch.PipelinedExecution()
    options.setExecutionStrategy(strategy).logCycleCount(True)
    options.Training.gradientAccumulation(8)
    training = poptorch.trainingModel(model, options, torch.optim.SGD(model.parameters(), lr=0.05))
    images, labels = torch.randn(256, 1, 28, 28), torch.randint(0, 10, (256,))
    for step in range(1, arguments.steps + 1):
        _, loss = training(images, labels)
        print(f"Step {step}: loss of the last micro-batch {float(loss):.4f}")
    print(f"Simulated cycles of a step: {training.cycleCount():,}")


if __name__ == "__main__":
    main()
