"""Routes of the SQL page. All take a POST with the header X-Popvision: sql, since a query costs time.

/data/<key>/sql/run?id=NAME         the SQL as body -> {"columns", "rows", "more", "seconds", "places"}
/data/<key>/sql/export.csv?id=NAME  the same with more rows, as CSV; export.json as JSON
/data/<key>/sql/cancel?id=NAME      kills the query

What is wrong with a query is an answer like any other: {"problem": sentence} as application/problem+json.

`places` leads from ids that no page takes as they are: compute sets to their first program, debug contexts to [file,
line], as {column: {id: place}}.
"""

from __future__ import annotations

import atexit
import contextlib
import csv
import io
import time
from typing import TYPE_CHECKING, Any

import orjson
from dash import Dash
from flask import Response, request

from popvision.analysis.report.columns import programs_of
from popvision.analysis.report.not_recorded import FormatError, NotRecordedError
from popvision.export.cells import safe_cell
from popvision.query import Answer, Limits
from popvision.query.processes import QueryProcesses
from webapp.base.library import Library

if TYPE_CHECKING:
    from popvision.analysis.report.source import ReportSource

#: A header that pages of other sites cannot send without a CORS preflight.
HEADER = "X-Popvision"

#: Limits of the page, and of what it saves.
SHOWN = Limits(seconds=30, rows=1_000, text=4 << 20)
SAVED = Limits(seconds=60, rows=100_000, text=32 << 20)

_LONGEST_SQL = 100_000


def register(app: Dash, library: Library) -> None:
    """Add the routes."""
    processes = QueryProcesses()
    atexit.register(processes.close)

    def answer(key: str, limits: Limits) -> Answer:
        library.report(key)  # an unknown or unreadable report has its own sentence
        sql = request.get_data(as_text=True)[: _LONGEST_SQL + 1]
        return processes.run(request.args.get("id", "")[:80], library.entry(key).path, sql, limits)

    def run(key: str) -> Response:
        began = time.perf_counter()
        rows = answer(key, SHOWN)
        return _json(
            vars(rows) | {"seconds": time.perf_counter() - began, "places": _places(library.report(key), rows)}
        )

    def export_csv(key: str) -> Response:
        rows = answer(key, SAVED)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([safe_cell(name) for name in rows.columns])
        writer.writerows([safe_cell(cell) for cell in row] for row in rows.rows)
        return Response(text.getvalue(), mimetype="text/csv")

    def export_json(key: str) -> Response:
        rows = answer(key, SAVED)
        return _json([dict(zip(rows.columns, row, strict=True)) for row in rows.rows])

    def cancel(_key: str) -> Response:
        processes.cancel(request.args.get("id", "")[:80])
        return Response(status=204)

    for path, respond in (("run", run), ("export.csv", export_csv), ("export.json", export_json), ("cancel", cancel)):
        app.server.add_url_rule(f"/data/<key>/sql/{path}", f"sql-{path}", _guarded(respond), methods=["POST"])


def _guarded(respond: Any) -> Any:
    """The answer, also to a query that cannot be run; 403 without the header."""

    def guarded(key: str) -> Response:
        if request.headers.get(HEADER) != "sql":
            return Response(f"A query needs the header {HEADER}: sql.", status=403, mimetype="text/plain")
        response: Response
        try:
            response = respond(key)
        except (FormatError, NotRecordedError) as problem:
            response = _json({"problem": str(problem)})
            response.mimetype = "application/problem+json"
        response.headers["Cache-Control"] = "no-store"
        return response

    return guarded


def _json(value: Any) -> Response:
    return Response(orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS), mimetype="application/json")


def _places(source: ReportSource, answer: Answer) -> dict[str, dict[str, Any]]:
    places: dict[str, dict[str, Any]] = {}
    for at, name in enumerate(answer.columns):
        ids = {row[at] for row in answer.rows if isinstance(row[at], int) and row[at] >= 0}
        if name == "compute_set" and ids:
            with contextlib.suppress(NotRecordedError):
                places[name] = _programs_of_sets(source, ids)
        elif name == "debug_id" and ids:
            places[name] = {str(each): line for each in ids if (line := _line_of(source, each))}
    return places


def _programs_of_sets(source: ReportSource, ids: set[int]) -> dict[str, int]:
    sets = programs_of(source).compute_set.tolist()
    first = {compute_set: program for program, compute_set in reversed(list(enumerate(sets)))}
    return {str(each): first[each] for each in ids if each in first}


def _line_of(source: ReportSource, debug_id: int) -> list[Any] | None:
    if debug_id not in source.debug:
        return None
    record = source.debug.record(debug_id)
    return [record["file"], record["line"]] if record.get("file") and record.get("line") else None
