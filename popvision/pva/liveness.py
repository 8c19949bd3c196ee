"""What is live at each step of the static order, over all tiles, one IPU or one tile. Sizes in bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from popvision.formats.profile import model
from popvision.pva.program import Program, make_program

if TYPE_CHECKING:
    from popvision.pva.columns import Columns

#: Which allocations of a tile, by their equivalence classes.
Wanted = Callable[[model.IntArray], npt.NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable of the graph, or a pseudo-variable named like a memory category; equal across all access paths.
    `size` is bytes within what was asked: all tiles, an IPU or a tile."""

    _columns: Columns = field(repr=False)
    _id: int = field(repr=False)
    name: str
    size: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and self._id == other._id and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), self._id))


class LiveMemory:
    """Bytes live at one step, and the variables that make them up, the largest first."""

    def __init__(self, bytes: int, variables: Callable[[], list[Variable]]) -> None:
        self.bytes = bytes
        self._find = variables

    @cached_property
    def variables(self) -> list[Variable]:
        return self._find()

    def __repr__(self) -> str:
        return f"LiveMemory({self.bytes} B)"


def live_classes(classes: model.EquivalenceClasses, index: int) -> npt.NDArray[np.bool_]:
    """Mask over equivalence classes: which hold liveness index `index`."""
    inside = (classes.starts <= index) & (index < classes.ends)
    sums = np.concatenate([[0], np.cumsum(inside)])
    return np.asarray(sums[classes.offsets[1:]] > sums[classes.offsets[:-1]])


def variable_list(columns: Columns, ids: model.IntArray, sizes: model.IntArray) -> list[Variable]:
    """Variables by id with their sizes, parts of a variable added up, largest first, ids of -1 (no variable) left
    out."""
    names = columns.variables.name if columns.variables is not None else []
    kept = ids >= 0
    ids, back = np.unique(columns.whole_variable[ids[kept]], return_inverse=True)
    total = np.bincount(back, sizes[kept], len(ids)).astype(np.int64)
    order = np.argsort(-total, kind="stable")
    pairs = zip(ids[order].tolist(), total[order].tolist(), strict=True)
    return [Variable(columns, int(i), names[int(i)], int(size)) for i, size in pairs]


def tile_variables(columns: Columns, tile: int, wanted: Wanted) -> list[Variable]:
    """Variables of a tile whose allocations' equivalence classes satisfy `wanted`, with their bytes there."""
    lowered = columns.reader.lowered_tile(tile)
    if lowered is None:
        return []
    chosen = wanted(lowered.eq_class) & (lowered.variable >= 0)
    ids, back = np.unique(lowered.variable[chosen], return_inverse=True)
    return variable_list(columns, ids, np.bincount(back, lowered.bytes[chosen], len(ids)).astype(np.int64))


class LivenessProgramStep:
    """One step of the static order: its program and what is live then besides the always-live variables."""

    def __init__(self, columns: Columns, index: int) -> None:
        self._columns = columns
        self._index = index

    @property
    def _liveness(self) -> model.Liveness:
        liveness = self._columns.liveness
        assert liveness is not None
        return liveness

    @property
    def program(self) -> Program:
        return make_program(self._columns, int(self._liveness.program[self._index]))

    @property
    def notAlwaysLiveMemory(self) -> LiveMemory:
        """All tiles of one replica."""
        return LiveMemory(int(self._liveness.bytes[self._index]), self._variables)

    def notAlwaysLiveMemoryForIpu(self, ipu: int) -> LiveMemory:
        """One IPU."""
        total = int(self._liveness.bytes_by_ipu[ipu][self._index])
        return LiveMemory(total, lambda: self._variables_of_ipu(ipu))

    def notAlwaysLiveMemoryForTile(self, tile: int) -> LiveMemory:
        """One tile; its bytes are the sum of its variables."""
        lowered = self._columns.reader.lowered_tile(tile)
        if lowered is None:
            return LiveMemory(0, list)
        chosen = self._live(lowered.eq_class)
        return LiveMemory(int(lowered.bytes[chosen].sum()), lambda: tile_variables(self._columns, tile, self._live))

    def _live(self, eq_class: model.IntArray) -> npt.NDArray[np.bool_]:
        classes = self._columns.eq_classes
        if classes is None:
            return np.zeros(len(eq_class), np.bool_)
        mask = np.append(live_classes(classes, self._index), False)
        return np.asarray(mask[eq_class] & (eq_class >= 0))

    def _variables(self) -> list[Variable]:
        variables = self._columns.variables
        if variables is None:
            return []
        ids = np.flatnonzero(self._live(variables.eq_class) & ~variables.always_live)
        return variable_list(self._columns, ids, variables.bytes[ids])

    def _variables_of_ipu(self, ipu: int) -> list[Variable]:
        sizes: dict[Variable, int] = {}
        tiles = self._columns.tiles_of(ipu)
        for tile in range(tiles.start, tiles.stop):
            for variable in tile_variables(self._columns, tile, self._live):
                sizes[variable] = sizes.get(variable, 0) + variable.size
        found = [Variable(self._columns, v._id, v.name, size) for v, size in sizes.items()]
        return sorted(found, key=lambda v: -v.size)

    def __repr__(self) -> str:
        return f"LivenessProgramStep({self._index}, {self.program!r}, {int(self._liveness.bytes[self._index])} B)"
