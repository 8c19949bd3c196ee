"""The first page: a list of all reports and traces below the given folders, and of the packaged samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from popvision.analysis.summary.report_list import READABLE_TRACES
from webapp.base.library import Entry, Library
from webapp.components.attributes import attributes
from webapp.components.compare_bar import compare_bar, recent_lists
from webapp.components.icon import icon
from webapp.components.shortcuts import view_shortcuts
from webapp.components.toolbar import help_text, search_box, select, toolbar
from webapp.help.link import help_link
from webapp.picker.rows import section
from webapp.picker.thumbnails import thumbnails

_PURPOSE = "Why a program for a tile processor is slow, what fills its memory, and what changed."

#: What records a report and opens it.
_PROFILE = ("popvision run -d report your_program.py", "popvision view report")

_KEYS = (
    ("/", "Go to the filter of the list"),
    ("↓ ↑", "Next, previous report of the list"),
    ("Home End", "First, last report of the list"),
    ("Enter", "Open the report"),
    ("Space", "Choose the report to compare it"),
)


def masthead(is_watching: bool = False) -> Component:
    """The header line; `is_watching` adds the link to the watched program."""
    watched = [html.A("Watched program", href="/watch", **attributes(data_nav="to"))] if is_watching else []
    return html.Div(
        [
            html.A([icon("logo"), html.Span("PopVision")], href="/", className="brand", **attributes(data_nav="home")),
            *watched,
            html.A(
                "Catalogue",
                href="/catalogue",
                title="The figures of all reports: filter, sort, plot two of them",
                **attributes(data_nav="to"),
            ),
            html.A(
                "What if",
                href="/what-if",
                title="One program on other chips, tiles, memories and exchange widths, from a sweep",
                **attributes(data_nav="to"),
            ),
            html.Div(
                [
                    _button("reload", "Search the folders again (r)", "nav-reload"),
                    _button("search", "Command palette (Ctrl + K)", "nav-palette"),
                    _button("settings", "Preferences: units, theme", "nav-preferences"),
                    _button("theme", "Switch between light and dark (t)", "nav-theme"),
                    help_link("First page"),
                    _button("keyboard", "Shortcuts (?)", "nav-shortcuts"),
                ],
                className="facts",
            ),
        ],
        className="masthead",
    )


def _button(name: str, title: str, action: str) -> Component:
    more = attributes(data_action=action, aria_label=title)
    return html.Button(icon(name), type="button", className="button icon-button", title=title, **more)


def layout(library: Library, params: Mapping[str, str] | None = None) -> Component:
    """The sections of the list; `library` must be up to date. Of `params`, `find` and `state` are the filter."""
    # Before the entries are read: what comes between the two differs from what was seen, and the list is built again.
    seen = attributes(data_look=library.look()) if library.follows else {}
    everything = library.entries()
    reports = [each for each in everything if each.kind == "report"]
    linked = {trace.key for report in reports for trace in library.partners(report.key)}
    entries = [each for each in everything if each.key not in linked]  # a trace stands in the row of its report
    own = [each for each in entries if not each.is_sample]
    own_reports = [each for each in own if each.kind == "report"]
    traces = [each for each in own if each.kind == "trace"]
    samples = [each for each in entries if each.is_sample]
    sections: list[Component] = [html.P(note, className="note note-warn") for note in library.notes]
    if own_reports:
        sections.append(section(library, "Reports", "Programs and their runs on the device", own_reports))
    if traces:
        sections.append(section(library, "Host traces", "Activity of the host in wall time", traces))
    if samples:
        sections.append(section(library, "Samples", "Shipped with PopVision", samples))
    if not entries:
        sections.append(_nothing(library))
    return html.Div(
        [
            html.H1("Open", className="visually-hidden"),
            html.P(_PURPOSE, className="picker-purpose"),
            *([_list_bar(library, entries, params or {})] if entries else []),
            *sections,
            html.P(role="status", className="list-nothing", **attributes(data_list_nothing="")),
            compare_bar(),
            recent_lists(),
            *([_upload_zone()] if library.takes_uploads else []),
            _tour(library),
            view_shortcuts(_KEYS),
            html.Footer(_footer(), className="picker-foot"),
        ],
        className="picker",
        **seen,
    )


def _tour(library: Library) -> Component:
    """What a new user may begin with: pictures that open their views, how to record a report, keys. It folds when a
    first report was opened (assets/shell/compare.js)."""
    keys = html.Button("Keys", type="button", className="button", **attributes(data_action="nav-shortcuts"))
    chapters = [
        html.A(text, href=f"/help/{name}", className="button", **attributes(data_help_open=""))
        for name, text in (("glossary", "Glossary"), ("questions", "How do I …?"))
    ]
    own = html.Div(
        [
            html.H2("Profile your program"),
            html.Pre("\n".join(_PROFILE), id="profile-lines", tabIndex="0"),
            html.Div([html.Button("Copy", type="button", className="button", **attributes(data_copy=""))]),
            html.Div([keys, *chapters]),
        ],
        className="start-own",
    )
    pictures = html.Nav(thumbnails(library), className="thumbnails", **attributes(aria_label="Views of the samples"))
    return html.Details(
        [html.Summary("Tour"), html.Div([pictures, own], className="start")],
        open=True,
        className="tour",
        **attributes(data_tour=""),
    )


def _list_bar(library: Library, entries: Sequence[Entry], params: Mapping[str, str]) -> Component:
    """The filter of the list; assets/shell/report_list.js applies it and the headings' order."""
    states = sorted({library.card(entry).state for entry in entries})
    about = help_text(
        "Filter of the list",
        "Words are looked for in name, folder, state and target; all must be there. Conditions stand among them:",
        "time>1ms, time<=200us: device time = total cycles / clock. cycles>1e6.",
        "memory>80% (share of the memory of a tile), memory>500KiB: the column Fullest tile. size>10MB: on disk.",
        "written<7d (age in min, h, d or w), written>=2026-11-01 (date, UTC).",
        "A heading sorts; pressed again it sorts the other way. Filter and order stand in the address.",
    )
    return toolbar(
        search_box("find", "Filter: words, time>1ms, memory>80%, written<7d", params.get("find", ""), width=380),
        select("state", "State", {"": "all", **{each: each for each in states}}, params.get("state", "")),
        about,
        label="Filter of the list",
    )


def _upload_zone() -> Component:
    """The place for uploads; assets/shell/upload.js sends the dropped or selected file."""
    return html.Div(
        [
            icon("folder"),
            html.Span(
                "Drop reports or traces here: a profile.pop, a folder as .zip, .tar or .tar.gz, "
                f"{READABLE_TRACES}. They stay on this machine."
            ),
            html.Button("Choose files", type="button", className="button", **attributes(data_upload_choose="")),
            html.Span(role="status", **attributes(data_upload_status="")),
        ],
        className="upload",
        **attributes(data_upload=""),
    )


def _nothing(library: Library) -> Component:
    places = ", ".join(str(folder) for folder in library.folders) or "the packaged samples"
    return html.Section(
        [
            html.H2("No reports found"),
            html.P(f"There is no report and no trace in {places}."),
            html.P(
                [
                    "Record one: ",
                    html.Code("""POPLAR_ENGINE_OPTIONS='{"autoReport.all":"true"}' python your_program.py"""),
                ]
            ),
            html.P(["Then open its folder: ", html.Code("popvision view FOLDER")]),
        ],
        className="message-page",
    )


def _footer() -> str:
    return (
        "Not affiliated with Graphcore. IPU, Poplar and PopVision are its trademarks. "
        "Figures marked as simulated come from a model."
    )
