"""PopTorch models that do not fit into memory."""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from pathlib import Path

import pytest
import torch
from torch import nn

from simulator.frontends import poptorch
from simulator.frontends.poptorch import executor
from simulator.frontends.poptorch.devices import ModelConnection
from simulator.poplar import Device, Target


@pytest.mark.parametrize("allowed", ["true", "false"])
def test_the_error_ranks_the_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allowed: str) -> None:
    device = Device(Target.createIPUTarget(1, 4, "ipu2"))
    device.attach()
    monkeypatch.setattr(executor, "connection_for", lambda options, ipus: ModelConnection(device))
    engine = {"autoReport.all": "true", "autoReport.directory": str(tmp_path), "debug.allowOutOfMemory": allowed}
    monkeypatch.setenv("POPLAR_ENGINE_OPTIONS", json.dumps(engine))
    network = nn.Sequential(OrderedDict(narrow=nn.Linear(64, 256), wide=nn.Linear(256, 64)))
    with pytest.raises(poptorch.Error, match="Out of memory") as raised:
        poptorch.inferenceModel(network)(torch.zeros(2048, 64))
    sizes = re.findall(r"^  (?:narrow|wide)/MatMul: ([\d,]+) bytes at the peak$", str(raised.value), re.MULTILINE)
    assert len(sizes) == 2
    assert "Profile saved to:" in str(raised.value)
    assert list(tmp_path.glob("**/profile.pop"))
