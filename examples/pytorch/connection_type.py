"""When does PopTorch attach the device? Adds three vectors in the ways that its options have.

python examples/pytorch/connection_type.py                                        attach, compile, run
python examples/pytorch/connection_type.py --connection_type OnDemand             compile, attach (wait), run
python examples/pytorch/connection_type.py --connection_type Never                compile; running is refused
python examples/pytorch/connection_type.py --connection_type Never --cache DIR    compile into the cache
python examples/pytorch/connection_type.py --cache DIR                            attach, load, run
"""

from __future__ import annotations

import argparse
from typing import Any

import poptorch
import torch

VALUES = (torch.tensor([1.0, 1.0]), torch.tensor([0.0, 1.0]), torch.tensor([1.0, 5.0]))


class Sums(torch.nn.Module):
    def forward(self, a: Any, b: Any, c: Any) -> Any:
        return (a + b) + (a + c)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--connection_type", choices=["Always", "OnDemand", "Never"], default="Always")
    parser.add_argument("--cache", help="folder of compiled programs")
    given = parser.parse_args()
    options = poptorch.Options()
    options.connectionType(poptorch.ConnectionType[given.connection_type])
    options.showCompilationProgressBar(False)
    if given.connection_type == "Never":
        options.useOfflineIpuTarget(2)
    if given.cache:
        options.enableExecutableCaching(given.cache)
    poptorch.setLogLevel("DEBUG")
    model = poptorch.inferenceModel(Sums(), options)
    if given.connection_type == "Never":
        model.compile(*VALUES)
        print("Compiled")
        try:
            model(*VALUES)
        except poptorch.Error as error:
            print(error)
        return
    print(model(*VALUES))


if __name__ == "__main__":
    main()
