"""Processes of a real mpirun: each rank has a report folder of its own, and the reports are one set."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from popvision.formats.profile import ProfileReader

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, sys
from tests.analysis.ranks.rank_program import run_program
options = {"autoReport.all": "true", "autoReport.directory": "out"}
run_program(3 + 4 * int(os.environ["OMPI_COMM_WORLD_RANK"]), options=options)
"""


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.long)])
def test_three_ranks_are_one_report_set(rounds, mpirun, tmp_path):
    for number in range(rounds):
        folder = tmp_path / str(number)
        folder.mkdir()
        environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        command = [*mpirun, "-n", "3", sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
        names = ["rank_0", "rank_1", "rank_2"]
        assert sorted(path.name for path in (folder / "out").iterdir()) == names
        metas = [ProfileReader(folder / "out" / name / "profile.pop").meta["rank"] for name in names]
        assert [(meta["rank"], meta["ranks"]) for meta in metas] == [(0, 3), (1, 3), (2, 3)]
        assert len({meta["run"] for meta in metas}) == 1
        listed = [sys.executable, "-m", "popvision", "ranks", "out", "--json"]
        told = subprocess.run(listed, cwd=folder, env=environment, capture_output=True, text=True, check=True)
        [answer] = json.loads(told.stdout)
        assert (answer["ranks"], answer["missing"]) == (3, [])
