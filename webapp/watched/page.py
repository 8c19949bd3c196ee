"""/watch: the source of the watched program with its figures in the margin; assets/watched/margin.js fills it."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from dash import html
from dash.development.base_component import Component

from webapp.components import group, help_text, spacer, toolbar, view_shortcuts
from webapp.components.attributes import attributes
from webapp.components.download_link import save_button
from webapp.components.icon import icon
from webapp.help.link import help_link
from webapp.watched.program import WatchedProgram

_KEYS = (
    ("↑ ↓ Page Up / Down Home End", "Move between lines; their figures are read out"),
    (".  ,", "Next, previous line with figures"),
    ("Enter", "Show the programs and variables of the line"),
    ("p", "Pin this version, or unpin it"),
    ("r", "Run the program again"),
)


def masthead(program: WatchedProgram) -> Component:
    """The header line: what is watched, and its state."""
    name = html.Span(PurePath(program.path).name, className="report-name", title=program.path)
    return html.Div(
        [
            html.A([icon("logo"), html.Span("PopVision")], href="/", className="brand", **attributes(data_nav="home")),
            html.H1([html.Span("Watch"), html.Span(" – ", className="visually-hidden")], className="view-title"),
            name,
            html.Div(
                [
                    html.Span("simulated", className="badge badge-strong", title="Cycles and bytes come from a model"),
                    _button("search", "Command palette (Ctrl + K)", "nav-palette"),
                    _button("settings", "Preferences: units, theme", "nav-preferences"),
                    _button("theme", "Switch between light and dark (t)", "nav-theme"),
                    help_link("Watch"),
                    _button("keyboard", "Shortcuts (?)", "nav-shortcuts"),
                ],
                className="facts",
            ),
        ],
        className="masthead",
    )


def layout(program: WatchedProgram) -> Component:
    """The page; its script asks for the state."""
    state = html.Span(id="watch-state", className="badge", role="status")
    about = help_text(
        "Figures of a line",
        "Cycles: device cycles of the programs made by the line, on the busiest IPU, all recorded runs. "
        "Live: bytes of its variables at the liveness index where the device holds most, of one replica. Received: "
        "bytes that its programs received, all IPUs.",
        "Since save: the change since the version before this one; a save that changes only comments makes no version. "
        "Since pin: the change since the pinned version.",
        formula="lines + lines that are gone + other files + not attributed = total of the report",
    )
    files = html.Label(
        [
            html.Span("File", className="field-label"),
            html.Select([], id="watch-file", className="select", **attributes(aria_label="File")),
        ],
        className="field",
        hidden=True,
    )
    bar = toolbar(
        group(_action("watch-run", "Run again", "Run the program again (r)"), _action("watch-pin", "Pin", _PIN)),
        files,
        group(state, about),
        html.Span(id="watch-note", className="dim"),
        spacer(),
        html.Span(id="watch-links", className="toolbar-group"),
        html.Span([_export(kind) for kind in ("csv", "json")], className="toolbar-group"),
    )
    head = html.Div(className="code-head", role="row")
    grid = html.Div(
        [head, html.Div(className="code-space", role="rowgroup")],
        className="code-scroll",
        tabIndex="0",
        role="grid",
        **attributes(aria_label="Lines of the file"),
    )
    code = html.Div(
        [
            html.Div(className="code-problem", hidden=True, role="alert"),
            grid,
            html.Div(className="code-live visually-hidden", **attributes(aria_live="polite")),
        ],
        className="code-box",
    )
    output = html.Details(
        [html.Summary("Output of the program"), html.Pre(tabIndex="0", **attributes(aria_label="Output"))],
        className="watch-output",
    )
    rest = html.Div(className="watch-rest")
    return html.Div([bar, code, rest, output, view_shortcuts(_KEYS)], id="watch", className="view watch-page")


_PIN = "Keep this version to compare with (p)"


def _action(id: str, text: str, title: str) -> Any:
    pressed = attributes(aria_pressed="false") if id == "watch-pin" else {}
    return html.Button(text, id=id, type="button", className="button", title=title, **pressed)


def _export(kind: str) -> Component:
    return save_button(kind, f"Save all lines of the file with their figures as {kind.upper()}", data_watch_export=kind)


def _button(name: str, title: str, action: str) -> Component:
    more = attributes(data_action=action, aria_label=title)
    return html.Button(icon(name), type="button", className="button icon-button", title=title, **more)
