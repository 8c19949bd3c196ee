"""The plan of a static sparse product: into how many parts its columns and the dense operand's are cut.

The sparse operand [m][k] is cut into bands of columns with about as many blocks each, the dense one [k][n] into parts
of its columns. Each band of each part gets tiles by its blocks; a tile multiplies a run of the band's blocks, and
rows that lie on several tiles are added up. Candidates are compared by their cycles: the dense rows that a tile
receives, the sparse values where several parts share them, the product, the partial results' way and sum, and the
result's way to its tiles. Those that take more memory than allowed, or whose offsets do not fit into the 16 bits of
the vertices' lists, are left out. Search and terms are those of PopLibs' public planner (StaticMatMulPartitioner of
2022); which rows and columns a tile touches is expected from the density, as there. Cost: at most 32 x 128 candidates
of a few sums each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.target import Target
from simulator.base.types import FLOAT, Type
from simulator.machine.cycles import sparse as cycles
from simulator.machine.cycles.rounding import WORKERS
from simulator.poplibs.popsparse.static_.matmul_params import MatMulOptions
from simulator.poplibs.popsparse.storage import Blocks
from simulator.poplibs.poputil.exceptions import poplibs_error

#: Bounds of the search, and the part of the mean number of blocks below which rows and columns do not count (PopLibs').
MOST_N_PARTS, MOST_BANDS = 32, 128
REJECTED = 0.1
#: the largest number in a vertex's lists
_LARGEST = 2**16 - 1


class Sizes(NamedTuple):
    """What a plan is for. Rows and columns count blocks; `padded`: columns of the dense operand, in whole vectors."""

    rows: int
    columns: int
    padded: int
    block: int
    dtype: str
    tiles: int
    together: int  #: tiles that share a bus and a band
    memory: int  #: bytes of a tile that a product may take
    exchange: int  #: bytes a cycle

    @property
    def bytes(self) -> int:
        return 4 if self.dtype == "float" else 2

    @property
    def vector(self) -> int:
        return 8 // self.bytes


@dataclass(frozen=True)
class Costs:
    """Cycles and bytes of the fullest tile."""

    dense_rows: int
    values: int
    product: int
    zeroing: int
    partials: int
    reduction: int
    result: int
    memory: int

    @property
    def cycles(self) -> int:
        terms = self.dense_rows + self.values + self.product + self.zeroing + self.partials
        return terms + self.reduction + self.result


@dataclass(frozen=True)
class Bands:
    """Bands of columns, in planned order: band b holds columns [bounds[b], bounds[b + 1])."""

    bounds: Int64Array
    blocks: Int64Array  #: blocks of each band
    widest: int  #: columns with blocks of the widest band


@dataclass(frozen=True)
class Plan:
    """`row_order[p]`, `column_order[p]`: the row (column) at place p. `parts`: [begin, end) of the dense operand's
    columns; `tiles`: those of each part. `costs` are those that the planner expects."""

    sizes: Sizes
    row_order: Int64Array
    column_order: Int64Array
    bands: Bands
    parts: list[tuple[int, int]]
    tiles: list[tuple[int, int]]
    costs: Costs | None

    def tiles_of_bands(self, part: int) -> list[int]:
        begin, end = self.tiles[part]
        return tiles_of_bands(tuple(self.bands.blocks.tolist()), end - begin, self.sizes.together)


def sizes_of(target: Target, dtype: Type, block: int, shape: tuple[int, int, int], options: MatMulOptions) -> Sizes:
    """`shape`: m, k, n in elements."""
    m, k, n = shape
    name = "float" if dtype is FLOAT else "half"
    vector = 8 // dtype.size
    tiles = target.getNumTiles()
    together = target.getTilesPerSharedExchangeBus()
    return Sizes(
        m // block,
        k // block,
        -(-n // vector) * vector,
        block,
        name,
        tiles,
        1 if tiles < together or tiles % together else together,
        int(options.availableMemoryProportion * target.getBytesPerTile()),
        int(target.getExchangeBytesPerCycle()),
    )


def planned(sizes: Sizes, blocks: Blocks, options: MatMulOptions) -> Plan:
    """The cheapest plan. Raises `poplibs_error` where none keeps within the memory and the lists' 16 bits."""
    row_order, rows = _order(np.bincount(blocks.rows, minlength=sizes.rows))
    column_order, columns = _order(counts := np.bincount(blocks.columns, minlength=sizes.columns))
    counts = counts[column_order]
    total = len(blocks.rows)
    density = min(total / (rows * columns), 1.0)
    best: Plan | None = None
    for n_parts in _tried(options.nSplit, min(MOST_N_PARTS, -(-sizes.padded // sizes.vector))):
        parts = partition(sizes.padded, n_parts, sizes.vector)
        tiles = _tiles_of_parts(parts, sizes)
        alike = {(end - begin, last - first) for (begin, end), (first, last) in zip(parts, tiles, strict=True)}
        if any(count == 0 for _, count in alike):
            continue
        grain = 1 if sizes.block == 1 else sizes.vector
        for count in _tried(options.numBands, min(MOST_BANDS, -(-columns // grain))):
            if n_parts * count > max(sizes.tiles // sizes.together, 1):
                continue
            bands = _bands(counts, count, total)
            costs = _worst([_costs(sizes, bands, (rows, columns), density, n, on, n_parts) for n, on in alike])
            if costs is None or costs.memory > sizes.memory:
                continue
            if best is None or best.costs is None or costs.cycles < best.costs.cycles:
                best = Plan(sizes, row_order, column_order, bands, parts, tiles, costs)
    if best is None:
        raise poplibs_error(
            f"No plan for a sparse product of {total} blocks of {sizes.block} x {sizes.block} keeps within "
            f"{sizes.memory:,} bytes of a tile and lists of 16 bits; give a larger availableMemoryProportion."
        )
    return best


def partition(total: int, parts: int, grain: int) -> list[tuple[int, int]]:
    """`total` in at most so many parts of whole grains, the last perhaps shorter."""
    each = -(-(total // grain) // parts) * grain
    return [(begin, min(begin + each, total)) for begin in range(0, total, each)]


@lru_cache(maxsize=4096)
def tiles_of_bands(blocks: tuple[int, ...], tiles: int, together: int) -> list[int]:
    """Tiles of each band, by its blocks, in whole groups of tiles; [] where they do not suffice."""
    total, used, count = sum(blocks), 0, len(blocks)
    given = []
    for band, own in enumerate(blocks):
        share = math.floor(own * tiles / total) or min(tiles, together)
        needed = -(-own // -(-own // share))
        share = min(-(-needed // together) * together, share)
        if band == count - 1:
            share = tiles - used
        share = max(share // together * together, together)
        share = min(share, tiles - used, tiles - (count - 1 - band) * together)
        if share <= 0:
            return []
        given.append(share)
        used += share
    return given


def _tried(asked: int, most: int) -> range:
    return range(asked, asked + 1) if asked else range(1, max(most, 1) + 1)


def _order(counts: Int64Array) -> tuple[Int64Array, int]:
    """(places by number of blocks: those that count, ascending, then the others; how many count)."""
    order = np.argsort(-counts, kind="stable").astype(np.int64)
    kept = int(np.count_nonzero(counts[order] > REJECTED * counts.sum() / len(counts)))
    kept = max(kept, 1)
    return np.concatenate([np.sort(order[:kept]), order[kept:]]), kept


def _bands(counts: Int64Array, count: int, total: int) -> Bands:
    """Bands of columns with about as many blocks each."""
    mean, sums = -(-total // count), np.concatenate([[0], np.cumsum(counts)])
    bounds, blocks = [0], []
    for _ in range(count):
        first = bounds[-1]
        last = min(int(np.searchsorted(sums, sums[first] + mean)), len(counts))
        if sums[last] == sums[first]:
            break
        bounds.append(last)
        blocks.append(int(sums[last] - sums[first]))
    filled = [int(np.count_nonzero(counts[a:b])) for a, b in pairwise(bounds)]
    return Bands(np.array(bounds, np.int64), np.array(blocks, np.int64), max(filled, default=0))


def _tiles_of_parts(parts: list[tuple[int, int]], sizes: Sizes) -> list[tuple[int, int]]:
    """Tiles of each part of the dense operand's columns, in whole groups."""
    total = 1 + sum(end - begin for begin, end in parts)
    groups = -(-sizes.tiles // sizes.together)
    least, first, given = -(-groups // len(parts)), 0, []
    for number, (begin, end) in enumerate(parts):
        share = max(-(-groups * (end - begin) // total) - 1, least)
        last = sizes.tiles if number == len(parts) - 1 else min(first + share * sizes.together, sizes.tiles)
        given.append((first, last))
        first = last
    return given


def _worst(costs: list[Costs | None]) -> Costs | None:
    """The costs of parts that run side by side."""
    known = [one for one in costs if one is not None]
    if len(known) < len(costs):
        return None
    slowest = max(known, key=lambda one: one.cycles)
    return replace(slowest, memory=max(one.memory for one in known))


def _at_least_one(density: float, places: int) -> float:
    return 1.0 - float((1.0 - density) ** places)


def _touched(density: float, others: int, most: int) -> int:
    """Rows (or columns) of `most` with a block among `others` places: the mean, and a standard deviation more."""
    chance = _at_least_one(density, others)
    spread = math.ceil(math.sqrt(chance * (1 - chance) * most))
    return max(min(math.ceil(chance * most + spread), most), 1)


def _costs(
    sizes: Sizes, bands: Bands, kept: tuple[int, int], density: float, n: int, tiles: int, n_parts: int
) -> Costs | None:
    """The costs of a part of n columns on so many tiles; None where it cannot be."""
    if not len(bands.blocks):
        return Costs(0, 0, 0, 0, 0, 0, 0, 0)  # a matrix of zeros
    given = tiles_of_bands(tuple(bands.blocks.tolist()), tiles, sizes.together)
    if not given:
        return None
    fullest = int(np.argmax(bands.blocks / np.array(given)))
    in_band, on, width = int(bands.blocks[fullest]), given[fullest], int(np.diff(bands.bounds)[fullest])
    mine = -(-in_band // on)
    height = -(-kept[0] // on)
    wide = min(math.ceil(in_band / density), kept[1]) if height == 1 else width
    rows, columns = _touched(density, wide, height), _touched(density, height, wide)
    unit = 1 if sizes.block == 1 else 8 * sizes.block
    if bands.widest * sizes.block * n * sizes.bytes > _LARGEST * unit or 6 * WORKERS + 2 * rows + mine > _LARGEST:
        return None
    dense = n * columns * sizes.block * sizes.bytes
    values = mine * sizes.block**2 * sizes.bytes
    partial = rows * n * sizes.block * sizes.bytes
    spread = _at_least_one(density, wide)
    sources = len(bands.blocks)
    deviation = math.ceil(math.sqrt(spread * (1 - spread) * sources))
    factor = max(math.ceil((spread * sources + deviation) * width / wide), 1)
    moved = -(-partial * (factor - 1) // factor)
    return Costs(
        dense_rows=int(-(-dense // (2 * sizes.exchange)) * (wide / columns)),
        values=-(-values // sizes.exchange) if n_parts > 1 else 0,
        product=_product(sizes, rows, mine, n),
        zeroing=int(cycles.zeroing("float", rows * n * sizes.block))
        if cycles.zeroes_partials(sizes.dtype, sizes.block)
        else 0,
        partials=-(-moved // sizes.exchange),
        reduction=0 if factor == 1 else _reduction(sizes, -(-(partial // sizes.bytes) // factor), factor),
        result=-(-(sizes.rows * sizes.block * sizes.padded * sizes.bytes) // sizes.tiles),
        memory=max(dense + values + partial, moved + partial),
    )


def _product(sizes: Sizes, rows: int, blocks: int, n: int) -> int:
    each = -(-blocks // rows)
    if sizes.block == 1:
        mine = -(-rows // WORKERS)
        return WORKERS * int(cycles.element_product(sizes.dtype, n, mine, mine * each))
    return int(cycles.block_product(sizes.dtype, sizes.block, -(-n // WORKERS), rows, rows * each))


def _reduction(sizes: Sizes, outputs: int, factor: int) -> int:
    """Cycles of a strided reduction, as PopLibs' planner takes them."""
    of_worker = -(-outputs // WORKERS)
    loops = -(-of_worker // (4 if sizes.dtype == "float" else 8))
    return WORKERS * (16 + loops * ((5 if sizes.dtype == "float" else 8) + 6 + factor - 1))
