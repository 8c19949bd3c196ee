"""Examples run once in a session of tests, with all reports, whichever modules and worker processes ask for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.waiting import wait_until

ROOT = Path(__file__).parents[1]
#: Seconds until a run that another worker began counts as lost.
PATIENCE = 600


class ExampleRun(NamedTuple):
    """What an example printed, how it ended, and the folder of its reports."""

    folder: Path
    stdout: str
    stderr: str
    returncode: int


def run_example(command: Sequence[str], folder: Path) -> ExampleRun:
    """Run `examples/<command>` with all reports and a host trace into `folder`."""
    reports = {"autoReport.all": "true", "autoReport.directory": str(folder)}
    given = {
        "POPLAR_ENGINE_OPTIONS": json.dumps(reports),
        "PVTI_OPTIONS": json.dumps({"enable": "true", "directory": str(folder)}),
        "POPVISION_LOCKS": str(folder.parent / f"{folder.name}.locks"),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / command[0]), *command[1:]],
        env=os.environ | given,
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return ExampleRun(folder, done.stdout, done.stderr, done.returncode)


def example_run(factory: pytest.TempPathFactory, *command: str) -> ExampleRun:
    """The run of an example, made by the first who asks; its folder is to be read only."""
    base = factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "example_runs"
    shared.mkdir(exist_ok=True)
    name = "_".join(command).replace(".py", "").replace("--", "")
    result, begun = shared / f"{name}.json", shared / f"{name}.begun"
    try:
        begun.touch(exist_ok=False)
    except FileExistsError:
        _wait_for(result)
    else:
        done = run_example(command, shared / name)
        partial = result.with_suffix(".part")
        partial.write_text(json.dumps([done.stdout, done.stderr, done.returncode]))
        partial.rename(result)
    stdout, stderr, code = json.loads(result.read_text())
    return ExampleRun(shared / name, stdout, stderr, code)


def _wait_for(path: Path) -> None:
    wait_until(path.exists, f"the end of {path.stem}, which another worker has begun", PATIENCE)
