"""Cycles and bytes of five sample programs, each on the IPU Model and on simulated hardware.

The programs run as the scripts of `examples` that made the sample reports, in this process, with a report in a scratch
folder; its headline has the figures. On simulated hardware `IPUModel.createDevice` gives simulated hardware with the
model's number of tiles and IPUs, so that code, stacks and launches count. The simulator is imported only when figures
are requested, so that a constant can be changed before.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import runpy
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest import mock

if TYPE_CHECKING:
    from simulator.poplar import Device, IPUModel

EXAMPLES = Path(__file__).parents[2] / "examples"

#: title -> command line of the five sample programs that run to their end, and tiles per IPU (0: the program's own)
SAMPLES = {
    "matmul_chain": (["matmul_chain.py"], 0),
    "train_mlp": (["train_mlp.py", "--epochs", "1"], 64),
    "train_mlp_wide": (["train_mlp.py", "--epochs", "1", "--hidden", "256"], 64),
    "pipeline": (["pipeline.py"], 0),
    "replicated_training": (["replicated_training.py", "--epochs", "1"], 0),
}


class Figures(NamedTuple):
    """Device cycles of the first run, and bytes of all tiles excluding gaps."""

    model_cycles: int
    hardware_cycles: int
    model_bytes: int
    hardware_bytes: int


def figures() -> dict[str, Figures]:
    """Figures of every sample program."""
    found = {}
    for title, (command, tiles) in SAMPLES.items():
        model, hardware = (_run(command, tiles, hardware) for hardware in (False, True))
        found[title] = Figures(model[0], hardware[0], model[1], hardware[1])
    return found


def _run(command: list[str], tiles: int, hardware: bool) -> tuple[int, int]:
    """(cycles, bytes) of the report that one script leaves."""
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.summary.headline import headline
    from simulator.poplar import IPUModel

    with tempfile.TemporaryDirectory() as folder:
        options = {
            "autoReport.directory": folder,
            "autoReport.outputGraphProfile": "true",
            "autoReport.outputExecutionProfile": "true",
            "autoReport.executionProfileProgramRunCount": "1",
        } | ({"debug.instrument": "true"} if hardware else {})
        environment = {"POPLAR_ENGINE_OPTIONS": json.dumps(options)} | (
            {"POPVISION_TILES": str(tiles)} if tiles else {}
        )
        create = IPUModel.createDevice

        def create_device(model: IPUModel, *arguments: Any) -> Device:
            device = create(model, *arguments)
            return _as_hardware(device) if hardware else device

        with (
            mock.patch.dict(os.environ, environment),
            mock.patch.object(sys, "argv", command),
            mock.patch.object(IPUModel, "createDevice", create_device),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            runpy.run_path(str(EXAMPLES / command[0]), run_name="__main__")
        figures = headline(ReportSource(folder))
    assert figures.total_cycles is not None
    assert figures.used_bytes is not None
    return figures.total_cycles, figures.used_bytes


def _as_hardware(model: Device) -> Device:
    """The device of a model as attached hardware that no other process competes for."""
    from simulator.base.target import TargetType
    from simulator.engine.devices.device import Device

    target = model.getTarget()
    device = Device(replace(target, type=TargetType.IPU), ipus=tuple(range(target.getNumIPUs())))
    device.attach()
    return device
