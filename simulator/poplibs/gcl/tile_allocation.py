"""perIPUTiles and getMinIoTiles: which tiles of an IPU are set apart for transfers, and which compute.

Graphcore's library spreads them over exchange blocks, through which tiles reach the outside, and over the contexts of
each; its list is not public. Here pairs of neighbours are dealt in turn to the blocks, of each block to its contexts.
So any two calls whose ranges do not meet give different tiles, and each range takes as many tiles of one block as of
another, but for one pair. Which tiles share a block is a guess (`Target.getTileHostExchangeXB`).
"""

from __future__ import annotations

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.wrong_arguments import checks_arguments
from simulator.building.graph import Graph
from simulator.poplibs.poputil.exceptions import poplibs_error

#: Tiles that are allocated together, because two tiles share a bus.
_PAIR = 2


@checks_arguments
def getMinIoTiles(graph: Graph) -> int:
    """The fewest tiles of an IPU that collectives can use: a pair for each exchange block, 32 of a Mk2 IPU (as public
    frameworks state: 32 to 192 tiles, an even number)."""
    tiles = graph.getTarget().getTilesPerIPU()
    blocks = graph.getTarget().getTileHostExchangeXB(tiles - 1) + 1
    return min(_PAIR * blocks, tiles)


@checks_arguments
def perIPUTiles(graph: Graph, offset: int, count: int, sorted: bool = True, tilePairs: bool = True) -> list[int]:
    """`count` tiles of an IPU, from place `offset` on in the order of allocation, ascending if `sorted`. With
    `tilePairs` neighbours that share a bus are allocated one after another, as transfers with the host need.

    Raises `poplibs_error` where an IPU has fewer tiles than `offset` + `count`."""
    tiles = graph.getTarget().getTilesPerIPU()
    if offset < 0 or count < 0 or offset + count > tiles:
        raise poplibs_error(
            f"perIPUTiles: an IPU has {tiles} tiles, not {count} from place {offset} on; ask for fewer."
        )
    chosen = _order(graph, tiles, _PAIR if tilePairs else 1)[offset : offset + count]
    return [int(tile) for tile in (np.sort(chosen) if sorted else chosen)]


def _order(graph: Graph, tiles: int, together: int) -> Int64Array:
    """All tiles of an IPU in the order of allocation, so many neighbours at a time."""
    target = graph.getTarget()
    first = np.arange(0, tiles, together, dtype=np.int64)
    context = np.array([target.getTileHostExchangeContext(int(tile)) for tile in first], np.int64)
    block = context // target.getNumContextsPerXB()
    by_block = np.lexsort((context, _places_within(context), block))  # of each block: the first of each context, ...
    in_turn = np.lexsort((block[by_block], _places_within(block[by_block])))
    members = (first[by_block[in_turn]][:, None] + np.arange(together)).reshape(-1)
    return np.asarray(members[members < tiles], np.int64)


def _places_within(groups: Int64Array) -> Int64Array:
    """The place of each entry among those of its group, whose entries follow each other."""
    heads = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.arange(len(groups)) - np.repeat(heads, np.diff(np.append(heads, len(groups))))
