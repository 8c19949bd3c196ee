"""Vertices of a compute set as columns by tile, and what their cycles add up to on each tile.

Worker vertices of a tile share six contexts, each of which issues one instruction every six tile cycles; supervisor and
multi vertices run one after another. All is done for whole columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from simulator.arrays import Int64Array, UInt8Array, UInt32Array
from simulator.compiler.cost.workers import schedule
from simulator.graph.vertices import segment_sums
from simulator.machine import footprint

T = TypeVar("T", bound=np.generic)

#: VertexLanes.worker of vertices that do not run on one worker.
NO_WORKER = 255


@dataclass(frozen=True)
class Columns:
    """Vertices of all blocks, sorted by tile, then block. Tile t has rows `offsets[t]:offsets[t + 1]`, of which
    `count[b, t]` belong to block b."""

    count: Int64Array
    offsets: Int64Array
    cycles: Int64Array
    sums: list[Int64Array]  #: cycles of each block per tile


def by_tile(blocks: Sequence[tuple[UInt32Array, Int64Array]], tiles: int) -> Columns:
    """The columns of blocks: (tile, cycles) of each vertex, sorted by tile."""
    borders = np.arange(tiles + 1)
    if len(blocks) == 1 and len(blocks[0][0]) == tiles and np.array_equal(blocks[0][0], borders[:-1]):
        # One vertex on each tile needs no search and no sum.
        return Columns(np.ones((1, tiles), np.int64), borders, blocks[0][1], [blocks[0][1]])
    starts = [np.searchsorted(tile, borders) for tile, _ in blocks]
    count = np.stack([np.diff(start) for start in starts])
    sums = [sums_by_tile(cycles, mine) for (_, cycles), mine in zip(blocks, count, strict=True)]
    if len(blocks) == 1:
        return Columns(count, starts[0], blocks[0][1], sums)
    offsets = np.sum(starts, axis=0)
    column = np.empty(int(offsets[-1]), np.int64)
    before = offsets[:-1].copy()
    for (_, cycles), mine, start in zip(blocks, count, starts, strict=True):
        # A block's vertices of a tile are adjacent both in the block and in the columns.
        column[np.repeat(before - start[:-1], mine) + np.arange(len(cycles))] = cycles
        before += mine
    return Columns(count, offsets, column, sums)


def of_rows(of_block: npt.NDArray[T], columns: Columns) -> npt.NDArray[T]:
    """Repeat a value per block for each row."""
    if len(of_block) == 1:
        return np.full(len(columns.cycles), of_block[0])
    return np.repeat(np.tile(of_block, columns.count.shape[1]), columns.count.T.reshape(-1))


def sums_by_tile(values: Int64Array, count: Int64Array) -> Int64Array:
    """Sums per tile of values sorted by tile, `count` of each."""
    busy = np.flatnonzero(count)
    if len(busy) == len(values):
        sums = np.zeros(len(count), np.int64)
        sums[busy] = values
        return sums
    return segment_sums(values, np.concatenate([[0], np.cumsum(count)]))


def wall_cycles(kinds: Sequence[str], columns: Columns, contexts: int) -> tuple[Int64Array, UInt8Array]:
    """(tile cycles of the vertices on each tile without their launch, worker of each row). `kinds`: of each block."""
    wall = np.zeros(columns.count.shape[1], np.int64)
    on_worker = np.array([kind == "worker" for kind in kinds])
    worker = np.full(len(columns.cycles), NO_WORKER, np.uint8)
    if on_worker.any():
        mine = slice(None) if on_worker.all() else of_rows(on_worker, columns)
        offsets = np.concatenate([[0], np.cumsum(columns.count[on_worker].sum(axis=0))])
        worker[mine], longest = schedule(columns.cycles[mine], offsets, contexts)
        wall += footprint.WORKERS * longest
    for kind, spent in zip(kinds, columns.sums, strict=True):
        if kind != "worker":
            wall += spent
    return wall, worker
