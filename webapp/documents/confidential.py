"""Names of a report, or stable pseudonyms for them.

A pseudonym is the kind and the first row of the name in the table of the report (of a file, its place among the source
files). A name has the same pseudonym in every exported view of a report, which reveals nothing about the name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.source import ReportSource
from popvision.analysis.source_code.lines import places
from webapp.documents.document import NAME_KINDS

#: Kinds that are omitted entirely.
_LEFT_OUT = ("value", "code")


class Names:
    """`show(kind, text)` returns the text for the document."""

    def __init__(self, source: ReportSource, confidential: bool) -> None:
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
        reader = self._source.reader
        lists: dict[str, Callable[[], Iterable[str]]] = {
            "program": lambda: reader.programs().name,
            "operation": lambda: [str(record.get("name", "")) for _, record in self._source.debug.records()],
            "compute set": lambda: reader.compute_sets().name,
            "vertex type": lambda: reader.vertex_types().name,
            "variable": self._variables,
            "file": lambda: filter(None, places(self._source).file),
        }
        rows: dict[str, int] = {}
        known = if_recorded(lists[kind]) or () if kind in lists else ()
        for row, name in enumerate(dict.fromkeys(known) if kind == "file" else known):
            rows.setdefault(str(name), row)
        return rows

    def _variables(self) -> list[str]:
        variables = self._source.reader.variables()
        return [*(variables.name if variables is not None else []), *self._source.reader.lowered_names()]
