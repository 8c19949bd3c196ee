"""The text of a user's source file, as the report holds it. Files of this machine are never opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

_NO_TEXTS = (
    "The report holds no source texts: it was written with POPVISION_SOURCES=off, stripped, or by a version that did "
    "not record them. Figures of the lines are shown without the text."
)


@dataclass(frozen=True)
class SourceText:
    """`lines` are [] where there is no text; then `problem` says why."""

    file: str
    lines: list[str]
    problem: str = ""


def source_text(source: ReportSource, file: str) -> SourceText:
    """The lines of a file. Raises FormatError when the debug file is damaged."""
    texts = source.debug.sources
    if texts is None:
        return SourceText(file, [], _NO_TEXTS)
    stored = texts.get(file)
    if stored is None:
        return SourceText(file, [], "The report holds no text of this file.")
    if stored.absent:
        return SourceText(file, [], f"The report holds no text of this file: {stored.absent}.")
    text = stored.text.replace("\r\n", "\n").replace("\r", "\n")
    return SourceText(file, text.split("\n"))
