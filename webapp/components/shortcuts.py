"""The list of keyboard shortcuts, opened with "?"."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes
from webapp.components.static_html import static_html

#: (keys, action) on every page; a view adds its own with `view_shortcuts`.
EVERYWHERE = (
    ("Ctrl + K  or  :", "Open the command palette: go to a view, report, tile, program or cycle; set units"),
    ("1 … 9", "Open the view with this number in the menu"),
    ("/", "Go to the search or filter box of the page"),
    ("t", "Switch between light and dark"),
    ("[", "Collapse or expand the menu"),
    ("r", "Reload the report"),
    ("h", "Show or hide the help on this page"),
    ("?", "Show or hide this list"),
    ("Esc", "Close a dialog or popover"),
)

#: Keys that mean the same in every plot; keyOf in assets/shell/commands.js has their meanings.
IN_PLOTS = (
    ("W  S", "Zoom in, zoom out (by key position, on any layout)"),
    ("A  D", "Move left, move right"),
    ("0", "Show everything"),
    ("f", "Fit the selection"),
    (".  ,", "Next, previous match of the search; without a search, position"),
    ("m", "Mark the selected position"),
    ("← →", "Move the cursor and read out its value"),
    ("Esc", "Clear the selection"),
)


def shortcuts_dialog() -> Component:
    return html.Dialog(
        [
            html.H2("Shortcuts"),
            html.Div(
                [
                    html.Div([html.H3("This page"), html.Div(id="view-shortcuts")], id="own-shortcuts"),
                    html.Div([html.H3("Every plot"), shortcut_list(IN_PLOTS)]),
                    html.Div([html.H3("Everywhere"), shortcut_list(EVERYWHERE)]),
                ],
                className="shortcut-columns",
            ),
            html.Button("Close", type="button", className="button", **attributes(data_action="close-dialog")),
        ],
        id="shortcuts",
        className="dialog wide",
        **attributes(aria_label="Shortcuts"),
    )


def shortcut_list(keys: tuple[tuple[str, str], ...]) -> Component:
    """A table of keys and meanings."""
    rows = [html.Tr([html.Td(html.Kbd(key)), html.Td(meaning)]) for key, meaning in keys]
    return html.Table(html.Tbody(rows), className="shortcut-list")


def view_shortcuts(keys: tuple[tuple[str, str], ...]) -> Component:
    """The keys of a view, which the dialog shows above the general ones. They are HTML in one attribute, since React
    would check forty hidden components at every change of the page."""
    return html.Div(className="view-shortcuts", hidden=True, **attributes(data_keys=static_html(shortcut_list(keys))))
