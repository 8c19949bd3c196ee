"""A report of one IPU with four tiles whose tile 3 copies from the host while tiles 0 to 2 compute.

step 0  OnTileExecute    cycles 100 90 80 0    tiles 0 to 2 from cycle 0
step 1  StreamCopyBegin  cycles 0 0 0 20       tile 3 from 0
step 2  StreamCopyMid    cycles 0 0 0 60       tile 3 from 20
step 3  StreamCopyEnd    cycles 0 0 0 5        tile 3 from 80
step 4  Sync             until 100             clocks 100 100 100 100
step 5  DoExchange       cycles 10 10 10 10    end 110
step 6  StreamCopyMid    cycles 0 0 0 alone    tile 3 from 110, only where `alone` is given
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from popvision.formats.profile import model
from popvision.formats.profile.writer import ProfileWriter
from tests.reports import i8, tiny_compilation, u4


def write_overlap(folder: Path, alone: int = 0, **meta: object) -> Path:
    """profile.pop in `folder` with `meta` besides the usual; gives the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tiny = tiny_compilation()
    types = ["OnTileExecute", "StreamCopyBegin", "StreamCopyMid", "StreamCopyEnd", "Sync", "DoExchange"]
    programs = model.Programs(
        type=["Sequence", *types],
        name=["", "layer/matmul", "images", "images", "images", "Internal", "cs0_layer/ExchangePre"],
        owner=["control"] * 7,
        compute_set=i8(-1, 0, -1, -1, -1, -1, -1),
        repeat_count=i8(*[0] * 7),
        debug_id=i8(*[-1] * 7),
        sync_type=["", "", "", "", "", "internal", ""],
        child_offsets=i8(0, 6, 6, 6, 6, 6, 6, 6),
        children=i8(1, 2, 3, 4, 5, 6),
    )
    compilation = replace(
        tiny,
        programs=programs,
        program_on_ipu=[],
        messages=[],
        meta=tiny.meta | {"reportId": "overlap"} | meta,
        liveness=None,
        eq_classes=None,
    )
    starts = [(0, 0, 0, 0), (100, 90, 80, 0), (80, 70, 60, 0), (20, 10, 0, 0), (15, 5, 0, 5), (0, 0, 0, 0)]
    cycles = [(100, 90, 80, 0), (0, 0, 0, 20), (0, 0, 0, 60), (0, 0, 0, 5), (0, 10, 20, 15), (10, 10, 10, 10)]
    base = [0, 0, 20, 80, 85 - 5, 100]
    starts[4] = (20, 10, 0, 5)
    programs_run = [1, 2, 3, 4, 5, 6]
    if alone:
        starts, cycles, base = [*starts, (0, 0, 0, 0)], [*cycles, (0, 0, 0, alone)], [*base, 110]
        programs_run.append(3)
    steps = len(programs_run)
    data_in = i8(0, 0, 64, 0, 0, 16, 64)[:steps].reshape(steps, 1)
    patterns = [model.StepOnIpu(u4(*s), u4(*c)) for s, c in zip(starts, cycles, strict=True)]
    run = model.RunRecord(
        program_index=0, name="step", host_start_us=0, host_end_us=10, cycles=110 + alone, program=i8(*programs_run),
        base=np.array(base, np.int64).reshape(steps, 1), pattern=np.arange(steps).reshape(steps, 1), patterns=patterns,
        tail=[u4(alone, alone, alone, 0)], data_in=data_in, data_out=i8(*[0] * steps).reshape(steps, 1),
    )  # fmt: skip
    with ProfileWriter(folder / "profile.pop") as writer:
        writer.write_compilation(compilation)
        writer.append_run(run)
    return folder
