"""Split allocations whose parts differ in liveness.

A variable's place on a tile stays one run of bytes while any part is live, so that vertices find their operands in one
piece. Live bytes are counted by part, and the report lists the parts one after another. On a tile where a variable
would have more than `MOST_PARTS` parts it stays whole, because a longer list would cost more than it shows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simulator.arrays import AnyArray, BoolArray, Int64Array
from simulator.compiler.ir.element_map import ElementMap
from simulator.compiler.memory.inventory import Allocations, Inventory
from simulator.compiler.memory.liveness import LiveClasses

#: Most parts of a variable on a tile. Our choice, not a figure of Poplar's: a row of a product has two or three.
MOST_PARTS = 16


@dataclass(frozen=True)
class Parts:
    """Parts of variables on tiles, in order of address; adjacent runs of equal class are one part."""

    variable: Int64Array
    tile: Int64Array
    bytes: Int64Array
    live_class: Int64Array


def parts_of(live: LiveClasses, emap: ElementMap) -> Parts | None:
    """The parts of all variables that differ in liveness; None where there are none."""
    parted = live.parted
    if parted is None:
        return None
    cut = emap.cut(parted.begin, parted.end - parted.begin)
    mapped = emap.tile[cut.row] >= 0
    cut, class_ = cut.take(mapped), parted.live_class[cut.region[mapped]]
    variable, tile = emap.variable[cut.row], emap.tile[cut.row]
    order = np.lexsort((cut.start, tile, variable))
    variable, tile, class_ = variable[order], tile[order], class_[order]
    size = (cut.length * emap.item_bytes[cut.row])[order]
    holder = np.cumsum(_changes(variable, tile))
    head = np.flatnonzero(_changes(holder, class_))
    crowded = np.bincount(holder[head])[holder] > MOST_PARTS
    class_ = np.where(crowded, live.of_variable[variable], class_)
    head = np.flatnonzero(_changes(holder, class_))
    return Parts(variable[head], tile[head], np.add.reduceat(size, head), class_[head])


@dataclass(frozen=True)
class SplitAllocations:
    """Allocations by part: part i, described by `rows[i]`, is `offset[i]` bytes into allocation `owner[i]`."""

    rows: Allocations
    owner: Int64Array
    offset: Int64Array


def split_by_part(a: Allocations, parts: Parts | None, inventory: Inventory) -> SplitAllocations:
    """Split allocations into their parts."""
    whole = np.arange(len(a))
    if parts is None:
        return SplitAllocations(a, whole, np.zeros(len(a), np.int64))
    wide = int(max(a.tile.max(), parts.tile.max())) + 1
    key = a.variable * wide + a.tile
    order = np.argsort(key, kind="stable")
    own = parts.variable * wide + parts.tile
    head = np.flatnonzero(_changes(own))
    count = np.ones(len(a), np.int64)
    count[order[np.searchsorted(key[order], own[head])]] = np.diff(np.append(head, len(own)))
    owner = np.repeat(whole, count)
    place = np.searchsorted(own, key[owner])  # parts are sorted by variable and tile
    first = np.cumsum(count) - count
    within = np.arange(len(owner)) - first[owner]
    parted = np.isin(key, own[head])[owner]
    at = (place + within)[parted]
    rows = a.take(owner)
    variable, size, class_ = rows.variable.copy(), rows.bytes.copy(), rows.live_class.copy()
    row = inventory.part_rows(parts.variable, parts.live_class, _repeats(own, parts.live_class), parts.bytes)
    variable[parted], size[parted], class_[parted] = row[at], parts.bytes[at], parts.live_class[at]
    end = np.cumsum(size)
    offset = end - size - (end - size)[first[owner]]
    return SplitAllocations(replace(rows, variable=variable, bytes=size, live_class=class_), owner, offset)


def _repeats(holder: Int64Array, live_class: Int64Array) -> Int64Array:
    """The number of parts of the same holder and class before each part."""
    order = np.lexsort((live_class, holder))  # stable, so in order of address
    head = _changes(holder[order], live_class[order])
    at = np.arange(len(order))
    repeat = np.empty(len(order), np.int64)
    repeat[order] = at - at[head][np.cumsum(head) - 1]
    return repeat


def _changes(*columns: AnyArray) -> BoolArray:
    """Flags of rows in which any column differs from the row before."""
    change = np.ones(len(columns[0]), np.bool_)
    change[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    return change
