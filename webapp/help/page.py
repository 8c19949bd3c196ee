"""/help/NAME: a document as a page, and the pane that shows documents beside a page; assets/help/help.js fills both."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from webapp.components import view_shortcuts
from webapp.components.attributes import attributes
from webapp.components.icon import icon
from webapp.help.manual import FIRST, manual

_KEYS = (
    ("h  /", "Go to the search of the help"),
    ("Enter", "In the search: open the first section found"),
)

#: Documents that the pane leads to at once.
_SHORT_CUTS = (("viewer", "The pages"), ("questions", "How do I …?"), ("glossary", "Words"))


def masthead() -> Component:
    """The header line of a document."""
    return html.Div(
        [
            html.A([icon("logo"), html.Span("PopVision")], href="/", className="brand", **attributes(data_nav="home")),
            html.H1("Help", className="view-title"),
            html.Div(
                [
                    _button("search", "Command palette (Ctrl + K)", "nav-palette"),
                    _button("theme", "Switch between light and dark (t)", "nav-theme"),
                    _button("keyboard", "Shortcuts (?)", "nav-shortcuts"),
                ],
                className="facts",
            ),
        ],
        className="masthead",
    )


def layout(name: str) -> Component:
    """The page of a document, "" for the first one. Raises KeyError without such a document, FileNotFoundError where
    documents are not installed."""
    documents = manual().documents
    shown = documents[name or FIRST]
    links = [_document_link(each.name, each.title, each is shown) for each in documents.values()]
    contents = html.Nav(links, className="help-contents", **attributes(aria_label="Documents"))
    article = html.Div(
        [html.Div([_search()], className="help-head"), *_filled()],
        className="manual help-document",
        **attributes(data_help=shown.name),
    )
    return html.Div([contents, article, view_shortcuts(_KEYS)], className="help-page")


def pane() -> Component:
    """The pane, hidden until it is asked for."""
    links: list[Any] = [
        html.A(text, href=f"/help/{name}", **attributes(data_help_link="")) for name, text in _SHORT_CUTS
    ]
    keys = html.Button("Keys", type="button", className="link", **attributes(data_action="nav-shortcuts"))
    page = html.A("As a page", href="/help", **attributes(data_nav="to", data_help_page=""))
    close = html.Button(
        icon("close"),
        type="button",
        className="button icon-button",
        title="Close the help (Esc)",
        **attributes(data_action="nav-help", aria_label="Close the help"),
    )
    head = html.Div(
        [
            html.Div([_search(), close], className="help-line"),
            html.Div([*links, keys, page], className="help-line help-links"),
        ],
        className="help-head",
    )
    return html.Aside(
        [head, *_filled()],
        id="help-pane",
        className="manual help-pane",
        hidden=True,
        **attributes(data_help="", aria_label="Help"),
    )


def _search() -> Component:
    """The place of the search box, which the script fills."""
    return html.Div(icon("search"), className="search", **attributes(data_help_box=""))


def _filled() -> list[Component]:
    """What the script fills: the sections that a search finds, and the document."""
    return [
        html.P(className="help-count", role="status", hidden=True),
        html.Ul(className="help-found", hidden=True),
        html.Article(className="help-text", tabIndex="0"),
    ]


def _document_link(name: str, title: str, is_shown: bool) -> Component:
    more = attributes(data_help_link="")
    if is_shown:
        more["aria-current"] = "page"
    return html.A(title, href=f"/help/{name}", **more)


def _button(name: str, title: str, action: str) -> Component:
    more = attributes(data_action=action, aria_label=title)
    return html.Button(icon(name), type="button", className="button icon-button", title=title, **more)
