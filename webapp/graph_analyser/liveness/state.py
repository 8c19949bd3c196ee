"""The state of the liveness page, read from the selection: every control is one key of the URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from popvision.analysis.liveness.curve import fullest_tile
from popvision.analysis.report.columns import liveness
from popvision.analysis.report.not_recorded import if_recorded
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.tiles import Where, target_of
from webapp.base.query import whole_number, whole_numbers, whole_range
from webapp.base.selection import Selection

#: Keys of the selection that the plot shows, and those that the tabs show.
PLOT_KEYS = (
    "liveness",
    "live_also",
    "live_source",
    "live_filter",
    "live_noalways",
    "live_max",
    "live_view",
    "live_replica",
    "variable",
    "tiles",
    "live_mark",
    "live_nopeaks",
    "live_graph",
    "program",
    "live_run",
    "from",
    "to",
    "live_diff",
    "live_align",
    "live_split",
    "vs",
)
TAB_KEYS = (
    "liveness",
    "live_also",
    "live_source",
    "live_replica",
    "tiles",
    "live_graph",
    "live_filter",
    "live_align",
    "vs",
)

GRAPHS = {"curve": "Curve", "time": "Over device time", "heat": "Tiles × indices"}

TABS = {
    "always": "Always-live variables",
    "not_always": "Not-always-live variables",
    "vertices": "Vertices",
    "cycles": "Cycle estimates",
    "flops": "FLOP estimates",
    "steps": "Steps",
}

#: Selected indices that fit side by side as columns.
MOST_INDICES = 6


@dataclass(frozen=True)
class LivenessState:
    """One state of the page. `indices` are the selected liveness indices, the main one first. `problems` are sentences
    about values in the URL that this report does not have."""

    graph: str = "curve"
    where: Where = Where()  # noqa: RUF009 -- frozen
    indices: tuple[int, ...] = ()
    filter: str = ""
    always: bool = True
    show_max: bool = False
    window: tuple[int, int] | None = None
    tab: str = "always"
    variable: int | None = None
    program: int | None = None  #: the program whose indices are marked
    tile: int | None = None  #: the row of the cursor in the heat map
    mark: int | None = None  #: the marked index, from which differences are measured
    peaks: bool = True
    run: int = 0  #: the run whose device time is the axis
    cycles: tuple[int, int] | None = None  #: window of device cycles, half-open
    difference: bool = False  #: draw target - source instead of both
    split: bool = False  #: draw the target in its own plot
    by: str = "index"  #: rule that pairs the indices of two reports: "index" or "programs"
    problems: tuple[str, ...] = ()


def liveness_state(source: ReportSource, params: Mapping[str, Any] | None, count: int | None = None) -> LivenessState:
    """The state that a selection describes, with what does not exist in this report left out and named. `count`
    liveness indices, by default those of the report. Raises NotRecordedError without a liveness profile."""
    count = len(liveness(source).program) if count is None else count
    selection = Selection.parse(params)
    extras = selection.extras
    problems = list(selection.problems)
    main = () if selection.liveness is None else (selection.liveness,)
    chosen = tuple(dict.fromkeys(main + whole_numbers(extras.get("live_also", ""))))
    indices = tuple(index for index in chosen if index < count)
    if len(indices) < len(chosen):
        problems.append(f"This report has liveness indices 0 to {count - 1:,}; other numbers are ignored.")
    text = extras.get("live_source", "")
    if text == "tile":
        text = f"tile:{selection.tiles[0] if selection.tiles else if_recorded(lambda: fullest_tile(source)) or 0}"
    where, problem = parse_where(source, text, extras.get("live_replica", "0"))
    return LivenessState(
        graph=extras.get("live_graph", "") if extras.get("live_graph") in GRAPHS else "curve",
        where=where,
        indices=indices,
        filter=extras.get("live_filter", ""),
        always=extras.get("live_noalways") != "1",
        show_max=extras.get("live_max") == "1",
        window=whole_range(extras.get("live_view", "")),
        tab=extras.get("live_tab", "always") if extras.get("live_tab") in TABS else "always",
        variable=selection.variable,
        program=selection.program,
        run=next(iter(whole_numbers(extras.get("live_run", ""), 1)), 0),
        cycles=_cycles(selection),
        difference=extras.get("live_diff") == "1",
        split=extras.get("live_split") == "1",
        by="programs" if extras.get("live_align") == "programs" else "index",
        tile=next((tile for tile in selection.tiles if tile < target_of(source).num_tiles), None),
        mark=next((each for each in whole_numbers(extras.get("live_mark", ""), 1) if each < count), None),
        peaks=extras.get("live_nopeaks") != "1",
        problems=(*problems, problem) if problem else tuple(problems),
    )


def _cycles(selection: Selection) -> tuple[int, int] | None:
    if selection.begin is None or selection.end is None or selection.end <= selection.begin:
        return None
    return selection.begin, selection.end


def parse_where(source: ReportSource, text: str, replica: str = "0") -> tuple[Where, str]:
    """(place that "tile:5", "ipu:1" or "" names, a sentence if it does not exist). "" = all tiles of a replica."""
    target = target_of(source)
    device = Where("all", whole_number(replica, 0, target.num_replicas - 1) or 0)
    if text in ("", "all"):
        return device, ""
    kind, _, rest = text.partition(":")
    counts = {"ipu": target.num_ipus, "tile": target.num_tiles}
    number = whole_number(rest)
    if kind not in counts or number is None:
        return device, f"The source {text!r} is unknown: use tile or ipu:0, or leave it out for all tiles."
    if number >= counts[kind]:
        noun = "IPU" if kind == "ipu" else "tile"
        return device, f"This report has {noun}s 0 to {counts[kind] - 1:,}: {noun} {number:,} does not exist."
    return Where("ipu" if kind == "ipu" else "tile", number), ""


def where_text(where: Where, replicas: int) -> str:
    """ "all tiles of replica 0", "IPU 1", "tile 5"."""
    if where.kind == "all":
        return "all tiles" if replicas == 1 else f"all tiles of replica {where.number}"
    return f"IPU {where.number:,}" if where.kind == "ipu" else f"tile {where.number:,}"
