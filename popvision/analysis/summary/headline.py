"""Headline figures of a report, each with the place of its evidence.

Peak memory is given in four ways, because they answer different questions: the highest address of a tile, *gaps
included*, against the bytes of a tile decides whether the program fits; the most bytes in use on a tile, *gaps
excluded*, says how much of that is the program's own; the sum *excluding gaps* against all tiles says how much is used;
peak liveness says when most of it is needed at once. Shares of time are tile cycles by phase over all tiles and
recorded runs (phases.py); they add up to 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from popvision.analysis.execution.once import counted, set_apart
from popvision.analysis.execution.phases import PHASES, phase_totals
from popvision.analysis.liveness.curve import Peak, curve, peak
from popvision.analysis.programs.own_cycles import own_cycles
from popvision.analysis.report.columns import programs_of, stored_tile_memory
from popvision.analysis.report.not_recorded import LostError, NotRecordedError, if_recorded
from popvision.analysis.report.tile_knowledge import phases_unknown_text
from popvision.analysis.report.tiles import target_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.formats.profile.model import Runs, Target, TileMemory

T = TypeVar("T")


@dataclass(frozen=True)
class LongestProgram:
    """The program that took most device cycles of its own over all recorded runs, on the IPU where it took most. Those
    that run once per attachment (once.py) do not compete."""

    program: int
    type: str
    name: str
    cycles: int
    executions: int
    share: float  #: cycles / total cycles of the runs that are not set apart, 0..1


@dataclass(frozen=True)
class Headline:
    """Cycles and bytes None = not in the report; device time = cycles / clock."""

    total_cycles: int | None
    device_seconds: float | None
    apart: str  #: what happens once per attachment and is in no share, as a sentence; "" for nothing
    runs: int
    truncated: bool
    shares: dict[str, float] | None  #: phase -> part of all tile cycles, 0..1; without phases not recorded
    longest: LongestProgram | None
    tile_bytes: int | None  #: fullest tile, including gaps
    worst_tile: int | None
    tile_capacity: int | None
    tile_share: float | None  #: tile_bytes / tile_capacity
    used_bytes: int | None  #: all tiles, excluding gaps
    total_capacity: int | None
    used_share: float | None  #: used_bytes / total_capacity
    tiles_out_of_memory: int | None
    fullest_bytes: int | None = None  #: the most bytes in use on one tile, excluding gaps
    fullest_tile: int | None = None
    not_recorded: str = ""  #: the sentences that say which phases hardware did not record
    live_peak: Peak | None = None  #: where the liveness curve of the first replica is highest
    lost: dict[str, str] = field(default_factory=dict)  #: LOSSES -> the sentence about damage that took the figure

    @property
    def fullest(self) -> tuple[int, int] | None:
        """(tile, bytes) of the fullest tile, None when not in the report: bytes in use, excluding gaps; including gaps
        where a tile is out of memory, because they count for what fits."""
        if self.tiles_out_of_memory or self.fullest_tile is None or self.fullest_bytes is None:
            return None if self.worst_tile is None or self.tile_bytes is None else (self.worst_tile, self.tile_bytes)
        return self.fullest_tile, self.fullest_bytes


#: Parts of the headline that damage can take.
LOSSES = ("target", "cycles", "shares", "longest", "memory", "live")


def headline(source: ReportSource) -> Headline:
    """See the head of this module for the formulas. A figure that damage took is None, and `lost` says what it took."""
    with source.reader.together():
        return _headline(source)


def _headline(source: ReportSource) -> Headline:
    lost: dict[str, str] = {}

    def recorded(name: str, question: Callable[[], T]) -> T | None:
        try:
            return question()
        except LostError as damage:
            lost[name] = str(damage)
        except NotRecordedError:
            pass
        return None

    if_recorded(source.reader.steps)  # damage to steps loses entire runs: known before any is counted
    target = recorded("target", lambda: target_of(source))
    runs = recorded("cycles", source.reader.runs)
    ran = runs if runs is not None and len(runs.name) else None
    total = recorded("cycles", source.reader.total_cycles) if ran else None
    memory = recorded("memory", lambda: stored_tile_memory(source))
    facts = Headline(
        total_cycles=total,
        device_seconds=None if total is None or target is None or target.clock_hz <= 0 else total / target.clock_hz,
        apart=(recorded("cycles", lambda: set_apart(source).sentence) if ran else "") or "",
        runs=0 if ran is None else len(ran.name),
        truncated=ran is not None and bool(ran.truncated.any()),
        shares=recorded("shares", lambda: _shares(source, ran)),
        longest=recorded("longest", lambda: _longest(source)) if total else None,
        not_recorded=recorded("shares", lambda: phases_unknown_text(source)) or "",
        live_peak=recorded("live", lambda: peak(curve(source))),
        lost=lost,
        **_memory(memory, target),
    )
    for name in ("shares", "longest"):  # without the runs there is nothing to share out
        if "cycles" in lost:
            lost.setdefault(name, lost["cycles"])
    return facts


def _memory(memory: TileMemory | None, target: Target | None) -> dict[str, Any]:
    worst = None if memory is None or not len(memory.including_gaps) else int(np.argmax(memory.including_gaps))
    tile_bytes = None if memory is None or worst is None else int(memory.including_gaps[worst])
    used = None if memory is None else int(np.sum(memory.excluding_gaps, dtype=np.int64))
    room = None if target is None else target.bytes_per_tile
    over = None if memory is None or room is None else int(np.count_nonzero(memory.including_gaps > room))
    capacity = None if target is None else target.bytes_per_tile * target.num_tiles
    return {
        "tile_bytes": tile_bytes,
        "worst_tile": worst,
        "tile_capacity": room,
        "tile_share": _ratio(tile_bytes, room),
        "fullest_bytes": None if memory is None or worst is None else int(memory.excluding_gaps.max()),
        "fullest_tile": None if memory is None or worst is None else int(np.argmax(memory.excluding_gaps)),
        "used_bytes": used,
        "total_capacity": capacity,
        "used_share": _ratio(used, capacity),
        "tiles_out_of_memory": over,
    }


def _ratio(part: int | None, total: int | None) -> float | None:
    return None if part is None or total is None or total <= 0 else part / total


def _shares(source: ReportSource, runs: Runs | None) -> dict[str, float] | None:
    totals = phase_totals(source) if runs else None
    return (
        None
        if totals is None or not totals.length
        else {phase: totals.share(phase) for phase in PHASES if phase not in totals.unknown}
    )


def _longest(source: ReportSource) -> LongestProgram | None:
    of_steps = own_cycles(source)
    if not of_steps.cycles.any():
        return None
    program = int(np.argmax(of_steps.cycles))
    programs = programs_of(source)
    cycles = int(of_steps.cycles[program])
    return LongestProgram(
        program,
        programs.type[program],
        programs.name[program],
        cycles,
        int(of_steps.executions[program]),
        cycles / counted(source).total_cycles,
    )
