"""A row of programs whose work grows, and the verdict on each step from one to the next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.sweep.measure import Build, Measured, measure

#: a larger change between neighbours needs a reason
JUMP = 0.25
#: so does a larger fall where the work grows; the places of tiles on the chip alone move syncs by tens of cycles
FALL = 0.01
#: planned and simulated cycles differ by no more
AGREEMENT = 0.05


class Point(NamedTuple):
    label: str
    size: int  #: neighbours differ by 1
    work: int  #: grows or stays along the row
    build: Build
    grain: str  #: what is rounded up, as the library rounds it


class Row(NamedTuple):
    title: str
    what: str  #: name of the size
    points: Sequence[Point]


class Line(NamedTuple):
    """A measured point."""

    point: Point
    found: Measured
    change: float | None  #: of cycles since the point before
    reason: str  #: of a step down or a jump; "" where there is none to explain
    explained: bool

    @property
    def agrees(self) -> bool:
        """Whether the plan costs what the program takes."""
        planned = self.found.planned
        return planned is None or abs(self.found.cycles / planned.cycles - 1) <= AGREEMENT


def measured(row: Row) -> list[Line]:
    """Measure a row and judge each step in it."""
    lines: list[Line] = []
    for point in row.points:
        found = measure(point.build)
        before = lines[-1] if lines else None
        change = found.cycles / before.found.cycles - 1 if before else None
        reason, explained = "", True
        if before is not None and change is not None and _to_explain(before, point, change):
            reason = _reason(before, point, found)
            explained = bool(reason)
        lines.append(Line(point, found, change, reason, explained))
    return lines


def _to_explain(before: Line, point: Point, change: float) -> bool:
    """Whether cycles fall although the work grows, or jump between neighbours."""
    falls = change < -FALL and point.work > before.point.work
    return falls or (abs(change) > JUMP and point.size - before.point.size == 1)


def _reason(before: Line, point: Point, found: Measured) -> str:
    """Another plan, another number of grains, or other steps; "" where nothing differs but the size."""
    reasons = []
    old, new = before.found.planned, found.planned
    if old is not None and new is not None and old.choice != new.choice:
        reasons.append(f"another plan: {new.choice}")
    if point.grain != before.point.grain:
        reasons.append(f"{before.point.grain} become {point.grain}")
    if found.steps != before.found.steps:
        reasons.append(f"{found.steps} steps in place of {before.found.steps}")
    if found.computing != before.found.computing:
        reasons.append(f"the longest computes on {found.computing} tiles, not {before.found.computing}")
    was, now = before.found.by_kind, found.by_kind
    moved = {kind: now.get(kind, 0) - was.get(kind, 0) for kind in {*was, *now}}
    kind = max(moved, key=lambda each: abs(moved[each]))
    return "; ".join([*reasons, f"{moved[kind]:+,} cycles of {kind}"]) if reasons else ""
