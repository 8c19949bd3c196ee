"""popops::embedding: plan operations on an embedding matrix.

The matrix [entries, elements] is cut into blocks of rows and columns, the lookups into groups; each tile holds a block
and looks up a group in it. With several row blocks partial results, which are zero for rows of other blocks, are added.
The plan is the cut with the least memory or the fewest cycles, of all cuts, by the cycle formulas of the vertices and
an exchange of 4 bytes a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.arrays import Int64Array
from simulator.base.errors import invalid_option
from simulator.base.options.flags import spelled
from simulator.base.types import Type
from simulator.machine.cycles import reduction
from simulator.machine.cycles import slices as cycles
from simulator.machine.cycles.rounding import ceil_div, per_worker, whole
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
    "planMinimisationTarget": ("memory", "cycles"),
    "indicesAreSorted": ("false", "true"),
    "availableMemoryProportion": (),
}


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

    Options: usedForSlice, usedForUpdate (true), operationForUpdate (add, none, max), availableMemoryProportion,
    indicesDistribution (uniform, onePoint), planMinimisationTarget (memory, cycles), indicesAreSorted (false). Raises
    `invalid_option`, and `poplibs_error` for a plan without a use."""
    chosen = chosen_options(options)
    if min(numEntries, outputSize) < 1:
        raise poplibs_error(f"embedding::plan: {numEntries} entries of {outputSize} elements; both must be above 0.")
    if chosen["usedForSlice"] == chosen["usedForUpdate"] == "false":
        raise poplibs_error("embedding::plan: usedForSlice and usedForUpdate are both false; one must be true.")
    tiles = graph.getTarget().getNumTiles()
    lookups = max([*numLookups, 1])
    unit = grain(dataType)
    cuts = _cuts([_splits(numEntries, tiles), _splits(-(-outputSize // unit), tiles), _splits(lookups, tiles)], tiles)
    rate = graph.getTarget().getExchangeBytesPerCycle()
    costs = _costs(cuts, (numEntries, outputSize, lookups), dataType, chosen, rate)
    limit = chosen.get("availableMemoryProportion")
    fits = np.ones(len(cuts), np.bool_)
    if limit:
        fits = costs.temporary <= float(limit) * graph.getTarget().getBytesPerTile()
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
    return SlicePlan(rows, columns, groups, numEntries, outputSize, chosen["indicesAreSorted"] == "true")


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
        update = cycles.multi_update if chosen["operationForUpdate"] == "none" else cycles.multi_update_add
        spent = spent + whole(partial / rate) + update(dtype, columns, group)
        temporary = temporary + partial
    return _Costs(spent, memory, temporary)
