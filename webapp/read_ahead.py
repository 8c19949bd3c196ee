"""What a page will ask is read while the browser still loads the page's scripts.

The address of a page says which report and view are wanted a second before its first callback does. A thread opens the
report and builds the page once for nothing; what the analysis read stays with the report, so the answers that follow
find it there. Once per opened report and view, and never instead of an answer: what fails here fails again where
somebody is told.
"""

from __future__ import annotations

import logging
import re
import threading
from typing import TYPE_CHECKING

from flask import Flask, request

from webapp.view import View, ViewContext
from webapp.views import find_view

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from webapp.library import Library

_PAGE = re.compile(r"/r/([^/]+)(?:/([^/]*))?/?")


def follow_pages(server: Flask, library: Library) -> None:
    """Begin to read whenever the page of a report is asked for."""

    def begin() -> None:
        page = _PAGE.fullmatch(request.path)
        view = None if page is None else find_view("report", page[2] or "")
        if page is not None and view is not None:
            threading.Thread(target=_read, args=(library, page[1], view), daemon=True).start()

    server.before_request(begin)


def _read(library: Library, key: str, view: View) -> None:
    try:
        source = library.report(key)
        if _is_first(source, view.id):
            read_ahead(source, key, view)
    except Exception as problem:  # whatever it is, the page meets it too
        logging.getLogger("popvision.webapp").debug("reading ahead ended: %s", problem)


def _is_first(source: ReportSource, view_id: str) -> bool:
    own = object()
    return source.kept.once(("read ahead", view_id), lambda: own) is own


def read_ahead(source: ReportSource, key: str, view: View) -> None:
    """Build the page of a view, and ask what its first callbacks and routes ask. Raises what these raise."""
    context = ViewContext(key, source)
    if view.missing(context):
        return
    view.layout(context)
    view.ahead(source)
