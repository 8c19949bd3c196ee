"""Rows as aligned text: numbers to the right with separators, texts clipped in the middle, nothing that a terminal acts
upon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from popvision.opened.printable import clipped

#: Characters of a text cell; names of programs are longer.
WIDEST = 60


def text_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], widest: int = WIDEST) -> str:
    """A header line, a rule and a line per row; no line ends in blanks."""
    cells = [[cell_text(cell, widest) for cell in row] for row in rows]
    heads = [clipped(name, widest) for name in columns]
    right = [all(_is_number(row[at]) for row in rows) and bool(rows) for at in range(len(heads))]
    widths = [max([len(head), *(len(row[at]) for row in cells)]) for at, head in enumerate(heads)]
    lines = [heads, ["-" * width for width in widths], *cells]
    return "\n".join(_line(line, widths, right) for line in lines)


def cell_text(cell: Any, widest: int = WIDEST) -> str:
    """One cell: "-" for None, 1,234 for integers, four digits for other numbers."""
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        return f"{cell:,.4g}" if abs(cell) < 1e4 else f"{cell:,.1f}"
    return clipped(str(cell), widest)


def _is_number(cell: Any) -> bool:
    return cell is None or (isinstance(cell, (int, float)) and not isinstance(cell, bool))


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = [
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    ]
    return "  ".join(parts).rstrip()
