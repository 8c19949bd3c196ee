"""A link that looks like a small button and saves a file, and a button with which the browser saves rows it has."""

from __future__ import annotations

from typing import Any

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes
from webapp.components.icon import icon


def download_link(text: str, href: str, title: str, download: str, **more: Any) -> Component:
    """`text` names the format or the content, `title` says what is saved, `download` is the name of the file ("" = the
    server's); `more` are further attributes of the link."""
    return html.A([icon("download"), text], href=href, className="button small", title=title, download=download, **more)


def save_button(kind: str, title: str, **more: str) -> Component:
    """`kind` is the format ("csv", "json"), `title` says what is saved; `more` are the attributes by which a script
    finds the button."""
    return html.Button(
        [icon("download"), kind.upper()],
        type="button",
        className="button small",
        title=title,
        **attributes(aria_label=title, **more),
    )


def table_links(href: str, query: str, name: str, what: str) -> list[Component]:
    """Links to `href`.csv and `href`.json with the query, saved as `name`.csv and `name`.json."""
    return [
        download_link(kind.upper(), f"{href}.{kind}{query}", f"Save {what} as {kind.upper()}", f"{name}.{kind}")
        for kind in ("csv", "json")
    ]
