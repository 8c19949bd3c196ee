"""Train a small convolutional network on MNIST with PopTorch, then measure its accuracy on the test images.

    source enable.sh
    python examples/pytorch/mnist.py                                          one epoch
    python examples/pytorch/mnist.py --images 2000 --test-images 400          a quick look

Data come from torchvision; without it, and without files of MNIST, images are synthetic, which is said once. The model
returns predictions and loss from one call, so that the device computes both; the optimiser runs on the device too.
"""

from __future__ import annotations

import argparse
from typing import Any

import poptorch
import torch
from mnist_network import Network, WithLoss
from torch.utils.data import Subset
from torchvision import datasets, transforms


def accuracy(predictions: Any, labels: Any) -> float:
    """Percent of images whose largest output is that of their label."""
    return 100 * float((predictions.argmax(1) == labels).float().mean())


def images(train: bool, count: int) -> Any:
    scale = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
    whole = datasets.MNIST("~/.torch/datasets", train=train, download=True, transform=scale)
    return Subset(whole, range(min(count, len(whole))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--device-iterations", type=int, default=50)
    parser.add_argument("--test-batch-size", type=int, default=80)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--dropout", type=float, default=0.5)
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--test-images", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)

    options = poptorch.Options().deviceIterations(arguments.device_iterations).randomSeed(arguments.seed)
    training_data = poptorch.DataLoader(
        options, images(True, arguments.images), batch_size=arguments.batch_size, shuffle=True, drop_last=True
    )
    test_data = poptorch.DataLoader(
        poptorch.Options(), images(False, arguments.test_images), batch_size=arguments.test_batch_size
    )
    model = Network(arguments.dropout)
    model_with_loss = WithLoss(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.rate)
    all_outputs = options.clone().outputMode(poptorch.OutputMode.All)
    training_model = poptorch.trainingModel(model_with_loss, all_outputs, optimizer=optimizer)
    for epoch in range(1, arguments.epochs + 1):
        losses, right = [], []
        for batch, labels in training_data:
            predictions, loss = training_model(batch, labels)
            losses.append(float(loss.mean()))
            right.append(accuracy(predictions, labels))
        print(f"Epoch {epoch}: loss {sum(losses) / len(losses):.4f}, accuracy {sum(right) / len(right):.1f} %")
    training_model.detachFromDevice()

    inference_model = poptorch.inferenceModel(model)
    right = [accuracy(inference_model(batch), labels) for batch, labels in test_data]
    inference_model.detachFromDevice()
    print(f"Accuracy on test set: {sum(right) / len(right):.2f}%")


if __name__ == "__main__":
    main()
