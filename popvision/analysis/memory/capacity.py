"""Whether a program fits the memory of its tiles: the tiles that are over it, by how much, and what takes most there.

A tile is over its memory when its highest used address, gaps included, is beyond it. Cost: one pass over the tiles; the
categories are read only when a tile is over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from popvision.analysis.memory.usage import breakdown, memory_by_tile
from popvision.analysis.report.not_recorded import NotRecordedError

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Why nothing ran where the program does not fit; no option would record it.
DOES_NOT_FIT = "No run was recorded: the program does not fit into the memory of the tiles, so it cannot run."
#: Where it fits and the option that records runs was on.
NEVER_RAN = "No run was recorded: the program was compiled and never ran. Run it with the engine."
#: Where that option was off, or the report does not say.
NO_RUN = "No run was recorded: run the program with autoReport.outputExecutionProfile=true."
_RECORDS_RUNS, _RECORDS_ALL = "autoReport.outputExecutionProfile", "autoReport.all"


@dataclass(frozen=True)
class MemoryExcess:
    """The tiles of all replicas that are over their memory. Bytes are of `tile`, the one that is furthest over."""

    tiles_over: int
    tiles: int
    capacity: int  #: bytes of a tile's memory
    tile: int
    needed: int  #: its highest used address, gaps included
    #: label and bytes of its largest category, overlapped bytes included; None where categories are unknown
    largest: tuple[str, int] | None

    @property
    def excess(self) -> int:
        """Bytes of the tile beyond its memory."""
        return self.needed - self.capacity


def why_no_run(source: ReportSource) -> str:
    """The reason why a report without runs has none: the program does not fit, it never ran, or an option was off."""
    if memory_excess(source) is not None:
        return DOES_NOT_FIT
    options = source.reader.meta.get("engineOptions")
    if not isinstance(options, dict):
        return NO_RUN
    value = options.get(_RECORDS_RUNS, options.get(_RECORDS_ALL))
    return NEVER_RAN if str(value).lower() == "true" else NO_RUN


def memory_excess(source: ReportSource) -> MemoryExcess | None:
    """What does not fit; None when the program fits or its memory is not in the report."""
    try:
        memory = memory_by_tile(source, None)
    except NotRecordedError:
        return None
    over = memory.over_capacity
    if memory.capacity <= 0 or not len(over):
        return None
    tile = int(memory.including_gaps.argmax())
    try:
        parts = breakdown(source, "category", None)
        sizes = [(int(values[tile]), label) for label, values in zip(parts.labels, parts.values, strict=True)]
    except NotRecordedError:
        sizes = []
    most = max(sizes, default=None)
    return MemoryExcess(
        len(over),
        len(memory.tiles),
        memory.capacity,
        tile,
        int(memory.including_gaps[tile]),
        None if most is None else (most[1], most[0]),
    )
