"""Tables that grow with each run, back as the columns of `model`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from popvision.formats.errors import AbsentError, FormatError
from popvision.formats.profile.arrays import AnyArray
from popvision.formats.profile.model import BranchRecord, Runs, Steps, StepsOnIpu, TileBlocks
from popvision.formats.profile.tables import Tables

_STEPS_AT_ONCE = 256


def runs(tables: Tables) -> Runs:
    table = tables["runs"]
    host = np.asarray(table["host_start_us"]), np.asarray(table["host_end_us"])
    steps = np.asarray(table["first_step"]), np.asarray(table["n_steps"])
    truncated = np.asarray(table["truncated"]) != 0
    return Runs(
        np.asarray(table["program_index"]), list(table["name"]), *host, *steps, np.asarray(table["cycles"]), truncated
    )


def branch_record(tables: Tables, run: int) -> BranchRecord:
    if not tables.holds("branch_record"):
        return BranchRecord(*(np.empty(0, np.int64) for _ in range(3)))
    table = tables["branch_record"]
    rows = np.flatnonzero(np.asarray(table["run"]) == run)
    return BranchRecord(*(np.asarray(table[name])[rows] for name in ("program", "entered", "trips")))


def blocks(tables: Tables, arrays: Callable[[Sequence[int]], list[AnyArray]], tile: int) -> list[TileBlocks]:
    if not tables.holds("blocks", since=(1, 2)):
        return []
    table = tables["blocks"]
    rows = np.flatnonzero(np.asarray(table["tile"]) == tile)
    ids = [np.asarray(table[f"{name}_array"])[rows] for name in ("program", "kind", "start", "end")]
    found = arrays(np.concatenate(ids).tolist())
    columns = [found[begin : begin + len(rows)] for begin in range(0, 4 * len(rows), len(rows) or 1)]
    made = [TileBlocks(tile, *each) for each in zip(*columns, strict=True)]
    for row, on_tile in zip(rows.tolist(), made, strict=True):
        lengths = {len(column) for column in (on_tile.program, on_tile.kind, on_tile.start, on_tile.end)}
        if lengths != {int(np.asarray(table["n"])[row])}:
            raise FormatError(f"{tables.file.path}: the blocks of tile {tile} do not fit together.")
    return made


def tiles_with_blocks(tables: Tables) -> list[int]:
    if not tables.holds("blocks", since=(1, 2)):
        return []
    found: list[int] = np.unique(np.asarray(tables["blocks"]["tile"])).tolist()
    return found


def steps(tables: Tables) -> Steps:
    table = tables["steps"]
    kinds = np.asarray(table["type"]).astype(np.uint8)
    return Steps(kinds, *(np.asarray(table[name]) for name in ("program", "compute_set", "run")))


def steps_on_ipu(tables: Tables, ipu: int) -> StepsOnIpu:
    table = tables["steps_by_ipu"]
    rows = np.flatnonzero(np.asarray(table["ipu"]) == ipu)

    def column(name: str) -> AnyArray:
        return np.asarray(table[name])[rows]

    if tables.foreign:
        known = _foreign_rows(column("step_id"))
        if tables.salvage and len(known) != len(next(iter(tables["steps"].values()))):
            raise AbsentError(f"{tables.file.path}: steps and steps_by_ipu do not hold the same execution steps.")
    else:
        known = np.arange(len(rows))
        if not np.array_equal(column("step_id"), known):
            raise FormatError(f"{tables.file.path}: table steps_by_ipu does not have one row per step on IPU {ipu}.")
    base = column("cycles_base")
    windows = [f"{tiles}_cycles_{edge}" for tiles in ("active", "all") for edge in _EDGES]
    columns = [
        column("cycles"), base, column("active_tiles"), *(column(name) + base for name in windows),
        column("data_in"), column("data_out"), column("tile_balance"), column("active_tile_balance"),
        column("start_array"), column("cycles_array"), column("tile_cycles"), column("max_cycles"),
    ]  # fmt: skip
    return StepsOnIpu(*(values[known] for values in columns))


_EDGES = ("from_min", "from_max", "to_min", "to_max")


def _foreign_rows(step_ids: AnyArray) -> AnyArray:
    """Rows in step order."""
    return np.argsort(step_ids, kind="stable")


def intervals(
    steps: StepsOnIpu, arrays: Callable[[Sequence[int]], list[AnyArray]], first_step: int, last_step: int
) -> Iterator[tuple[int, int, AnyArray, AnyArray]]:
    """See ProfileReader.intervals."""
    end = min(last_step + 1, len(steps.base))
    for begin in range(max(first_step, 0), end, _STEPS_AT_ONCE):
        window = slice(begin, min(begin + _STEPS_AT_ONCE, end))
        ids = np.concatenate([steps.start_array[window], steps.cycles_array[window]])
        found = arrays(ids.tolist())
        half = len(found) // 2
        bases = steps.base[window].tolist()
        yield from zip(range(begin, begin + half), bases, found[:half], found[half:], strict=True)
