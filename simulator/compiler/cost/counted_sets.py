"""Compute sets whose vertices count what they take: from the counts of one run to the cycles of each tile.

Of such a set the compiler keeps columns: the tiles of the vertices, the cycles of those that do not count, and what
each tile takes beside its vertices. The cost of a run with other counts is one schedule over these columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from simulator.arrays import Int64Array, UInt32Array
from simulator.compiler.cost.tile_columns import by_tile, wall_cycles
from simulator.graph.vertices import VertexKind

if TYPE_CHECKING:
    from simulator.compiler.cost.cost_derivation import CostedBlock


@dataclass(frozen=True)
class CountedSet:
    """The columns of each block that has vertices, in the order of the graph, sorted by tile."""

    kinds: tuple[VertexKind, ...]
    tiles: tuple[UInt32Array, ...]
    orders: tuple[Int64Array | None, ...]  #: vertex of the block in each row of its columns; None = the same order
    cycles: tuple[Int64Array | None, ...]  #: None = its vertices count
    contexts: int  #: over which worker vertices are spread
    beside: Int64Array  #: tile cycles of each tile beside its vertices: launches, set-up of exchanges, counters

    def with_more(self, cycles: Int64Array) -> CountedSet:
        """The set with further cycles beside the vertices of each tile."""
        return replace(self, beside=self.beside + cycles)

    def counting_kinds(self) -> list[VertexKind]:
        """The kinds of the blocks whose vertices count."""
        return [kind for kind, cycles in zip(self.kinds, self.cycles, strict=True) if cycles is None]

    def cycles_of(self, counted: Sequence[Int64Array]) -> Int64Array:
        """Cycles of each tile. `counted`: of the vertices of each block that counts, by row of the block."""
        counts = iter(counted)
        filled = []
        for tile, order, known in zip(self.tiles, self.orders, self.cycles, strict=True):
            if known is None:
                cycles = next(counts)
                known = cycles if order is None else cycles[order]
            filled.append((tile, known))
        return self.beside + wall_cycles(self.kinds, by_tile(filled, len(self.beside)), self.contexts)[0]


def counted_set(costed: Sequence[CostedBlock], contexts: int, beside: Int64Array) -> CountedSet | None:
    """The columns of a compute set, None where no vertex is compiled."""
    blocks = [block for block in costed if len(block.block)]
    counts = [block.block.type.compiled is not None for block in blocks]
    if not any(counts):
        return None
    return CountedSet(
        tuple(block.block.type.kind for block in blocks),
        tuple(block.tile for block in blocks),
        tuple(block.order for block in blocks),
        tuple(None if counting else block.cycles for block, counting in zip(blocks, counts, strict=True)),
        contexts,
        beside,
    )
