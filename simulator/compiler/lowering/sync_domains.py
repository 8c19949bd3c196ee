"""Sync domains: the tiles that take part in a barrier, by IPU, and on each IPU its I/O tiles, its other tiles, or both.

*I/O tiles* hold tensors that streams copy, and no tile of such a tensor has a vertex. While an exchange or host copy
uses only I/O tiles, the other tiles of the IPU go on computing, and the other way round: tiles that take no part answer
the barrier ahead (`sans`), so that input and output overlap with compute (poplar-model 3.2.9; graph-analyser 1.9,
overlapped I/O). When data moves between both kinds, the whole IPU waits. An IPU without a tile that takes part goes on
as well. How Poplar recognises I/O tiles is not public. This rule is a guess: it needs no mark in the program and
changes nothing for programs that stream into tiles that compute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from simulator.arrays import BoolArray, Int64Array
from simulator.graph import program as host
from simulator.graph.tensor import Tensor

if TYPE_CHECKING:
    from simulator.compiler.ir.element_map import ElementMap
    from simulator.graph.store import GraphStore


class SyncDomains:
    """The tiles of a replica by IPU and kind. `io`: one flag per tile."""

    def __init__(self, io: BoolArray, ipu_of_tile: Int64Array) -> None:
        self.io = io
        self._part = ipu_of_tile * 2 + io

    def waiting_tiles(self, moving: BoolArray) -> BoolArray | None:
        """Flags of the tiles that wait for each other when the `moving` tiles exchange data; None = all of the
        replica."""
        parts = np.zeros(int(self._part.max()) + 1, np.bool_)
        parts[self._part[moving]] = True
        waiting = parts[self._part]
        return None if waiting.all() else waiting


def covers(standing: BoolArray | None, wanted: BoolArray | None) -> bool:
    """True where a barrier of the `standing` tiles includes all `wanted` ones; None = all tiles."""
    return standing is None or (wanted is not None and bool(standing[wanted].all()))


def sync_domains(
    store: GraphStore, programs: Iterable[host.Program], emap: ElementMap, ipu_of_tile: Int64Array
) -> SyncDomains:
    """The domains of a graph that runs these programs."""
    tiles = len(ipu_of_tile)
    computing = np.zeros(tiles, np.bool_)
    for block in store.blocks:
        computing[block.tiles] = True
    computes = np.bincount(ipu_of_tile, weights=computing) > 0
    io = np.zeros(tiles, np.bool_)
    for tensor in _streamed([*programs, *store.functions]):
        on = emap.tile[emap.cut(*tensor.regions()).row]
        on = on[on >= 0]  # a tensor without a tile is refused when its copy is lowered
        if not computing[on].any():
            io[on] = True
    return SyncDomains(io & computes[ipu_of_tile], ipu_of_tile)


def _streamed(programs: Iterable[host.Program]) -> Iterator[Tensor]:
    """Tensors that programs copy from or to the host."""
    pending = list(programs)
    while pending:
        program = pending.pop()
        match program:
            case host.Copy() if program.kind not in ("tensor", "function"):
                yield program.source if isinstance(program.source, Tensor) else program.destination
            case host.Call():
                yield from (*program.inputs, *program.outputs)
        pending += program.nested()
