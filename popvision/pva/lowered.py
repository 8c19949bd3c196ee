"""Variables, and the allocations that they become on each tile after layout."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from popvision.formats.profile import model
from popvision.pva import errors
from popvision.pva.listview import ListView, PrintedList, nothing

if TYPE_CHECKING:
    from popvision.pva.allocations import TileAllocations
    from popvision.pva.columns import Columns

#: Brief records read together while a script goes through all of them.
_ROWS_AT_ONCE = 1 << 20

_INTERLEAVED = model.REGIONS.index("interleaved")


class Interval(NamedTuple):
    """A half-open range of liveness indices."""

    start: int
    end: int


class EquivalenceClass:
    """Variables that are live over the same steps. Always-live variables have a class of their own, the last one, which
    covers every step: at a step, bytes of the classes live there add up to all memory in use."""

    __slots__ = ("_columns", "id")

    def __init__(self, columns: Columns, row: int) -> None:
        self._columns = columns
        self.id = row if row >= 0 else columns.allocations.always_live_class

    @property
    def steps(self) -> list[Interval]:
        """Ranges of liveness indices, ascending."""
        intervals = [Interval(*pair) for pair in self._columns.allocations.intervals_of(self.id)]
        return PrintedList(intervals, self._columns.printing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EquivalenceClass) and self.id == other.id and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), "class", self.id))

    def __repr__(self) -> str:
        return f"EquivalenceClass({self.id})"


class BriefVar(NamedTuple):
    """The short record of an allocation; `id` is the `_id` of the full record."""

    id: int
    bytes: int
    tileId: int
    equivalenceClass: EquivalenceClass


class Variable:
    """A variable of the graph, or a pseudo-variable named after a memory category; equal across all access paths.
    `size` is bytes within the scope of the question, all tiles, an IPU or a tile: in the list of a step those live
    there, elsewhere all of them. Parts of a variable may live at different times; their allocations tell when."""

    __slots__ = ("_columns", "_id", "name", "size")

    def __init__(self, columns: Columns, id: int, name: str, size: int) -> None:
        self._columns = columns
        self._id = id
        self.name = name
        self.size = size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and self._id == other._id and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), "variable", self._id))

    def __repr__(self) -> str:
        return f"Variable({self.name!r}, {self.size} B)"


class LoweredVar:
    """The full record of an allocation on a tile."""

    __slots__ = ("_columns", "_row", "_tile")

    def __init__(self, columns: Columns, tile: TileAllocations, row: int) -> None:
        self._columns = columns
        self._tile = tile
        self._row = row

    def _at(self, column: str) -> int:
        return self._tile.columns.at(column, self._row)  # type: ignore[no-any-return]

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
        """False for the compiler's own memory: code, vertex state, stacks ..."""
        row = self._at("variable")
        return row >= 0 and self._columns.is_graph_variable[row]

    @property
    def unloweredVar(self) -> Variable:
        """The variable that was lowered, with the bytes of all its parts on this tile. Raises AttributeError where it
        has none."""
        variables, row = self._columns.variables, self._at("variable")
        if variables is None or row < 0 or not self._columns.is_graph_variable[row]:
            raise AttributeError(f"lowered variable {self._id} has no unlowered variable; test hasUnloweredVar first")
        whole = int(self._columns.whole_variables[row])
        return Variable(self._columns, whole, variables.name[whole], self._tile.size_of_variable[whole])

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


def lowered_of(columns: Columns, programs: list[int]) -> ListView[LoweredVar]:
    """Allocations of the variables that these programs read or write, tile by tile."""
    variables = columns.variables_touched(programs)
    if variables is None:
        return ListView(0, nothing, columns.printing, errors.TOUCHED_VARIABLES)
    rows = columns.allocations.rows_of_variables(variables)

    def make(i: int) -> LoweredVar:
        tile, row = columns.allocations.locate(int(rows[i]))
        return LoweredVar(columns, columns.allocations.on_recorded_tile(tile), row)

    absent = "" if len(columns.allocations) else errors.LOWERED_VARIABLES
    return ListView(len(rows), make, columns.printing, absent)


class BriefVars(ListView[BriefVar]):
    """All allocations of all tiles; iteration reads the file in large parts."""

    __slots__ = ("_columns",)

    def __init__(self, columns: Columns) -> None:
        super().__init__(len(columns.allocations), self._brief, columns.printing, errors.LOWERED_VARIABLES)
        self._columns = columns

    def _brief(self, row: int) -> BriefVar:
        columns = self._columns
        tile, at = columns.allocations.locate(row)
        allocations = columns.allocations.on_recorded_tile(tile)
        eq_class = EquivalenceClass(columns, allocations.columns.at("eq_class", at))
        return BriefVar(allocations.lowered.first_id + at, allocations.columns.at("bytes", at), tile, eq_class)

    def __iter__(self) -> Iterator[BriefVar]:
        classes: dict[int, EquivalenceClass] = {}
        for begin in range(0, len(self), _ROWS_AT_ONCE):
            rows = range(begin, min(begin + _ROWS_AT_ONCE, len(self)))
            for id, size, tile, number in self._columns.allocations.brief_rows(rows):
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
        allocations = columns.allocations.on_tile(columns.check_tile(tile))
        if allocations is None:
            return ListView(0, nothing, columns.printing, errors.LOWERED_VARIABLES)
        return ListView(len(allocations.lowered.bytes), partial(LoweredVar, columns, allocations), columns.printing)

    def __repr__(self) -> str:
        return f"LoweredVariables({len(self._columns.allocations)} allocations)"
