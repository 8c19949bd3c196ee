"""Puts a generated report together and writes it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from popvision.formats.errors import FormatError
from popvision.formats.generate import execution, memory, program
from popvision.formats.profile.model import Compilation, Target
from popvision.formats.profile.writer import ProfileWriter

_CAPACITY, _SPLIT = 638_976, 319_488


@dataclass(frozen=True)
class Size:
    """Size of the report. Intervals are non-zero (step, tile) cells, rounded up to full steps."""

    intervals: float = 20e6
    kind: str = "distinct"  #: "distinct" = no two arrays equal, "repeat" = a body repeated `repeats` times a run
    tiles: int = 1_472
    ipus: int = 1
    layers: int = 8
    liveness_indices: int = 0  #: 0 = one per leaf program
    lowered_variables: int = 0  #: over all tiles; 0 = 100 per tile
    seed: int = 1
    repeats: int = 27
    intervals_per_run: int = 12_500_000  #: target number; at least one run is written
    compute_sets: int = 0  #: at most this number, shared by operations; 0 = one per operation


def generate(path: str | Path, size: Size) -> int:
    """Writes profile.pop to `path` and gives the number of intervals in it. Raises FormatError."""
    if (
        size.kind not in ("distinct", "repeat")
        or min(size.intervals, size.tiles, size.ipus, size.layers, size.repeats, size.intervals_per_run) < 1
    ):
        raise FormatError(f"cannot generate {size}: kind is distinct or repeat, numbers are at least 1.")
    rng = np.random.default_rng(size.seed)
    runs = _runs(size)
    trips = size.repeats if size.kind == "repeat" else -(-max(runs) // (size.layers * len(program.OPERATIONS) * 3))
    tree = program.build(size.layers, trips, size.compute_sets)
    with ProfileWriter(path) as writer:
        compilation = _compilation(size, tree, rng)
        moved = program.moved(compilation, size.ipus)
        writer.write_compilation(compilation)
        began = 0
        for number, steps in enumerate(runs):
            plan = _plan(tree, steps, size.repeats if size.kind == "repeat" else 1)
            record = execution.make_run(plan, number, began, (size.ipus, size.tiles), rng, moved)
            writer.append_run(record)
            began += record.cycles
    return sum(runs) * size.ipus * size.tiles


def _runs(size: Size) -> list[int]:
    """Steps of each run. A repeated run has 3 + repeats x n steps, so its length is rounded up."""
    width = size.tiles * size.ipus
    steps = -(-int(size.intervals) // width)
    count = max(1, round(steps * width / size.intervals_per_run))
    lengths = [steps // count + (run < steps % count) for run in range(count)]
    if size.kind == "distinct":
        return [max(n, 6) for n in lengths]
    return [3 + size.repeats * max(1, -(-(n - 3) // size.repeats)) for n in lengths]


def _plan(tree: program.Program, steps: int, copies: int) -> execution.Plan:
    """A run of exactly `steps` steps: the prelude, then the body over and over, cut off where the steps end."""
    body = np.resize(tree.body, (steps - 3) // copies)
    kinds = ["exchange", "compute", "sync"]
    kind = [kinds[i % 3] for i in range(len(body))]
    if copies > 1 and kind:
        last_sync = tree.body[np.arange(2, len(tree.body), 3)]
        kind[-1], body[-1] = "sync", last_sync[(len(body) // 3) % len(last_sync)]
    prelude = ["host", "host", "sync" if copies > 1 else "host"]
    return execution.Plan(np.concatenate([tree.prelude, np.tile(body, copies)]), prelude + kind * copies, 3, copies)


def _compilation(size: Size, tree: program.Program, rng: np.random.Generator) -> Compilation:
    total_tiles = size.ipus * size.tiles
    per_tile = -(-size.lowered_variables // total_tiles) if size.lowered_variables else 100
    indices = size.liveness_indices or len(tree.body)
    contents = memory.build(per_tile, indices, tree.body, size.ipus, size.tiles, _CAPACITY, _SPLIT, rng)
    vertices = program.vertices(tree, size.ipus, size.tiles, rng)
    figures, messages, sendings = program.traffic(tree, size.ipus, size.tiles, rng)
    return Compilation(
        target=Target(
            "IpuModel", "Ipu2", size.ipus, size.tiles, _CAPACITY, 1.85e9, region_split=_SPLIT, min_sync_delay=20
        ),
        programs=tree.programs,
        compute_sets=tree.compute_sets,
        vertex_types=program.VERTEX_TYPES,
        tile_memory=contents.tile_memory,
        num_vertices=int(sum(int(block.count.sum()) for block in vertices)),
        num_edges=3 * int(sum(int(block.count.sum()) for block in vertices)),
        num_variables=len(contents.variables.name),
        program_on_ipu=figures,
        messages=messages,
        sendings=sendings,
        compute_set_vertices=vertices,
        vertex_lanes=program.lanes(vertices),
        category_memory=contents.category_memory,
        variables=contents.variables,
        eq_classes=contents.eq_classes,
        liveness=contents.liveness,
        vars_info=contents.vars_info,
        lowered=contents.lowered,
        lowered_names=contents.names,
        meta={
            "reportId": f"generated-{size.kind}-{size.seed}-{int(size.intervals)}-{size.ipus}x{size.tiles}",
            "generated": True,
            "simulated": True,
            "poplarVersion": "3.4.0 (popvision generator)",
            "modelVersion": "generated: log-normal durations, no program behind them",
            "engineName": f"generated {size.kind}",
            "computeInstrumentation": "Tile",
            "engineOptions": {},
            "targetOptions": {},
        },
    )
