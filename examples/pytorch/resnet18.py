"""ResNet-18 in training on small images, or in inference on large ones.

    python examples/pytorch/resnet18.py                 training at 3x32x32, batch 2
    python examples/pytorch/resnet18.py --inference     inference at 3x224x224, batch 1, on four IPUs as a pipeline

Training fits into one IPU with default options.
"""

from __future__ import annotations

import argparse
from typing import Any

import poptorch
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Any) -> Any:
        out = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        return torch.relu(out + self.shortcut(x))


class ResNet18(nn.Module):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        widths = (64, 64, 128, 256, 512)
        self.blocks = nn.Sequential(
            *(
                Residual(widths[level] if first else widths[level + 1], widths[level + 1], 2 if first and level else 1)
                for level in range(4)
                for first in (True, False)
            )
        )
        self.head = nn.Linear(512, classes)
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x: Any, labels: Any = None) -> Any:
        scores = self.head(self.blocks(self.stem(x)).mean((2, 3)))
        return scores if labels is None else (scores, self.loss(scores, labels))


def classify_large_images(model: ResNet18) -> None:
    """Four stages of two blocks each; with four images in a call every IPU works on another one in between."""
    for ipu, block in enumerate((model.stem, model.blocks[2], model.blocks[4], model.blocks[6])):
        poptorch.BeginBlock(block, ipu_id=ipu)
    options = poptorch.Options().deviceIterations(4).logCycleCount(True)
    options.setExecutionStrategy(poptorch.PipelinedExecution())
    inference = poptorch.inferenceModel(model, options)
    images = torch.randn(4, 3, 224, 224)
    scores = inference(images)
    with torch.no_grad():
        expected = model(images)
    error = float((scores - expected).abs().max() / expected.abs().max())
    print(f"Largest difference from torch: {'below 1e-3' if error < 1e-3 else error}")
    print(f"Simulated cycles of four images: {inference.cycleCount():,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inference", action="store_true")
    parser.add_argument("--steps", type=int, default=2)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    model = ResNet18()
    if arguments.inference:
        classify_large_images(model.eval())
        return
    training = poptorch.trainingModel(model, poptorch.Options(), torch.optim.SGD(model.parameters(), lr=0.01))
    for step in range(1, arguments.steps + 1):
        _, loss = training(torch.randn(2, 3, 32, 32), torch.randint(0, 10, (2,)))
        print(f"Step {step}: loss {float(loss):.4f}")
    print("Batches seen by the first norm:", int(model.stem[1].num_batches_tracked))


if __name__ == "__main__":
    main()
