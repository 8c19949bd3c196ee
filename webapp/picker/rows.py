"""The rows of the list of reports: a table of entries, whose rows carry what they are sorted and filtered by.

The browser sorts and filters (assets/shell/report_list.js), so that neither asks the server; a row holds its values as
one JSON object.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dash import html
from dash.development.base_component import Component

from popvision.analysis.report.nouns import with_noun
from popvision.analysis.summary.report_list import Card
from webapp.base.formats import bytes_text, cycles_text, percent_text, seconds_text
from webapp.base.library import Entry, Library
from webapp.base.views import views_of
from webapp.components.attributes import attributes
from webapp.components.compare_bar import tick
from webapp.components.partner_links import partner_links
from webapp.components.row_export import export_buttons, exported_box, row_values

_STATES = {
    "complete": "",
    "running": "badge-good",
    "not closed": "badge-warn",
    "truncated": "badge-warn",
    "damaged": "badge-bad",
    "does not fit": "badge-bad",
    "another tool's": "",
    "recording or killed": "badge-warn",
    "no events": "",
}

_SAMPLE = "Shipped with PopVision: no program of yours"

#: Host traces in the row of their report that are listed without folding.
_MOST_TRACES = 3

_STATE_HELP = {
    "running": "A run was recorded within the last minute; reload to see more",
    "not closed": "The program ended without closing this report; the recorded part is shown",
    "truncated": "The limit of recorded steps was reached; later steps are missing",
    "does not fit": "A tile is over its memory, so nothing ran; the Overview says by how much",
    "another tool's": "Opening imports this trace; nothing of it was read yet",
    "recording or killed": "The program still records this trace, or was killed; what it has written is shown",
    "no events": "The program ended this trace without an event",
}


def section(library: Library, title: str, hint: str, entries: Sequence[Entry]) -> Component:
    """A table of entries, newest first, without the columns of reports when there are none."""
    columns = [each for each in _COLUMNS if not each.only_reports or any(entry.kind == "report" for entry in entries)]
    cards = sorted(((entry, library.card(entry)) for entry in entries), key=lambda each: -each[1].modified)
    rows, folders = [], distinct_folders([(entry.key, card.label, entry.path) for entry, card in cards])
    for entry, card in cards:
        traces = partner_links(library, entry) if entry.kind == "report" else []
        row = _Row(entry, card, traces, folders.get(entry.key, ""), is_shipped=_is_shipped(library, entry))
        cells = [html.Td(each.content(row), className=each.style) for each in columns]
        style = "damaged" if card.state == "damaged" else ""
        facts = attributes(data_key=entry.key) | row_values(sort_values(entry, card))
        rows.append(html.Tr(cells, className=style, **facts))
    count = html.Span(str(len(rows)), className="tab-count")
    found = html.Span(className="section-found", **attributes(data_list_found=""))
    buttons = export_buttons(title.lower().replace(" ", "-"), f"the rows shown of {title}", _EXPORTED)
    head = [html.H2(title), html.Span(hint, className="section-hint"), found, count, *buttons]
    return html.Section(
        [
            html.Div(head, className="section-head"),
            html.Table(
                [html.Thead(html.Tr([_heading(each) for each in columns])), html.Tbody(rows)], className="cards"
            ),
        ],
        className="card-section",
        **attributes(data_list=""),
        **exported_box(),
    )


def distinct_folders(named: Sequence[tuple[str, str, Path]]) -> dict[str, str]:
    """By key, the folder that tells an entry apart from others of its label: the last one in which their paths differ.
    Entries whose label is their own are left out. `named` are (key, label, path)."""
    groups: dict[str, list[tuple[str, Path]]] = {}
    for key, label, path in named:
        groups.setdefault(label, []).append((key, path))
    found: dict[str, str] = {}
    for members in groups.values():
        if len(members) > 1:
            shared = _same_at_end([path for _, path in members])
            found |= {key: path.parts[max(0, len(path.parts) - shared - 1)] for key, path in members}
    return found


def _same_at_end(paths: Sequence[Path]) -> int:
    """How many last parts all paths have in common."""
    parts = [path.parts[::-1] for path in paths]
    count = 0
    while all(count < len(each) and each[count] == parts[0][count] for each in parts):
        count += 1
    return count


def _is_shipped(library: Library, entry: Entry) -> bool:
    """Whether an entry among the user's own is one of the samples."""
    samples = library.samples
    return samples is not None and not entry.is_sample and entry.path.resolve().is_relative_to(samples.resolve())


#: The values of a row in an export, by the name that they have there.
_EXPORTED = {
    "name": "name",
    "path": "folder",
    "state": "state",
    "target": "target",
    "cycles": "device_cycles",
    "time": "device_seconds",
    "memory": "fullest_tile_bytes",
    "share": "fullest_tile_share",
    "size": "disk_bytes",
    "written": "written_seconds_since_1970",
}


def sort_values(entry: Entry, card: Card) -> dict[str, str | float | None]:
    """What a row is sorted and filtered by: texts, cycles, seconds (device time; `written` since the epoch), bytes and
    shares 0..1; None = not known."""
    size = _counted_bytes(card)
    seconds = card.total_cycles / card.clock_hz if card.total_cycles is not None and card.clock_hz else None
    return {
        "name": card.label,
        "path": str(entry.path),
        "state": card.state,
        "target": "Host" if entry.kind == "trace" else card.target + (" simulated" if card.simulated else ""),
        "cycles": card.total_cycles,
        "time": seconds,
        "memory": size,
        "share": size / card.capacity_bytes if size is not None and card.capacity_bytes else None,
        "size": card.size_bytes,
        "written": card.modified or None,
    }


