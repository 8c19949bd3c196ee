"""The figures above the liveness curve: its peak, the peak of the fullest tile, and the selected index."""

from __future__ import annotations

from dash.development.base_component import Component

from popvision.analysis.compare.difference import relative
from popvision.analysis.liveness.curve import Curve, Peak, curve, fullest_tile, peak
from popvision.analysis.liveness.steps import program_label
from popvision.analysis.report.not_recorded import NotRecordedError
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where, target_of
from webapp.base.formats import bytes_text, percent_text
from webapp.components import help_text
from webapp.components.difference import relative_text, signed_text
from webapp.graph_analyser.liveness.state import LivenessState, where_text
from webapp.graph_analyser.plots.bytes_axis import both_units
from webapp.graph_analyser.plots.headline import Figure, headline, of_replica


def liveness_headline(
    source: ReportSource, key: str, line: Curve, state: LivenessState, target: Curve | None = None
) -> list[Component]:
    """Peaks of the curve and of the fullest tile (in a comparison: of the target's curve), and the selected index."""
    top = peak(line)
    place = where_text(line.where, target_of(source).num_replicas)
    step = program_label(source, top.program)
    side = "" if target is None else "Source: "
    figures = [
        Figure(
            f"{side}peak of {place}" if side else _peak_title(source, line),
            bytes_text(top.total),
            f"index {top.index:,}: {step}",
            f"{both_units(top.total)} = {both_units(top.always_live)} always live + {both_units(top.not_always_live)}",
            _link(key, line.where, top.index),
        ),
        Figure(
            "Source: always live" if side else "Always live",
            bytes_text(line.always_live),
            percent_text(line.always_live / top.total if top.total else None) + " of the peak",
            both_units(line.always_live),
        ),
    ]
    if target is not None:
        figures += [_of_target(top.total, peak(target)), _always_of_target(line, target)]
    elif line.where.kind != "tile":
        figures += _fullest(source, key, line)
    for index in state.indices[:1]:
        program = int(line.program[index])
        total = int(line.not_always_live[index]) + line.always_live
        figures.append(
            Figure(
                f"{side}index {index:,}" if side else f"Selected: index {index:,}",
                bytes_text(total),
                program_label(source, program),
                f"{both_units(total)}; program {program}",
                f"/r/{key}/program_tree?program={program}",
            )
        )
    help_ = help_text(
        "Peaks",
        "The peak of the device differs from that of its fullest tile, since every tile peaks at its own index. "
        "Indices follow the static order of the program: a loop body counts once, a function body at each call.",
        formula="live at an index = always live + not always live at the index",
    )
    return [headline(figures), help_]


def _peak_title(source: ReportSource, line: Curve) -> str:
    if line.where.kind == "all":
        return f"Peak liveness{of_replica(source, line.where.number)}"
    return f"Peak of {where_text(line.where, target_of(source).num_replicas)}"


def _of_target(before: int, top: Peak) -> Figure:
    change = top.total - before
    share = relative_text(float(relative(before, top.total)))
    return Figure(
        "Target: peak",
        bytes_text(top.total),
        f"index {top.index:,}, {signed_text(change, 'bytes')}" + (f" ({share})" if share else ""),
        f"{both_units(top.total)}; difference {change:+,} B",
        state="",
    )


def _always_of_target(line: Curve, target: Curve) -> Figure:
    change = target.always_live - line.always_live
    return Figure(
        "Target: always live",
        bytes_text(target.always_live),
        signed_text(change, "bytes"),
        f"{both_units(target.always_live)}; difference {change:+,} B",
    )


def _fullest(source: ReportSource, key: str, line: Curve) -> list[Figure]:
    replica = line.where.number if line.where.kind == "all" else None
    try:
        tile = fullest_tile(source, replica)
        mine = peak(curve(source, Where("tile", tile)))
    except NotRecordedError:
        return []
    return [
        Figure(
            "Peak of the fullest tile",
            bytes_text(mine.total),
            f"tile {tile:,}, index {mine.index:,}",
            f"{both_units(mine.total)} while {program_label(source, mine.program)} runs",
            _link(key, Where("tile", tile), mine.index),
        )
    ]


def _link(key: str, where: Where, index: int) -> str:
    places = {"all": "", "ipu": f"live_source=ipu:{where.number}&", "tile": f"live_source=tile&tiles={where.number}&"}
    place = places[where.kind]
    return f"/r/{key}/liveness?{place}liveness={index}"
