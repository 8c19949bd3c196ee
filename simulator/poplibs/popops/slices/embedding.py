"""popops::embedding: plan operations on an embedding matrix.

The matrix [entries, elements] is cut into blocks of rows and columns, the lookups into groups; each tile holds a block
and looks up a group in it. With several row blocks partial results, which are zero for rows of other blocks, are added.
The plan is the cut with the fewest cycles (or the least memory), of all cuts, by the cycle formulas of the vertices and
an exchange of 4 bytes a cycle. Headers of older PopLibs give memory as the default; its newest public planner minimises
cycles alone, and PopART asks for cycles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import invalid_option
from simulator.base.options.flags import spelled
from simulator.base.types import Type
from simulator.machine import exchange as fabric
from simulator.machine import local_copy
from simulator.machine.cycles import movement, reduction, scaled
from simulator.machine.cycles import slices as cycles
from simulator.machine.cycles.rounding import WORKERS, ceil_div, per_worker, whole
from simulator.poplibs.poputil.exceptions import poplibs_error
from simulator.poplibs.type_names import short_name
from simulator.programming.graph import Graph
from simulator.programming.mapping import grain

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
    memory: Int64Array  #: bytes of the fullest tile
    temporary: Int64Array  #: bytes of it that are live only during the operation


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
    unit = grain(dataType)
    cuts = _cuts([_splits(numEntries, tiles), _splits(-(-outputSize // unit), tiles), _splits(lookups, tiles)], tiles)
    if chosen["usedForUpdate"] == "true" and chosen["operationForUpdate"] != "add":
        cuts = cuts[cuts[:, 2] == 1]  # one group applies them in order
    rate = graph.getTarget().getExchangeBytesPerCycle()
    costs = _costs(cuts, (numEntries, outputSize, lookups), dataType, chosen, rate)
    limit = chosen.get("availableMemoryProportion")
    fits = costs.temporary <= float(limit or _PROPORTION) * graph.getTarget().getBytesPerTile()
    if not limit and not fits.any():
        fits[:] = True
    if not fits.any():
        raise poplibs_error(
            f"embedding::plan: no plan keeps its temporary memory within {limit} of a tile; raise "
            "availableMemoryProportion."
        )
    keys = [costs.memory, costs.cycles]
    if chosen["planMinimisationTarget"] == "cycles":
        keys.reverse()
    candidates = np.flatnonzero(fits)
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


def _costs(cuts: Int64Array, sizes: tuple[int, int, int], type_: Type, chosen: dict[str, str], rate: float) -> _Costs:
    dtype, size, unit = short_name(type_), type_.size, grain(type_)
    row_blocks, column_blocks, groups = cuts.T
    rows = ceil_div(sizes[0], row_blocks)
    columns = ceil_div(-(-sizes[1] // unit), column_blocks) * unit
    group = ceil_div(sizes[2], groups)
    own = group if chosen["indicesDistribution"] == "onePoint" else ceil_div(group, row_blocks)
    base, indices, partial = rows * columns * size, group * 4, group * columns * size
    spent = whole(indices / rate)
    memory, temporary = base + indices + partial, indices
    # Each group of lookups but the first needs a copy of the block.
    copied = np.where(groups > 1, base, 0)
    spent, memory, temporary = spent + whole(copied / rate), memory + copied, temporary + copied
    if chosen["usedForSlice"] == "true":
        spent = spent + cycles.multi_slice(dtype, columns, per_worker(own), per_worker(group - own))
        several = row_blocks > 1
        moved = partial * (row_blocks - 1) // row_blocks
        added = reduction.strided("ADD", dtype, ceil_div(group * columns, row_blocks), row_blocks)
        spent = spent + np.where(several, whole(moved / rate) + added, 0)
        memory, temporary = memory + np.where(several, partial, 0), temporary + np.where(several, partial, 0)
    if chosen["usedForUpdate"] == "true":
        update = _update_costs((rows, columns), (row_blocks, groups, group), sizes[0], dtype, chosen, rate)
        spent, memory, temporary = spent + update.cycles, memory + update.memory, temporary + update.temporary
    return _Costs(spent, memory, temporary)


def _update_costs(
    block: tuple[Int64Array, Int64Array],
    parts: tuple[Int64Array, Int64Array, Int64Array],
    entries: int,
    dtype: str,
    chosen: dict[str, str],
    rate: float,
) -> _Costs:
    """Costs of an update beyond those of the matrix and its indices, as PopLibs' planner has them. `block`: rows and
    columns of a tile; `parts`: row blocks, groups of lookups, lookups of a group.

    Workers share the rows, so each applies its own of the lookups and skips the others. With several groups each
    clears a block, updates it, a reduction adds the blocks of all groups (two more exchanges, and a copy of what lies
    on the tile already), and the sum is added to the matrix."""
    (rows, columns), (row_blocks, groups, group) = block, parts
    received = np.where(row_blocks > 1, group * columns * 4, 0)
    if chosen["operationForUpdate"] == "none":
        spent = cycles.multi_update(dtype, columns, group)
        return _Costs(spent + whole(received / rate), 0 * group, received)
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
    spent = spent + np.where(several, cleared + added + applied + whole(moved / rate), 0)
    partials = np.where(several, 4 * elements, 0)
    return _Costs(spent, partials, received + 2 * partials)
