"""The three parts of a page for an address: menu, header line and content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

from dash import html
from dash.development.base_component import Component

from popvision.analysis.memory.capacity import memory_excess
from popvision.analysis.report.not_recorded import FormatError, NotRecordedError, if_recorded
from popvision.analysis.report.nouns import with_noun
from popvision.analysis.report.source import ReportSource
from popvision.analysis.report.target import describe_target, type_name
from popvision.catalogue.what_if import is_point
from webapp.base.comparison import COMPARE_WITH_ALL, compared_trace, target_problems
from webapp.base.library import Entry, Library, UnknownKeyError
from webapp.base.problems import reason
from webapp.base.selection import Selection
from webapp.base.view import View, ViewContext, open_context
from webapp.base.views import find_view, views_of
from webapp.catalogue import page as catalogue_page
from webapp.catalogue import what_if_page
from webapp.components.attributes import attributes
from webapp.components.compare_bar import versus
from webapp.components.download_link import download_link
from webapp.components.icon import icon
from webapp.components.message import damage_banner, excess_banner, message_page
from webapp.components.partner_links import partner_links
from webapp.documents.export import DOCUMENTS
from webapp.help import page as help_page
from webapp.help.link import help_link
from webapp.picker import page as picker
from webapp.watched import page as watch_page
from webapp.watched.program import WatchedProgram

_KINDS = {"r": "report", "t": "trace"}

Parts = tuple[Any, Any, Any]

#: Views that a number key leads to.
_MOST_KEYS = 9

#: Links to files of the same execution in the header line.
_MOST_PARTNERS = 3


def _leave_empty(_page: Component, _context: ViewContext) -> None:
    return None


def show(
    library: Library,
    visit: Mapping[str, Any],
    theme: str,
    watched: WatchedProgram | None = None,
    fill: Callable[[Component, ViewContext], None] = _leave_empty,
) -> Parts:
    """The children of nav, masthead and page for a `visit` {"pathname", "search", "reload"} from the browser; `watched`
    is the program at /watch. `fill` fills the parts of a view's page (components/page_parts.py); its context has the
    selection as the browser keeps it."""
    names = [part for part in str(visit.get("pathname") or "/").split("/") if part]
    if not names:
        library.scan()
        return [], picker.masthead(watched is not None), picker.layout(library, _params(visit))
    if names == ["catalogue"]:
        if visit.get("reload"):
            library.scan()
        return [], catalogue_page.masthead(), catalogue_page.layout(library, _params(visit), refresh=True)
    if names[0] == "help" and len(names) < 3:
        return _help(names[1] if len(names) == 2 else "")
    if names == ["what-if"]:
        if visit.get("reload"):
            library.scan()
        return [], catalogue_page.masthead("What if"), what_if_page.layout(library, refresh=True)
    if names == ["watch"] and watched is not None:
        return [], watch_page.masthead(watched), watch_page.layout(watched)
    kind = _KINDS.get(names[0], "")
    if not kind or len(names) < 2 or len(names) > 3:
        return _not_found("There is no such page.")
    try:
        entry = _find_entry(library, names[1], kind)
    except UnknownKeyError:
        return _not_found("The given folders have no such report. It may have been moved or removed.")
    if visit.get("reload"):
        library.forget(entry.key)
    view_id = names[2] if len(names) == 3 else ""
    return _show_entry(library, entry, view_id, str(visit.get("search") or ""), theme, fill)


def _help(name: str) -> Parts:
    try:
        return [], help_page.masthead(), help_page.layout(name)
    except KeyError:
        return _not_found("The help has no such document.")
    except FileNotFoundError as problem:
        return _not_found(f"{str(problem)[:1].upper()}{str(problem)[1:]}.")


def _params(visit: Mapping[str, Any]) -> dict[str, str]:
    return Selection.parse(str(visit.get("search") or "")).as_params()


def _find_entry(library: Library, key: str, kind: str) -> Entry:
    try:
        entry = library.entry(key)
    except UnknownKeyError:
        library.scan()  # it may be newer than the last scan
        entry = library.entry(key)
    if entry.kind != kind:
        raise UnknownKeyError(key)
    return entry


def _show_entry(
    library: Library,
    entry: Entry,
    view_id: str,
    search: str,
    theme: str,
    fill: Callable[[Component, ViewContext], None],
) -> Parts:
    try:
        params = Selection.parse(search).as_params()
        context = open_context(library, entry.kind, entry.key, params, theme)
        view = find_view(entry.kind, view_id)
        if view is None:
            return _not_found("There is no such page for this report.")
        lacking = {each.id: _lacking(each, context) for each in views_of(entry.kind)}
        page = _content(view, context, lacking[view.id])
        fill(page, replace(context, params=dict(parse_qsl(search.removeprefix("?"), keep_blank_values=True))))
        problems = target_problems(library, params) if entry.kind == "report" else []
        problems = [library.without_paths(each) for each in problems]
        head = _masthead(library, context, entry, view, problems)
        return _menu(library, context, entry, view, lacking), head, _page(page, view, context)
    except FormatError as problem:
        back = html.A("Back to the list", href="/", **attributes(data_nav="home"))
        sentence = library.without_paths(str(problem))
        return [], _plain_masthead(entry.path.name), message_page("This file cannot be read", sentence, back)


def _lacking(view: View, context: ViewContext) -> str:
    try:
        return view.missing(context)
    except NotRecordedError as problem:
        return _without_paths(context, reason(problem))


def _without_paths(context: ViewContext, sentence: str) -> str:
    return sentence if context.library is None else context.library.without_paths(sentence)


def _content(view: View, context: ViewContext, lacking: str) -> Component:
    """The page, or a sentence about what the report lacks."""
    if lacking:
        return message_page(view.title, lacking)
    try:
        return view.layout(context)
    except NotRecordedError as problem:
        return message_page(view.title, _without_paths(context, reason(problem)))


def _did_run(source: ReportSource) -> bool:
    runs = if_recorded(source.reader.runs)
    return runs is not None and len(runs.name) > 0


def _page(content: Component, view: View, context: ViewContext) -> Any:
    facts = attributes(data_report=context.key)
    if context.library is not None and context.library.follows:
        facts |= attributes(data_follows="1")
    banners: list[Component | None] = []
    if view.kind == "report":
        source = context.source
        target = if_recorded(source.reader.target)
        clock = 0 if target is None else target.clock_hz
        banners = [damage_banner([_without_paths(context, each) for each in source.lost])]
        if context.target is not None:
            lost = [_without_paths(context, each) for each in context.target.lost]
            banners.append(damage_banner(lost, "The target"))
        banners.append(excess_banner(memory_excess(source), context.key, did_run=_did_run(source)))
        for key, target_report in context.targets.items():
            name = f"The target {target_report.label}"
            banners.append(excess_banner(memory_excess(target_report), key, name, did_run=_did_run(target_report)))
        facts |= attributes(data_clock=clock, data_generation=source.generation, data_identity=source.report_id)
    else:
        trace = context.trace
        lost = [_without_paths(context, each) for each in trace.lost]
        banners = [damage_banner(lost, "This trace", trace.loss_state, trace.shown_part)]
    page = html.Div(content, className=f"view view-{view.id.replace('_', '-')}", id=f"view-{view.id}", **facts)
    return [*(banner for banner in banners if banner is not None), page]


def _menu(
    library: Library, context: ViewContext, entry: Entry, current: View, lacking: Mapping[str, str]
) -> list[Component]:
    letter = "r" if entry.kind == "report" else "t"
    links = []
    for index, view in enumerate(views_of(entry.kind), start=1):
        if view.id != current.id and not view.offered(context):
            continue
        links.append(
            _menu_link(view, index, f"/{letter}/{context.key}/{view.id}", view.id == current.id, lacking[view.id])
        )
    links += _what_if_link(library, entry)
    return [
        html.A(
            [icon("logo"), html.Span("PopVision", className="nav-text")],
            href="/",
            className="nav-brand",
            title="All reports",
            **attributes(data_nav="home"),
        ),
        html.Nav(links, className="nav-views", **attributes(aria_label="Views")),
        html.Div(
            [
                _menu_button("reload", "Reload", "nav-reload", "Reload the report (r)"),
                html.A(
                    [icon("close"), html.Span("Close", className="nav-text")],
                    href="/",
                    className="nav-item",
                    title="Back to the list of reports",
                    **attributes(data_nav="home"),
                ),
                _menu_button("search", "Commands", "nav-palette", "Command palette (Ctrl + K)"),
                _menu_button("settings", "Preferences", "nav-preferences", "Preferences: units, theme, reload"),
                _menu_button("theme", "Theme", "nav-theme", "Switch between light and dark (t)"),
                help_link(current.title, icon("help"), html.Span("Help", className="nav-text"), class_name="nav-item"),
                _menu_button("keyboard", "Shortcuts", "nav-shortcuts", "Shortcuts (?)"),
                _menu_button("collapse", "Collapse", "nav-collapse", "Collapse or expand this menu ([)"),
            ],
            className="nav-foot",
        ),
    ]


def _menu_link(view: View, index: int, href: str, is_current: bool, lacking: str) -> Component:
    more = attributes(data_nav="view", data_view=view.id, data_index=str(index))
    if is_current:
        more["aria-current"] = "page"
    hint = lacking or (f"{view.title} ({index})" if index <= _MOST_KEYS else view.title)
    name = "nav-item" + (" current" if is_current else "") + (" lacking" if lacking else "")
    return html.A(
        [icon(view.icon), html.Span(view.title, className="nav-text")], href=href, className=name, title=hint, **more
    )


def _what_if_link(library: Library, entry: Entry) -> list[Component]:
    """Of a report of a sweep, a link to the same program on the other machines of the sweep."""
    number = next((at for at, folder in enumerate(library.folders) if str(folder) == entry.group), None)
    if entry.kind != "report" or number is None or not is_point(entry.path):
        return []
    return [
        html.A(
            [icon("swap"), html.Span("What if", className="nav-text")],
            href=f"/what-if?wi_folder={number}&wi_report={entry.key}",
            className="nav-item",
            title="The same program on the other chips, tiles and memories of its sweep",
            **attributes(data_nav="to"),
        )
    ]


def _menu_button(name: str, text: str, action: str, title: str) -> Component:
    return html.Button(
        [icon(name), html.Span(text, className="nav-text")],
        className="nav-item",
        title=title,
        type="button",
        **attributes(data_action=action),
    )


def _partners(library: Library, entry: Entry) -> list[Component]:
    links = partner_links(library, entry)
    shown: list[Component] = [html.Span(link, className="fact") for link in links[:_MOST_PARTNERS]]
    if len(links) > _MOST_PARTNERS:
        more = f"and {len(links) - _MOST_PARTNERS} more of this execution"
        shown.append(html.Span(html.A(more, href="/", **attributes(data_nav="home")), className="fact"))
    return shown


def _masthead(library: Library, context: ViewContext, entry: Entry, view: View, problems: list[str]) -> Component:
    if entry.kind == "trace":
        tools = html.Div([_copy_link()], className="masthead-tools")
        facts_of_trace = [html.Span(context.trace.clock, className="badge"), *_partners(library, entry), tools]
        other = compared_trace(library, context.params)
        targets = [] if other is None or isinstance(other, str) else [other.label]
        names = versus(context.trace.label, targets, [other] if isinstance(other, str) else [])
        return _line(names, view.title, facts_of_trace)
    meta = context.source.reader.meta
    facts: list[Component] = []
    if meta.get("simulated", False):
        facts.append(
            html.Span(
                "simulated",
                className="badge badge-strong",
                title="Cycles and bytes come from a model, not from a device",
            )
        )
    if entry.is_sample:
        facts.append(html.Span("sample", className="badge", title=f"Shipped with PopVision: {entry.path}"))
    of_ranks = library.rank(entry.key)
    if of_ranks is not None:
        group = of_ranks.run if of_ranks.what == "process" else f"ranks of {of_ranks.run}"
        title = f"One of the {group}: compare them"
        text = f"{of_ranks.what} {of_ranks.rank} of {of_ranks.ranks}"
        facts.append(html.A(text, href=f"/r/{entry.key}/ranks", title=title, **attributes(data_nav="to")))
    if meta.get("whatIf"):
        facts.append(html.Span("what-if", className="badge badge-strong", title=str(meta["whatIf"])))
    facts += _machines(context)
    facts += _partners(library, entry)
    facts.append(_tools(context, view))
    targets = [each.label for each in context.targets.values()]
    names = versus(context.source.label, targets, problems, with_all=view.id in COMPARE_WITH_ALL)
    return _line(names, view.title, facts)


def _machines(context: ViewContext) -> list[Component]:
    """The machine of the report; of a comparison those of all its reports where they differ."""
    reports = [context.source, *context.targets.values()]
    machines = [if_recorded(report.reader.target) for report in reports]
    texts = ["unknown machine" if each is None else describe_target(each) for each in machines]
    if len(set(texts)) == 1:
        return [html.Span(texts[0], className="fact", title=texts[0])]
    roles = ["Source", *(["Target"] if len(reports) == 2 else [f"Target {i}" for i in range(1, len(reports))])]
    title = "; ".join(f"{role}: {text}" for role, text in zip(roles, texts, strict=True))
    short = [
        "unknown" if each is None else f"{type_name(each)} {with_noun(each.num_tiles, 'tile')}" for each in machines
    ]
    if len(set(short)) < len(set(texts)):
        short = texts
    return [html.Span(" vs ".join(short), className="fact", title=title)]


def _tools(context: ViewContext, view: View) -> Component:
    """Compare with another report, copy the address, export the page."""
    tools: list[Component] = []
    if not context.params.get("vs"):
        tools.append(_tool("swap", "Compare with", "Compare with another report", data_compare_with=""))
    tools.append(_copy_link())
    if view.id in DOCUMENTS:
        tools.append(_export_link(context, view))
    return html.Div(tools, className="masthead-tools")


def _copy_link() -> Component:
    return _tool("link", "Copy link", "Copy the address of this page, with what is selected", data_copy_link="")


def _tool(name: str, text: str, title: str, **more: str) -> Component:
    label = html.Span(text, className="tool-text")
    about = attributes(aria_label=title, **more)
    return html.Button([icon(name), label], type="button", className="button small", title=title, **about)


def _export_link(context: ViewContext, view: View) -> Component:
    """The link that exports the page; assets/shell/export_page.js adds the selection when it is followed."""
    title = "Save this view as one self-contained HTML file; with Shift, without names (confidential)"
    href = f"/data/{context.key}/{view.id}/export.html"
    return download_link("HTML", href, title, "", **attributes(data_export_page="", aria_label=title))


def _line(names: Component, view_title: str, facts: list[Component]) -> Component:
    return html.Div(
        [
            html.H1([html.Span(view_title), html.Span(" – ", className="visually-hidden")], className="view-title"),
            names,
            html.Div(facts, className="facts"),
        ],
        className="masthead",
    )


def _plain_masthead(name: str) -> Component:
    return html.Div(
        [
            html.A([icon("logo"), html.Span("PopVision")], href="/", className="brand"),
            html.H1(name, className="report-name plain"),
        ],
        className="masthead",
    )


def _not_found(sentence: str) -> Parts:
    link = html.A("Back to the list", href="/", **attributes(data_nav="home"))
    heading = html.H1("PopVision", className="visually-hidden")
    return [], [heading, picker.masthead()], message_page("Not found", sentence, link)
