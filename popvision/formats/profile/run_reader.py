"""Runs, execution steps and blocks in a profile.pop as the columns of `model`: the tables that grow with each run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.errors import AbsentError, FormatError
from popvision.formats.profile.foreign import AbsentColumn, chosen, numbers, row_count
from popvision.formats.profile.model import BranchRecord, Runs, Steps, StepsOnIpu, TileBlocks
from popvision.formats.profile.profile_file import ProfileFile, or_empty

#: Execution steps whose arrays are read together.
_STEPS_AT_ONCE = 256

#: Ends of the window of a step over the tiles.
_EDGES = ("from_min", "from_max", "to_min", "to_max")


def runs(file: ProfileFile) -> Runs:
    """The recorded runs."""
    table = file.tables["runs"]
    names = ("host_start_us", "host_end_us", "first_step", "n_steps", "cycles", "truncated")
    *columns, truncated = (numbers(table, name) for name in names)
    if not isinstance(truncated, AbsentColumn):
        truncated = truncated != 0
    values: list[AnyArray] = [*columns, truncated]
    return Runs(numbers(table, "program_index"), list(table["name"]), *values)


def total_cycles(file: ProfileFile) -> int:
    """Device cycles of all runs; of a foreign file without runs, of its table of totals."""
    if not file.foreign or file.tables.holds("runs"):
        return int(np.sum(np.asarray(file.tables["runs"]["cycles"])))
    table = file.tables["execution_cycle_totals"]
    if row_count(table):
        cycles, run = np.asarray(table["cycles"]), np.asarray(table["run"] if len(table["cycles"]) > 1 else [0])
        return int(sum(cycles[run == each].max() for each in np.unique(run)))
    if row_count(file.tables["steps"]):
        raise AbsentError(f"{file.path} does not say how many cycles its runs took; it holds execution steps.")
    return 0


def branch_record(file: ProfileFile, run: int) -> BranchRecord:
    """What loops and switches did in a run."""
    if not file.tables.holds("branch_record"):
        return BranchRecord(*(np.empty(0, np.int64) for _ in range(3)))
    table = file.tables["branch_record"]
    rows = np.flatnonzero(np.asarray(table["run"]) == run)
    return BranchRecord(*(np.asarray(table[name])[rows] for name in ("program", "entered", "trips")))


def blocks(file: ProfileFile, tile: int) -> list[TileBlocks]:
    """Blocks that a tile recorded, run after run."""
    if not file.tables.holds("blocks", since=(1, 2)):
        return []
    table = file.tables["blocks"]
    rows = np.flatnonzero(np.asarray(table["tile"]) == tile)
    ids = [np.asarray(table[f"{name}_array"])[rows] for name in ("program", "kind", "start", "end")]
    arrays = file.arrays(np.concatenate(ids).tolist())
    columns = [arrays[begin : begin + len(rows)] for begin in range(0, 4 * len(rows), len(rows) or 1)]
    blocks_of_runs = [TileBlocks(tile, *each) for each in zip(*columns, strict=True)]
    for row, on_tile in zip(rows.tolist(), blocks_of_runs, strict=True):
        lengths = {len(column) for column in (on_tile.program, on_tile.kind, on_tile.start, on_tile.end)}
        if lengths != {int(np.asarray(table["n"])[row])}:
            raise FormatError(f"{file.path}: the blocks of tile {tile} do not fit together.")
    return blocks_of_runs


def tiles_with_blocks(file: ProfileFile) -> list[int]:
    """Tiles that recorded blocks, ascending."""
    if not file.tables.holds("blocks", since=(1, 2)):
        return []
    tiles: list[int] = np.unique(np.asarray(file.tables["blocks"]["tile"])).tolist()
    return tiles


def steps(file: ProfileFile) -> Steps:
    """The execution steps of all runs."""
    table = file.tables["steps"]
    types = numbers(table, "type")
    if not isinstance(types, AbsentColumn):
        types = types.astype(np.uint8)
    ran = numbers(table, "program"), numbers(table, "compute_set")
    if file.foreign:
        ran = _existing_rows(file, ran[0], "programs", 0), _existing_rows(file, ran[1], "compute_sets", -1)
    return Steps(types, *ran, numbers(table, "run"))


def _existing_rows(file: ProfileFile, column: AnyArray, table: str, least: int) -> AnyArray:
    """The column where all of its values are rows of `table`, from `least` on; else an AbsentColumn."""
    if isinstance(column, AbsentColumn) or not len(column):
        return column
    if least <= int(column.min()) and int(column.max()) < row_count(file.tables[table]):
        return column
    text = f"Table steps of this report names {table} that are not there: it was written by another tool."
    absent: AnyArray = AbsentColumn(text)  # type: ignore[assignment]
    return absent


def step_count(file: ProfileFile) -> int:
    """Number of execution steps."""
    return row_count(file.tables["steps"])


def steps_on_ipu(file: ProfileFile, ipu: int) -> StepsOnIpu:
    """The execution steps on one IPU, cycles absolute."""
    table = file.tables["steps_by_ipu"]
    rows = _foreign_rows(file, ipu) if file.foreign else _rows(file, ipu)

    def column(name: str) -> AnyArray:
        values: AnyArray = chosen(numbers(table, name), rows)
        return values

    base = column("cycles_base")

    def absolute(name: str) -> AnyArray:
        relative = column(name)
        absent: list[AnyArray] = [each for each in (relative, base) if isinstance(each, AbsentColumn)]
        return absent[0] if absent else relative + base

    windows = [f"{tiles}_cycles_{edge}" for tiles in ("active", "all") for edge in _EDGES]
    columns: list[AnyArray] = [
        column("cycles"),
        base,
        column("active_tiles"),
        *map(absolute, windows),
        column("data_in"),
        column("data_out"),
        column("tile_balance"),
        column("active_tile_balance"),
        column("start_array"),
        column("cycles_array"),
        column("tile_cycles"),
        column("max_cycles"),
    ]
    return StepsOnIpu(*columns)


def _rows(file: ProfileFile, ipu: int) -> AnyArray:
    """Rows of one IPU, one per step."""
    table = file.tables["steps_by_ipu"]
    rows = np.flatnonzero(np.asarray(table["ipu"]) == ipu)
    if not np.array_equal(np.asarray(table["step_id"])[rows], np.arange(len(rows))):
        raise FormatError(f"{file.path}: table steps_by_ipu does not have one row per step on IPU {ipu}.")
    return rows


def _foreign_rows(file: ProfileFile, ipu: int) -> AnyArray:
    """The same of a foreign file, whose steps may have any ids, and which may have a single IPU without a number."""
    steps, table = file.tables["steps"], file.tables["steps_by_ipu"]
    if not row_count(table) and not row_count(steps):
        return np.empty(0, np.int64)
    ids, owner = (np.asarray(each) for each in (steps["id"], table["step_id"]))
    ipus = np.zeros(len(owner)) if isinstance(table["ipu"], AbsentColumn) else np.asarray(table["ipu"])
    rows = np.flatnonzero(ipus == ipu)
    rows = rows[np.argsort(owner[rows], kind="stable")]
    if not np.array_equal(owner[rows], ids):
        raise AbsentError(f"{file.path}: steps and steps_by_ipu do not hold the same execution steps.")
    return rows


def run_tail(file: ProfileFile, run: int, ipu: int) -> AnyArray:
    """Cycles per tile from the end of its last step to the end of the run."""
    arrays = file.row_arrays("run_tail", {"run": run, "ipu": ipu}, ("tail_array",))
    if arrays is None:
        raise FormatError(f"{file.path} has no tail of run {run} on IPU {ipu}.")
    return or_empty(arrays[0])


def intervals(
    file: ProfileFile, steps: StepsOnIpu, first_step: int, last_step: int
) -> Iterator[tuple[int, int, AnyArray, AnyArray]]:
    """(step, base, start, cycles) of the steps first..last, read in batches."""
    end = min(last_step + 1, len(steps.base))
    for begin in range(max(first_step, 0), end, _STEPS_AT_ONCE):
        window = slice(begin, min(begin + _STEPS_AT_ONCE, end))
        ids = np.concatenate([steps.start_array[window], steps.cycles_array[window]])
        arrays = file.arrays(ids.tolist())
        half = len(arrays) // 2
        bases = steps.base[window].tolist()
        yield from zip(range(begin, begin + half), bases, arrays[:half], arrays[half:], strict=True)
