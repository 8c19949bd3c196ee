"""Inventory: all allocations of all tiles as columns, before layout gives them addresses.

One row per (tile, variable) or (tile, overhead). A *variable row* is an entry of the report's list of variables: the
graph's variables first, then buffers, then one pseudo-variable per overhead category.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from popvision.formats.profile.model import CATEGORIES, CostTerm, Variables
from simulator.arrays import AnyArray, BoolArray, Int64Array
from simulator.compiler.ir.element_map import ElementMap
from simulator.compiler.ir.program_table import Buffer
from simulator.compiler.memory.liveness import ALWAYS, NEVER, LiveClasses

CATEGORY_NUMBER = {name: number for number, name in enumerate(CATEGORIES)}


@dataclass(frozen=True)
class Allocations:
    """Columns over all allocations of the device."""

    tile: Int64Array
    bytes: Int64Array
    category: Int64Array  #: index in CATEGORIES
    variable: Int64Array  #: variable row
    live_class: Int64Array  #: row of LiveClasses, ALWAYS = always live
    name: Int64Array  #: row of Inventory.names
    interleaved: BoolArray  #: must be in interleaved memory

    def __len__(self) -> int:
        return len(self.tile)

    def take(self, index: Int64Array | BoolArray) -> Allocations:
        return Allocations(
            self.tile[index],
            self.bytes[index],
            self.category[index],
            self.variable[index],
            self.live_class[index],
            self.name[index],
            self.interleaved[index],
        )


@dataclass
class Inventory:
    """Collects allocations; `finish` returns them as columns."""

    names: list[str] = field(default_factory=list)
    debug_ids: list[int] = field(default_factory=list)
    classes: list[int] = field(default_factory=list)  #: live class of each variable row
    part_of: list[int] = field(default_factory=list)  #: graph variable of each of the last rows, which `part_rows` adds
    terms: list[CostTerm] = field(default_factory=list)  #: bytes and sources of overhead categories
    _chunks: list[Allocations] = field(default_factory=list)
    _pseudo: dict[str, int] = field(default_factory=dict)
    _name_rows: dict[str, int] = field(default_factory=dict)
    _name_of_variable: list[int] = field(default_factory=list)

    def add_variables(
        self,
        names: Sequence[str],
        debug_ids: Sequence[int],
        category: Int64Array,
        interleaved: BoolArray,
        emap: ElementMap,
        live: LiveClasses,
    ) -> None:
        """Add the graph's variables and the messages of the host; those that no program accesses take no memory. Call
        this first."""
        self._open_rows(names, debug_ids, live.of_variable.tolist())
        used = np.flatnonzero((emap.tile >= 0) & (live.of_variable[emap.variable] != NEVER))
        tiles = int(emap.tile.max(initial=0)) + 1
        key = emap.variable[used] * tiles + emap.tile[used]
        size = (emap.end[used] - emap.begin[used]) * emap.item_bytes[used]
        pair, inverse = np.unique(key, return_inverse=True)
        variable, tile = pair // tiles, pair % tiles
        total = np.bincount(inverse, weights=size, minlength=len(pair)).astype(np.int64)
        columns = (category[variable], variable, live.of_variable[variable], variable, interleaved[variable])
        self._chunks.append(Allocations(tile, total, *columns))

    def part_rows(
        self, variable: Int64Array, live_class: Int64Array, repeat: Int64Array, size: Int64Array
    ) -> Int64Array:
        """The variable row of each part of graph variables. The largest part keeps the variable's row; the others get
        further rows of the same name. `repeat` counts the parts of equal class before a part on its tile, so that a row
        has one allocation per tile. Call this last."""
        base, again = int(live_class.max()) + 1, int(repeat.max()) + 1
        key, inverse = np.unique((variable * base + live_class) * again + repeat, return_inverse=True)
        total = np.bincount(inverse, weights=size, minlength=len(key)).astype(np.int64)
        owner, class_ = key // again // base, key // again % base
        order = np.lexsort((class_, -total, owner))
        first = np.ones(len(order), np.bool_)
        first[1:] = owner[order][1:] != owner[order][:-1]
        main, others = order[first], order[~first]
        row = np.empty(len(key), np.int64)
        row[main] = owner[main]
        row[others] = len(self.classes) + np.arange(len(others))
        for variable_, number in zip(owner[main].tolist(), class_[main].tolist(), strict=True):
            self.classes[variable_] = number
        for variable_, number in zip(owner[others].tolist(), class_[others].tolist(), strict=True):
            self._name_of_variable.append(self._name_of_variable[variable_])
            self.debug_ids.append(self.debug_ids[variable_])
            self.classes.append(number)
            self.part_of.append(variable_)
        return row[inverse]

    def add_buffers(self, buffers: Sequence[Buffer], live: LiveClasses) -> None:
        """Add the compiler's buffers. Call this second."""
        first = len(self.names)
        self._open_rows([b.name for b in buffers], [b.debug_id for b in buffers], live.of_buffer.tolist())
        for number, buffer in enumerate(buffers):
            row = first + number
            self._add_per_tile(buffer.bytes, buffer.category, row, row, int(live.of_buffer[number]))

    def add_overlay(self, category: str, name: str, size: Int64Array, live_class: int) -> None:
        """Add the memory of an overlay: bytes per tile, in its own row."""
        row = len(self.classes)
        self._open_rows([name], [-1], [live_class])
        self._add_per_tile(size, category, row, len(self.names) - 1, live_class)

    def add_overhead(self, category: str, name: str, size: Int64Array, source: str = "") -> None:
        """Add always-live overhead memory: bytes per tile, shown as `name` in its category. `source` of the figure
        becomes a cost term."""
        if not size.any():
            return
        if source:
            self.add_cost_term(category, name, size, source)
        if category not in self._pseudo:
            self._pseudo[category] = len(self.classes)
            self._open_rows([category], [-1], [ALWAYS])
            self._name_rows[category] = len(self.names) - 1
        if name not in self._name_rows:
            self._name_rows[name] = len(self.names)
            self.names.append(name)
        self._add_per_tile(size, category, self._pseudo[category], self._name_rows[name], ALWAYS)

    def add_cost_term(self, category: str, name: str, size: Int64Array, source: str) -> None:
        """Add the bytes of a part of a category, with their source, as a cost term."""
        if size.any():
            self.terms.append(CostTerm(f"category:{category}", f"+ {name}", float(size.sum()), source))

    def finish(self) -> Allocations:
        """All columns."""

        def joined(column: str) -> AnyArray:
            return np.concatenate([getattr(chunk, column) for chunk in self._chunks])

        return Allocations(
            joined("tile"),
            joined("bytes"),
            joined("category"),
            joined("variable"),
            joined("live_class"),
            joined("name"),
            joined("interleaved"),
        )

    def variables(self, allocations: Allocations) -> Variables:
        """The report's table of variables."""
        n = len(self.classes)
        size = np.bincount(allocations.variable, weights=allocations.bytes, minlength=n).astype(np.int64)
        classes = np.array(self.classes, np.int64)
        always = classes == ALWAYS
        return Variables(
            name=[self.names[row] for row in self._name_of_variable],
            debug_id=np.array(self.debug_ids, np.int64),
            bytes=size,
            always_live=always,
            eq_class=np.where(classes >= 0, classes, -1),
            part_of=np.concatenate([np.arange(n - len(self.part_of)), np.array(self.part_of, np.int64)]),
        )

    def _open_rows(self, names: Sequence[str], debug_ids: Sequence[int], classes: Sequence[int]) -> None:
        self._name_of_variable += range(len(self.names), len(self.names) + len(names))
        self.names += names
        self.debug_ids += debug_ids
        self.classes += classes

    def _add_per_tile(self, size: Int64Array, category: str, variable: int, name: int, live_class: int) -> None:
        tile = np.flatnonzero(size)
        constant = (CATEGORY_NUMBER[category], variable, live_class, name)
        category_, variable_, class_, name_ = (np.full(len(tile), value, np.int64) for value in constant)
        flag = np.zeros(len(tile), np.bool_)
        self._chunks.append(Allocations(tile, size[tile], category_, variable_, class_, name_, flag))
