"""The rows of a source file on the screen: its lines, or those of two reports' files set side by side.

Two texts are aligned line by line (difflib, after their common head and tail): a row holds a line of each, or of one
where the other has none. Files without a text show only lines with programs or variables, matched by number.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.source_code.lines import places, rows_of_file
from popvision.analysis.source_code.text import source_text
from popvision.arrays import Int64Array

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Lines between common head and tail that are aligned by their text; more are matched by their number.
MOST_ALIGNED = 4_000


@dataclass(frozen=True)
class SourceRows:
    """Row i shows line `source[i]` of one file and `target[i]` of the other, 0 where it has none (`target` is all 0
    without a comparison). `problem` says why there is no text."""

    file: str
    target_file: str  #: "" without a comparison, or where the target has no such file
    source: Int64Array
    target: Int64Array
    problem: str


def same_file(target: ReportSource, file: str) -> str:
    """The target's file that corresponds: of the same name, else the only one with the same last part; "" for none."""
    try:
        names = [name for name in dict.fromkeys(places(target).file) if name]
    except NotRecordedError:
        return ""
    if file in names:
        return file
    alike = [name for name in names if PurePath(name).name == PurePath(file).name]
    return alike[0] if len(alike) == 1 else ""


def source_rows(source: ReportSource, file: str, target: ReportSource | None = None) -> SourceRows:
    """Rows of a file. Raises NotRecordedError without debug information, ValueError for a file without programs
    and variables."""
    if not len(rows_of_file(source, file)):
        raise ValueError(f"no program or variable comes from the file {file[:200]!r}")
    cache = source.kept if target is None else source.kept.beside(target)
    return cache.recent(("source_rows", file), lambda: _rows(source, file, target))


def row_texts(source: ReportSource, rows: SourceRows, begin: int, end: int, target: ReportSource | None) -> list[str]:
    """The text of rows [begin, end): the source's line, the target's where the source has none; "" without a text."""
    own = source_text(source, rows.file).lines
    other = [] if target is None or not rows.target_file else source_text(target, rows.target_file).lines
    texts = []
    for mine, theirs in zip(rows.source[begin:end].tolist(), rows.target[begin:end].tolist(), strict=True):
        lines, number = (own, mine) if mine else (other, theirs)
        texts.append(lines[number - 1] if 0 < number <= len(lines) else "")
    return texts


def _rows(source: ReportSource, file: str, target: ReportSource | None) -> SourceRows:
    text = source_text(source, file)
    other = same_file(target, file) if target is not None else ""
    theirs = source_text(target, other) if target is not None and other else None
    numbers = places(source).line[rows_of_file(source, file)]
    if theirs is None or target is None:
        own = np.arange(1, len(text.lines) + 1) if text.lines else numbers
        return SourceRows(file, "", *_with_beyond(own, numbers), text.problem)
    if text.lines and theirs.lines:
        return SourceRows(file, other, *align_lines(text.lines, theirs.lines), "")
    both = np.union1d(numbers, places(target).line[rows_of_file(target, other)])
    lines = max(len(text.lines), len(theirs.lines))
    both = np.union1d(both, np.arange(1, lines + 1)) if lines else both
    return SourceRows(file, other, both, both.copy(), text.problem or theirs.problem)


def _with_beyond(own: Int64Array, numbers: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Lines of the text and lines with programs or variables beyond its end, where the text is an older state."""
    rows = np.union1d(own, numbers)
    return rows, np.zeros(len(rows), np.int64)


def align_lines(one: list[str], other: list[str]) -> tuple[Int64Array, Int64Array]:
    head = 0
    while head < min(len(one), len(other)) and one[head] == other[head]:
        head += 1
    tail = 0
    while tail < min(len(one), len(other)) - head and one[-1 - tail] == other[-1 - tail]:
        tail += 1
    pairs = [(row, row) for row in range(1, head + 1)]
    mine, theirs = one[head : len(one) - tail], other[head : len(other) - tail]
    if max(len(mine), len(theirs)) > MOST_ALIGNED:
        blocks = [("replace", 0, len(mine), 0, len(theirs))]
    else:
        blocks = SequenceMatcher(None, mine, theirs, autojunk=len(mine) > 200).get_opcodes()  # type: ignore[assignment]
    for kind, a, b, c, d in blocks:
        if kind == "equal":
            pairs += [(head + a + k + 1, head + c + k + 1) for k in range(b - a)]
        else:
            pairs += [(head + k + 1, 0) for k in range(a, b)] + [(0, head + k + 1) for k in range(c, d)]
    pairs += [(len(one) - tail + k + 1, len(other) - tail + k + 1) for k in range(tail)]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()
