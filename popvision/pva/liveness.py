"""Live memory at each step of the static order, over all tiles, one IPU or one tile. Sizes are bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.liveness.variables import Group, names_of
from popvision.analysis.report.tiles import Where
from popvision.pva import errors
from popvision.pva.listview import ListView, nothing
from popvision.pva.lowered import Variable
from popvision.pva.program import Program, make_program

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


_EVERYWHERE = Where("all", 0)


class LiveMemory:
    """Bytes live at one step, and their variables, largest first."""

    __slots__ = ("_columns", "_index", "_where", "bytes")

    def __init__(self, columns: Columns, index: int, where: Where, bytes: int) -> None:
        self._columns = columns
        self._index = index
        self._where = where
        self.bytes = bytes

    @property
    def variables(self) -> ListView[Variable]:
        """Variables whose sizes add up to `bytes`. Raises AbsentError for an IPU without recorded allocations."""
        allocations = self._columns.allocations
        return variable_list(self._columns, allocations.live_at(allocations.scope(self._where), self._index))

    def __repr__(self) -> str:
        return f"LiveMemory({self.bytes} B)"


def variable_list(columns: Columns, rows: Group, replicas: int = 1) -> ListView[Variable]:
    """Variables with their sizes, largest first, summed over `replicas` equal replicas."""
    whole = np.append(columns.whole_variables, -1)[rows.variable]
    key = np.where(whole >= 0, whole, -2 - rows.name)  # allocations without a variable: by name
    ids, first, back = np.unique(key, return_index=True, return_inverse=True)
    size = np.bincount(back, rows.bytes, len(ids)).astype(np.int64) * replicas
    order = np.argsort(-size, kind="stable")
    names = names_of(columns.source, rows.take(first[order]))
    numbers, sizes = ids[order].tolist(), size[order].tolist()
    return ListView(len(names), lambda i: Variable(columns, numbers[i], names[i], sizes[i]), columns.printing)


def always_live(columns: Columns) -> ListView[Variable]:
    """Always-live variables, sizes over all tiles of all replicas."""
    if columns.variables is None:
        return ListView(0, nothing, columns.printing, errors.GRAPH_PROFILE)
    rows = columns.allocations.scope(_EVERYWHERE)
    return variable_list(columns, rows.take(rows.eq_class < 0), columns.target.num_replicas)


def always_live_on_tile(columns: Columns, tile: int) -> ListView[Variable]:
    """Always-live variables of one tile. Raises AbsentError where allocations were not recorded."""
    rows = columns.allocations.scope(Where("tile", columns.check_tile(tile)))
    return variable_list(columns, rows.take(rows.eq_class < 0))


class LivenessProgramStep:
    """One step of the static order: its program, and the memory live there besides the always-live variables."""

    __slots__ = ("_columns", "_index")

    def __init__(self, columns: Columns, index: int) -> None:
        self._columns = columns
        self._index = index

    @property
    def program(self) -> Program:
        """A leaf of the program tree. A program that is called from several places has several steps."""
        return make_program(self._columns, self._columns.live_programs[self._index])

    @property
    def notAlwaysLiveMemory(self) -> LiveMemory:
        """All tiles of one replica."""
        columns, index = self._columns, self._index
        return LiveMemory(columns, index, _EVERYWHERE, columns.live_bytes[index])

    def notAlwaysLiveMemoryForIpu(self, ipu: int) -> LiveMemory:
        """One IPU. Its `variables` raise AbsentError where allocations were not recorded."""
        number = self._columns.check_ipu(ipu)
        liveness = self._columns.liveness
        assert liveness is not None
        total = int(liveness.bytes_by_ipu[number][self._index])
        return LiveMemory(self._columns, self._index, Where("ipu", number), total)

    def notAlwaysLiveMemoryForTile(self, tile: int) -> LiveMemory:
        """One tile. Raises AbsentError where allocations were not recorded."""
        number = self._columns.check_tile(tile)
        total = self._columns.allocations.on_recorded_tile(number).live_bytes[self._index]
        return LiveMemory(self._columns, self._index, Where("tile", number), total)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LivenessProgramStep) and self._index == other._index and self._columns is other._columns
        )

    def __hash__(self) -> int:
        return hash((id(self._columns), "liveness step", self._index))

    def __repr__(self) -> str:
        return f"LivenessProgramStep({self._index}, {self.program!r}, {self._columns.live_bytes[self._index]} B)"
