"""Seconds in which simulator.profile builds, compiles and runs a training step of ResNet-18 on ipu2.

    .venv-frontends/bin/python -m benchmarks.frontends.resnet_profile [batch] [size]

The step has `batch` (4) images of 3 x `size` (224) x `size`. Given are processor time and wall time, the most memory
that the process held, and the step's cycles; what is being done, and at the limit what is known, stands on stderr.
Needs the extra [torch].
"""

from __future__ import annotations

import resource
import sys
import time

import torch

import simulator
from simulator.frontends.torchvision import models


def main() -> None:
    batch, size = (int(text) for text in (*sys.argv[1:3], *("4", "224")[len(sys.argv) - 1 :]))
    torch.set_num_threads(1)
    torch.manual_seed(0)
    images, labels = torch.randn(batch, 3, size, size), torch.randint(0, 1000, (batch,))
    began, used = time.perf_counter(), time.process_time()
    report = simulator.profile(
        models.resnet18(),
        images,
        loss=lambda out: torch.nn.functional.cross_entropy(out, labels),
        search_seconds=0,
    )
    wall, processor = time.perf_counter() - began, time.process_time() - used
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    cycles = int(report.operations(layer="poptorch")["total_cycles"].sum())
    print(f"ResNet-18, batch {batch}, 3 x {size} x {size}, a training step of {cycles:,} cycles")
    print(f"{processor:.1f} s of processor time, {wall:.1f} s of wall time, {held:.1f} GiB held at most")


if __name__ == "__main__":
    main()
