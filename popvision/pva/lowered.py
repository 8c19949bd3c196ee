"""Lowered variables: the allocations on each tile after layout."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from popvision.formats.profile import model
from popvision.pva import errors
from popvision.pva.listview import ListView, PrintedList, nothing
from popvision.pva.liveness import Variable

if TYPE_CHECKING:
    from popvision.pva.allocations import TileAllocations
    from popvision.pva.columns import Columns

#: Brief variables that are made together while a script goes through all of them.
_AT_ONCE = 1 << 20

_INTERLEAVED = model.REGIONS.index("interleaved")


class Interval(NamedTuple):
    """A half-open range of liveness indices."""

    start: int
    end: int


class EquivalenceClass:
    """Variables that are live over the same steps; an always-live variable has the id -1 and no steps."""

    __slots__ = ("_columns", "id")

    def __init__(self, columns: Columns, id: int) -> None:
        self._columns = columns
        self.id = id

    @property
    def steps(self) -> list[Interval]:
        """Ranges of liveness indices, ascending."""
        found = [Interval(*pair) for pair in self._columns.allocations.intervals_of(self.id)]
        return PrintedList(found, self._columns.printing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EquivalenceClass) and self.id == other.id and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), "class", self.id))

    def __repr__(self) -> str:
        return f"EquivalenceClass({self.id})"


class BriefVar(NamedTuple):
    """The light record of an allocation; `id` is the `_id` of the full one."""

    id: int
    bytes: int
    tileId: int
    equivalenceClass: EquivalenceClass


class LoweredVar:
    """The full record of an allocation on a tile."""

    __slots__ = ("_columns", "_row", "_tile")

    def __init__(self, columns: Columns, tile: TileAllocations, row: int) -> None:
        self._columns = columns
        self._tile = tile
        self._row = row

    def _at(self, column: str) -> int:
        return self._tile.column(column)[self._row]

    @property
    def _id(self) -> int:
        return self._tile.lowered.first_id + self._row

    @property
    def name(self) -> str:
        return self._columns.allocations.names[self._at("name")]

    @property
    def bytes(self) -> int:
        return self._at("bytes")

    @property
    def tileId(self) -> int:
        """Global number of the tile it lies on."""
        return self._tile.lowered.tile

    @property
    def offset(self) -> int:
        """Bytes from the beginning of the tile's memory."""
        return self._at("address")

    @property
    def category(self) -> str:
        """Memory category, a name of `memory.category`."""
        return model.CATEGORIES[self._at("category")]

    @property
    def isConstant(self) -> bool:
        return self.category == "constant"

    @property
    def vertexCode(self) -> bool:
        return self.category == "vertexCode"

    @property
    def executable(self) -> bool:
        """Whether it holds code of any kind."""
        return self.category.endswith("Code")

    @property
    def inInterleavedMem(self) -> bool:
        return self._at("region") == _INTERLEAVED

    @property
    def alwaysLive(self) -> bool:
        return self._at("eq_class") < 0

    @property
    def equivalenceClass(self) -> EquivalenceClass:
        return EquivalenceClass(self._columns, self._at("eq_class"))

    @property
    def hasUnloweredVar(self) -> bool:
        """False of the compiler's own memory: code, vertex state, stacks ..."""
        row = self._at("variable")
        return row >= 0 and self._columns.is_of_the_graph[row]

    @property
    def unloweredVar(self) -> Variable:
        """The variable this allocation is, with its bytes on this tile. Raises AttributeError where there is none."""
        variables, row = self._columns.variables, self._at("variable")
        if variables is None or row < 0 or not self._columns.is_of_the_graph[row]:
            raise AttributeError(f"lowered variable {self._id} has no unlowered variable; test hasUnloweredVar first")
        return Variable(self._columns, row, variables.name[row], self._tile.size_of_variable[row])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, LoweredVar)
            and (self._id, self.tileId) == (other._id, other.tileId)
            and self._columns is other._columns
        )

    def __hash__(self) -> int:
        return hash((id(self._columns), "lowered", self._id))

    def __repr__(self) -> str:
        return f"LoweredVar(_id={self._id}, name={self.name!r}, bytes={self.bytes})"


class BriefVars(ListView[BriefVar]):
    """All allocations of all tiles; going through them reads the file in large parts."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Columns) -> None:
        super().__init__(len(columns.allocations), self._brief, columns.printing, errors.LOWERED_VARIABLES)
        self._columns = columns

    def _brief(self, row: int) -> BriefVar:
        columns = self._columns
        tile, at = columns.allocations.place(row)
        found = columns.allocations.needed(tile)
        eq_class = EquivalenceClass(columns, found.column("eq_class")[at])
        return BriefVar(found.lowered.first_id + at, found.column("bytes")[at], tile, eq_class)

    def __iter__(self) -> Iterator[BriefVar]:
        classes: dict[int, EquivalenceClass] = {}
        for begin in range(0, len(self), _AT_ONCE):
            rows = range(begin, min(begin + _AT_ONCE, len(self)))
            for id, size, tile, number in self._columns.allocations.brief(rows):
                eq_class = classes.get(number)
                if eq_class is None:
                    eq_class = classes[number] = EquivalenceClass(self._columns, number)
                yield BriefVar(id, size, tile, eq_class)


class LoweredVariables:
    """All allocations; empty when the report was made without `autoReport.outputLoweredVars`."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @property
    def allBriefVars(self) -> ListView[BriefVar]:
        """Light records of every allocation on every tile, tile by tile."""
        return BriefVars(self._columns)

    def forTile(self, tile: int) -> ListView[LoweredVar]:
        """Full records of one tile, by address. Raises IndexError for a tile that is not there."""
        columns = self._columns
        found = columns.allocations.on_tile(columns.check_tile(tile))
        if found is None:
            return ListView(0, nothing, columns.printing, errors.LOWERED_VARIABLES)
        return ListView(len(found.lowered.bytes), partial(LoweredVar, columns, found), columns.printing)

    def __repr__(self) -> str:
        return f"LoweredVariables({len(self._columns.allocations)} allocations)"
