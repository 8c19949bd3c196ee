"""The first page: a list of all reports and traces below the given folders, and of the packaged samples."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dash import Dash, html
from dash.development.base_component import Component

from popvision.analysis.summary.report_list import Card
from webapp.compare_bar import compare_bar, recent_lists, tick
from webapp.components.attributes import attributes
from webapp.components.icon import icon
from webapp.components.partner_links import partner_links
from webapp.formats import bytes_text, cycles_text, percent_text
from webapp.library import Entry, Library
from webapp.views import views_of

_STATES = {
    "complete": "",
    "running": "badge-good",
    "not closed": "badge-warn",
    "truncated": "badge-warn",
    "damaged": "badge-bad",
    "does not fit": "badge-bad",
    "another tool's": "",
}

_PURPOSE = (
    "Why a program for a tile processor is slow, what fills its memory, and what changed: open a report, tick two to "
    'compare them, or record one with POPLAR_ENGINE_OPTIONS=\'{"autoReport.all":"true"}\' python your_program.py.'
)

#: Host traces in the row of their report that are listed without folding.
_MOST_TRACES = 3

_STATE_HELP = {
    "running": "A run was recorded within the last minute; reload to see more",
    "not closed": "The program ended without closing this report; the recorded part is shown",
    "truncated": "The limit of recorded steps was reached; later steps are missing",
    "does not fit": "A tile is over its memory, so nothing ran; the Overview says by how much",
    "another tool's": "Opening imports this trace; nothing of it was read yet",
}


def register(_app: Dash, _library: Library) -> None:
    """The page has no callbacks: its links are handled by the frame and the browser."""


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
            html.Div(
                [
                    _button("reload", "Search the folders again (r)", "nav-reload"),
                    _button("search", "Command palette (Ctrl + K)", "nav-palette"),
                    _button("settings", "Preferences: units, theme", "nav-preferences"),
                    _button("theme", "Switch between light and dark (t)", "nav-theme"),
                    _button("keyboard", "Keyboard shortcuts (?)", "nav-shortcuts"),
                ],
                className="facts",
            ),
        ],
        className="masthead",
    )


def _button(name: str, title: str, action: str) -> Component:
    more = attributes(data_action=action, aria_label=title)
    return html.Button(icon(name), type="button", className="button icon-button", title=title, **more)


def layout(library: Library) -> Component:
    """The sections of the list; `library` must be up to date."""
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
        sections.append(_section(library, "Reports", "Programs and their runs on the device", own_reports))
    if traces:
        sections.append(_section(library, "Host traces", "Activity of the host in wall time", traces))
    if samples:
        sections.append(_section(library, "Samples", "Shipped with PopVision", samples))
    if not entries:
        sections.append(_nothing(library))
    return html.Div(
        [
            html.H1("Open", className="visually-hidden"),
            html.P(_PURPOSE, className="picker-purpose"),
            recent_lists(),
            *([_upload_zone()] if library.takes_uploads else []),
            *sections,
            compare_bar(),
            html.Footer(_footer(), className="picker-foot"),
        ],
        className="picker",
    )


def _upload_zone() -> Component:
    """The place for uploads; assets/shell/upload.js sends the dropped or selected file."""
    return html.Div(
        [
            icon("folder"),
            html.Span("Drop a report here: .zip, .tar, .tar.gz, profile.pop or .pvti. It stays on this machine."),
            html.Button("Choose a file", type="button", className="button", **attributes(data_upload_choose="")),
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


def _section(library: Library, title: str, hint: str, entries: Sequence[Entry]) -> Component:
    """A table of entries, newest first, without the columns of reports when there are none."""
    columns = [each for each in _COLUMNS if not each.only_reports or any(entry.kind == "report" for entry in entries)]
    header = html.Tr([html.Th(each.title, scope="col", className=each.style) for each in columns])
    rows = []
    cards = sorted(((entry, library.card(entry)) for entry in entries), key=lambda each: -each[1].modified)
    for entry, card in cards:
        row = _Row(entry, card, partner_links(library, entry) if entry.kind == "report" else [])
        cells = [html.Td(each.content(row), className=each.style) for each in columns]
        style = "damaged" if card.state == "damaged" else ""
        rows.append(html.Tr(cells, className=style, **attributes(data_key=entry.key)))
    head = [html.H2(title), html.Span(hint, className="section-hint"), html.Span(str(len(rows)), className="tab-count")]
    return html.Section(
        [
            html.Div(head, className="section-head"),
            html.Table([html.Thead(header), html.Tbody(rows)], className="cards"),
        ],
        className="card-section",
    )


def _name(row: _Row) -> Component:
    entry, card = row.entry, row.card
    where = html.Span(str(entry.path), className="card-path", title=str(entry.path))
    problem = [html.Span(card.problem, className="card-problem", title=card.problem)] if card.problem else []
    if not card.opens:
        return html.Div([html.Span(card.label, className="card-name"), where, *problem])
    letter = "r" if entry.kind == "report" else "t"
    views = views_of(entry.kind)
    href = f"/{letter}/{entry.key}/{views[0].id}" if views else f"/{letter}/{entry.key}"
    link = html.A(card.label, href=href, className="card-name", **attributes(data_nav="open"))
    return html.Div([link, where, *_traces(row.traces), *problem])


def _traces(links: Sequence[Component]) -> list[Component]:
    """A line for each host trace; more than a few, such as those of many processes, fold."""
    lines: list[Component] = [html.Div(each, className="card-trace") for each in links]
    if len(lines) <= _MOST_TRACES:
        return lines
    return [html.Details([html.Summary(f"{len(lines)} host traces"), *lines], className="card-trace")]


def _target(row: _Row) -> list[Component | str]:
    card = row.card
    if row.entry.kind == "trace":
        return ["Host"]
    parts: list[Component | str] = [card.target or "–"]
    if card.simulated:
        parts += [" ", html.Span("simulated", className="badge")]
    return parts


def _memory(card: Card) -> str | list[Component | str]:
    """Bytes in use on the fullest tile, gaps excluded; of a program that does not fit its highest address."""
    is_over = card.state == "does not fit"
    size = card.peak_bytes if is_over else card.used_bytes
    if size is None:
        return "–"
    gaps = "highest used address" if is_over else "bytes in use on the fullest tile, gaps excluded"
    text: list[Component | str] = [html.Span(bytes_text(size), title=f"{size:,} B, {gaps}")]
    if card.capacity_bytes:
        share = size / card.capacity_bytes
        text.append(html.Span(f" {share:.0%}", className="over" if is_over else "dim"))
    return text


def _phases(card: Card) -> Component:
    """A bar of tile cycles by phase; its title has the shares."""
    if not card.shares:
        return html.Span("–", className="dim")
    text = ", ".join(f"{phase} {percent_text(share)}" for phase, share in card.shares.items())
    parts = [
        html.Div(
            className=f"share-part step-{'global' if phase == 'global exchange' else phase}", style={"flexGrow": share}
        )
        for phase, share in card.shares.items()
        if share > 0
    ]
    return html.Div(parts, className="share-bar small", title=text, role="img", **attributes(aria_label=text))


def _state(card: Card) -> Component:
    return html.Span(
        card.state, className=f"badge {_STATES[card.state]}".strip(), title=_STATE_HELP.get(card.state, "")
    )


def total_cycles(card: Card) -> Component:
    """The device cycles of all runs of a report, in the user's unit."""
    return html.Span(cycles_text(card.total_cycles, card.clock_hz), title=_runs_text(card))


