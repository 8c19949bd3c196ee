"""Names of a report or trace, or stable pseudonyms for them.

A pseudonym is the kind and the first row of the name in the table of the report (of a file, its place among the source
files). A name has the same pseudonym in every exported view of a report, which reveals nothing about the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.source import ReportSource
from popvision.analysis.source_code.lines import places
from popvision.analysis.trace.columns import HostTrace
from webapp.documents.document import NAME_KINDS

#: Kinds that are omitted entirely.
_LEFT_OUT = ("value", "code")


class Names:
    """`show(kind, text)` returns the text for the document."""

    def __init__(self, source: ReportSource | HostTrace, confidential: bool) -> None:
        self.confidential = confidential
        self._source = source
        self._numbers: dict[str, dict[str, int]] = {}

    def show(self, kind: str, text: Any) -> str:
        """The name, or its pseudonym; "" for ""."""
        name = "" if text is None else str(text)
        if not self.confidential or kind not in NAME_KINDS or not name:
            return name
        if kind in _LEFT_OUT:
            return "(left out)"
        numbers = self._numbers.setdefault(kind, self._known(kind))
        return f"{kind} {numbers.setdefault(name, len(numbers))}"

    def _known(self, kind: str) -> dict[str, int]:
        source = self._source
        if isinstance(source, HostTrace):
            texts = {
                "label": source.names.label,
                "channel": source.names.channel_name,
                "thread": [thread.row.name or str(thread.row.tid) for thread in source.threads],
                "line graph": [row.graph for row, *_ in source.series],
                "line": [row.name for row, *_ in source.series],
            }.get(kind, [])
            return {text: number for number, text in enumerate(dict.fromkeys(texts))}
        reader = source.reader
        lists: dict[str, Callable[[], Iterable[str]]] = {
            "program": lambda: reader.programs().name,
            "operation": lambda: [str(record.get("name", "")) for _, record in source.debug.records()],
            "compute set": lambda: reader.compute_sets().name,
            "vertex type": lambda: reader.vertex_types().name,
            "variable": lambda: _variables(source),
            "file": lambda: filter(None, places(source).file),
        }
        rows: dict[str, int] = {}
        known = if_recorded(lists[kind]) or () if kind in lists else ()
        for row, name in enumerate(dict.fromkeys(known) if kind == "file" else known):
            rows.setdefault(str(name), row)
        return rows


def _variables(source: ReportSource) -> list[str]:
    variables = source.reader.variables()
    return [*(variables.name if variables is not None else []), *source.reader.lowered_names()]
