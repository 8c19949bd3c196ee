"""What the frame asks for beside pages: the list of reports for the command palette, and whether a report has grown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flask import jsonify, request

from popvision.analysis.report.catalogue import FormatError
from webapp.library import UnknownKeyError

if TYPE_CHECKING:
    from flask import Flask, Response

    from webapp.library import Entry, Library

#: Reports that the palette is told of; more are found by the list of reports itself.
MOST_REPORTS = 1_500

#: Characters of a name or a place that are sent: a few thousand reports stay below 500 kB.
_LONGEST_NAME = 120


def register(server: Flask, library: Library) -> None:
    @server.get("/data/reports")
    def reports() -> Response:
        return jsonify([_listed(library, entry) for entry in library.entries()[:MOST_REPORTS]])

    @server.get("/data/<key>/state")
    def state(key: str) -> Response:
        answer = jsonify(report_state(library, key, request.args.get("stamp", "")))
        answer.headers["Cache-Control"] = "no-store"
        return answer


def report_state(library: Library, key: str, known: str = "") -> dict[str, Any]:
    """{"stamp"} when the files are as at the stamp `known`; else also "generation", the number of commits (None in a
    trace) with "identity", or "problem": one sentence why the file cannot be shown any more."""
    try:
        entry = library.entry(key)
        stamp = library.stamp(key)
        if stamp == known:
            return {"stamp": stamp}
        if not entry.path.exists():
            return {"stamp": stamp, "problem": "The report's files are gone. The page shows what was read before."}
        if entry.kind == "trace":
            return {"stamp": stamp, "generation": None, "identity": stamp}
        source = library.report(key)
        return {"stamp": stamp, "generation": source.generation, "identity": source.report_id}
    except UnknownKeyError:
        return {"stamp": "", "problem": "This report is no longer in the folders given."}
    except FormatError as problem:
        return {"stamp": stamp, "problem": str(problem)}


def _listed(library: Library, entry: Entry) -> dict[str, str]:
    return {
        "key": entry.key,
        "kind": entry.kind,
        "name": library.card(entry).label[:_LONGEST_NAME],
        "place": "sample" if entry.is_sample else str(entry.path)[-_LONGEST_NAME:],
    }
