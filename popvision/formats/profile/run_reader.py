"""Tables that grow with each run, back as the columns of `model`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from popvision.arrays import AnyArray
from popvision.formats.errors import AbsentError, FormatError
from popvision.formats.profile.foreign import AbsentColumn, chosen, numbers, row_count
from popvision.formats.profile.model import BranchRecord, Runs, Steps, StepsOnIpu, TileBlocks
from popvision.formats.profile.tables import Tables

_STEPS_AT_ONCE = 256


def runs(tables: Tables) -> Runs:
    table = tables["runs"]
    names = ("host_start_us", "host_end_us", "first_step", "n_steps", "cycles", "truncated")
    *columns, truncated = (numbers(table, name) for name in names)
    if not isinstance(truncated, AbsentColumn):
        truncated = truncated != 0
    whole: list[AnyArray] = [*columns, truncated]
    return Runs(numbers(table, "program_index"), list(table["name"]), *whole)


def total_cycles(tables: Tables) -> int:
    """Device cycles of all runs; of a foreign file without runs, of its table of totals."""
    if not tables.foreign or tables.holds("runs"):
        return int(np.sum(np.asarray(tables["runs"]["cycles"])))
    table = tables["execution_cycle_totals"]
    if row_count(table):
        cycles, run = np.asarray(table["cycles"]), np.asarray(table["run"] if len(table["cycles"]) > 1 else [0])
        return int(sum(cycles[run == each].max() for each in np.unique(run)))
    if row_count(tables["steps"]):
        raise AbsentError(f"{tables.file.path} does not say how many cycles its runs took; it holds execution steps.")
    return 0


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
    kinds = numbers(table, "type")
    if not isinstance(kinds, AbsentColumn):
        kinds = kinds.astype(np.uint8)
    ran = numbers(table, "program"), numbers(table, "compute_set")
    if tables.foreign:
        ran = _there(tables, ran[0], "programs", 0), _there(tables, ran[1], "compute_sets", -1)
    return Steps(kinds, *ran, numbers(table, "run"))


def _there(tables: Tables, column: AnyArray, table: str, least: int) -> AnyArray:
    """The column; where it names rows that another tool's file cannot have, every use of it says so."""
    if isinstance(column, AbsentColumn) or not len(column):
        return column
    if least <= int(column.min()) and int(column.max()) < row_count(tables[table]):
        return column
    text = f"Table steps of this report names {table} that are not there: it was written by another tool."
    wild: AnyArray = AbsentColumn(text)  # type: ignore[assignment]
    return wild


def step_count(tables: Tables) -> int:
    return row_count(tables["steps"])


def steps_on_ipu(tables: Tables, ipu: int) -> StepsOnIpu:
    table = tables["steps_by_ipu"]
    rows = _foreign_rows(tables, ipu) if tables.foreign else _rows(tables, ipu)

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


_EDGES = ("from_min", "from_max", "to_min", "to_max")


def _rows(tables: Tables, ipu: int) -> AnyArray:
    """Rows of one IPU, one per step."""
    table = tables["steps_by_ipu"]
    rows = np.flatnonzero(np.asarray(table["ipu"]) == ipu)
    if not np.array_equal(np.asarray(table["step_id"])[rows], np.arange(len(rows))):
        raise FormatError(f"{tables.file.path}: table steps_by_ipu does not have one row per step on IPU {ipu}.")
    return rows


def _foreign_rows(tables: Tables, ipu: int) -> AnyArray:
    """The same of a foreign file, whose steps may have any ids, and which may have a single IPU without a number."""
    steps, table = tables["steps"], tables["steps_by_ipu"]
    if not row_count(table) and not row_count(steps):
        return np.empty(0, np.int64)
    ids, owner = (np.asarray(each) for each in (steps["id"], table["step_id"]))
    ipus = np.zeros(len(owner)) if isinstance(table["ipu"], AbsentColumn) else np.asarray(table["ipu"])
    rows = np.flatnonzero(ipus == ipu)
    rows = rows[np.argsort(owner[rows], kind="stable")]
    if not np.array_equal(owner[rows], ids):
        raise AbsentError(f"{tables.file.path}: steps and steps_by_ipu do not hold the same execution steps.")
    return rows


def ipus_of_steps(tables: Tables) -> int:
    """How many IPUs the rows of steps_by_ipu are of; 1 where they do not say."""
    table = tables["steps_by_ipu"]
    if isinstance(table["ipu"], AbsentColumn) or not row_count(table):
        return 1
    return int(np.max(np.asarray(table["ipu"]))) + 1


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
