"""Copies between host and device: bytes and the cycles of their three parts, over all recorded runs.

Cycles are those of the longest tile of each execution (`longest_tiles`): of copies that others hide, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from popvision.analysis.exchange.longest_tiles import longest_tiles
from popvision.analysis.exchange.programs import moved, ran
from popvision.analysis.programs.program_tree import programs_of
from popvision.analysis.report.tiles import target_of

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


def host_copies(source: ReportSource) -> list[dict[str, Any]]:
    """One row per StreamCopyMid with the cycles of the Begin before and the End after it (None where they are not
    there), most bytes first. `use` is None where the report does not hold the host rate."""
    m, r, programs = moved(source), ran(source), programs_of(source)
    cycles_of = longest_tiles(source)
    rate = target_of(source).host_bytes_per_cycle
    rows = []
    for row in [row for row, type_ in enumerate(m.type) if type_ == "StreamCopyMid"]:
        program = int(m.program[row])

        def part(at: int, type_: str) -> int | None:
            there = 0 <= at < len(programs.type) and programs.type[at] == type_
            return int(cycles_of[at]) if there else None

        size, cycles = int(r.received[row] + r.sent[row]), int(r.cycles[row])
        achieved = size / cycles if cycles else None
        possible = rate * int(m.ipus[row])
        rows.append(
            {
                "program": program,
                "name": m.name[row] or "control copy",
                "executions": int(r.executions[row]),
                "to_device": int(r.received[row]),
                "to_host": int(r.sent[row]),
                "begin": part(program - 1, "StreamCopyBegin"),
                "mid": cycles,
                "end": part(program + 1, "StreamCopyEnd"),
                "achieved": achieved,
                "use": achieved / possible if achieved is not None and possible else None,
            }
        )
    return sorted(rows, key=lambda each: (-(each["to_device"] + each["to_host"]), each["program"]))
