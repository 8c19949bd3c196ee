"""What a report of hardware knows: what each tile did, or only what one tile per IPU or device measured; and which
phases of a run it recorded.

An IPU Model's figures are estimates of every tile, at any level. On hardware the level of compute instrumentation
decides: "Vertex" and "Tile" count on every tile, "Ipu" and "Device" on one tile up to a sync of all, "Off" nowhere.
What a level cannot know is not shown, even where a simulator has numbers for it: what single tiles did in compute, and
in the barriers, whose waits say when each tile was ready. Exchanges begin after a barrier and stay known.

Steps of phases without counters are not in the report; their cycles are part of the run's length and of no step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from popvision.arrays import BoolArray
from popvision.formats.profile.model import PHASE_OF_TYPE, PROGRAM_TYPES

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: Option of a kind of instrumentation -> the phases whose steps runs leave out without it.
_PHASES = {
    "debug.instrumentCompute": ("compute", "exchange", "sync"),
    "debug.instrumentExternalExchange": ("global exchange", "host"),
}

#: Phases whose cycles on single tiles follow from what each tile computed.
_OF_SINGLE_TILES = frozenset({"compute", "sync"})

_LEVELS = {"Ipu": "one tile of each IPU", "Device": "one tile of the device", "Off": "no tile"}


def tiles_unknown(source: ReportSource) -> str:
    """ "" when every tile was measured or estimated, else the sentence that says why not and what would record it."""
    reader = source.reader
    level = str(reader.meta.get("computeInstrumentation", ""))
    if level not in _LEVELS or reader.target().type != "Ipu":
        return ""
    return (
        f"What single tiles did is unknown: compute was counted on {_LEVELS[level]}"
        f" (level {level.lower()}). Run with debug.computeInstrumentationLevel=tile to record every tile."
    )


def phases_of_tiles_unknown(source: ReportSource) -> frozenset[str]:
    """The phases of which single tiles are unknown, empty where `tiles_unknown` is."""
    return _OF_SINGLE_TILES if tiles_unknown(source) else frozenset()


def steps_of_tiles_unknown(source: ReportSource) -> BoolArray:
    """By execution step: whether its cycles on single tiles are unknown."""
    phases = phases_of_tiles_unknown(source)
    of_type = np.array([PHASE_OF_TYPE.get(each) in phases for each in PROGRAM_TYPES], bool)
    return of_type[np.asarray(source.reader.steps().type, np.int64)]


def phases_unknown(source: ReportSource) -> dict[str, str]:
    """The phases whose steps the runs leave out, each with the option that would have recorded it. Empty where the
    report does not say that it leaves any out."""
    reader = source.reader
    options = reader.meta.get("notRecorded")
    if not isinstance(options, list) or not len(reader.runs().name):
        return {}
    return {phase: option for option, phases in _PHASES.items() if option in options for phase in phases}


def phases_unknown_text(source: ReportSource) -> str:
    """The sentences that say which phases were not recorded, "" for none."""
    options: dict[str, list[str]] = {}
    for phase, option in phases_unknown(source).items():
        options.setdefault(option, []).append(phase)
    return " ".join(
        f"Not recorded: {', '.join(phases)} (their cycles are in the total). Run with {option}=true to record them."
        for option, phases in options.items()
    )
