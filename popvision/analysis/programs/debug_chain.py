"""The origin of a program: its debug context and those above it, nearest first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Contexts above one program that are followed; a longer chain is a damaged file.
MOST_CONTEXTS = 200


@dataclass(frozen=True)
class DebugRow:
    """One context. `distance` counts steps up from the program's own (0); line 0 = not known."""

    id: int
    distance: int
    layer: str
    name: str
    file: str
    line: int
    arguments: list[tuple[str, str]]
    outputs: list[tuple[str, str]]


def debug_chain(source: ReportSource, debug_id: int) -> list[DebugRow]:
    """Empty when the report has no context of that id. Raises FormatError when the debug file is damaged."""
    contexts = source.debug
    rows: list[DebugRow] = []
    seen: set[int] = set()
    level = [debug_id]
    distance = 0
    while level and len(rows) < MOST_CONTEXTS:
        above: list[int] = []
        for id in level:
            if id in seen or id not in contexts:
                continue
            seen.add(id)
            record = contexts.record(id)
            rows.append(_row(id, distance, record))
            above += [parent for parent in record.get("parents", []) if isinstance(parent, int)]
        level, distance = above, distance + 1
    return rows


def _row(id: int, distance: int, record: dict[str, Any]) -> DebugRow:
    line = record.get("line", 0)
    return DebugRow(
        id=id,
        distance=distance,
        layer=str(record.get("layer", "")),
        name=str(record.get("name", "")),
        file=str(record.get("file", "")),
        line=line if isinstance(line, int) else 0,
        arguments=_values(record.get("arguments")),
        outputs=_values(record.get("outputs")),
    )


def _values(named: Any) -> list[tuple[str, str]]:
    if not isinstance(named, dict):
        return []
    return [(str(name), value if isinstance(value, str) else json.dumps(value)) for name, value in named.items()]
