"""The interface of a view. A page module ends with `VIEW = View(...)` and is listed in webapp/base/views.py.

`layout(context)` builds a page once per visit; after that its callbacks have the inputs

    Input("selection", "data")    the selection as a flat dict of strings; Selection.parse reads it
    State("url", "pathname")      the address; `page_key` returns its report
    Input("theme", "data")        "light" or "dark", for figures

and change the selection by a patch, a dict of strings in which None removes a key:

    Output("select", "data", allow_duplicate=True), prevent_initial_call=True

or in JavaScript `popvision.select({tiles: "0-3", program: null})`. The frame merges the patch, writes the URL and
updates "selection". components/page_parts.py registers most callbacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dash import Dash
from dash.development.base_component import Component

from popvision.analysis.report.not_recorded import NotRecordedError
from webapp.base.comparison import opened_targets
from webapp.base.problems import reason
from webapp.base.selection import Selection

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.trace.columns import HostTrace
    from webapp.base.library import Library


@dataclass(frozen=True)
class ViewContext:
    """A visit of a page. `params` is the query string, `theme` "light" or "dark"."""

    key: str
    opened: Any
    params: Mapping[str, str] = field(default_factory=dict)
    theme: str = "light"
    target: ReportSource | None = None  #: the report compared with (webapp/base/comparison.py), None without one
    targets: Mapping[str, ReportSource] = field(default_factory=dict)  #: all reports that `vs` names, by key, in order
    library: Library | None = None  #: where reports and traces of the same execution are; None in exported pages

    @property
    def source(self) -> ReportSource:
        """The opened report (views under /r/)."""
        report: ReportSource = self.opened
        return report

    @property
    def trace(self) -> HostTrace:
        """The opened host trace (views under /t/)."""
        trace: HostTrace = self.opened
        return trace

    @property
    def selection(self) -> Selection:
        return Selection.parse(self.params)


def _always(_context: ViewContext) -> str:
    return ""


def _is_offered(_context: ViewContext) -> bool:
    return True


def _nothing(_source: ReportSource) -> None:
    return None


@dataclass(frozen=True)
class View:
    """`kind` is "report" or "trace". `missing(context)` returns "" when the view can be shown, else one sentence about
    what the report lacks; the frame then greys the menu entry and shows the sentence. `ahead(source)` runs the analysis
    of the first callbacks and routes of the page (webapp/shell/read_ahead.py). The menu leaves out a view that is not
    `offered(context)`: one about something that most reports have nothing to do with. `draws` names what the page opens
    with, "plot" (Plotly) or "table" (ag-grid), so that their scripts are there in time."""

    id: str
    title: str
    icon: str
    layout: Callable[[ViewContext], Component]
    register: Callable[[Dash, Library], None]
    kind: str = "report"
    missing: Callable[[ViewContext], str] = _always
    ahead: Callable[[ReportSource], None] = _nothing
    offered: Callable[[ViewContext], bool] = _is_offered
    draws: tuple[str, ...] = ()


def needs(read: Callable[[ReportSource], object]) -> Callable[[ViewContext], str]:
    """`missing` of a view whose data `read` returns: the sentence of its NotRecordedError, "" without one."""

    def missing(context: ViewContext) -> str:
        try:
            read(context.source)
        except NotRecordedError as lacking:
            return reason(lacking)
        return ""

    return missing


def page_key(pathname: str | None) -> str:
    """ "/r/<key>/<view>" -> "<key>"; "" elsewhere."""
    parts = (pathname or "").split("/")
    return parts[2] if len(parts) > 2 and parts[1] in ("r", "t") else ""


def open_context(library: Library, kind: str, key: str, params: Mapping[str, str], theme: str) -> ViewContext:
    """The page of a report or trace with a selection. Raises UnknownKeyError, or FormatError with one sentence."""
    if kind == "trace":
        return ViewContext(key, library.trace(key), params, theme, library=library)
    targets = opened_targets(library, params)
    return ViewContext(key, library.report(key), params, theme, next(iter(targets.values()), None), targets, library)