def _runs_text(card: Card) -> str:
    return "" if card.runs is None else f"{card.runs} recorded run{'' if card.runs == 1 else 's'}"


def _date(modified: float) -> str:
    return datetime.fromtimestamp(modified, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if modified else ""


def _age(modified: float) -> str:
    """A recent time in words, an older one as a date."""
    if not modified:
        return "–"
    seconds = time.time() - modified
    for limit, unit, size in ((90, "s", 1), (5400, "min", 60), (129_600, "h", 3600)):
        if seconds < limit:
            return f"{max(0, round(seconds / size))} {unit} ago"
    return datetime.fromtimestamp(modified, UTC).strftime("%Y-%m-%d")


@dataclass(frozen=True)
class _Row:
    """One row of the list; `traces` are links to the host traces of the report's execution."""

    entry: Entry
    card: Card
    traces: list[Component]


@dataclass(frozen=True)
class _Column:
    """One column of the list: heading, style and content of a cell."""

    title: Any
    style: str
    content: Callable[[_Row], Any]
    only_reports: bool = False


_COLUMNS = (
    _Column(
        html.Span("Compare", className="visually-hidden"),
        "pick",
        lambda row: tick(row.entry, row.card),
    ),
    _Column("Name", "", _name),
    _Column("State", "", lambda row: _state(row.card)),
    _Column("Target", "dim", _target, only_reports=True),
    _Column("Total device cycles", "number", lambda row: total_cycles(row.card), only_reports=True),
    _Column("Phases", "", lambda row: _phases(row.card), only_reports=True),
    _Column("Fullest tile", "number", lambda row: _memory(row.card), only_reports=True),
    _Column("On disk", "number dim", lambda row: bytes_text(row.card.size_bytes)),
    _Column("Written", "number dim", lambda row: html.Span(_age(row.card.modified), title=_date(row.card.modified))),
)
