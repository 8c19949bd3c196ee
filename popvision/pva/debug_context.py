"""Debug contexts: the line of the user's program and the software layer that made an object."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from popvision.pva.listview import PrintedList

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


@dataclass(frozen=True)
class SourceLocation:
    """A line of the user's program; "" and 0 when unknown."""

    fileName: str
    lineNumber: int


class DebugContext:
    """One record of the debug file; compares by id. A record that the file lacks reads as empty."""

    __slots__ = ("_columns", "_number")

    def __init__(self, columns: Columns, id: int) -> None:
        self._columns = columns
        self._number = int(id)

    @property
    def id(self) -> int:
        return self._number

    @property
    def _record(self) -> dict[str, Any]:
        return self._columns.source.debug.record(self._number)

    @property
    def layer(self) -> str:
        """JSON text whose "layer" is the software layer that made it: '{"layer": "poplibs"}'."""
        return json.dumps({"layer": str(self._record.get("layer", ""))})

    @property
    def name(self) -> str:
        """Debug path."""
        return str(self._record.get("name", ""))

    @property
    def json(self) -> str:
        """JSON text of an object: the layer's arguments by name, and the record's own keys (id, parents, layer, name,
        arguments, outputs, file, line). An argument comes before an own key of the same name, which the other
        attributes of this object give."""
        record = self._record
        return json.dumps({**record, **_object(record.get("arguments"))})

    @property
    def parents(self) -> list[DebugContext]:
        """The contexts above it, as far as the file holds them."""
        known = self._columns.source.debug
        ids = [id for id in self._record.get("parents", []) if isinstance(id, int) and id in known]
        return PrintedList([DebugContext(self._columns, id) for id in ids], self._columns.printing)

    @property
    def location(self) -> SourceLocation:
        """The line of the user's own program that made it."""
        record = self._record
        return SourceLocation(str(record.get("file", "")), int(record.get("line", 0)))

    @property
    def replaced(self) -> list[DebugContext]:
        """The contexts that this one replaces, from the argument `replacedDebugContextIds` that frameworks write."""
        ids = _object(self._record.get("arguments")).get("replacedDebugContextIds", [])
        try:
            ids = json.loads(ids) if isinstance(ids, str) else ids
        except ValueError:
            ids = []
        contexts = (
            [DebugContext(self._columns, id) for id in ids if isinstance(id, int)] if isinstance(ids, list) else []
        )
        return PrintedList(contexts, self._columns.printing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DebugContext) and self._number == other._number and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), self._number))

    def __repr__(self) -> str:
        record = self._record
        return f"DebugContext({self._number}, {str(record.get('layer', ''))!r}, {self.name!r})"


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
