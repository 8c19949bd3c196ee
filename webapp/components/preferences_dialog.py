"""The preferences dialog and the command palette: two dialogs of the frame, written once.

Their browser parts are assets/shell/preferences_dialog.js and assets/shell/palette.js.
"""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes

#: (preference, title, explanation, (value, label, example) ...). assets/shell/preferences.js keeps them.
PREFERENCES = (
    (
        "units",
        "Memory",
        "Exports always hold plain bytes.",
        (("binary", "Binary", "1.0 KiB"), ("si", "SI", "1.0 kB"), ("bytes", "Bytes only", "1,024 B")),
    ),
    (
        "time",
        "Device time",
        "Time is cycles divided by the device's clock. Exports always hold cycles.",
        (("cycles", "Cycles", "1,330"), ("time", "Time", "1 µs")),
    ),
    (
        "theme",
        "Theme",
        "",
        (("auto", "System", ""), ("light", "Light", ""), ("dark", "Dark", "")),
    ),
    (
        "reload",
        "When a report grows",
        "A running program adds to its report.",
        (("ask", "Show a notice", ""), ("always", "Reload it", "")),
    ),
)


def preferences_dialog() -> Component:
    groups = [_group(*each) for each in PREFERENCES]
    return html.Dialog(
        [html.H2("Preferences", id="preferences-title"), *groups, _close()],
        id="preferences",
        className="dialog preferences",
        **attributes(aria_labelledby="preferences-title"),
    )


def _group(name: str, title: str, explanation: str, choices: tuple[tuple[str, str, str], ...]) -> Component:
    buttons = [_choice(name, *each) for each in choices]
    about = [html.P(explanation, className="preference-about")] if explanation else []
    return html.Div(
        [
            html.H3(title, id=f"preference-{name}"),
            html.Div(
                buttons, className="segments", role="radiogroup", **attributes(aria_labelledby=f"preference-{name}")
            ),
            *about,
        ],
        className="preference",
    )


def _choice(name: str, value: str, label: str, example: str) -> Component:
    shown: list[Component | str] = [label]
    if example:
        shown = [f"{label} ", html.Span(example, className="preference-example")]
    return html.Button(
        shown,
        type="button",
        role="radio",
        className="segment",
        **attributes(aria_checked="false", data_preference=name, data_value=value),
    )


def _close() -> Component:
    return html.Button("Close", type="button", className="button", **attributes(data_action="close-dialog"))


def palette_dialog() -> Component:
    """A text box and a list, which the browser fills."""
    box = html.Div(className="palette-box-place", **attributes(data_palette_box=""))
    return html.Dialog(
        [
            box,
            html.Ul(id="palette-list", className="palette-list", role="listbox", **attributes(aria_label="Commands")),
            html.P(id="palette-count", className="palette-count", role="status"),
        ],
        id="palette",
        className="dialog palette",
        **attributes(aria_label="Command palette"),
    )