def _heading(column: _Column) -> Component:
    """A heading; a button that sorts where the column can be sorted by."""
    if not column.sort:
        return html.Th(column.title, scope="col", className=column.style, title=column.help)
    more = attributes(data_sort=column.sort)
    button = html.Button(column.title, type="button", className="sort", title=column.help, **more)
    return html.Th(button, scope="col", className=column.style)


def _name(row: _Row) -> Component:
    entry, card = row.entry, row.card
    where = html.Span(str(entry.path), className="card-path path", title=str(entry.path))
    problem = [html.Span(card.problem, className="card-problem", title=card.problem)] if card.problem else []
    label: Any = [card.label, html.Span(f" in {row.folder}", className="card-folder")] if row.folder else card.label
    if not card.opens:
        return html.Div([html.Span(label, className="card-name"), where, *problem])
    letter = "r" if entry.kind == "report" else "t"
    views = views_of(entry.kind)
    href = f"/{letter}/{entry.key}/{views[0].id}" if views else f"/{letter}/{entry.key}"
    link = html.A(label, href=href, className="card-name", **attributes(data_nav="open"))
    badge = [html.Span("sample", className="badge", title=_SAMPLE)] if row.is_shipped else []
    return html.Div([html.Div([link, *badge], className="card-title"), where, *_traces(row.traces), *problem])


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


def _counted_bytes(card: Card) -> int | None:
    """Bytes in use on the fullest tile, gaps excluded; of a program that does not fit its highest address."""
    return card.peak_bytes if card.state == "does not fit" else card.used_bytes


def _memory(card: Card) -> str | list[Component | str]:
    """The bytes counted, and their share of the memory of a tile."""
    is_over = card.state == "does not fit"
    size = _counted_bytes(card)
    if size is None:
        return "–"
    what = "highest used address" if is_over else "bytes in use on the fullest tile, gaps excluded"
    text: list[Component | str] = [html.Span(bytes_text(size), title=f"{size:,} B, {what}")]
    if card.capacity_bytes:
        share = size / card.capacity_bytes
        formula = f"{size:,} B ({what}) / {card.capacity_bytes:,} B of memory of a tile = {percent_text(share)}"
        text.append(html.Span(f" {share:.0%}", className="over" if is_over else "dim", title=formula))
    return text


def _phases(card: Card) -> Component:
    """A bar of tile cycles by phase; its title has the shares."""
    if not card.shares:
        return html.Span("–", className="dim")
    shares = ", ".join(f"{phase} {percent_text(share)}" for phase, share in card.shares.items())
    text = f"{shares}; share = tile cycles in the phase / (tiles x device cycles)"
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
    return html.Span(cycles_text(card.total_cycles, card.clock_hz), title=_cycles_formula(card))


def _cycles_formula(card: Card) -> str:
    if card.runs is None:
        return ""
    runs = with_noun(card.runs, "recorded run")
    if card.total_cycles is None or not card.clock_hz:
        return runs
    time = seconds_text(card.total_cycles / card.clock_hz)
    return f"{runs}: {card.total_cycles:,} cycles / {card.clock_hz / 1e9:g} GHz = {time}"


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
    folder: str  #: where another row has the same name, the folder that tells them apart
    is_shipped: bool  #: a sample that stands among the user's own reports


@dataclass(frozen=True)
class _Column:
    """One column of the list: heading, style and content of a cell; `sort` names the value of `sort_values` by which
    its heading sorts, `help` says what the figure is."""

    title: Any
    style: str
    content: Callable[[_Row], Any]
    only_reports: bool = False
    sort: str = ""
    help: str = ""


_COLUMNS = (
    _Column(html.Span("Compare", className="visually-hidden"), "pick", lambda row: tick(row.entry, row.card)),
    _Column("Name", "", _name, sort="name"),
    _Column("State", "", lambda row: _state(row.card), sort="state"),
    _Column("Target", "dim", _target, only_reports=True, sort="target"),
    _Column(
        "Total device cycles",
        "number",
        lambda row: total_cycles(row.card),
        only_reports=True,
        sort="time",
        help="Cycles of all recorded runs; sorted by device time = cycles / clock",
    ),
    _Column(
        "Phases",
        "",
        lambda row: _phases(row.card),
        only_reports=True,
        help="Share of a phase = tile cycles in the phase / (tiles x device cycles)",
    ),
    _Column(
        "Fullest tile",
        "number",
        lambda row: _memory(row.card),
        only_reports=True,
        sort="memory",
        help="Bytes in use on the fullest tile, gaps excluded, and their share of the memory of a tile; of a program "
        "that does not fit, the highest used address",
    ),
    _Column("On disk", "number dim size", lambda row: bytes_text(row.card.size_bytes), sort="size"),
    _Column(
        "Written",
        "number dim",
        lambda row: html.Span(_age(row.card.modified), title=_date(row.card.modified)),
        sort="written",
        help="When the newest file of the report changed",
    ),
)
