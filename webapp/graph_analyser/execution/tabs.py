"""How the tabs below the execution trace are filled: each only while it is the one shown, and only when it changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dash import Dash, Input, Output, State, no_update

from popvision.analysis.report.not_recorded import NotRecordedError
from webapp.comparison import target_keys, target_of_page
from webapp.components import empty_hint
from webapp.graph_analyser.execution.window import target_window
from webapp.selection import Selection
from webapp.view import page_key

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.library import Library

#: The query of the tab's table, from the report and the selection.
QueryOf = Callable[["ReportSource", Selection], dict[str, str]]

#: What the tab shows of a key and a query.
TableOf = Callable[[str, Mapping[str, str]], Any]

#: What the tab shows of a report, its key, a selection with a step, and a theme; may say by an error why nothing.
StepPart = Callable[["ReportSource", str, Selection, str], Any]


def fill_by_query(app: Dash, library: Library, tab: str, query_of: QueryOf, content: TableOf) -> None:
    """Fill the tab's box with a table that stays, scrolled and sorted as it is, while its query is the same. With a
    report to compare with, the query names it (`vs`) and its window (`vsfrom`, `vsto`)."""
    box = f"execution-{tab}"

    @app.callback(
        Output(box, "children"),
        Output(box, "data-query"),
        Input("selection", "data"),
        State("url", "pathname"),
        State(box, "data-query"),
    )
    def fill(params: Mapping[str, str] | None, pathname: str, shown: str | None) -> Any:
        selection = Selection.parse(params)
        if selection.extras.get("detail") != tab:
            return no_update, no_update
        key = page_key(pathname)
        source, target = library.report(key), target_of_page(library, params)
        query = query_of(source, selection)
        if target is not None:
            begin, end = target_window(source, target, selection)
            query |= {"vs": target_keys(params)[0], "vsfrom": str(begin), "vsto": str(end)}
        text = f"{key} {query}"
        return (no_update, no_update) if text == shown else (content(key, query), text)


def fill_by_step(app: Dash, library: Library, tab: str, nothing: str, content: StepPart) -> None:
    """Fill the tab's box with what belongs to the selected step; `nothing` is said where none is selected."""

    @app.callback(
        Output(f"execution-{tab}", "children"),
        Input("selection", "data"),
        Input("theme", "data"),
        State("url", "pathname"),
    )
    def fill(params: Mapping[str, str] | None, theme: str | None, pathname: str) -> Any:
        selection = Selection.parse(params)
        if selection.extras.get("detail") != tab:
            return no_update
        if selection.step is None:
            return empty_hint(nothing)
        try:
            key = page_key(pathname)
            return content(library.report(key), key, selection, theme or "light")
        except (NotRecordedError, ValueError) as problem:
            return empty_hint(f"{str(problem)[:1].upper()}{str(problem)[1:].rstrip('.')}.")
