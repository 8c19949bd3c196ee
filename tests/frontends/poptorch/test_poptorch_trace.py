"""Channels and labels of a PopTorch program in the host trace, those of PopTorch's Python and C++ parts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from popvision.opened.trace import OpenedTrace

ROOT = Path(__file__).parents[3]

PROGRAM = """
import torch
from simulator.frontends import poptorch
class Loss(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)
    def forward(self, x, y):
        out = self.layer(x)
        return out, torch.nn.functional.mse_loss(out, y)
options = poptorch.Options()
options.useIpuModel(True)
model = Loss()
training = poptorch.trainingModel(model, options, optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
for _ in range(3):
    training(torch.ones(2, 4), torch.zeros(2, 2))
training.copyWeightsToHost()
"""


def test_both_parts_of_poptorch_are_in_the_trace(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PVTI_OPTIONS": json.dumps({"directory": str(tmp_path)})}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    subprocess.run(command, env=environment, cwd=tmp_path, check=True, timeout=300)
    (path,) = tmp_path.glob("*.pvti")
    trace = OpenedTrace(path)
    table = trace.statistics().set_index(["channel", "label"])["count"]
    core = table.loc["poptorch"].to_dict()
    assert core == {
        "compileWithManualTracing": 1,
        "attachToDevice": 1,
        "loadEngineAndConnectStreams": 1,
        "copyWeightsToDevice": 1,
        "updateOptimizers": 1,
        "execute": 3,
        "copyWeightsToHost": 1,
    }
    prefix = "poptorch.trainingModel"
    python = table.loc[prefix].to_dict()
    assert python[f"{prefix}.modelExecution"] == 3
    assert python[f"{prefix}.modelCompilation"] == python[f"{prefix}.graphPreprocessing"] == 1
    assert table.loc[("graphConstruction/poplin", "poplin::matMul")] >= 1
