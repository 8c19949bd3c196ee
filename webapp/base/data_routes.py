"""Routes below /data/<key>/ for the scripts of a page.

A query that cannot be answered gets status 400 and one sentence. `Server-Timing` states wall and processor time of an
answer. webapp/shell/app.py answers an unknown key (404) and an unreadable file (422).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from dash import Dash
from flask import Response, request

from popvision.analysis.report.not_recorded import NotRecordedError
from webapp.base.answer_cache import cached_answer
from webapp.base.comparison import target_of_page

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource
    from popvision.analysis.trace.columns import HostTrace
    from webapp.base.library import Library

PairAnswer = Callable[["ReportSource", "ReportSource | None"], Response]


def report_route(
    app: Dash, library: Library, path: str, answer: Callable[[ReportSource], Response], *, keep: bool = False
) -> None:
    """Answer /data/<key>/`path` from a report; the answer may raise ValueError or NotRecordedError. `keep` = cache
    answers, which must depend on the report and the query alone."""

    def respond(key: str) -> Response:
        source = library.report(key)
        return cached_answer(source, lambda: answer(source)) if keep else answer(source)

    _add(app, path, respond)


def pair_route(app: Dash, library: Library, path: str, answer: PairAnswer) -> None:
    """Answer from a report and the report that `vs` of the query names (None without one)."""
    _add(app, path, lambda key: answer(library.report(key), target_of_page(library, request.args)))


def trace_route(app: Dash, library: Library, path: str, answer: Callable[[HostTrace], Response]) -> None:
    """Answer from a host trace."""
    _add(app, path, lambda key: answer(library.trace(key)))


def _add(app: Dash, path: str, answer: Callable[[str], Response]) -> None:

    def respond(key: str) -> Response:
        return answered(lambda: answer(key))

    app.server.add_url_rule(f"/data/<key>/{path}", path.replace("/", "-"), respond)


def answered(answer: Callable[[], Response]) -> Response:
    """The answer with its timing, or status 400 and the sentence of the problem."""
    begin, busy = time.perf_counter(), time.thread_time()
    try:
        response = answer()
    except (ValueError, NotRecordedError) as problem:
        return Response(str(problem), status=400, mimetype="text/plain")
    taken, busy = time.perf_counter() - begin, time.thread_time() - busy
    response.headers["Server-Timing"] = f"answer;dur={1000 * taken:.3f}, processor;dur={1000 * busy:.3f}"
    return response
