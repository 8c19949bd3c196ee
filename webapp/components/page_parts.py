"""The skeleton of a page: a drawing above, tabs below, and callbacks that update each part when its content changes.

A part of a page ("plot", "tab") shows some keys of the selection. The browser keeps their values in the store
`<prefix>-<part>-now` (`plots.keep` in assets/shared/plots/axis.js), so the server is asked only when one of them
changes. `register_part` fills the components of a part, `register_tabs` the box of the shown tab. A page arrives with
its parts filled (`filled_page`): asking for each of them after the page has been drawn costs the browser a second
drawing of everything.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component

from popvision.analysis.report.not_recorded import FormatError, NotRecordedError
from webapp.base.library import UnknownKeyError
from webapp.base.problems import reason
from webapp.base.view import ViewContext, open_context, page_key
from webapp.components.frozen import frozen, lasting_in, managed_by
from webapp.components.message import unavailable
from webapp.components.renewed import renewed_parts
from webapp.components.shortcuts import view_shortcuts
from webapp.components.split import split
from webapp.components.tabs import Tab, tabs

if TYPE_CHECKING:
    from webapp.base.library import Library

#: Content of a tab, by page and value of the tab. NotRecordedError, ValueError and FormatError become a hint.
TabContent = Callable[[ViewContext, str], Any]

#: What the content of a tab depends on. While it stays equal the tab is not updated, so it keeps scroll and sorting.
TabQuery = Callable[[ViewContext, str], Any]

#: Values of the outputs of a part, in their order.
PartContent = Callable[[ViewContext], Sequence[Any]]


#: Values of the outputs of a part by "id.property", for a page that is being built; None leaves it to its callback.
PartFill = Callable[[ViewContext], Mapping[str, Any] | None]

_FILLS = "parts of pages"  #: the fills of an app by the store of their part, in the extensions of its server


def _none(_context: ViewContext) -> Collection[str]:
    return ()


def _at_once(_context: ViewContext) -> bool:
    return True


@dataclass(frozen=True)
class TabSet:
    """The tabs of a page: `titles` by value, `keys` of the selection that any of them shows, `label` read aloud.

    The box of a tab has the id `<prefix>-tab-<value>`. `key` is the selection key of the choice, by default
    `<prefix>_tab`; `kind` is that of the view; `absent` names the tabs for which a report has nothing."""

    prefix: str
    titles: Mapping[str, str]
    keys: Sequence[str]
    label: str = "Details"
    key: str = ""
    kind: str = "report"
    absent: Callable[[ViewContext], Collection[str]] = _none

    @property
    def param(self) -> str:
        """The selection key that names the chosen tab."""
        return self.key or f"{self.prefix}_tab"

    def chosen(self, context: ViewContext) -> str:
        """The tab that the selection names, else the first one."""
        offered, value = self._offered(context), str(context.params.get(self.param, ""))
        return value if value in offered else offered[0]

    def layout(self, context: ViewContext) -> Component:
        """The tabs over empty boxes."""
        offered = [Tab(value, self.titles[value], self._box(value)) for value in self._offered(context)]
        return tabs(self.param, offered, self.chosen(context), label=self.label)

    def stores(self, context: ViewContext, plot_keys: Sequence[str] = ()) -> list[Component]:
        """The stores of the tabs and, with `plot_keys`, of the part "plot" above them. They include the boxes of absent
        tabs, since the callback of the tabs has all boxes as outputs."""
        offered = self._offered(context)
        return [
            *(part_stores(self.prefix, "plot", plot_keys) if plot_keys else ()),
            *part_stores(self.prefix, "tab", (*self.keys, self.param)),
            dcc.Store(id=f"{self.prefix}-tab-shown", data={}),
            dcc.Store(id=f"{self.prefix}-tab-parts"),
            html.Div([self._box(value) for value in self.titles if value not in offered], hidden=True),
            html.Div(id=f"{self.prefix}-done", hidden=True),
        ]

    def _offered(self, context: ViewContext) -> list[str]:
        absent = self.absent(context)
        return [value for value in self.titles if value not in absent]

    def _box(self, value: str) -> Component:
        return html.Div(id=f"{self.prefix}-tab-{value}", className="tab-body")


def part_stores(prefix: str, part: str, keys: Sequence[str]) -> list[Component]:
    """The stores of a part: the keys that it shows, and their values."""
    return [dcc.Store(id=f"{prefix}-{part}-keys", data=list(keys)), dcc.Store(id=f"{prefix}-{part}-now")]


def page_of_halves(
    name: str,
    above: Any,
    below: Any,
    shortcuts: tuple[tuple[str, str], ...],
    *,
    toolbar: Component | None = None,
    percent: int = 58,
    class_name: str = "column-page",
    stores: Sequence[Component] = (),
) -> Component:
    """Two panes with a handle, remembered under `name`, below the toolbar of the page if there is one."""
    panes = split(name, above, below, percent=percent)
    head = [panes] if toolbar is None else [toolbar, html.Div(panes, className="fill")]
    return html.Div([*head, *stores, view_shortcuts(shortcuts)], className=class_name)


def register_part(
    app: Dash,
    library: Library,
    prefix: str,
    part: str,
    outputs: Sequence[str],
    content: PartContent,
    ready: Callable[[ViewContext], bool] = _at_once,
    *,
    lasting: bool = False,
) -> None:
    """Set the outputs, each "id.property", to what `content` returns whenever a key that the part shows, or the theme,
    changes. A page comes with the part filled if it is `ready`, else with what its layout says meanwhile. What is
    `lasting` stays the same as long as the report does, so all of it can be HTML."""
    _follow(app, prefix, part)
    names = [(each.partition(".")[0], each.partition(".")[2]) for each in outputs]
    if lasting:
        lasting_in(app).update(name for name, _ in names)

    def first(context: ViewContext) -> Mapping[str, Any] | None:
        return dict(zip(outputs, content(context), strict=True)) if ready(context) else None

    _fills(app)[f"{prefix}-{part}-now"] = first

    @app.callback(
        [Output(*each) for each in names],
        Input(f"{prefix}-{part}-now", "data"),
        Input("theme", "data"),
        State("selection", "data"),
        State("url", "pathname"),
        prevent_initial_call=True,
    )
    def fill(now: Any, theme: str | None, selection: Mapping[str, str] | None, pathname: str | None) -> Any:
        context = _context(library, "report", now, selection, theme, pathname)
        if context is None:
            return [no_update] * len(outputs)
        values = zip(content(context), names, strict=True)
        return [
            frozen(value, managed_by(app), again=not lasting) if prop == "children" else value
            for value, (_, prop) in values
        ]


def register_tabs(
    app: Dash, library: Library, tab_set: TabSet, content: TabContent, query: TabQuery | None = None
) -> None:
    """Fill the box of the shown tab when its content changes, which depends on `query`, or without one on all keys of
    the tabs and the theme. A sentence replaces content that the report lacks. Of the same tables and drawings only rows
    and figures are set (renewed.py)."""
    prefix, values = tab_set.prefix, list(tab_set.titles)
    _follow(app, prefix, "tab")

    def mark_of(context: ViewContext, tab: str, now: Mapping[str, str]) -> str:
        if query is None:
            depends: Any = [context.theme, {name: text for name, text in now.items() if name != tab_set.param}]
        else:
            depends = _or_hint(query, context, tab, reason)
        return json.dumps([context.key, depends], sort_keys=True)

    def first(context: ViewContext) -> Mapping[str, Any]:
        tab = tab_set.chosen(context)
        now = {name: context.params[name] for name in (*tab_set.keys, tab_set.param) if name in context.params}
        mark = mark_of(context, tab, now)
        content_of_tab = _or_hint(content, context, tab, unavailable)
        return {
            f"{prefix}-tab-{tab}.children": content_of_tab,
            f"{prefix}-tab-shown.data": {tab: [mark, sorted(renewed_parts(content_of_tab))]},
        }

    _fills(app)[f"{prefix}-tab-now"] = first

    @app.callback(
        [Output(f"{prefix}-tab-{value}", "children") for value in values],
        Output(f"{prefix}-tab-shown", "data"),
        Output(f"{prefix}-tab-parts", "data"),
        Input(f"{prefix}-tab-now", "data"),
        Input("theme", "data"),
        State("selection", "data"),
        State("url", "pathname"),
        State(f"{prefix}-tab-shown", "data"),
        prevent_initial_call=True,
    )
    def fill(
        now: Mapping[str, str] | None,
        theme: str | None,
        selection: Mapping[str, str] | None,
        pathname: str | None,
        shown: Mapping[str, tuple[str, list[str]]] | None,
    ) -> Any:
        unchanged = [no_update] * (len(values) + 2)
        try:
            context = _context(library, tab_set.kind, now, selection, theme, pathname)
        except (FormatError, UnknownKeyError):
            if "renewal" not in (now or {}):
                raise
            return unchanged  # a file that cannot be read at the moment: the page that follows it says so
        if context is None or now is None:
            return unchanged
        tab = tab_set.chosen(context)
        mark = mark_of(context, tab, now)
        shown_mark, shown_parts = (shown or {}).get(tab, ("", []))
        if shown_mark == mark:
            return unchanged
        filled, ids, parts = _renewed(app, _or_hint(content, context, tab, unavailable), shown_parts)
        boxes = [filled if value == tab else no_update for value in values]
        return [*boxes, {**(shown or {}), tab: [mark, ids]}, parts]

    _set_parts(app, prefix)


def _set_parts(app: Dash, prefix: str) -> None:
    """Set the parts that an answer holds. Dash drops an answer that a later question overtakes, with all its outputs;
    `dash.set_props` would show its parts all the same, and the mark would not say so."""
    app.clientside_callback(
        ClientsideFunction("popvision", "setParts"),
        Output(f"{prefix}-done", "title", allow_duplicate=True),
        Input(f"{prefix}-tab-parts", "data"),
        prevent_initial_call=True,
    )


def _renewed(app: Dash, content: Component | str, shown: list[str]) -> tuple[Any, list[str], Any]:
    """What a box is filled with, no_update where its tables and drawings are those shown; the ids of the parts that can
    be set alone; and these parts, (id, properties) each, where only their rows and figures are set."""
    parts = renewed_parts(content)
    if not parts or sorted(parts) != shown:
        return frozen(content, managed_by(app), again=True), sorted(parts), no_update
    return no_update, shown, list(parts.values())


def filled_page(app: Dash, page: Any, context: ViewContext) -> None:
    """Fill the parts of a page that has just been built. `context.params` is the selection as the browser reads it from
    the address. A part that raises stays empty: its callback asks again and shows the problem."""
    known = {each.id: each for each in _with_ids(page)}
    for store, fill in _fills(app).items():
        if store not in known:
            continue
        keys = known[store.removesuffix("now") + "keys"].data
        try:
            values = fill(context)
        except Exception as problem:
            logging.getLogger("popvision.webapp").debug("a part is left to its callback: %s", problem)
            continue
        if values is None:
            continue
        for output, value in values.items():
            component, _, name = output.partition(".")
            if component in known and value is not no_update:
                setattr(known[component], name, value)
        known[store].data = {key: context.params[key] for key in keys if key in context.params}


def _with_ids(page: Any) -> Iterator[Any]:
    if isinstance(page, (list, tuple)):
        for each in page:
            yield from _with_ids(each)
    elif isinstance(page, Component):
        if isinstance(getattr(page, "id", None), str):
            yield page
        yield from _with_ids(getattr(page, "children", None))


def _fills(app: Dash) -> dict[str, PartFill]:
    found: dict[str, PartFill] = app.server.extensions.setdefault(_FILLS, {})
    return found


def register_row_choice(app: Dash, prefix: str, function: ClientsideFunction, *tables: str) -> None:
    """Let a function of the browser turn the selected rows of each long table into a selection. Its output,
    `<prefix>-done`, never changes."""
    for table in tables:
        app.clientside_callback(
            function,
            Output(f"{prefix}-done", "title", allow_duplicate=True),
            Input({"rows": table, "query": ALL}, "selectedRows"),
            prevent_initial_call=True,
        )


def _follow(app: Dash, prefix: str, part: str) -> None:
    app.clientside_callback(
        ClientsideFunction("plots", "keep"),
        Output(f"{prefix}-{part}-now", "data"),
        Input("selection", "data"),
        State(f"{prefix}-{part}-keys", "data"),
        State(f"{prefix}-{part}-now", "data"),
    )


def _context(
    library: Library,
    kind: str,
    now: Any,
    selection: Mapping[str, str] | None,
    theme: str | None,
    pathname: str | None,
) -> ViewContext | None:
    """The page of a callback; None before its first selection and while the browser leaves it."""
    if now is None or not (pathname or "").startswith("/r/" if kind == "report" else "/t/"):
        return None
    return open_context(library, kind, page_key(pathname), selection or {}, theme or "light")


def _or_hint(
    ask: Callable[[ViewContext, str], Any], context: ViewContext, tab: str, hint: Callable[[Exception], Any]
) -> Any:
    """The answer of `ask`, or `hint` of the problem."""
    try:
        return ask(context, tab)
    except (NotRecordedError, ValueError, FormatError) as problem:
        return hint(problem)
