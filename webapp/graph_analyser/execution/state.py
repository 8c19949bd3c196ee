"""The state of the execution page, read from the selection: window and IPU of the tabs, and hidden steps.

`hide` of the URL lists classes of the drawing, separated by commas. Figures include hidden steps unless `filtered=1`;
every table then says which types it excludes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dash import html
from dash.development.base_component import Component

from popvision.analysis.compare.matching import match_steps
from popvision.analysis.execution.overlap import bar_of, lanes
from popvision.analysis.execution.raster import CLASSES
from popvision.analysis.execution.step_details import step_facts
from popvision.analysis.execution.timeline import PIXEL_CLASS, TYPE_NAMES, run_bars
from webapp.base.comparison import KEY, target_keys
from webapp.base.query import number_of, whole_number, whole_range
from webapp.base.selection import Selection
from webapp.base.view import ViewContext
from webapp.components.attributes import attributes

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource


#: Text of the switch of each class of the drawing (raster.CLASSES).
CLASS_TEXT = {
    "compute": "compute (OnTileExecute)",
    "exchange": "exchange (DoExchange)",
    "global": "global exchange",
    "host": "host transfer (StreamCopyMid)",
    "wait": "waiting for host (StreamCopyBegin)",
    "sync": "sync (and StreamCopyEnd)",
}


#: Keys of the selected step.
_STEP = ("step", "tstep")


_EVERYTHING = "everything recorded"


@dataclass(frozen=True)
class Window:
    """The cycles [begin, end) that the tabs describe. `origin` is "visible", "selected" or "step", `text` names it."""

    begin: int
    end: int
    origin: str
    text: str

    @property
    def is_everything(self) -> bool:
        """Whether it holds all recorded cycles."""
        return self.text == _EVERYTHING


def selected_ipu(selection: Selection) -> int:
    """The IPU of the selected step: the one shown; with all IPUs shown, the one that `on` names, else 0."""
    if selection.ipu is not None:
        return selection.ipu
    return whole_number(selection.extras.get("on", "")) or 0


def without_step(context: ViewContext) -> ViewContext:
    """The page without its selected step: for tables whose rows select steps, so that a choice keeps the rows."""
    return replace(context, params={key: value for key, value in context.params.items() if key not in _STEP})


def window_of(source: ReportSource, selection: Selection) -> Window:
    """The selected cycles, else the flat bar of the selected step, else the visible cycles. Clipped to the runs, so it
    is empty where cycles after the end of a shorter source are selected in the target."""
    total = run_bars(source).total
    chosen = _chosen(selection)
    if chosen is not None:
        return Window(min(chosen[0], total), min(chosen[1], total), "selected", "the selected window")
    if selection.step is not None:
        try:
            facts = step_facts(source, selected_ipu(selection), selection.step)
        except ValueError:
            facts = None
        first, last = (0, 0) if facts is None else bar_of(lanes(source, facts.ipu), facts.step)
        if facts is not None and last > first:
            return Window(first, last, "step", f"the window of step {facts.step}, {facts.name}")
    first, last = min(selection.begin or 0, total), total if selection.end is None else min(selection.end, total)
    if last <= first:
        first, last = 0, total
    text = _EVERYTHING if (first, last) == (0, total) else "the visible window"
    return Window(first, last, "visible", text)


def _chosen(selection: Selection) -> tuple[int, int] | None:
    """The selected cycles, of source and target alike."""
    chosen = whole_range(selection.extras.get("sel", ""))
    return None if chosen is None or chosen[0] == chosen[1] else chosen


def scope_line(context: ViewContext) -> Component | None:
    """A line that says which part of the recorded cycles a table counts, with a button that clears the selection; None
    when it counts everything."""
    source, selection = context.source, context.selection
    window, total = window_of(source, selection), run_bars(source).total
    if window.origin == "visible" and (window.begin, window.end) == (0, total):
        return None
    text = f": device cycles {window.begin:,} to {window.end:,} of {total:,}"
    if context.target is not None:
        begin, end = target_window(source, context.target, selection)
        text += f", of the target {begin:,} to {end:,} of {run_bars(context.target).total:,}"
    button = html.Button("Count everything", type="button", className="button", **attributes(data_action="trace-all"))
    return html.Div(
        [html.Span(["Only ", html.Strong(window.text), f"{text}."]), button], className="trace-filter-line", role="note"
    )


def ipus_of(source: ReportSource, selection: Selection) -> list[int]:
    """The selected IPU, else all."""
    count = source.reader.target().num_ipus
    return list(range(count)) if selection.ipu is None else [min(selection.ipu, count - 1)]


def target_window(source: ReportSource, target: ReportSource, selection: Selection) -> tuple[int, int]:
    """The cycles of the target to compare with the window of the source: those of the matched step when a step is
    selected, else the same cycles; all cycles when the source shows all. Without link (`link=0`) and selection, the
    cycles visible in the target (`tfrom`, `tto`)."""
    window, total = window_of(source, selection), run_bars(target).total
    if window.origin == "step" and selection.step is not None:
        partner = int(match_steps(source, target).target_rows()[selection.step])
        ipu = min(selected_ipu(selection), target.reader.target().num_ipus - 1)
        if partner >= 0:
            return bar_of(lanes(target, ipu), partner)
        return 0, 0
    if window.origin == "visible":
        if selection.extras.get("link") == "0":
            first, last = (whole_number(selection.extras.get(name, ""), 0, total) for name in ("tfrom", "tto"))
            return (0, total) if first is None or last is None or first >= last else (first, last)
        if (window.begin, window.end) == (0, run_bars(source).total):
            return 0, total
    begin, end = _chosen(selection) or (window.begin, window.end)
    return min(begin, total), min(end, total)


def window_query(context: ViewContext) -> dict[str, str]:
    """The window as a query of a table: `from` and `to`; in a comparison also `vs`, `vsfrom` and `vsto`."""
    source, target, selection = context.source, context.target, context.selection
    window = window_of(source, selection)
    query = {"from": str(window.begin), "to": str(window.end)}
    if target is None:
        return query
    begin, end = target_window(source, target, selection)
    return query | {KEY: target_keys(context.params)[0], f"{KEY}from": str(begin), f"{KEY}to": str(end)}


def window_in(query: Mapping[str, str], side: str = "") -> tuple[int, int]:
    """The window of a table's query; with side "vs" that of the target. Raises ValueError."""
    return number_of(query, f"{side}from"), number_of(query, f"{side}to")


def hidden_classes(selection: Selection) -> list[str]:
    """The classes that `hide` names, in the order of CLASSES."""
    named = selection.extras.get("hide", "").split(",")
    return [name for name in CLASSES if name in named]


def hidden_types(selection: Selection) -> frozenset[str]:
    """The program types of the hidden classes."""
    rows = {CLASSES.index(name) for name in hidden_classes(selection)}
    return frozenset(name for name, row in zip(TYPE_NAMES, PIXEL_CLASS.tolist(), strict=True) if row in rows)


def types_named(text: str) -> frozenset[str]:
    """The known program types of a comma-separated text; other words are ignored."""
    return frozenset(text.split(",")) & frozenset(TYPE_NAMES)
