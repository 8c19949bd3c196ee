"""The table of rows and the summary by tool, as text for the terminal and docs/measured/poplibs-tools.md.

A case is a program: its two chips count half each. Shares are those of the cases that could be built.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.tools.measure import Measured
from benchmarks.tools.table import Published, fitted

BOUNDS = (5, 15, 30)  #: per cent
HEAD = "| program | chip | cycles | ratio | memory (B) | ratio | largest tile (B) | ratio | processor (s) |"


class Compared(NamedTuple):
    published: Published
    ours: Measured

    @property
    def ratios(self) -> tuple[float, float, float]:
        """Ours over published: cycles, memory, largest tile."""
        theirs = self.published
        return (
            self.ours.cycles / theirs.cycles,
            self.ours.memory / theirs.memory,
            self.ours.largest_tile / theirs.largest_tile,
        )


def line(row: Compared) -> str:
    """One row of the table."""
    name, ours = f"| {row.published.name} | {row.published.chip} |", row.ours
    if ours.missing:
        return f"{name} missing: {ours.missing} | | | | | | |"
    cycles, memory, largest = row.ratios
    return (
        f"{name} {ours.cycles:,} | {cycles:.2f} | {ours.memory:,} | {memory:.2f} "
        f"| {ours.largest_tile:,} | {largest:.2f} | {ours.seconds:.1f} |"
    )


def table(rows: Sequence[Compared]) -> list[str]:
    return [HEAD, "|---|---|" + "---:|" * 7, *(line(row) for row in rows)]


def summary(rows: Sequence[Compared]) -> list[str]:
    """A line per tool, for all, and for both halves of each tool's programs: those that constants may be fitted on,
    and those that test them."""
    bounds = "".join(f" within {bound} % |" for bound in BOUNDS)
    head = f"| tool | programs |{bounds} geometric mean | range | memory within 15 % | largest tile within 10 % |"
    lines = [head, "|---|" + "---:|" * (len(BOUNDS) + 5)]
    names = {tool: [row.published.name for row in rows if row.published.tool == tool] for tool in _tools(rows)}
    for tool in names:
        lines.append(_line(tool, [row for row in rows if row.published.tool == tool]))
    lines.append(_line("**all**", list(rows)))
    for title, wanted in (("first halves, for fitting", True), ("second halves, for testing", False)):
        half = [row for row in rows if fitted(row.published.name, names[row.published.tool]) is wanted]
        lines.append(_line(title, half))
    return lines


def _tools(rows: Sequence[Compared]) -> list[str]:
    return sorted({row.published.tool for row in rows})


def _line(title: str, rows: Sequence[Compared]) -> str:
    built = [row for row in rows if not row.ours.missing]
    programs = len({row.published.name for row in rows})
    if not built:
        missing = ", ".join(sorted({row.ours.missing for row in rows}))
        return f"| {title} | {programs} |" + " |" * (len(BOUNDS)) + f" missing: {missing} | | | |"
    cycles = [row.ratios[0] for row in built]
    shares = "".join(f" {_share(built, 0, bound)} |" for bound in BOUNDS)
    mean = statistics.geometric_mean(cycles)
    spread = f"{min(cycles):.2f}-{max(cycles):.2f}"
    return f"| {title} | {programs} |{shares} {mean:.2f} | {spread} | {_share(built, 1, 15)} | {_share(built, 2, 10)} |"


def _share(rows: Sequence[Compared], figure: int, bound: int) -> str:
    near = sum(abs(row.ratios[figure] - 1) <= bound / 100 for row in rows)
    return f"{near / len(rows):.0%}"
