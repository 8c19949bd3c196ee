"""Read a report or a trace ahead of the first callbacks of its page, while the browser loads the scripts.

The request of a page names what it shows half a second before its first callback. A thread opens the report or trace
and builds the page once; the results of the analysis stay cached with it for the callbacks. This happens once per
opening and view. Errors are ignored here, since the callbacks raise and show them again.
"""

from __future__ import annotations

import logging
import re
import threading
from typing import TYPE_CHECKING

from flask import Flask, request

from webapp.base.view import View, ViewContext, open_context
from webapp.base.views import find_view

if TYPE_CHECKING:
    from webapp.base.library import Library

_PAGE = re.compile(r"/([rt])/([^/]+)(?:/([^/]*))?/?")
_KINDS = {"r": "report", "t": "trace"}


def follow_pages(server: Flask, library: Library) -> None:
    """Start to read ahead whenever the page of a report or trace is requested."""

    def begin() -> None:
        page = _PAGE.fullmatch(request.path)
        view = None if page is None else find_view(_KINDS[page[1]], page[3] or "")
        if page is not None and view is not None:
            threading.Thread(target=_read, args=(library, page[2], view), daemon=True).start()

    server.before_request(begin)


def _read(library: Library, key: str, view: View) -> None:
    try:
        context = open_context(library, view.kind, key, {}, "light")
        if _is_first(context, view.id):
            read_ahead(context, view)
    except Exception as problem:  # the callbacks of the page raise and show it
        logging.getLogger("popvision.webapp").debug("reading ahead ended: %s", problem)


def _is_first(context: ViewContext, view_id: str) -> bool:
    own = object()
    return context.opened.kept.once(("read ahead", view_id), lambda: own) is own


def read_ahead(context: ViewContext, view: View) -> None:
    """Build the page of a view and run its `ahead`. Raises the errors of both."""
    if view.missing(context):
        return
    view.layout(context)
    view.ahead(context.opened)
