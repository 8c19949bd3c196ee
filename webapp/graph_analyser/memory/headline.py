"""The figures above the memory plot: use, fullest tile, and the peaks of the device and of that tile."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from dash.development.base_component import Component

from popvision.analysis.liveness.curve import curve, fullest_tile, peak
from popvision.analysis.liveness.steps import program_label
from popvision.analysis.memory.usage import memory_by_tile
from popvision.analysis.report.not_recorded import NotRecordedError, if_recorded
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where
from webapp.base.formats import bytes_text, percent_text
from webapp.base.view import ViewContext
from webapp.components import help_text
from webapp.graph_analyser.memory.state import MemoryState, memory_state
from webapp.graph_analyser.plots.bytes_axis import both_units
from webapp.graph_analyser.plots.headline import Figure, headline, of_replica, paired


def memory_headline(context: ViewContext, state: MemoryState) -> list[Component]:
    """Use and peaks of a replica, each with a link; in a comparison of both reports, and links keep the comparison.

    Raises NotRecordedError without a graph profile."""
    figures = _figures(context.source, context.key, state)
    target, vs = context.target, context.params.get("vs", "")
    if target is not None:
        theirs = if_recorded(lambda: _figures(target, context.key, memory_state(target, context.params)))
        figures = paired(figures, theirs or [])
    if vs:
        figures = [replace(each, href=f"{each.href}&vs={quote(vs, safe=',')}" if each.href else "") for each in figures]
    help_ = help_text(
        "Peaks",
        "The peak of the device is the liveness index at which all its tiles together hold most bytes. A single tile "
        "may peak at another index, and its peak decides whether the program fits.",
        formula="total = always live + not always live at the index",
    )
    return [headline(figures), help_]


def _figures(source: ReportSource, key: str, state: MemoryState) -> list[Figure]:
    memory = memory_by_tile(source, state.replica)
    capacity = memory.capacity * len(memory.tiles)
    used = int(memory.excluding_gaps.sum())
    over = memory.over_capacity
    shown = memory.including_gaps if len(over) else memory.excluding_gaps
    largest, most = memory.tiles.start + int(shown.argmax()), int(shown.max())
    share = percent_text(most / memory.capacity if memory.capacity else None)
    figures = [
        Figure(
            f"Memory in use{of_replica(source, state.replica)}",
            bytes_text(used),
            f"{percent_text(used / capacity)} of {bytes_text(capacity)}",
            f"{both_units(used)}: memory excluding gaps of {with_noun(len(memory.tiles), 'tile')}",
            number=used,
        ),
        Figure(
            "Fullest tile, with gaps" if len(over) else "Fullest tile",
            bytes_text(most),
            f"tile {largest:,}, {share} of {bytes_text(memory.capacity)}",
            both_units(most) if len(over) else f"{both_units(most)}: excluding gaps",
            f"/r/{key}/memory?tiles={largest}",
            "bad" if most > memory.capacity else "",
            most,
        ),
    ]
    figures += _peaks(source, key, state)
    figures.append(
        Figure(
            "Over capacity",
            with_noun(len(over), "tile"),
            "" if not len(over) else "first: " + ", ".join(map(str, over[:4].tolist())),
            "Tiles whose highest used address is beyond their memory",
            "",
            "bad" if len(over) else "",
            len(over),
            "integer",
        )
    )
    return figures


def _peaks(source: ReportSource, key: str, state: MemoryState) -> list[Figure]:
    try:
        device_peak = peak(curve(source, Where("all", state.replica or 0)))
        tile = fullest_tile(source, state.replica)
        mine = peak(curve(source, Where("tile", tile)))
    except NotRecordedError:
        return []
    return [
        Figure(
            f"Peak liveness{of_replica(source, state.replica or 0)}",
            bytes_text(device_peak.total),
            f"index {device_peak.index:,}",
            f"{both_units(device_peak.total)} of one replica while {program_label(source, device_peak.program)} runs",
            f"/r/{key}/liveness?liveness={device_peak.index}",
            number=device_peak.total,
        ),
        Figure(
            "Peak of the fullest tile",
            bytes_text(mine.total),
            f"tile {tile:,}, index {mine.index:,}",
            f"{both_units(mine.total)} while {program_label(source, mine.program)} runs",
            f"/r/{key}/liveness?live_source=tile&liveness={mine.index}&tiles={tile}",
            number=mine.total,
        ),
    ]
