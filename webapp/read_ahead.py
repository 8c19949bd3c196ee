"""Read a report ahead of the first callbacks of its page, while the browser loads the scripts.

The request of a page names report and view a second before its first callback. A thread opens the report and builds
the page once; the results of the analysis stay cached with the report for the callbacks. This happens once per opened
report and view. Errors are ignored here, since the callbacks raise and show them again.
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
    """Start to read ahead whenever the page of a report is requested."""

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
    except Exception as problem:  # the callbacks of the page raise and show it
        logging.getLogger("popvision.webapp").debug("reading ahead ended: %s", problem)


def _is_first(source: ReportSource, view_id: str) -> bool:
    own = object()
    return source.kept.once(("read ahead", view_id), lambda: own) is own


def read_ahead(source: ReportSource, key: str, view: View) -> None:
    """Build the page of a view and run its `ahead`. Raises the errors of both."""
    context = ViewContext(key, source)
    if view.missing(context):
        return
    view.layout(context)
    view.ahead(source)
