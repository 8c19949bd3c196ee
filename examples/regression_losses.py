"""Print the losses of the first steps of regression_demo.py as PyTorch computes them.

    python examples/regression_losses.py > examples/regression_losses.json

Only this script needs torch: its output is committed, and tests/examples/test_regression_demo.py checks it where torch
is installed.
"""

from __future__ import annotations

import json

import torch
from regression_demo import RATE, STEPS, images_and_labels, initial


def losses() -> list[float]:
    """Cross entropy of each image before its step of gradient descent."""
    images, labels = (
        torch.from_numpy(values[:STEPS].astype(kind))
        for values, kind in zip(images_and_labels(), ("float32", "int64"), strict=True)
    )
    W, b = (torch.from_numpy(values).requires_grad_() for values in initial(images.shape[1]))
    optimiser = torch.optim.SGD([W, b], lr=RATE)
    found = []
    for image, label in zip(images, labels, strict=True):
        loss = torch.nn.functional.cross_entropy(W @ image + b[:, 0], label)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        found.append(loss.item())
    return found


if __name__ == "__main__":
    print(json.dumps({"torch": torch.__version__, "losses": [round(value, 6) for value in losses()]}, indent=1))
