"""A report small enough to check by hand: four tiles, three programs, one run.

Clocks of the four tiles (begin of run 0):

    step 0  OnTileExecute  cycles 10 20 0 5      clocks 10 20  0  5
    step 1  Sync           until 23              clocks 23 23 23 23
    step 2  DoExchange     cycles 4 0 4 0        clocks 27 23 27 23
    step 3  OnTileExecute  cycles 10 20 0 5      clocks 37 43 27 28
    end of the run at 43: tail 6 0 16 15
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from popvision.formats.profile import model
from popvision.formats.profile.writer import ProfileWriter

TILES = 4
_VARIABLE, _CONSTANT = model.CATEGORIES.index("variable"), model.CATEGORIES.index("constant")


def u4(*values: int) -> model.IntArray:
    return np.array(values, np.uint32)


def i8(*values: int) -> model.IntArray:
    return np.array(values, np.int64)


def tiny_compilation() -> model.Compilation:
    """Three leaf programs under a Sequence; a weight always live, a temporary live at indices 0 and 1."""
    return model.Compilation(
        target=model.Target("IpuModel", "Ipu2", 1, TILES, 1000, 1e6, physical_tile=u4(0, 1, 3, 2)),
        programs=_programs(),
        compute_sets=model.ComputeSets(["layer/matmul"], i8(2), i8(64)),
        vertex_types=model.VertexTypes(["MatMul<float>"], ["worker"], i8(12), i8(-1)),
        tile_memory=_tile_memory(),
        num_vertices=3,
        num_edges=9,
        num_variables=2,
        program_on_ipu=[
            model.ProgramOnIpu(1, 0, cycles=u4(10, 20, 0, 5)),
            model.ProgramOnIpu(3, 0, cycles=u4(4, 0, 4, 0), rx=u4(8, 0, 8, 0), tx=u4(0, 8, 0, 0)),
        ],
        messages=[model.Messages(3, 0, u4(1, 1), u4(0, 2), u4(8, 8))],
        sendings=[model.Sendings(3, 0, u4(1), u4(2), u4(8))],
        program_variables=[model.ProgramVariables(1, u4(0, 1, 2)), model.ProgramVariables(3, u4(1))],
        compute_set_vertices=[
            model.ComputeSetVertices(0, 0, 0, u4(1, 1, 0, 1), u4(10, 20, 0, 5), "exact", flops=64),
        ],
        category_memory=_category_memory(),
        variables=_variables(),
        eq_classes=model.EquivalenceClasses(i8(0, 1), i8(0), i8(2)),
        liveness=model.Liveness(i8(1, 2, 3), i8(32, 32, 0), [i8(32, 32, 0)]),
        vars_info=_vars_info(),
        lowered=[_lowered_tile()],
        lowered_names=["weights", "temporary", "constant"],
        meta=_meta(),
    )


def _programs() -> model.Programs:
    return model.Programs(
        type=["Sequence", "OnTileExecute", "Sync", "DoExchange"],
        name=["", "layer/matmul", "Internal", "cs0_layer/ExchangePre"],
        owner=["control"] * 4,
        compute_set=i8(-1, 0, -1, -1),
        repeat_count=i8(0, 0, 0, 0),
        debug_id=i8(-1, 2, -1, 1),
        sync_type=["", "", "internal", ""],
        child_offsets=i8(0, 3, 3, 3, 3),
        children=i8(1, 2, 3),
    )


def _tile_memory() -> model.TileMemory:
    return model.TileMemory(
        including_gaps=u4(120, 116, 100, 100),
        excluding_gaps=u4(116, 116, 100, 100),
        always_live=u4(100, 100, 100, 100),
        not_always_live=u4(16, 16, 0, 0),
        overflowed=u4(0, 0, 0, 0),
    )


def _category_memory() -> list[model.CategoryMemory]:
    return [
        model.CategoryMemory("variable", "nonInterleaved", False, 0, u4(80, 80, 64, 64)),
        model.CategoryMemory("variable", "interleaved", False, 0, u4(16, 16, 0, 0)),
        model.CategoryMemory("constant", "nonInterleaved", False, 0, u4(20, 20, 36, 36)),
    ]


def _variables() -> model.Variables:
    return model.Variables(
        ["weights", "temporary", "constant"],
        i8(-1, -1, -1),
        i8(288, 32, 112),
        np.array([True, False, True]),
        i8(-1, 0, -1),
    )


def _vars_info() -> tuple[model.IntArray, model.IntArray, model.IntArray, model.IntArray]:
    return (
        u4(0, 1, 2, 3, 0, 1, 0, 1, 2, 3),
        u4(*[_VARIABLE] * 6, *[_CONSTANT] * 4),
        u4(0, 0, 0, 0, 1, 1, 2, 2, 2, 2),
        u4(80, 80, 64, 64, 16, 16, 20, 20, 36, 36),
    )


def _lowered_tile() -> model.LoweredTile:
    return model.LoweredTile(
        tile=0,
        first_id=0,
        bytes=u4(80, 20, 16),
        address=u4(0, 80, 104),
        category=u4(_VARIABLE, _CONSTANT, _VARIABLE),
        region=u4(0, 0, 1),
        variable=i8(0, 2, 1),
        eq_class=i8(-1, -1, 0),
        name=u4(0, 2, 1),
    )


def _meta() -> dict[str, Any]:
    return {
        "poplarVersion": "3.4.0 (popvision 0.1.0)",
        "modelVersion": "popvision 0.1.0",
        "simulated": True,
        "engineOptions": {"autoReport.all": "true"},
        "engineName": "",
        "timestamp": "2026-11-21T00:00:00Z",
        "reportId": "tiny",
        "runId": "tiny-run",
        "computeInstrumentation": "Tile",
        "externalExchangeInstrumentation": "Off",
    }


def tiny_run() -> model.RunRecord:
    """The run drawn at the head of this module."""
    zero = u4(0, 0, 0, 0)
    patterns = [
        model.StepOnIpu(zero, u4(10, 20, 0, 5)),
        model.StepOnIpu(u4(10, 20, 0, 5), u4(13, 3, 23, 18)),
        model.StepOnIpu(zero, u4(4, 0, 4, 0)),
        model.StepOnIpu(u4(4, 0, 4, 0), u4(10, 20, 0, 5)),
    ]
    return model.RunRecord(
        program_index=0,
        name="step",
        host_start_us=1_000_000,
        host_end_us=1_000_250,
        cycles=43,
        program=i8(1, 2, 3, 1),
        base=i8(0, 0, 23, 23).reshape(4, 1),
        pattern=i8(0, 1, 2, 3).reshape(4, 1),
        patterns=patterns,
        tail=[u4(6, 0, 16, 15)],
        data_in=i8(0, 0, 16, 0).reshape(4, 1),
        data_out=i8(0, 0, 8, 0).reshape(4, 1),
    )


def write_tiny(folder: Path) -> Path:
    """Write the report into `folder`; the path of its profile.pop."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "profile.pop"
    with ProfileWriter(path) as writer:
        writer.write_compilation(tiny_compilation())
        writer.append_run(tiny_run())
    return path
