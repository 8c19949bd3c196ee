"""popops::embedding: plan operations on an embedding matrix.

The matrix [entries, elements] is cut into blocks of rows and columns, the lookups into groups; each tile holds a block
and looks up a group in it. With several row blocks partial results, which are zero for rows of other blocks, are added.
The plan is the cut with the fewest cycles, of all cuts whose block and temporary memory fit on a tile, by the cycle
formulas of the vertices and an exchange of 4 bytes a cycle; or the one with the least memory, of which bytes that are
always live count ten times. PopLibs of 2021 knew no other goal, and later headers give it as the default; its newest
public planner minimises cycles alone, and PopART asks for cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import invalid_option
from simulator.base.options.flags import spelled
from simulator.base.types import Type
from simulator.building.graph import Graph
from simulator.machine import exchange as fabric
from simulator.machine import local_copy
from simulator.machine.cycles import movement, reduction, scaled
from simulator.machine.cycles import slices as cycles
from simulator.machine.cycles.rounding import WORKERS, ceil_div, per_worker, whole
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name

Options = dict[str, str] | None
_CHOICES = {
    "usedForSlice": ("true", "false"),
    "usedForUpdate": ("true", "false"),
    "operationForUpdate": ("add", "none", "max"),
    "indicesDistribution": ("uniform", "onePoint"),
    "planMinimisationTarget": ("cycles", "memory"),
    "indicesAreSorted": ("false", "true"),
    "availableMemoryProportion": (),
}


#: Of a tile's memory, temporary for one operation, where the program does not say (PopLibs' default).
_PROPORTION = 0.6
#: Bytes that a tile writes at once: columns are cut at multiples.
_STORE_BYTES = 4
#: Bytes of an index, of a value of a sum and of an instruction of an exchange.
_WORD = 4
#: Indices that a tile holds at least.
LEAST_INDICES = 32
#: How much more a byte that is always live weighs than a temporary one.
_ALWAYS_LIVE_WEIGHT = 10


@dataclass(frozen=True, order=True)
class SlicePlan:
    """The number of row blocks, column blocks and groups of lookups. `SlicePlan()` is no plan: operations then follow
    the layout of their tensors."""

    slicedDimSplit: int = 0
    unslicedDimSplit: int = 0
    lookupSplit: int = 0
    entries: int = 0
    elements: int = 0
    indices_sorted: bool = False
    one_point: bool = False

    @property
    def is_plan(self) -> bool:
        return self.slicedDimSplit > 0

    def __str__(self) -> str:
        if not self.is_plan:
            return "SlicePlan(none)"
        return (
            f"SlicePlan: {self.entries} entries in {self.slicedDimSplit}, {self.elements} elements in "
            f"{self.unslicedDimSplit}, lookups in {self.lookupSplit} parts"
        )


@dataclass(frozen=True)
class _Costs:
    cycles: Int64Array
    block: Int64Array  #: bytes of the matrix on a tile
    temporary: Int64Array  #: bytes of the fullest tile that are live only during the operation


def plan(
    graph: Graph,
    dataType: Type,
    numEntries: int,
    outputSize: int,
    numLookups: Sequence[int],
    options: Options = None,
) -> SlicePlan:
    """The best cut of a matrix of `numEntries` rows of `outputSize` elements for the given numbers of lookups.

    Options: usedForSlice, usedForUpdate (true), operationForUpdate (add, none, max), availableMemoryProportion (0.6
    where a plan keeps within it), indicesDistribution (uniform, onePoint), planMinimisationTarget (cycles, memory),
    indicesAreSorted (false). Raises `invalid_option`, and `poplibs_error` for a plan without a use, or none within the
    memory asked for."""
    chosen = chosen_options(options)
    if min(numEntries, outputSize) < 1:
        raise poplibs_error(f"embedding::plan: {numEntries} entries of {outputSize} elements; both must be above 0.")
    if chosen["usedForSlice"] == chosen["usedForUpdate"] == "false":
        raise poplibs_error("embedding::plan: usedForSlice and usedForUpdate are both false; one must be true.")
    tiles = graph.getTarget().getNumTiles()
    lookups = max([*numLookups, 1])
    unit = column_grain(dataType)
    cuts = _cuts([_splits(numEntries, tiles), _splits(-(-outputSize // unit), tiles), _splits(lookups, tiles)], tiles)
    if chosen["usedForUpdate"] == "true" and chosen["operationForUpdate"] != "add":
        cuts = cuts[cuts[:, 2] == 1]  # one group applies them in order
    rate = graph.getTarget().getExchangeBytesPerCycle()
    sizes = numEntries, outputSize, lookups
    costs = _costs(cuts, sizes, dataType, chosen, rate)
    keys = [costs.cycles, costs.block]
    if chosen["planMinimisationTarget"] == "memory":
        always = _always_live(cuts, sizes, dataType, tiles, chosen["usedForUpdate"] == "true")
        keys = [_ALWAYS_LIVE_WEIGHT * always + costs.temporary, costs.cycles]
    candidates = _fitting(costs, chosen.get("availableMemoryProportion"), graph.getTarget().getBytesPerTile())
    order = np.lexsort((cuts[candidates].prod(axis=1), keys[1][candidates], keys[0][candidates]))
    rows, columns, groups = cuts[candidates[order[0]]].tolist()
    return SlicePlan(
        rows,
        columns,
        groups,
        numEntries,
        outputSize,
        chosen["indicesAreSorted"] == "true",
        chosen["indicesDistribution"] == "onePoint",
    )


def _fitting(costs: _Costs, limit: str | None, tile_bytes: int) -> Int64Array:
    """The cuts that keep their temporary memory within a proportion of a tile, and where there are such, within what
    their block leaves of it. Raises `poplibs_error` where none keeps within the limit that was asked for."""
    fits = costs.temporary <= float(limit or _PROPORTION) * tile_bytes
    if limit and not fits.any():
        raise poplibs_error(
            f"embedding::plan: no plan keeps its temporary memory within {limit} of a tile; raise "
            "availableMemoryProportion."
        )
    if not fits.any():
        fits[:] = True
    beside_block = fits & (costs.block + costs.temporary <= tile_bytes)
    return np.flatnonzero(beside_block if beside_block.any() else fits)


def chosen_options(options: Options) -> dict[str, str]:
    """The options with their values. Raises `invalid_option` for unknown ones."""
    chosen = {name: values[0] for name, values in _CHOICES.items() if values}
    for name, value in (options or {}).items():
        text = spelled(name, value)
        if name not in _CHOICES or (_CHOICES[name] and text not in _CHOICES[name]):
            raise invalid_option(f"Slices have no option {name} = '{text}'; they have {', '.join(_CHOICES)}.")
        if name == "availableMemoryProportion" and not _is_positive(text):
            raise invalid_option(f"Option {name} is '{text}'; it must be a number above 0.")
        chosen[name] = text
    return chosen


def column_grain(type_: Type) -> int:
    """Elements of the unit in which a plan cuts columns."""
    return max(_STORE_BYTES // type_.size, 1)


def _is_positive(text: str) -> bool:
    try:
        return float(text) > 0
    except ValueError:
        return False


def _splits(count: int, most: int) -> Int64Array:
    """Numbers of parts to try: those that change the size of the largest part."""
    parts = np.arange(1, max(min(count, most), 1) + 1)
    sizes = -(-count // parts)
    return np.asarray(parts[np.append(True, sizes[1:] != sizes[:-1])], np.int64)


def _cuts(splits: list[Int64Array], tiles: int) -> Int64Array:
    """All (row blocks, column blocks, groups) with at most as many blocks as tiles, one per row."""
    rows, columns = (a.reshape(-1) for a in np.meshgrid(splits[0], splits[1], indexing="ij"))
    few = rows * columns <= tiles
    pairs = np.stack([rows[few], columns[few]], 1)
    left = tiles // pairs.prod(axis=1)
    counts = np.searchsorted(splits[2], left, side="right")
    owner = np.repeat(np.arange(len(pairs)), counts)
    groups = splits[2][np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)]
    return np.column_stack([pairs[owner], groups])


def _largest_block(
    cuts: Int64Array, sizes: tuple[int, int, int], type_: Type
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(rows, columns, lookups) of the largest block of each cut."""
    unit = column_grain(type_)
    row_blocks, column_blocks, groups = cuts.T
    columns = ceil_div(-(-sizes[1] // unit), column_blocks) * unit
    return ceil_div(sizes[0], row_blocks), columns, ceil_div(sizes[2], groups)


def _costs(cuts: Int64Array, sizes: tuple[int, int, int], type_: Type, chosen: dict[str, str], rate: float) -> _Costs:
    dtype, size = short_name(type_), type_.size
    row_blocks, _, groups = cuts.T
    rows, columns, group = _largest_block(cuts, sizes, type_)
    own = group if chosen["indicesDistribution"] == "onePoint" else ceil_div(group, row_blocks)
    base, indices, partial = rows * columns * size, group * _WORD, group * columns * size
    # Each group of lookups but the first needs a copy of the block.
    copied = np.where(groups > 1, base, 0)
    spent = whole(indices / rate) + whole(copied / rate)
    if chosen["usedForSlice"] == "true":
        spent = spent + cycles.multi_slice(dtype, columns, per_worker(own), per_worker(group - own))
        several = row_blocks > 1
        moved = partial * (row_blocks - 1) // row_blocks
        added = reduction.strided("ADD", dtype, ceil_div(group * columns, row_blocks), row_blocks)
        spent = spent + np.where(several, whole(moved / rate) + added, 0)
    if chosen["usedForUpdate"] == "true":
        spent = spent + _update_cycles((rows, columns), (row_blocks, groups, group), sizes[0], dtype, chosen, rate)
    return _Costs(spent, ceil_div(base, groups), _temporary(cuts, sizes, type_, chosen))


def _temporary(cuts: Int64Array, sizes: tuple[int, int, int], type_: Type, chosen: dict[str, str]) -> Int64Array:
    """The most temporary bytes of a tile at once, as PopLibs' planner has them: a copied block, indices and slices of a
    first stage, or slices of both stages; of an update the slices, of all row blocks where there are several, and
    sums. All of an update are floats."""
    size, (row_blocks, _, groups) = type_.size, cuts.T
    rows, columns, group = _largest_block(cuts, sizes, type_)
    cut_rows, cut_lookups = row_blocks > 1, groups > 1
    share, indices, peak = ceil_div(group, row_blocks), group * _WORD, 0 * group
    if chosen["usedForSlice"] == "true":
        first = cut_rows * group * columns * size
        second = cut_rows * row_blocks * share * columns * size
        peak = np.maximum(cut_lookups * rows * columns * size + first + indices, first + second + share * _WORD)
    if chosen["usedForUpdate"] == "true":
        cast = (size != _WORD) * share * columns * _WORD
        spread, sums = cut_rows * group * columns * _WORD, cut_lookups * rows * columns * _WORD
        for temporary in (cast + spread, spread + sums + indices, 2 * sums):
            peak = np.maximum(peak, temporary)
    return whole(peak)


def _always_live(cuts: Int64Array, sizes: tuple[int, int, int], type_: Type, tiles: int, update: bool) -> Int64Array:
    """Bytes of a tile that are always live, as PopLibs' planner of 2021 has them: its share of the matrix, of the
    slices and of the indices, and an instruction for each message of the exchanges."""
    row_blocks, _, groups = cuts.T
    rows, columns, group = _largest_block(cuts, sizes, type_)
    indices = max(min(sizes[2], LEAST_INDICES), -(-sizes[2] // tiles))
    elements = ceil_div(rows * columns, groups) + ceil_div(group, row_blocks) * columns
    messages = ceil_div(group, indices) * (2 + update) + (row_blocks > 1) * row_blocks
    messages = messages + (groups > 1) * groups * (1 + update)
    return whole(elements * type_.size + (indices + messages) * _WORD)


def _update_cycles(
    block: tuple[Int64Array, Int64Array],
    parts: tuple[Int64Array, Int64Array, Int64Array],
    entries: int,
    dtype: str,
    chosen: dict[str, str],
    rate: float,
) -> Int64Array:
    """Cycles of an update beyond those of the matrix and its indices, as PopLibs' planner has them. `block`: rows and
    columns of a tile; `parts`: row blocks, groups of lookups, lookups of a group.

    Workers share the rows, so each applies its own of the lookups and skips the others. With several groups each
    clears a block, updates it, a reduction adds the blocks of all groups (two more exchanges, and a copy of what lies
    on the tile already), and the sum is added to the matrix."""
    (rows, columns), (row_blocks, groups, group) = block, parts
    received = np.where(row_blocks > 1, group * columns * 4, 0)
    if chosen["operationForUpdate"] == "none":
        spent = cycles.multi_update(dtype, columns, group)
        return spent + whole(received / rate)
    own = group
    if chosen["indicesDistribution"] != "onePoint":
        own = np.minimum(group, ceil_div(group * per_worker(rows), entries))
    several, elements = groups > 1, rows * columns
    spent = whole(received / rate) + cycles.multi_update_add("float", columns, own, group - own)
    cleared = WORKERS * movement.fill("float", elements)
    added = WORKERS * reduction.strided("ADD", "float", per_worker(ceil_div(elements, groups)), groups)
    added = added + WORKERS * local_copy.LEAST_CYCLES + 2 * fabric.LAUNCH_CYCLES
    applied = scaled.scaled_add(("float", "float"), ceil_div(elements, groups), constrained=True)
    moved = 4 * elements * (groups - 1) // groups
    return spent + np.where(several, cleared + added + applied + whole(moved / rate), 0)
