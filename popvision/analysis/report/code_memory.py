"""Bytes of code in the memory of the tiles, from the categories of memory. A program that was compiled without code has
none, which is no figure of 0 B."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Memory categories that hold code, after the column they are counted in.
CATEGORIES = {
    "internalExchangeCode": "exchange",
    "hostExchangeCode": "exchange",
    "globalExchangeCode": "exchange",
    "controlCode": "control",
    "vertexCode": "vertex",
    "sharedCodeStorage": "vertex",
}


def holds_code(source: ReportSource) -> bool:
    """Whether the program was compiled with code, so that 0 B is a figure: some program or tile has code."""

    def read() -> bool:
        in_memory = any(code_in_memory(source).values())
        return in_memory or any(source.reader.program_sums(name)[1].any() for name in ("exchange_code", "control_code"))

    return source.kept.once("holds_code", read)


def code_in_memory(source: ReportSource) -> dict[str, int]:
    """Bytes of exchange, control and vertex code over all tiles, as the categories of memory hold them."""
    totals = {"exchange": 0, "control": 0, "vertex": 0}
    for part in source.reader.category_memory():
        if part.category in CATEGORIES:
            totals[CATEGORIES[part.category]] += int(np.sum(part.bytes, dtype=np.int64))
    return totals
