"""The list of keyboard shortcuts, opened with "?"."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes

#: (keys, what they do) for every page; a view adds its own with `shortcut_list` inside its layout.
EVERYWHERE = (
    ("1 … 9", "Go to that view of the menu"),
    ("/", "Go to the search or filter box of the page"),
    ("d", "Switch between light and dark"),
    ("[", "Fold or unfold the menu"),
    ("r", "Read the report's files again"),
    ("?", "Show or hide this list"),
    ("Esc", "Close a dialog or popover"),
)


def shortcuts_dialog() -> Component:
    return html.Dialog(
        [
            html.H2("Keyboard shortcuts"),
            shortcut_list(EVERYWHERE),
            html.Div(id="view-shortcuts"),
            html.Button("Close", type="button", className="button", **attributes(data_action="close-dialog")),
        ],
        id="shortcuts",
        className="dialog",
        **attributes(aria_label="Keyboard shortcuts"),
    )


def shortcut_list(keys: tuple[tuple[str, str], ...]) -> Component:
    """A table of keys and meanings."""
    rows = [html.Tr([html.Td(html.Kbd(key)), html.Td(meaning)]) for key, meaning in keys]
    return html.Table(html.Tbody(rows), className="shortcut-list")


def view_shortcuts(keys: tuple[tuple[str, str], ...]) -> Component:
    """A view's own keys, hidden in its page; the dialog shows them above the general ones."""
    return html.Div(shortcut_list(keys), className="view-shortcuts", hidden=True)
