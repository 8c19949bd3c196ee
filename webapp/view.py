"""What a view is and what it is given. A view's module ends with `VIEW = View(...)` and is listed in webapp/views.py.

A page is built once per visit by `layout(context)`; after that its callbacks take

    Input("selection", "data")    the selection as a flat dict of strings; read it with Selection.parse
    State("url", "pathname")      from which `page_key` takes the report's key
    Input("theme", "data")        "light" or "dark", for figures

and change the selection by writing a patch, a dict of strings where None removes a key:

    Output("select", "data", allow_duplicate=True), prevent_initial_call=True

or in JavaScript `popvision.select({tiles: "0-3", program: null})`. The shell merges the patch, writes the URL and hands
the new selection to every callback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dash import Dash
from dash.development.base_component import Component

from popvision.analysis.report.not_recorded import NotRecordedError
from webapp.comparison import opened_targets
from webapp.selection import Selection

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.trace.source import TraceSource
    from webapp.library import Library


@dataclass(frozen=True)
class ViewContext:
    """One request for a page. `params` is the query string, `theme` "light" or "dark"."""

    key: str
    opened: Any
    params: Mapping[str, str] = field(default_factory=dict)
    theme: str = "light"
    target: ReportSource | None = None  #: the report compared with (webapp/comparison.py), None = none
    targets: Mapping[str, ReportSource] = field(default_factory=dict)  #: every report named by `vs`, by key, in order

    @property
    def source(self) -> ReportSource:
        """The opened report (views under /r/)."""
        report: ReportSource = self.opened
        return report

    @property
    def trace(self) -> TraceSource:
        """The opened host trace (views under /t/)."""
        trace: TraceSource = self.opened
        return trace

    @property
    def selection(self) -> Selection:
        return Selection.parse(self.params)


def _always(_context: ViewContext) -> str:
    return ""


def _nothing(_source: ReportSource) -> None:
    return None


@dataclass(frozen=True)
class View:
    """`kind` is "report" or "trace". `missing(context)` returns "" when the view can be shown, else one sentence that
    says what the report lacks; the shell then greys the menu entry and shows the sentence. `ahead(source)` asks the
    analysis what the first callbacks and routes of the page will ask (webapp/read_ahead.py)."""

    id: str
    title: str
    icon: str
    layout: Callable[[ViewContext], Component]
    register: Callable[[Dash, Library], None]
    kind: str = "report"
    missing: Callable[[ViewContext], str] = _always
    ahead: Callable[[ReportSource], None] = _nothing


def needs(ask: Callable[[ReportSource], object]) -> Callable[[ViewContext], str]:
    """`missing` of a view that shows what `ask` reads: the sentence of its NotRecordedError, "" where it answers."""

    def missing(context: ViewContext) -> str:
        try:
            ask(context.source)
        except NotRecordedError as lacking:
            return str(lacking)
        return ""

    return missing


def page_key(pathname: str | None) -> str:
    """ "/r/<key>/<view>" -> "<key>"; "" elsewhere."""
    parts = (pathname or "").split("/")
    return parts[2] if len(parts) > 2 and parts[1] in ("r", "t") else ""


def open_context(library: Library, kind: str, key: str, params: Mapping[str, str], theme: str) -> ViewContext:
    """The page of a report or trace with a selection. Raises UnknownKeyError, or FormatError with one sentence."""
    if kind == "trace":
        return ViewContext(key, library.trace(key), params, theme)
    targets = opened_targets(library, params)
    return ViewContext(key, library.report(key), params, theme, next(iter(targets.values()), None), targets)
