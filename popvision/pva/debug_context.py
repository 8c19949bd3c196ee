"""Debug contexts: where in the user's program, and in which software layer, an object was made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from popvision.pva.columns import Columns


@dataclass(frozen=True)
class SourceLocation:
    """A line of the user's program."""

    fileName: str
    lineNumber: int


class DebugContext:
    """One record of debug.json; compares by id."""

    def __init__(self, columns: Columns, id: int) -> None:
        self._columns = columns
        self.id = id

    @property
    def _record(self) -> dict[str, Any]:
        return self._columns.source.debug.record(self.id)

    @property
    def layer(self) -> str:
        """Software layer that made it, for example "poplar" or "poplibs"."""
        return str(self._record.get("layer", ""))

    @property
    def name(self) -> str:
        return str(self._record.get("name", ""))

    @property
    def json(self) -> str:
        """The record as JSON text."""
        import json

        return json.dumps(self._record)

    @property
    def parents(self) -> list[DebugContext]:
        return [DebugContext(self._columns, int(parent)) for parent in self._record.get("parents", [])]

    @property
    def location(self) -> SourceLocation:
        record = self._record
        return SourceLocation(str(record.get("file", "")), int(record.get("line", 0)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DebugContext) and self.id == other.id and self._columns is other._columns

    def __hash__(self) -> int:
        return hash((id(self._columns), self.id))

    def __repr__(self) -> str:
        return f"DebugContext({self.id}, {self.layer!r}, {self.name!r})"
