"""The HTML that a browser gets for every address before Dash fills it, and which scripts it loads when.

Scripts are most of what a page costs before its first callback. So the page leaves out two that Dash lists for every
app: core-js for browsers that Dash 4 no longer runs in (of it only the runtime of generators is used:
webapp/vendor), and the old table. What the renderer asks for first, and the scripts of the plots and tables that a view
opens with, are fetched while the others still run; assets/shell/ahead.js runs the latter while the server builds the
page.
"""

from __future__ import annotations

import re
from typing import Any

from dash import Dash
from flask import request

from webapp.base.views import find_view
from webapp.components.preferences_dialog import palette_dialog, preferences_dialog
from webapp.components.shortcuts import shortcuts_dialog
from webapp.components.static_html import static_html
from webapp.help import page as help_page
from webapp.shell.asset_bundle import PLOT_SCRIPT

# shell/boot.js runs before the first paint and sets the theme, so that a dark page never flashes white. The
# viewer's own script must run before Dash's renderer.
_INDEX = """<!DOCTYPE html>
<html lang="en" data-theme="light">
<head>
{%metas%}
<title>{%title%}</title>
<link rel="icon" type="image/svg+xml" href="/assets/icons/logo.svg">
<script src="/assets/shell/boot.js"></script>
<link rel="stylesheet" href="{style}">
<link rel="preload" as="fetch" crossorigin="anonymous" href="/_dash-layout">
<link rel="preload" as="fetch" crossorigin="anonymous" href="/_dash-dependencies">
{%css%}
</head>
<body>
{%app_entry%}
{dialogs}
{%config%}
<script src="{script}"></script>
{%scripts%}
{%renderer%}
</body>
</html>"""

_LEFT_OUT = re.compile(r'<script src="[^"]*/(?:deps/polyfill@|dash_table/)[^"]*"></script>\n?')

#: The scripts of what a view opens with (`View.draws`), beside those of every page.
_DRAWING = {
    "plot": ("/_dash-component-suites/dash/dcc/async-graph.js", PLOT_SCRIPT),
    "table": ("/_dash-component-suites/dash_ag_grid/async-community.js",),
}

_PAGE = re.compile(r"/([rt])/[^/]+(?:/([^/]*))?/?")
_KINDS = {"r": "report", "t": "trace"}


def index_string(script: str, style: str) -> str:
    """The page before Dash fills it, with the addresses of the viewer's script and style sheet. Dialogs that only
    scripts open are not managed by React."""
    dialogs = static_html([shortcuts_dialog(), preferences_dialog(), palette_dialog(), help_page.pane()])
    return _INDEX.replace("{script}", script).replace("{style}", style).replace("{dialogs}", dialogs)


def scripts_ahead(path: str) -> tuple[str, ...]:
    """Addresses of the scripts that the page at `path` needs for what it opens with."""
    found = _PAGE.fullmatch(path)
    view = None if found is None else find_view(_KINDS[found[1]], found[2] or "")
    return () if view is None else tuple(script for kind in view.draws for script in _DRAWING[kind])


class ViewerApp(Dash):
    """Dash with the scripts above."""

    def interpolate_index(self, *parts: Any, **named: Any) -> Any:
        """The page for the current request."""
        ahead = scripts_ahead(request.path)
        links = (f'<link rel="preload" as="script" href="{address}" data-ahead="">' for address in ahead)
        named["css"] = "\n".join([named["css"], *links])
        named["scripts"] = _LEFT_OUT.sub("", named["scripts"])
        return super().interpolate_index(*parts, **named)  # type: ignore[no-untyped-call]
