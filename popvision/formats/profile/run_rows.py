"""Writes a RunRecord as rows of the tables that grow with each run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

import numpy as np

from popvision.arrays import IntegerArray
from popvision.formats.errors import FormatError
from popvision.formats.profile.array_store import ArrayStore
from popvision.formats.profile.arrays import narrowest
from popvision.formats.profile.model import RunRecord, TileBlocks
from popvision.formats.profile.schema import TABLES
from popvision.formats.profile.statistics import PatternStatistics, pattern_statistics
from popvision.formats.profile.table_writer import write_columns, write_rows

#: Patterns looked at together: 256 x 1,472 tiles x 4 bytes stay in the cache.
_BLOCK = 256


def write_run_rows(
    db: sqlite3.Connection,
    store: ArrayStore,
    record: RunRecord,
    run: int,
    first_step: int,
    program_codes: IntegerArray,
    program_compute_sets: IntegerArray,
    tiles_per_ipu: int,
) -> None:
    """Fills the tables of one run. Raises FormatError for columns that do not fit together."""
    _check(record, len(program_codes), tiles_per_ipu)
    steps, ipus = record.pattern.shape
    statistics, arrays = _patterns(db, store, record)
    ids = np.arange(first_step, first_step + steps)
    program = np.asarray(record.program)
    write_columns(
        db, "steps", [ids, program_codes[program], program, program_compute_sets[program], np.full(steps, run)], run
    )
    pattern = record.pattern.ravel()
    by_pattern = [getattr(statistics, name)[pattern] for name in _STEP_COLUMNS]
    length, active_tiles, *windows, balance, active_balance, tile_cycles, max_cycles = by_pattern
    data = [np.zeros(steps * ipus, np.int64) if d is None else d.ravel() for d in (record.data_in, record.data_out)]
    columns = [
        np.repeat(ids, ipus),
        np.tile(np.arange(ipus), steps),
        length,
        active_tiles,
        record.base.ravel(),
        *windows,
        *data,
        balance,
        active_balance,
        arrays[pattern, 0],
        arrays[pattern, 1],
        tile_cycles,
        max_cycles,
    ]
    write_columns(db, "steps_by_ipu", columns, run)
    host = (record.host_start_us, record.host_end_us)
    row = (run, record.program_index, record.name, *host, first_step, steps, record.cycles, int(record.truncated))
    write_rows(db, "runs", [row], run)
    write_rows(db, "run_tail", [(run, ipu, store.add(db, tail)) for ipu, tail in enumerate(record.tail)], run)
    write_rows(db, "execution_cycle_totals", [(run, ipu, record.cycles) for ipu in range(ipus)], run)
    write_rows(db, "branch_record", _branch_rows(record, run), run)
    write_rows(db, "blocks", _block_rows(db, store, record.blocks, run, len(program_codes)), run)
    store.flush(db)


def write_block_rows(
    db: sqlite3.Connection, store: ArrayStore, blocks: Sequence[TileBlocks], run: int, programs: int
) -> None:
    """Fills the tables of a run of which nothing but blocks is recorded. Raises FormatError as `write_run_rows`."""
    write_rows(db, "blocks", _block_rows(db, store, blocks, run, programs), run)
    for table in TABLES.values():
        if table.per_run and table.name != "blocks":
            write_rows(db, table.name, [], run)
    store.flush(db)


def _block_rows(
    db: sqlite3.Connection, store: ArrayStore, blocks: Sequence[TileBlocks], run: int, programs: int
) -> list[tuple[int, ...]]:
    rows = []
    for on_tile in blocks:
        columns = (on_tile.program, on_tile.kind, on_tile.start, on_tile.end)
        if len({len(column) for column in columns}) > 1:
            raise FormatError(f"run {run}: the columns of the blocks of tile {on_tile.tile} differ in length.")
        if on_tile.program.size and not -1 <= int(on_tile.program.min()) <= int(on_tile.program.max()) < programs:
            raise FormatError(f"run {run}: a block of tile {on_tile.tile} names a program that is none of {programs}.")
        ids = (store.add(db, column) for column in columns)
        rows.append((run, on_tile.tile, len(on_tile.program), *ids))
    return rows


def _branch_rows(record: RunRecord, run: int) -> list[tuple[int, int, int, int]]:
    if record.branches is None:
        return []
    columns = (column.tolist() for column in (record.branches.program, record.branches.entered, record.branches.trips))
    return [(run, *row) for row in zip(*columns, strict=True)]


#: Columns of PatternStatistics in the order of `steps_by_ipu`.
_STEP_COLUMNS = (
    "length",
    "active_tiles",
    "active_from_min",
    "active_from_max",
    "active_to_min",
    "active_to_max",
    "all_from_min",
    "all_from_max",
    "all_to_min",
    "all_to_max",
    "tile_balance",
    "active_tile_balance",
    "cycles_sum",
    "cycles_max",
)


def _patterns(db: sqlite3.Connection, store: ArrayStore, record: RunRecord) -> tuple[PatternStatistics, IntegerArray]:
    """Statistics of every pattern, and the ids of its (start, cycles) arrays. A run with the pattern objects of the run
    before, as a repeated program has, reuses them."""
    previous: tuple[PatternStatistics, IntegerArray] | None = store.recall(record.patterns)
    if previous is not None:
        return previous
    ids = np.empty((len(record.patterns), 2), dtype=np.int64)
    computed = PatternStatistics.concatenated(list(_pattern_blocks(db, store, record, ids))), ids
    store.remember(record.patterns, computed)
    return computed


def _pattern_blocks(
    db: sqlite3.Connection, store: ArrayStore, record: RunRecord, ids: IntegerArray
) -> Iterator[PatternStatistics]:
    for begin in range(0, len(record.patterns), _BLOCK):
        block = record.patterns[begin : begin + _BLOCK]
        statistics = pattern_statistics(block)
        starts = zip(statistics.all_from_min.tolist(), statistics.all_from_max.tolist(), strict=True)
        lengths = zip(statistics.cycles_min.tolist(), statistics.cycles_max.tolist(), strict=True)
        for row, (pattern, start, cycles) in enumerate(zip(block, starts, lengths, strict=True), begin):
            ids[row, 0] = store.add(db, pattern.start, narrowest(*start))
            ids[row, 1] = store.add(db, pattern.cycles, narrowest(*cycles))
        yield statistics


def _check(record: RunRecord, programs: int, tiles_per_ipu: int) -> None:
    shape = record.pattern.shape
    if record.pattern.ndim != 2 or record.base.shape != shape or len(record.program) != shape[0]:
        raise FormatError(
            f"run {record.name!r}: program, base and pattern must have one row per step and one column per IPU, got "
            f"{record.program.shape}, {record.base.shape} and {shape}."
        )
    for name, data in (("data_in", record.data_in), ("data_out", record.data_out)):
        if data is not None and data.shape != shape:
            raise FormatError(f"run {record.name!r}: {name} has shape {data.shape}, not {shape}.")
    _check_range(record, "program", record.program, programs)
    _check_range(record, "pattern", record.pattern, len(record.patterns))
    if record.branches is not None:
        _check_range(record, "branches", record.branches.program, programs)
    wrong = [len(tail) for tail in record.tail if len(tail) != tiles_per_ipu]
    if wrong or len(record.tail) != shape[1]:
        raise FormatError(f"run {record.name!r}: the tail needs {shape[1]} arrays of {tiles_per_ipu} tiles.")
    if record.patterns and len(record.patterns[0].start) != tiles_per_ipu:
        raise FormatError(f"run {record.name!r}: steps do not have {tiles_per_ipu} tiles per IPU.")


def _check_range(record: RunRecord, name: str, values: IntegerArray, limit: int) -> None:
    if values.size and not 0 <= int(values.min()) <= int(values.max()) < limit:
        raise FormatError(f"run {record.name!r}: {name} must lie in 0..{limit - 1}, not reach {values.max()}.")
