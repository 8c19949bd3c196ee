"""A plain Poplar program for several ranks: it counts down from a number in a loop on the device, so ranks that are
given other numbers take other times.

`run_rank` runs it here as one of several ranks; `python -m tests.analysis.ranks.rank_program 5`, under srun, on one of
the IPUs that the rank was given."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from unittest import mock

import numpy as np

from simulator.poplar import FLOAT, INT, Device, DeviceManager, Engine, Graph, IPUModel, TargetType
from simulator.poplar.program import Program, RepeatWhileTrue, Sequence
from simulator.poplibs import popops

RUN = "slurm 7.0 (4000)"


def step_variables(rank: int, ranks: int) -> dict[str, str]:
    """What srun sets for a task of its first step in job 7."""
    names = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_SRUN_COMM_PORT")
    return dict(zip(names, ("7", "0", str(ranks), str(rank), "4000"), strict=True))


def build(graph: Graph, *, more: bool) -> Program:
    """The loop; `more` adds an addition after it."""
    left, sums = graph.addVariable(INT, [], "left"), graph.addVariable(FLOAT, [64], "sums")
    zero, down, up = graph.addConstant(INT, [], 0), graph.addConstant(INT, [], -1), graph.addConstant(FLOAT, [], 1.0)
    for tensor, tile in ((left, 0), (zero, 0), (down, 0), (sums, 1), (up, 1)):
        graph.setTileMapping(tensor, tile)
    graph.setInitialValue(sums, np.zeros(64, np.float32))
    graph.createHostWrite("left", left)
    condition, body = Sequence(), Sequence()
    running = popops.gt(graph, left, zero, condition, "running")
    popops.addInPlace(graph, left, down, body, "down")
    popops.addInPlace(graph, sums, up, body, "sum")
    program = Sequence([RepeatWhileTrue(condition, running, body)])
    if more:
        popops.addInPlace(graph, sums, up, program, "more")
    return program


def run_program(
    number: int,
    *,
    more: bool = False,
    options: dict[str, str] | None = None,
    device: Device | None = None,
) -> None:
    """Two runs, on a model of two tiles unless there is a device."""
    if device is None:
        model = IPUModel()
        model.tilesPerIPU = 2
        device = model.createDevice()
    graph = Graph(device)
    with Engine(graph, build(graph, more=more), options or {}) as engine:
        engine.load(device)
        for _ in range(2):
            engine.writeTensor("left", np.array(number, np.int32))
            engine.run(0)


def run_rank(folder: Path, rank: int, ranks: int, number: int, **more: bool) -> None:
    """Run it as a rank whose options name `folder`."""
    with mock.patch.dict(os.environ, step_variables(rank, ranks)):
        run_program(number, options={"autoReport.all": "true", "autoReport.directory": str(folder)}, **more)


if __name__ == "__main__":
    ipu = next(device for device in DeviceManager().getDevices(TargetType.IPU, 1) if device.attach())
    print(*ipu.getDriverIDs())
    run_program(int(sys.argv[1]) + 4 * int(os.environ["SLURM_PROCID"]), device=ipu)
