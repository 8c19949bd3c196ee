"""The link of a page to its chapter of the help. With "h" or a click it opens in the pane beside the page."""

from __future__ import annotations

import re
from typing import Any

from dash import html
from dash.development.base_component import Component

from webapp.components.attributes import attributes
from webapp.components.icon import icon

#: The document with a chapter for each page.
CHAPTERS = "viewer"


def chapter_address(title: str) -> str:
    """Address of the chapter about the page with a title."""
    return f"/help/{CHAPTERS}#" + re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def help_link(title: str, *inside: Any, class_name: str = "button icon-button") -> Component:
    """A link to the chapter about the page `title`; `inside` replaces the icon."""
    return html.A(
        list(inside) or [icon("help")],
        href=chapter_address(title),
        className=class_name,
        title="Help on this page (h)",
        **attributes(data_help_place="", aria_label="Help on this page"),
    )
