"""Whether a report knows what each tile did, or only what one tile per IPU or device measured.

An IPU Model's figures are estimates of every tile, at any level. On hardware the level of compute instrumentation
decides: "Vertex" and "Tile" count on every tile, "Ipu" and "Device" on one tile up to a sync of all, "Off" nowhere.
What a level cannot know is not shown, even where a simulator has numbers for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

_LEVELS = {"Ipu": "one tile of each IPU", "Device": "one tile of the device", "Off": "no tile"}


def tiles_unknown(source: ReportSource) -> str:
    """ "" when every tile was measured or estimated, else the sentence that says why not and what would record it."""
    reader = source.reader
    level = str(reader.meta.get("computeInstrumentation", ""))
    if reader.target().type != "Ipu" or level not in _LEVELS:
        return ""
    return (
        f"What single tiles did is unknown: compute was counted on {_LEVELS[level]}"
        f" (level {level.lower()}). Run with debug.computeInstrumentationLevel=tile to record every tile."
    )
