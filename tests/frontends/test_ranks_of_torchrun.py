"""Processes of a real torchrun: each rank has a report folder of its own, and the reports are one set."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from popvision.formats.profile import ProfileReader

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import torch
from simulator.frontends import poptorch
options = poptorch.Options().showCompilationProgressBar(False).useIpuModel(True)
model = poptorch.inferenceModel(torch.nn.ReLU(), options)
assert model(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]
model.destroy()
"""


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_two_ranks_are_one_report_set(rounds, tmp_path):
    pytest.importorskip("torch")
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "program.py").write_text(PROGRAM)
        asked = {"autoReport.all": "true", "autoReport.directory": str(folder / "out")}
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "POPLAR_ENGINE_OPTIONS": json.dumps(asked),
            "POPVISION_TILES": "4",
        }
        launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
        done = subprocess.run(
            [*launcher, "program.py"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        names = ["rank_0", "rank_1"]
        assert sorted(path.name for path in (folder / "out").iterdir()) == names
        profiles = [next((folder / "out" / name).rglob("profile.pop")) for name in names]
        metas = [ProfileReader(profile).meta["rank"] for profile in profiles]
        assert [(meta["rank"], meta["ranks"]) for meta in metas] == [(0, 2), (1, 2)]
        assert len({meta["run"] for meta in metas}) == 1
        listed = [sys.executable, "-m", "popvision", "ranks", "out", "--json"]
        told = subprocess.run(listed, cwd=folder, env=environment, capture_output=True, text=True, check=True)
        [answer] = json.loads(told.stdout)
        assert (answer["ranks"], answer["missing"]) == (2, [])
